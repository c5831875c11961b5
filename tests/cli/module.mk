# The tests of the command line, and the tools that their scripts use.
# json_look is a tool of the scripts: it reads a value of a JSON document, or refuses the document
check_PROGRAMS += json_look
json_look_SOURCES = %D%/json_look.c
json_look_LDADD = $(BASE_LIBS)
# journal_lines prints a journal as lines of JSON, and writes one of such lines
check_PROGRAMS += journal_lines
journal_lines_SOURCES = %D%/journal_lines.c
journal_lines_LDADD = $(STUDIES_LIBS)
# event_look and npz_look read TensorBoard's event files and NumPy's archives without the program's code
check_PROGRAMS += event_look npz_look
event_look_SOURCES = %D%/event_look.c
npz_look_SOURCES = %D%/npz_look.c
npz_look_LDADD = $(ZLIB_LIBS)
# bounded runs a command and judges the time and the memory that it took
check_PROGRAMS += bounded
bounded_SOURCES = %D%/bounded.c
# make_picture writes pictures of the kinds that tinca only reads; caffe_golden writes weights as Caffe does
check_PROGRAMS += make_picture caffe_golden
caffe_golden_SOURCES = %D%/caffe_golden.c
caffe_golden_LDADD = -lm
make_picture_SOURCES = %D%/make_picture.c tests/data_files.h
make_picture_LDADD = $(DATA_LIBS)
# hostile_json puts a stranger's text into every string of a JSON document
check_PROGRAMS += hostile_json
hostile_json_SOURCES = %D%/hostile_json.c
# confuse_json puts values of other types into a JSON document
check_PROGRAMS += confuse_json
confuse_json_SOURCES = %D%/confuse_json.c tests/confuse.h
# damage makes one kind of damage in a file
check_PROGRAMS += damage
damage_SOURCES = %D%/damage.c
damage_LDADD = $(ZLIB_LIBS)
CLI_TESTS = %D%/shared_folder_test.sh %D%/runs_check_test.sh %D%/anywhere_test.sh %D%/attach_test.sh %D%/usage_test.sh %D%/json_test.sh %D%/train_test.sh \
	%D%/forecast_test.sh \
	%D%/limit_test.sh %D%/model_memory_test.sh %D%/output_test.sh \
	%D%/many_layers_test.sh %D%/tune_test.sh %D%/blas_core_test.sh \
	%D%/compare_test.sh %D%/explain_test.sh %D%/import_test.sh %D%/watch_test.sh \
	%D%/builds_test.sh %D%/classes_test.sh %D%/manual_test.sh %D%/training_methods_test.sh %D%/eval_errors_test.sh \
	%D%/fork_test.sh %D%/test_set_test.sh %D%/wait_test.sh %D%/old_runs_test.sh %D%/old_checkpoints_test.sh \
	%D%/runs_records_test.sh %D%/resume_test.sh %D%/roofline_test.sh \
	%D%/shelf_test.sh %D%/weights_test.sh %D%/find_rate_test.sh %D%/prune_test.sh %D%/factorize_test.sh %D%/quantize_test.sh %D%/onnx_test.sh %D%/tensorboard_test.sh %D%/torch_test.sh %D%/caffe_test.sh \
	%D%/completion_test.sh %D%/confusion_test.sh %D%/export_operands_test.sh %D%/formats_test.sh \
	%D%/augment_test.sh %D%/distillation_test.sh %D%/grid_test.sh %D%/precision_test.sh %D%/int8_test.sh \
	%D%/signals_test.sh %D%/slurm_test.sh %D%/sweep_test.sh %D%/told_test.sh \
	%D%/tutorial_test.sh %D%/operators_test.sh %D%/pixels_test.sh %D%/followed_pixels_test.sh %D%/predict_test.sh %D%/seeds_test.sh \
	%D%/tables_test.sh %D%/models_test.sh %D%/mpi_test.sh %D%/mpi_failures_test.sh %D%/mpi_blocks_test.sh %D%/mpi_cuda_test.sh %D%/cuda_reports_test.sh %D%/configure_test.sh %D%/mpi_overlap_test.sh %D%/mpich_test.sh %D%/mpi_devices_test.sh %D%/mpi_sweep_test.sh %D%/mpi_scaling_test.sh %D%/mpi_validation_test.sh %D%/mpi_methods_test.sh %D%/sweep_after_test.sh %D%/advise_other_test.sh \
	%D%/damaged_journal_test.sh %D%/run_hold_test.sh
TESTS += $(CLI_TESTS)
EXTRA_DIST += %D%/torch/small.json %D%/torch/image.png \
	%D%/torch/float32.safetensors %D%/torch/float32.logits \
	%D%/torch/float16.safetensors %D%/torch/float16.logits \
	%D%/torch/bf16.safetensors %D%/torch/bf16.logits \
	%D%/torch/option-a.safetensors %D%/torch/option-a.logits
EXTRA_DIST += $(CLI_TESTS) %D%/tap.sh %D%/mpi.sh %D%/keras_events.py %D%/logs/caffe.txt \
	%D%/caffe/net.prototxt %D%/caffe/solver.prototxt \
	%D%/onnx/hostile_files.py %D%/onnx/logits.json %D%/onnx/picture.png \
	%D%/onnx/dynamo.onnx %D%/onnx/torchscript.onnx \
	%D%/onnx/stored.json %D%/onnx/stored.onnx \
	%D%/onnx/softmax.json %D%/onnx/softmax_9.onnx \
	%D%/onnx/softmax_11.onnx %D%/onnx/softmax_11_columns.onnx %D%/onnx/softmax_11_flat.onnx \
	%D%/onnx/softmax_12_negative.onnx %D%/onnx/softmax_13.onnx \
	%D%/logs/keras.txt %D%/logs/loss_titan_caffe.csv %D%/logs/tensorflow.txt \
	%D%/logs/times_titan_tensorflow.csv \
	%D%/old_runs/2026-11-21-done.run %D%/old_runs/2026-11-21-stopped.run \
	%D%/old_runs/2026-11-23-done.run %D%/old_runs/2026-11-23-imported.run \
	%D%/old_runs/2026-11-23-stopped.run %D%/old_runs/2026-11-25-done.run \
	%D%/old_runs/2026-11-25-imported.run %D%/old_runs/2026-11-25-stopped.run \
	%D%/old_runs/2026-11-30-done.run %D%/old_runs/2026-11-30-imported.run \
	%D%/old_runs/2026-11-30-stopped.run %D%/old_runs/make.sh %D%/old_runs/unpack.awk \
	%D%/old_checkpoints/2026-11-30-adversarial.run %D%/old_checkpoints/2026-11-30-bf16.run \
	%D%/old_checkpoints/2026-11-30-distilled.run %D%/old_checkpoints/2026-11-30-supervised.run \
	%D%/old_checkpoints/make.sh %D%/old_checkpoints/networks.sh %D%/old_checkpoints/sums \
	%D%/old_checkpoints/teacher.base64
TESTS += %D%/session_schema.sh
EXTRA_DIST += %D%/session_schema.sh
