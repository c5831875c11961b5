# --- tests: base ---
check_PROGRAMS += float16_test random_test
TESTS += float16_test random_test
float16_test_SOURCES = %D%/unit/float16_test.c
float16_test_LDADD = $(BASE_LIBS)
random_test_SOURCES = %D%/unit/random_test.c
random_test_LDADD = $(BASE_LIBS)
check_PROGRAMS += pool_test
TESTS += pool_test
pool_test_SOURCES = %D%/unit/pool_test.c
pool_test_LDADD = $(BASE_LIBS)
# the pool where the kernel has no futex
check_PROGRAMS += pool_portable_test
TESTS += pool_portable_test
pool_portable_test_SOURCES = %D%/unit/pool_test.c src/base/threads/futex.c src/base/threads/pool.c
pool_portable_test_CPPFLAGS = $(AM_CPPFLAGS) -DTINCA_WITHOUT_FUTEX
pool_portable_test_LDADD = $(BASE_LIBS)
check_PROGRAMS += text_test
TESTS += text_test
text_test_SOURCES = %D%/unit/text_test.c
text_test_LDADD = $(BASE_LIBS)
check_PROGRAMS += json_test
TESTS += json_test
json_test_SOURCES = %D%/unit/json_test.c
json_test_LDADD = $(BASE_LIBS)
check_PROGRAMS += file_test
TESTS += file_test
file_test_SOURCES = %D%/unit/file_test.c
file_test_LDADD = $(BASE_LIBS)
check_PROGRAMS += pace_test
TESTS += pace_test
pace_test_SOURCES = %D%/unit/pace_test.c
pace_test_LDADD = $(STUDIES_LIBS)
check_PROGRAMS += distributions_test seeds_test
TESTS += distributions_test seeds_test
distributions_test_SOURCES = %D%/unit/distributions_test.c
distributions_test_LDADD = $(STUDIES_LIBS)
seeds_test_SOURCES = %D%/unit/seeds_test.c
seeds_test_LDADD = $(STUDIES_LIBS)

check_PROGRAMS += find_rate_test
TESTS += find_rate_test
find_rate_test_SOURCES = %D%/unit/find_rate_test.c
find_rate_test_LDADD = $(STUDIES_LIBS)
check_PROGRAMS += number_test
TESTS += number_test
number_test_SOURCES = %D%/unit/number_test.c
number_test_LDADD = $(STUDIES_LIBS)
check_PROGRAMS += output_file_test
TESTS += output_file_test
output_file_test_SOURCES = %D%/unit/output_file_test.c
output_file_test_LDADD = $(BASE_LIBS)

# --- tests: data ---
check_PROGRAMS += image_test arrays_test dataset_test data_loader_test generated_test
TESTS += image_test arrays_test dataset_test data_loader_test generated_test
image_test_SOURCES = %D%/unit/image_test.c %D%/unit/data_files.h
image_test_LDADD = $(DATA_LIBS)
arrays_test_SOURCES = %D%/unit/arrays_test.c %D%/unit/data_files.h
arrays_test_LDADD = $(DATA_LIBS)
dataset_test_SOURCES = %D%/unit/dataset_test.c %D%/unit/data_files.h
dataset_test_LDADD = $(DATA_LIBS)
check_PROGRAMS += augment_test
TESTS += augment_test
augment_test_SOURCES = %D%/unit/augment_test.c
augment_test_LDADD = libdata.a $(PNG_LIBS) $(JPEG_LIBS) $(ENGINE_LIBS)
EXTRA_DIST += %D%/parity/make_augment_goldens.py %D%/parity/goldens/augment.json
data_loader_test_SOURCES = %D%/unit/data_loader_test.c %D%/unit/data_files.h
data_loader_test_LDADD = $(DATA_LIBS)
generated_test_SOURCES = %D%/unit/generated_test.c
generated_test_LDADD = $(DATA_LIBS)
TESTS += %D%/unit/fetch_test.sh
EXTRA_DIST += %D%/unit/fetch_test.sh

# --- tests: engine ---
check_PROGRAMS += factorization_test
TESTS += factorization_test
factorization_test_SOURCES = %D%/unit/factorization_test.c %D%/unit/factorization_golden.h
factorization_test_LDADD = $(ENGINE_LIBS)
EXTRA_DIST += %D%/parity/make_factorization.py
check_PROGRAMS += perceptron_test
TESTS += perceptron_test
perceptron_test_SOURCES = %D%/unit/perceptron_test.c %D%/unit/perceptron_golden.h
perceptron_test_LDADD = libopharness.a $(ENGINE_LIBS)
EXTRA_DIST += %D%/parity/make_perceptron.py

check_PROGRAMS += network_test
TESTS += network_test
network_test_SOURCES = %D%/unit/network_test.c
network_test_LDADD = $(ENGINE_LIBS)
check_PROGRAMS += network_write_test
TESTS += network_write_test
network_write_test_SOURCES = %D%/unit/network_write_test.c
network_write_test_LDADD = $(ENGINE_LIBS)
check_PROGRAMS += prune_test
TESTS += prune_test
prune_test_SOURCES = %D%/unit/prune_test.c %D%/unit/prune_golden.h
prune_test_LDADD = $(ENGINE_LIBS)

check_PROGRAMS += quantize_test
TESTS += quantize_test
quantize_test_SOURCES = %D%/unit/quantize_test.c %D%/unit/quantize_golden.h
quantize_test_LDADD = $(ENGINE_LIBS)
EXTRA_DIST += %D%/parity/make_prune.py %D%/parity/make_quantize.py %D%/parity/make_resize.py
check_PROGRAMS += choice_test
TESTS += choice_test
choice_test_SOURCES = %D%/unit/choice_test.c
choice_test_LDADD = $(ENGINE_LIBS)
check_PROGRAMS += plan_test
TESTS += plan_test
plan_test_SOURCES = %D%/unit/plan_test.c
plan_test_LDADD = $(ENGINE_LIBS)
check_PROGRAMS += fallback_test
TESTS += fallback_test
fallback_test_SOURCES = %D%/unit/fallback_test.c %D%/cuda/lab.h %D%/cuda/lacking.h
fallback_test_LDADD = $(STUDIES_LIBS)
check_PROGRAMS += traffic_test
TESTS += traffic_test
traffic_test_SOURCES = %D%/unit/traffic_test.c
traffic_test_LDADD = $(ENGINE_LIBS)
check_PROGRAMS += adam_test parameter_groups_test training_test
TESTS += adam_test parameter_groups_test training_test
parameter_groups_test_SOURCES = %D%/unit/parameter_groups_test.c
parameter_groups_test_LDADD = $(ENGINE_LIBS)
adam_test_SOURCES = %D%/unit/adam_test.c %D%/instruction_sets.h
adam_test_LDADD = $(ENGINE_LIBS)
training_test_SOURCES = %D%/unit/training_test.c
training_test_LDADD = $(ENGINE_LIBS)
check_PROGRAMS += safetensors_test
TESTS += safetensors_test
safetensors_test_SOURCES = %D%/unit/safetensors_test.c
safetensors_test_LDADD = $(ENGINE_LIBS)
check_PROGRAMS += cluster_sums_test gradient_buckets_test
TESTS += cluster_sums_test gradient_buckets_test
cluster_sums_test_SOURCES = %D%/unit/cluster_sums_test.c
cluster_sums_test_LDADD = $(ENGINE_LIBS)
gradient_buckets_test_SOURCES = %D%/unit/gradient_buckets_test.c
gradient_buckets_test_LDADD = $(ENGINE_LIBS)

check_PROGRAMS += image_blocks_test batch_subtrees_test
TESTS += image_blocks_test batch_subtrees_test
image_blocks_test_SOURCES = %D%/unit/image_blocks_test.c
image_blocks_test_LDADD = $(ENGINE_LIBS)
batch_subtrees_test_SOURCES = %D%/unit/batch_subtrees_test.c
batch_subtrees_test_LDADD = $(ENGINE_LIBS)
check_PROGRAMS += rank_device_test
TESTS += rank_device_test
rank_device_test_SOURCES = %D%/unit/rank_device_test.c
rank_device_test_LDADD = $(ENGINE_LIBS)
check_PROGRAMS += core_set_test
TESTS += core_set_test
core_set_test_SOURCES = %D%/unit/core_set_test.c
core_set_test_LDADD = $(BASE_LIBS)
check_PROGRAMS += cluster_messages_test
TESTS += cluster_messages_test
cluster_messages_test_SOURCES = %D%/unit/cluster_messages_test.c %D%/unit/thread_ranks.h
cluster_messages_test_LDADD = $(ENGINE_LIBS)
check_PROGRAMS += cluster_stuck_test
TESTS += cluster_stuck_test
cluster_stuck_test_SOURCES = %D%/unit/cluster_stuck_test.c %D%/unit/thread_ranks.h
cluster_stuck_test_LDADD = $(ENGINE_LIBS)
check_PROGRAMS += cluster_hang_test
TESTS += cluster_hang_test
cluster_hang_test_SOURCES = %D%/unit/cluster_hang_test.c %D%/unit/thread_ranks.h
cluster_hang_test_LDADD = $(ENGINE_LIBS)

check_PROGRAMS += bf16_test
TESTS += bf16_test
bf16_test_SOURCES = %D%/unit/bf16_test.c
bf16_test_LDADD = $(ENGINE_LIBS)
# the kernels of int8; the products of VNNI are computed by other instructions
check_PROGRAMS += int8_kernels_test int8_test
TESTS += int8_kernels_test int8_test
int8_kernels_test_SOURCES = %D%/unit/int8_kernels_test.c %D%/guarded_memory.c %D%/guarded_memory.h \
	%D%/amx_emulator.c %D%/amx_emulator.h
int8_kernels_test_LDADD = $(ENGINE_LIBS)
if X86_KERNELS
check_LIBRARIES += libkernels_vnni_emulated.a
libkernels_vnni_emulated_a_SOURCES = $(VNNI_SOURCES)
libkernels_vnni_emulated_a_CPPFLAGS = $(AM_CPPFLAGS) -DTINCA_ISA=vnni_emulated -DTINCA_VNNI \
	-DTINCA_EMULATE_VNNI
libkernels_vnni_emulated_a_CFLAGS = $(libkernels_avx2_a_CFLAGS)
int8_kernels_test_LDADD += libkernels_vnni_emulated.a $(ENGINE_LIBS)
endif
# the code for AMX with AVX2 around the tiles, which the emulator executes
if AMX_INT8_KERNELS
check_LIBRARIES += libkernels_amx_int8_emulated.a
libkernels_amx_int8_emulated_a_SOURCES = $(AMX_INT8_SOURCES)
libkernels_amx_int8_emulated_a_CPPFLAGS = $(AM_CPPFLAGS) -DTINCA_ISA=amx_int8_emulated -DTINCA_VNNI \
	-DTINCA_EMULATE_VNNI -DTINCA_AMX_INT8
libkernels_amx_int8_emulated_a_CFLAGS = $(libkernels_avx2_a_CFLAGS) -mamx-tile -mamx-int8
int8_kernels_test_LDADD += libkernels_amx_int8_emulated.a $(ENGINE_LIBS)
endif
int8_test_SOURCES = %D%/unit/int8_test.c
int8_test_LDADD = $(ENGINE_LIBS)
# the same with AMX, which is emulated
check_PROGRAMS += bf16_amx_test
TESTS += bf16_amx_test
bf16_amx_test_SOURCES = %D%/unit/bf16_test.c %D%/amx_assumed.c %D%/amx_emulator.c %D%/amx_emulator.h
bf16_amx_test_CPPFLAGS = $(AM_CPPFLAGS) -DEMULATED
bf16_amx_test_LDADD = $(ENGINE_LIBS)
check_PROGRAMS += int8_amx_test
TESTS += int8_amx_test
int8_amx_test_SOURCES = %D%/unit/int8_test.c %D%/amx_assumed.c %D%/amx_emulator.c %D%/amx_emulator.h
int8_amx_test_LDADD = $(ENGINE_LIBS)
check_PROGRAMS += execution_test
TESTS += execution_test
execution_test_SOURCES = %D%/unit/execution_test.c
execution_test_LDADD = $(ENGINE_LIBS)
check_PROGRAMS += recompute_test
TESTS += recompute_test
recompute_test_SOURCES = %D%/unit/recompute_test.c
recompute_test_LDADD = $(ENGINE_LIBS)
check_PROGRAMS += read_through_test
TESTS += read_through_test
read_through_test_SOURCES = %D%/unit/read_through_test.c
read_through_test_LDADD = $(ENGINE_LIBS)
# whole networks against PyTorch; coverage_test holds that no built-in one is left out
GOLDEN_SOURCES = %D%/parity/golden.c %D%/parity/golden.h
check_PROGRAMS += coverage_test
TESTS += coverage_test
coverage_test_SOURCES = %D%/parity/coverage_test.c $(GOLDEN_SOURCES)
coverage_test_LDADD = $(ENGINE_LIBS)
check_PROGRAMS += gan_trajectory_test
TESTS += gan_trajectory_test
gan_trajectory_test_SOURCES = %D%/parity/gan_trajectory_test.c $(GOLDEN_SOURCES)
gan_trajectory_test_LDADD = $(ENGINE_LIBS)
EXTRA_DIST += %D%/parity/make_gan_trajectories.py %D%/parity/goldens/gan.json \
	%D%/parity/goldens/gan_long.json %D%/parity/networks/small.json
check_PROGRAMS += distillation_trajectory_test
TESTS += distillation_trajectory_test
distillation_trajectory_test_SOURCES = %D%/parity/distillation_trajectory_test.c $(GOLDEN_SOURCES)
distillation_trajectory_test_LDADD = $(ENGINE_LIBS)
EXTRA_DIST += %D%/parity/make_distillation_trajectories.py %D%/parity/goldens/distillation.json
check_PROGRAMS += gan_test
TESTS += gan_test
gan_test_SOURCES = %D%/unit/gan_test.c
gan_test_LDADD = $(ENGINE_LIBS)
check_PROGRAMS += weights_names_test
TESTS += weights_names_test
weights_names_test_SOURCES = %D%/parity/weights_names_test.c $(GOLDEN_SOURCES)
weights_names_test_LDADD = $(ENGINE_LIBS)
EXTRA_DIST += %D%/parity/make_torchvision.py %D%/parity/goldens/torchvision.json \
	%D%/parity/networks/small-alexnet.json %D%/parity/networks/small-googlenet.json \
	%D%/parity/networks/small-squeezenet1_1.json %D%/parity/networks/small-vgg16.json \
	%D%/parity/networks/small-cifar-vgg.json
check_PROGRAMS += trajectory_test
TESTS += trajectory_test
trajectory_test_SOURCES = %D%/parity/trajectory_test.c $(GOLDEN_SOURCES)
trajectory_test_LDADD = $(ENGINE_LIBS)
EXTRA_DIST += %D%/parity/make_trajectories.py %D%/parity/goldens/trajectories.json \
	%D%/parity/goldens/trajectories_long.json %D%/parity/networks/branches.json \
	%D%/parity/networks/gates.json
# what PyTorch makes of the networks becomes what these tests expect; one case alone: docs/HACKING.md
TRAJECTORY_GOLDENS = $(srcdir)/%D%/parity/goldens
renew-trajectories: trajectory_test$(EXEEXT) gan_trajectory_test$(EXEEXT) \
    distillation_trajectory_test$(EXEEXT)
	srcdir='$(srcdir)'; export srcdir; for suite in "" _long; do \
	    long=$${suite:+--long}; \
	    python3 $(srcdir)/%D%/parity/make_trajectories.py ./trajectory_test \
	        $(srcdir)/networks $(TRAJECTORY_GOLDENS)/trajectories$$suite.json $$long && \
	    python3 $(srcdir)/%D%/parity/make_gan_trajectories.py ./gan_trajectory_test \
	        $(srcdir)/networks $(TRAJECTORY_GOLDENS)/gan$$suite.json $$long || exit 1; \
	done; \
	python3 $(srcdir)/%D%/parity/make_distillation_trajectories.py \
	    ./distillation_trajectory_test $(TRAJECTORY_GOLDENS)/distillation.json
.PHONY: renew-trajectories
# operators: one list of cases, and a harness that runs any kernel on it
check_LIBRARIES += libopharness.a
libopharness_a_SOURCES = \
	%D%/blocked_arrays.h %D%/guarded_memory.c %D%/guarded_memory.h \
	%D%/op_cases.c %D%/op_cases.h \
	%D%/op_harness.c %D%/op_harness.h \
	%D%/op_values.c %D%/op_values.h
OP_TEST_LIBS = libopharness.a libengine.a $(BASE_LIBS)
check_PROGRAMS += gradient_test layer_reader_test ops_test
TESTS += gradient_test layer_reader_test ops_test
check_PROGRAMS += soft_targets_test
TESTS += soft_targets_test
soft_targets_test_SOURCES = %D%/unit/soft_targets_test.c
soft_targets_test_LDADD = $(ENGINE_LIBS)
check_PROGRAMS += loss_scale_test
TESTS += loss_scale_test
loss_scale_test_SOURCES = %D%/unit/loss_scale_test.c %D%/unit/loss_scale_golden.h
loss_scale_test_LDADD = $(ENGINE_LIBS)
EXTRA_DIST += %D%/parity/make_loss_scale.py
gradient_test_SOURCES = %D%/unit/gradient_test.c
gradient_test_LDADD = libopharness.a $(ENGINE_LIBS)
layer_reader_test_SOURCES = %D%/unit/layer_reader_test.c
layer_reader_test_LDADD = libengine.a $(BASE_LIBS)
ops_test_SOURCES = %D%/unit/ops_test.c
ops_test_LDADD = $(OP_TEST_LIBS)
# goldens of the operators: see %D%/parity/make_goldens.py
check_PROGRAMS += op_cases parity_test
TESTS += parity_test
parity_test_SOURCES = %D%/parity/parity_test.c
parity_test_LDADD = libopharness.a $(ENGINE_LIBS)
op_cases_SOURCES = %D%/parity/list_cases.c
op_cases_LDADD = $(OP_TEST_LIBS)
EXTRA_DIST += %D%/parity/make_goldens.py %D%/parity/goldens/ops.safetensors
# devices
check_PROGRAMS += blocked_kernels_test blocked_training_test cpu_kernels_test inference_test
check_PROGRAMS += chains_test kernel_values_test
TESTS += blocked_kernels_test blocked_training_test cpu_kernels_test inference_test
TESTS += chains_test kernel_values_test
chains_test_SOURCES = %D%/unit/chains_test.c
chains_test_LDADD = libopharness.a $(ENGINE_LIBS)
inference_test_SOURCES = %D%/unit/inference_test.c
inference_test_LDADD = libopharness.a $(ENGINE_LIBS)
blocked_kernels_test_SOURCES = %D%/unit/blocked_kernels_test.c %D%/amx_emulator.c %D%/amx_emulator.h
blocked_kernels_test_LDADD = libopharness.a $(ENGINE_LIBS)
blocked_training_test_SOURCES = %D%/unit/blocked_training_test.c %D%/amx_emulator.c %D%/amx_emulator.h
blocked_training_test_LDADD = libopharness.a $(ENGINE_LIBS)
kernel_values_test_SOURCES = %D%/unit/kernel_values_test.c
kernel_values_test_LDADD = libopharness.a $(ENGINE_LIBS)
cpu_kernels_test_SOURCES = %D%/unit/cpu_kernels_test.c
cpu_kernels_test_LDADD = libopharness.a $(ENGINE_LIBS)
# how fast the kernels are: make bench
EXTRA_PROGRAMS = kernels_bench runs_bench
kernels_bench_SOURCES = %D%/bench/kernels_bench.c
kernels_bench_LDADD = libopharness.a $(ENGINE_LIBS)
bench: bench-kernels
bench-kernels: kernels_bench$(EXEEXT)
	./kernels_bench$(EXEEXT) $(FAMILY)
.PHONY: bench-kernels
CLEANFILES += kernels_bench runs_bench

# how fast the list of 2,000 runs opens: make bench-runs
runs_bench_SOURCES = %D%/bench/runs_bench.c
runs_bench_LDADD = $(STUDIES_LIBS)
EXTRA_DIST += %D%/bench/rank_sums.c %D%/bench/runs.sh
bench-runs: tinca$(EXEEXT) runs_bench$(EXEEXT)
	TINCA='$(abs_top_builddir)/tinca' BENCH='$(abs_top_builddir)/runs_bench' \
		$(SHELL) $(srcdir)/%D%/bench/runs.sh
.PHONY: bench-runs
# how fast a run of a million iterations is read: make bench-long-run
EXTRA_DIST += %D%/bench/long_run.py %D%/bench/long_run.sh
bench-long-run: tinca$(EXEEXT) journal_lines$(EXEEXT)
	TINCA='$(abs_top_builddir)/tinca' srcdir='$(srcdir)' \
		$(SHELL) $(srcdir)/%D%/bench/long_run.sh
.PHONY: bench-long-run

# --- tests: session ---
check_PROGRAMS += config_test error_analysis_test export_test finding_test gan_run_test journal_test overfitting_test run_confusion_test run_test series_test
TESTS += config_test error_analysis_test export_test finding_test gan_run_test journal_test overfitting_test run_confusion_test run_test series_test
run_confusion_test_SOURCES = %D%/unit/run_confusion_test.c %D%/confuse.h %D%/unit/session_files.h
run_confusion_test_LDADD = $(STUDIES_LIBS)
check_PROGRAMS += chart_test
TESTS += chart_test
chart_test_SOURCES = %D%/unit/chart_test.c %D%/unit/session_files.h
chart_test_LDADD = $(STUDIES_LIBS)
config_test_SOURCES = %D%/unit/config_test.c %D%/unit/session_files.h
config_test_LDADD = $(STUDIES_LIBS)
export_test_SOURCES = %D%/unit/export_test.c %D%/unit/session_files.h
export_test_LDADD = $(STUDIES_LIBS)
gan_run_test_SOURCES = %D%/unit/gan_run_test.c %D%/unit/session_files.h
gan_run_test_LDADD = $(STUDIES_LIBS)
check_PROGRAMS += follow_test
TESTS += follow_test
follow_test_SOURCES = %D%/unit/follow_test.c %D%/unit/session_files.h
follow_test_LDADD = $(STUDIES_LIBS)
finding_test_SOURCES = %D%/unit/finding_test.c
finding_test_LDADD = $(STUDIES_LIBS)
error_analysis_test_SOURCES = %D%/unit/error_analysis_test.c
error_analysis_test_LDADD = $(STUDIES_LIBS)
overfitting_test_SOURCES = %D%/unit/overfitting_test.c
overfitting_test_LDADD = $(STUDIES_LIBS)
check_PROGRAMS += import_log_test loss_lesson_test
TESTS += import_log_test loss_lesson_test
check_PROGRAMS += import_stream_test event_reader_test
TESTS += import_stream_test event_reader_test
import_stream_test_SOURCES = %D%/unit/import_stream_test.c
import_stream_test_LDADD = $(STUDIES_LIBS)
event_reader_test_SOURCES = %D%/unit/event_reader_test.c
event_reader_test_LDADD = $(STUDIES_LIBS)
import_log_test_SOURCES = %D%/unit/import_log_test.c %D%/unit/session_files.h
import_log_test_LDADD = $(STUDIES_LIBS)
loss_lesson_test_SOURCES = %D%/unit/loss_lesson_test.c
loss_lesson_test_LDADD = $(STUDIES_LIBS)
check_PROGRAMS += inspection_test
TESTS += inspection_test
inspection_test_SOURCES = %D%/unit/inspection_test.c %D%/unit/session_files.h
inspection_test_LDADD = $(STUDIES_LIBS)
journal_test_SOURCES = %D%/unit/journal_test.c %D%/unit/session_files.h
journal_test_LDADD = $(STUDIES_LIBS)
check_PROGRAMS += resume_test
TESTS += resume_test
resume_test_SOURCES = %D%/unit/resume_test.c %D%/unit/session_files.h
resume_test_LDADD = $(STUDIES_LIBS)
check_PROGRAMS += experiment_test
TESTS += experiment_test
experiment_test_SOURCES = %D%/unit/experiment_test.c %D%/unit/session_files.h %D%/unit/stopped_run.h
experiment_test_LDADD = $(STUDIES_LIBS)
check_PROGRAMS += checksum_cache_test
TESTS += checksum_cache_test
checksum_cache_test_SOURCES = %D%/unit/checksum_cache_test.c %D%/unit/session_files.h
checksum_cache_test_LDADD = $(STUDIES_LIBS)
check_PROGRAMS += machine_model_test
TESTS += machine_model_test
machine_model_test_SOURCES = %D%/unit/machine_model_test.c %D%/unit/session_files.h
machine_model_test_LDADD = $(STUDIES_LIBS)
check_PROGRAMS += computed_with_test
TESTS += computed_with_test
computed_with_test_SOURCES = %D%/unit/computed_with_test.c %D%/unit/session_files.h %D%/unit/stopped_run.h
computed_with_test_LDADD = $(STUDIES_LIBS)
check_PROGRAMS += memory_test roofline_test
TESTS += memory_test roofline_test
memory_test_SOURCES = %D%/unit/memory_test.c
memory_test_LDADD = $(STUDIES_LIBS)
roofline_test_SOURCES = %D%/unit/roofline_test.c
roofline_test_LDADD = $(STUDIES_LIBS)
run_test_SOURCES = %D%/unit/run_test.c %D%/unit/session_files.h
run_test_LDADD = $(STUDIES_LIBS)
series_test_SOURCES = %D%/unit/series_test.c
series_test_LDADD = $(STUDIES_LIBS)
check_PROGRAMS += models_test
TESTS += models_test
models_test_SOURCES = %D%/unit/models_test.c
models_test_LDADD = $(STUDIES_LIBS)
check_PROGRAMS += advise_test compare_test measurement_test probe_test study_test sweep_test
TESTS += advise_test compare_test measurement_test probe_test study_test sweep_test
advise_test_SOURCES = %D%/unit/advise_test.c %D%/unit/made_runs.h %D%/unit/session_files.h
advise_test_LDADD = $(STUDIES_LIBS)
compare_test_SOURCES = %D%/unit/compare_test.c %D%/unit/made_runs.h %D%/unit/session_files.h
compare_test_LDADD = $(STUDIES_LIBS)
check_PROGRAMS += sweep_ranks_test
TESTS += sweep_ranks_test
sweep_ranks_test_SOURCES = %D%/unit/sweep_ranks_test.c %D%/unit/session_files.h
sweep_ranks_test_LDADD = $(STUDIES_LIBS)
check_PROGRAMS += compare_figures_test
TESTS += compare_figures_test
compare_figures_test_SOURCES = %D%/unit/compare_figures_test.c %D%/unit/made_runs.h \
	%D%/unit/session_files.h
compare_figures_test_LDADD = $(STUDIES_LIBS)
measurement_test_SOURCES = %D%/unit/measurement_test.c %D%/unit/session_files.h
measurement_test_LDADD = $(STUDIES_LIBS)
probe_test_SOURCES = %D%/unit/probe_test.c %D%/unit/session_files.h
probe_test_LDADD = $(STUDIES_LIBS)
study_test_SOURCES = %D%/unit/study_test.c %D%/unit/session_files.h
study_test_LDADD = $(STUDIES_LIBS)
sweep_test_SOURCES = %D%/unit/sweep_test.c %D%/unit/session_files.h
sweep_test_LDADD = $(STUDIES_LIBS)
check_PROGRAMS += energy_test gpu_meter_test run_energy_test run_filter_test shelf_test
TESTS += energy_test gpu_meter_test run_energy_test run_filter_test shelf_test
run_filter_test_SOURCES = %D%/unit/run_filter_test.c %D%/unit/made_runs.h %D%/unit/session_files.h
run_filter_test_LDADD = $(STUDIES_LIBS)
energy_test_SOURCES = %D%/unit/energy_test.c %D%/powercap_tree.h
energy_test_LDADD = $(STUDIES_LIBS)
check_PROGRAMS += scaling_test
TESTS += scaling_test
scaling_test_SOURCES = %D%/unit/scaling_test.c
scaling_test_LDADD = $(STUDIES_LIBS)
run_energy_test_SOURCES = %D%/unit/run_energy_test.c %D%/powercap_tree.h \
	%D%/unit/session_files.h
run_energy_test_LDADD = $(STUDIES_LIBS)
gpu_meter_test_SOURCES = %D%/unit/gpu_meter_test.c
gpu_meter_test_LDADD = $(STUDIES_LIBS)
shelf_test_SOURCES = %D%/unit/shelf_test.c %D%/unit/made_runs.h %D%/unit/session_files.h
shelf_test_LDADD = $(STUDIES_LIBS)
# stand-ins for NVIDIA's management library
FAKE_NVML = fake_nvml.so fake_nvml_without_count.so fake_nvml_refuses.so fake_nvml_lost.so
check_DATA = $(FAKE_NVML)
CLEANFILES += $(FAKE_NVML)
EXTRA_DIST += %D%/unit/fake_nvml.c
FAKE_NVML_BUILD = $(AM_V_CCLD)$(CC) $(CFLAGS) -shared -fPIC -o $@ $(srcdir)/%D%/unit/fake_nvml.c
fake_nvml.so: %D%/unit/fake_nvml.c
	$(FAKE_NVML_BUILD)
fake_nvml_without_count.so: %D%/unit/fake_nvml.c
	$(FAKE_NVML_BUILD) -DFAKE_WITHOUT_COUNT
fake_nvml_refuses.so: %D%/unit/fake_nvml.c
	$(FAKE_NVML_BUILD) -DFAKE_REFUSES
fake_nvml_lost.so: %D%/unit/fake_nvml.c
	$(FAKE_NVML_BUILD) -DFAKE_LOST
TESTS += %D%/cli/session_schema.sh
EXTRA_DIST += docs/clusters.md docs/performance.md docs/reliability.md docs/results.md docs/pix2pix-shift.png docs/session.schema.json %D%/cli/session_schema.sh

# --- tests: ui ---
# how many networks and plans are built: by the program, and by the form
COUNT_BUILDS = $(AM_LDFLAGS) -Wl,--wrap=plan_build -Wl,--wrap=network_build -Wl,--wrap=network_of_model
check_PROGRAMS += builds_test counted_tinca
TESTS += builds_test
builds_test_SOURCES = %D%/unit/builds_test.c %D%/unit/session_files.h %D%/count_builds.c %D%/count_builds.h
builds_test_LDADD = $(UI_LIBS)
builds_test_LDFLAGS = $(COUNT_BUILDS)
counted_tinca_SOURCES = $(tinca_SOURCES) %D%/count_builds.c %D%/count_builds.h
nodist_counted_tinca_SOURCES = $(nodist_tinca_SOURCES)
counted_tinca_LDADD = $(tinca_LDADD)
counted_tinca_LDFLAGS = $(COUNT_BUILDS)
# ui_fake: the workbench over a session that trains nothing, for tests of the screens
check_PROGRAMS += ui_fake
ui_fake_SOURCES = %D%/ui/ui_fake.c %D%/ui/fake_session.c
ui_fake_LDADD = $(UI_LIBS)
check_PROGRAMS += columns_test completion_test input_test series_colours_test storm_test targets_test
TESTS += columns_test completion_test input_test series_colours_test storm_test targets_test
completion_test_SOURCES = %D%/unit/completion_test.c
completion_test_LDADD = $(UI_LIBS)
input_test_SOURCES = %D%/unit/input_test.c
input_test_LDADD = $(UI_LIBS)
series_colours_test_SOURCES = %D%/unit/series_colours_test.c
series_colours_test_LDADD = $(UI_LIBS)
columns_test_SOURCES = %D%/unit/columns_test.c
columns_test_LDADD = $(UI_LIBS)
storm_test_SOURCES = %D%/ui/storm_test.c %D%/ui/fake_session.c
storm_test_CPPFLAGS = $(AM_CPPFLAGS) -DEVENTS=$(STORM_EVENTS)
storm_test_LDADD = $(UI_LIBS)
if SANITIZED
STORM_EVENTS = 4000
else
STORM_EVENTS = 20000
endif
targets_test_SOURCES = %D%/unit/targets_test.c
targets_test_LDADD = $(UI_LIBS)
check_PROGRAMS += plot_test plot_values_test layout_test form_test sample_view_test compare_view_test graphics_test
TESTS += plot_test plot_values_test layout_test form_test sample_view_test compare_view_test graphics_test
graphics_test_SOURCES = %D%/unit/graphics_test.c
graphics_test_LDADD = $(UI_LIBS)
plot_test_SOURCES = %D%/unit/plot_test.c
plot_test_LDADD = $(UI_LIBS)
plot_values_test_SOURCES = %D%/unit/plot_values_test.c
plot_values_test_LDADD = $(UI_LIBS)
layout_test_SOURCES = %D%/unit/layout_test.c
layout_test_LDADD = $(UI_LIBS)
check_PROGRAMS += preferences_test setup_test
TESTS += preferences_test setup_test
preferences_test_SOURCES = %D%/unit/preferences_test.c
preferences_test_LDADD = $(UI_LIBS)
setup_test_SOURCES = %D%/unit/setup_test.c
setup_test_LDADD = $(UI_LIBS)
form_test_SOURCES = %D%/unit/form_test.c %D%/ui/fake_session.c
form_test_LDADD = $(UI_LIBS)
compare_view_test_SOURCES = %D%/unit/compare_view_test.c %D%/unit/session_files.h \
	%D%/ui/fake_session.c
compare_view_test_LDADD = $(UI_LIBS)
check_PROGRAMS += compare_plots_test
TESTS += compare_plots_test
compare_plots_test_SOURCES = %D%/unit/compare_plots_test.c %D%/unit/made_runs.h \
	%D%/unit/session_files.h
compare_plots_test_LDADD = $(UI_LIBS)
sample_view_test_SOURCES = %D%/unit/sample_view_test.c
sample_view_test_LDADD = $(UI_LIBS)
UI_TESTS = %D%/ui/screens_test.sh %D%/ui/keys_test.sh %D%/ui/terminal_test.sh %D%/ui/signals_test.sh \
	%D%/ui/detach_test.sh %D%/ui/mpi_screen_test.sh %D%/ui/queue_test.sh %D%/ui/figures_test.sh %D%/ui/marks_test.sh \
	%D%/ui/fork_test.sh %D%/ui/attach_test.sh %D%/ui/compare_test.sh \
	%D%/ui/overlays_test.sh %D%/ui/commands_test.sh \
	%D%/ui/slow_files_test.sh \
	%D%/ui/curves_test.sh \
	%D%/ui/plots_test.sh \
	%D%/ui/inside_test.sh \
	%D%/ui/lab_test.sh \
	%D%/ui/language_test.sh \
	%D%/ui/limit_test.sh \
	%D%/ui/mouse_test.sh \
	%D%/ui/completing_test.sh \
	%D%/ui/offers_test.sh %D%/ui/offers_runs_test.sh %D%/ui/offers_try_test.sh \
	%D%/ui/resume_test.sh \
	%D%/ui/runs_test.sh %D%/ui/seeds_test.sh \
	%D%/ui/setup_test.sh %D%/ui/find_rate_test.sh %D%/ui/tables_test.sh \
	%D%/ui/shelf_test.sh %D%/ui/trust_test.sh \
	%D%/ui/study_test.sh \
	%D%/ui/sweep_test.sh %D%/ui/models_test.sh %D%/ui/advisor_other_test.sh \
	%D%/ui/try_test.sh \
	%D%/ui/typing_test.sh \
	%D%/ui/views_test.sh \
	%D%/ui/watch_test.sh \
	%D%/ui/workbench_test.sh
# they begin first, since they wait most of the time
TESTS += $(UI_TESTS)
UI_GOLDENS = \
	%D%/ui/goldens/curves-120x40-C.UTF-8.txt \
	%D%/ui/goldens/curves-120x40-C.txt \
	%D%/ui/goldens/curves-132x43-C.UTF-8.txt \
	%D%/ui/goldens/curves-132x43-C.txt \
	%D%/ui/goldens/curves-200x60-C.UTF-8.txt \
	%D%/ui/goldens/curves-200x60-C.txt \
	%D%/ui/goldens/curves-40x12-C.UTF-8.txt \
	%D%/ui/goldens/curves-40x12-C.txt \
	%D%/ui/goldens/curves-80x24-C.UTF-8.txt \
	%D%/ui/goldens/curves-80x24-C.txt \
	%D%/ui/goldens/form-120x40-C.UTF-8.txt \
	%D%/ui/goldens/form-120x40-C.txt \
	%D%/ui/goldens/form-132x43-C.UTF-8.txt \
	%D%/ui/goldens/form-132x43-C.txt \
	%D%/ui/goldens/form-200x60-C.UTF-8.txt \
	%D%/ui/goldens/form-200x60-C.txt \
	%D%/ui/goldens/form-40x12-C.UTF-8.txt \
	%D%/ui/goldens/form-40x12-C.txt \
	%D%/ui/goldens/form-80x24-C.UTF-8.txt \
	%D%/ui/goldens/form-80x24-C.txt \
	%D%/ui/goldens/help-120x40-C.UTF-8.txt \
	%D%/ui/goldens/help-120x40-C.txt \
	%D%/ui/goldens/help-132x43-C.UTF-8.txt \
	%D%/ui/goldens/help-132x43-C.txt \
	%D%/ui/goldens/help-200x60-C.UTF-8.txt \
	%D%/ui/goldens/help-200x60-C.txt \
	%D%/ui/goldens/help-40x12-C.UTF-8.txt \
	%D%/ui/goldens/help-40x12-C.txt \
	%D%/ui/goldens/help-80x24-C.UTF-8.txt \
	%D%/ui/goldens/help-80x24-C.txt \
	%D%/ui/goldens/menu-120x40-C.UTF-8.txt \
	%D%/ui/goldens/menu-120x40-C.txt \
	%D%/ui/goldens/menu-132x43-C.UTF-8.txt \
	%D%/ui/goldens/menu-132x43-C.txt \
	%D%/ui/goldens/menu-200x60-C.UTF-8.txt \
	%D%/ui/goldens/menu-200x60-C.txt \
	%D%/ui/goldens/menu-40x12-C.UTF-8.txt \
	%D%/ui/goldens/menu-40x12-C.txt \
	%D%/ui/goldens/menu-80x24-C.UTF-8.txt \
	%D%/ui/goldens/menu-80x24-C.txt \
	%D%/ui/goldens/run-120x40-C.UTF-8.txt \
	%D%/ui/goldens/run-120x40-C.txt \
	%D%/ui/goldens/run-132x43-C.UTF-8.txt \
	%D%/ui/goldens/run-132x43-C.txt \
	%D%/ui/goldens/run-200x60-C.UTF-8.txt \
	%D%/ui/goldens/run-200x60-C.txt \
	%D%/ui/goldens/run-40x12-C.UTF-8.txt \
	%D%/ui/goldens/run-40x12-C.txt \
	%D%/ui/goldens/run-80x24-C.UTF-8.txt \
	%D%/ui/goldens/run-80x24-C.txt \
	%D%/ui/goldens/runs-120x40-C.UTF-8.txt \
	%D%/ui/goldens/runs-120x40-C.txt \
	%D%/ui/goldens/runs-132x43-C.UTF-8.txt \
	%D%/ui/goldens/runs-132x43-C.txt \
	%D%/ui/goldens/runs-200x60-C.UTF-8.txt \
	%D%/ui/goldens/runs-200x60-C.txt \
	%D%/ui/goldens/runs-40x12-C.UTF-8.txt \
	%D%/ui/goldens/runs-40x12-C.txt \
	%D%/ui/goldens/runs-80x24-C.UTF-8.txt \
	%D%/ui/goldens/runs-80x24-C.txt \
	%D%/ui/goldens/settings-120x40-C.UTF-8.txt \
	%D%/ui/goldens/settings-120x40-C.txt \
	%D%/ui/goldens/settings-132x43-C.UTF-8.txt \
	%D%/ui/goldens/settings-132x43-C.txt \
	%D%/ui/goldens/settings-200x60-C.UTF-8.txt \
	%D%/ui/goldens/settings-200x60-C.txt \
	%D%/ui/goldens/settings-40x12-C.UTF-8.txt \
	%D%/ui/goldens/settings-40x12-C.txt \
	%D%/ui/goldens/settings-80x24-C.UTF-8.txt \
	%D%/ui/goldens/settings-80x24-C.txt \
	%D%/ui/goldens/table-120x40-C.UTF-8.txt \
	%D%/ui/goldens/table-120x40-C.txt \
	%D%/ui/goldens/table-132x43-C.UTF-8.txt \
	%D%/ui/goldens/table-132x43-C.txt \
	%D%/ui/goldens/table-200x60-C.UTF-8.txt \
	%D%/ui/goldens/table-200x60-C.txt \
	%D%/ui/goldens/table-40x12-C.UTF-8.txt \
	%D%/ui/goldens/table-40x12-C.txt \
	%D%/ui/goldens/table-80x24-C.UTF-8.txt \
	%D%/ui/goldens/table-80x24-C.txt
EXTRA_DIST += $(UI_TESTS) $(UI_GOLDENS) %D%/ui/cast.sh %D%/ui/offers.sh %D%/ui/screen.sh
# the screens as they are now become what screens_test.sh expects
renew-screens: ui_fake$(EXEEXT)
	RENEW=1 srcdir='$(srcdir)' TINCA='$(abs_top_builddir)/tinca' $(SHELL) $(srcdir)/%D%/ui/screens_test.sh
.PHONY: renew-screens
# a session in text, for the README
cast:
	@srcdir='$(srcdir)' TINCA='$(abs_top_builddir)/tinca' $(SHELL) $(srcdir)/%D%/ui/cast.sh
.PHONY: cast

# --- tests: cli ---
# json_look is a tool of the scripts: it reads a value of a JSON document, or refuses the document
check_PROGRAMS += json_look
json_look_SOURCES = %D%/cli/json_look.c
json_look_LDADD = $(BASE_LIBS)
# journal_lines prints a journal as lines of JSON, and writes one of such lines
check_PROGRAMS += journal_lines
journal_lines_SOURCES = %D%/cli/journal_lines.c
journal_lines_LDADD = $(STUDIES_LIBS)
# event_look and npz_look read TensorBoard's event files and NumPy's archives without the program's code
check_PROGRAMS += event_look npz_look
event_look_SOURCES = %D%/cli/event_look.c
npz_look_SOURCES = %D%/cli/npz_look.c
npz_look_LDADD = $(ZLIB_LIBS)
# bounded runs a command and judges the time and the memory that it took
check_PROGRAMS += bounded
bounded_SOURCES = %D%/cli/bounded.c
# make_picture writes pictures of the kinds that tinca only reads; caffe_golden writes weights as Caffe does
check_PROGRAMS += make_picture caffe_golden
caffe_golden_SOURCES = %D%/cli/caffe_golden.c
caffe_golden_LDADD = -lm
make_picture_SOURCES = %D%/cli/make_picture.c %D%/unit/data_files.h
make_picture_LDADD = $(DATA_LIBS)
# hostile_json puts a stranger's text into every string of a JSON document
check_PROGRAMS += hostile_json
hostile_json_SOURCES = %D%/cli/hostile_json.c
# confuse_json puts values of other types into a JSON document
check_PROGRAMS += confuse_json
confuse_json_SOURCES = %D%/cli/confuse_json.c %D%/confuse.h
# damage makes one kind of damage in a file
check_PROGRAMS += damage
damage_SOURCES = %D%/cli/damage.c
damage_LDADD = $(ZLIB_LIBS)
CLI_TESTS = %D%/cli/shared_folder_test.sh %D%/cli/runs_check_test.sh %D%/cli/anywhere_test.sh %D%/cli/attach_test.sh %D%/cli/usage_test.sh %D%/cli/json_test.sh %D%/cli/train_test.sh \
	%D%/cli/forecast_test.sh \
	%D%/cli/limit_test.sh %D%/cli/model_memory_test.sh %D%/cli/output_test.sh \
	%D%/cli/many_layers_test.sh %D%/cli/tune_test.sh %D%/cli/blas_core_test.sh \
	%D%/cli/compare_test.sh %D%/cli/explain_test.sh %D%/cli/import_test.sh %D%/cli/watch_test.sh \
	%D%/cli/builds_test.sh %D%/cli/classes_test.sh %D%/cli/manual_test.sh %D%/cli/training_methods_test.sh %D%/cli/eval_errors_test.sh \
	%D%/cli/fork_test.sh %D%/cli/test_set_test.sh %D%/cli/wait_test.sh %D%/cli/old_runs_test.sh %D%/cli/old_checkpoints_test.sh \
	%D%/cli/runs_records_test.sh %D%/cli/resume_test.sh %D%/cli/roofline_test.sh \
	%D%/cli/shelf_test.sh %D%/cli/weights_test.sh %D%/cli/find_rate_test.sh %D%/cli/prune_test.sh %D%/cli/factorize_test.sh %D%/cli/quantize_test.sh %D%/cli/onnx_test.sh %D%/cli/tensorboard_test.sh %D%/cli/torch_test.sh %D%/cli/caffe_test.sh \
	%D%/cli/completion_test.sh %D%/cli/confusion_test.sh %D%/cli/export_operands_test.sh \
	%D%/cli/augment_test.sh %D%/cli/distillation_test.sh %D%/cli/grid_test.sh %D%/cli/precision_test.sh %D%/cli/int8_test.sh \
	%D%/cli/signals_test.sh %D%/cli/slurm_test.sh %D%/cli/sweep_test.sh %D%/cli/told_test.sh \
	%D%/cli/tutorial_test.sh %D%/cli/operators_test.sh %D%/cli/pixels_test.sh %D%/cli/followed_pixels_test.sh %D%/cli/predict_test.sh %D%/cli/seeds_test.sh \
	%D%/cli/tables_test.sh %D%/cli/models_test.sh %D%/cli/mpi_test.sh %D%/cli/mpi_failures_test.sh %D%/cli/mpi_blocks_test.sh %D%/cli/mpi_cuda_test.sh %D%/cli/cuda_reports_test.sh %D%/cli/configure_test.sh %D%/cli/mpi_overlap_test.sh %D%/cli/mpich_test.sh %D%/cli/mpi_devices_test.sh %D%/cli/mpi_sweep_test.sh %D%/cli/mpi_scaling_test.sh %D%/cli/mpi_validation_test.sh %D%/cli/mpi_methods_test.sh %D%/cli/sweep_after_test.sh %D%/cli/advise_other_test.sh \
	%D%/cli/damaged_journal_test.sh %D%/cli/run_hold_test.sh \
	%D%/check_test.sh %D%/structure_test.sh
TESTS += $(CLI_TESTS)
EXTRA_DIST += %D%/parity/make_torch.py %D%/cli/torch/small.json %D%/cli/torch/image.png \
	%D%/cli/torch/float32.safetensors %D%/cli/torch/float32.logits \
	%D%/cli/torch/float16.safetensors %D%/cli/torch/float16.logits \
	%D%/cli/torch/bf16.safetensors %D%/cli/torch/bf16.logits \
	%D%/cli/torch/option-a.safetensors %D%/cli/torch/option-a.logits
EXTRA_DIST += $(CLI_TESTS) %D%/cli/tap.sh %D%/cli/mpi.sh %D%/cli/keras_events.py %D%/cli/logs/caffe.txt \
	%D%/cli/caffe/net.prototxt %D%/cli/caffe/solver.prototxt \
	%D%/cli/onnx/hostile_files.py %D%/cli/onnx/logits.json %D%/cli/onnx/picture.png \
	%D%/cli/onnx/dynamo.onnx %D%/cli/onnx/torchscript.onnx %D%/parity/make_onnx.py \
	%D%/parity/make_onnx_stored.py %D%/cli/onnx/stored.json %D%/cli/onnx/stored.onnx \
	%D%/parity/make_onnx_softmax.py %D%/cli/onnx/softmax.json %D%/cli/onnx/softmax_9.onnx \
	%D%/cli/onnx/softmax_11.onnx %D%/cli/onnx/softmax_11_columns.onnx %D%/cli/onnx/softmax_11_flat.onnx \
	%D%/cli/onnx/softmax_12_negative.onnx %D%/cli/onnx/softmax_13.onnx \
	%D%/cli/logs/keras.txt %D%/cli/logs/loss_titan_caffe.csv %D%/cli/logs/tensorflow.txt \
	%D%/cli/logs/times_titan_tensorflow.csv \
	%D%/cli/old_runs/2026-11-21-done.run %D%/cli/old_runs/2026-11-21-stopped.run \
	%D%/cli/old_runs/2026-11-23-done.run %D%/cli/old_runs/2026-11-23-imported.run \
	%D%/cli/old_runs/2026-11-23-stopped.run %D%/cli/old_runs/2026-11-25-done.run \
	%D%/cli/old_runs/2026-11-25-imported.run %D%/cli/old_runs/2026-11-25-stopped.run \
	%D%/cli/old_runs/2026-11-30-done.run \
	%D%/cli/old_runs/2026-11-30-imported.run %D%/cli/old_runs/2026-11-30-stopped.run \
	%D%/cli/old_runs/make.sh %D%/cli/old_runs/unpack.awk \
	%D%/cli/old_checkpoints/2026-11-30-adversarial.run %D%/cli/old_checkpoints/2026-11-30-bf16.run \
	%D%/cli/old_checkpoints/2026-11-30-distilled.run %D%/cli/old_checkpoints/2026-11-30-supervised.run \
	%D%/cli/old_checkpoints/make.sh %D%/cli/old_checkpoints/networks.sh %D%/cli/old_checkpoints/sums \
	%D%/cli/old_checkpoints/teacher.base64

# --- tests: library ---
EXTRA_DIST += %D%/library/library_test.sh %D%/library/scores.c
if LIBRARY
check_PROGRAMS += library_test
TESTS += library_test %D%/library/library_test.sh
library_test_SOURCES = %D%/unit/library_test.c %D%/unit/session_files.h
library_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/include
library_test_LDADD = liblibrary.a $(STUDIES_LIBS)
endif

# --- tests: faults ---
# faults.so makes calls of the system fail; sanitizers bring their own allocation, and do not meet it:
# their library only stops runs (%D%/faults/hold.sh)
FAULT_TESTS = %D%/faults/faults_test.sh %D%/faults/torture_test.sh %D%/faults/crash_states_test.sh
TESTS += $(FAULT_TESTS)
EXTRA_DIST += $(FAULT_TESTS) %D%/faults/faults.c %D%/faults/record.c %D%/faults/record.h \
	%D%/faults/commands.py %D%/faults/commands_faults.py %D%/faults/commands_faults_test.sh \
	%D%/faults/crash_states.py %D%/journal_lines.py %D%/faults/disk.py %D%/faults/same_run.sh %D%/faults/hold.sh \
	%D%/cli/control_group.sh
if SANITIZED
FAULTS_LIBRARY = faults_without_memory.so
else
FAULTS_LIBRARY = faults.so
endif
check_DATA += $(FAULTS_LIBRARY)
CLEANFILES += faults.so faults_without_memory.so
FAULTS_COMMAND = $(CC) $(CFLAGS) -D_GNU_SOURCE -shared -fPIC -o $@ $(srcdir)/%D%/faults/faults.c \
	$(srcdir)/%D%/faults/record.c -ldl
faults.so: %D%/faults/faults.c %D%/faults/record.c %D%/faults/record.h
	$(AM_V_CCLD)$(FAULTS_COMMAND)
faults_without_memory.so: %D%/faults/faults.c %D%/faults/record.c %D%/faults/record.h
	$(AM_V_CCLD)$(FAULTS_COMMAND) -DWITHOUT_MEMORY

# --- tests: cuda ---
# on a real GPU; skipped where there is none
check_PROGRAMS += cuda_device_test cuda_training_test
TESTS += cuda_device_test cuda_training_test
cuda_device_test_SOURCES = %D%/cuda/cuda_device_test.c %D%/cuda/budget.h %D%/choose_tests.h
cuda_device_test_LDADD = libopharness.a $(ENGINE_LIBS)
cuda_training_test_SOURCES = %D%/cuda/cuda_training_test.c %D%/cuda/budget.h %D%/cuda/lab.h %D%/choose_tests.h
cuda_training_test_LDADD = $(ENGINE_LIBS)
# the device's own sources, compiled as plain C++ with an emulator in place of CUDA's headers
if EMULATED_CUDA
CUDA_EMULATED_OBJECTS = $(CUDA_FILES:.cu=.emulated.o)
EMULATOR_CPPFLAGS = -DHAVE_CUDNN=1 -DHAVE_NCCL=1 -I$(srcdir)/%D%/cuda/emulator $(AM_CPPFLAGS)
# -Wno-psabi: GCC 4.6 passed arguments that are aligned to 64 bytes, as a CUtensorMap is, otherwise
$(CUDA_EMULATED_OBJECTS): %.emulated.o: %.cu
	$(AM_V_CXX)$(MKDIR_P) $(@D) && $(CXX) -x c++ $(DEFS) -I. $(EMULATOR_CPPFLAGS) $(CPPFLAGS) \
	    $(TINCA_CXXFLAGS) -Wno-psabi $(CXXFLAGS) -MD -MP -MF $(@:.o=.d) -c $< -o $@
-include $(CUDA_EMULATED_OBJECTS:.o=.d)
CLEANFILES += $(CUDA_EMULATED_OBJECTS) $(CUDA_EMULATED_OBJECTS:.o=.d)
check_LIBRARIES += libcudaemulator.a
libcudaemulator_a_SOURCES = \
	%D%/cuda/emulated_device.cpp %D%/cuda/emulated_device.h \
	%D%/cuda/emulator/blocks.cpp %D%/cuda/emulator/cublas.cpp \
	%D%/cuda/emulator/cublas_v2.h %D%/cuda/emulator/cuda.h %D%/cuda/emulator/cuda_runtime.h \
	%D%/cuda/emulator/cudnn.cpp %D%/cuda/emulator/cudnn.h \
	%D%/cuda/emulator/emulated_mma.h %D%/cuda/emulator/emulated_wgmma.h \
	%D%/cuda/emulator/mma.cpp %D%/cuda/emulator/wgmma.cpp \
	%D%/cuda/emulator/nccl.cpp %D%/cuda/emulator/nccl.h \
	%D%/cuda/emulator/nccl_processes.cpp %D%/cuda/emulator/nccl_processes.h \
	%D%/cuda/emulator/libraries.cpp %D%/cuda/emulator/libraries.h \
	%D%/cuda/emulator/runtime.cpp %D%/cuda/emulator/streams.cpp
libcudaemulator_a_CPPFLAGS = $(EMULATOR_CPPFLAGS)
libcudaemulator_a_CXXFLAGS = $(TINCA_CXXFLAGS)
libcudaemulator_a_LIBADD = $(CUDA_EMULATED_OBJECTS)
libcudaemulator_a_DEPENDENCIES = $(CUDA_EMULATED_OBJECTS)
CUDA_TEST_LIBS = libopharness.a libcudaemulator.a $(ENGINE_LIBS)
check_PROGRAMS += cuda_cudnn_test cuda_finish_test cuda_kernels_test cuda_layouts_test cuda_networks_test cuda_tensor_test
TESTS += cuda_cudnn_test cuda_finish_test cuda_kernels_test cuda_layouts_test cuda_networks_test cuda_tensor_test
cuda_cudnn_test_SOURCES = %D%/cuda/cuda_cudnn_test.c %D%/cuda/emulated_module.h %D%/cuda/lab.h
cuda_cudnn_test_LDADD = libcudaemulator.a $(ENGINE_LIBS)
nodist_EXTRA_cuda_cudnn_test_SOURCES = %D%/cuda/link.cpp
cuda_layouts_test_SOURCES = %D%/cuda/cuda_layouts_test.c %D%/cuda/emulated_module.h %D%/cuda/lab.h
cuda_layouts_test_LDADD = libcudaemulator.a $(ENGINE_LIBS)
cuda_finish_test_SOURCES = %D%/cuda/cuda_finish_test.c
cuda_finish_test_LDADD = $(CUDA_TEST_LIBS)
cuda_kernels_test_SOURCES = %D%/cuda/cuda_kernels_test.c
cuda_kernels_test_LDADD = $(CUDA_TEST_LIBS)
cuda_networks_test_SOURCES = %D%/cuda/cuda_networks_test.c
cuda_networks_test_LDADD = $(CUDA_TEST_LIBS)
cuda_tensor_test_SOURCES = %D%/cuda/cuda_tensor_test.c
cuda_tensor_test_LDADD = $(CUDA_TEST_LIBS)
check_PROGRAMS += cuda_wgmma_test
TESTS += cuda_wgmma_test
cuda_wgmma_test_SOURCES = %D%/cuda/cuda_wgmma_test.c %D%/cuda/wgmma_products.cpp \
	%D%/cuda/wgmma_products.h
cuda_wgmma_test_CPPFLAGS = $(EMULATOR_CPPFLAGS)
cuda_wgmma_test_CXXFLAGS = $(TINCA_CXXFLAGS)
cuda_wgmma_test_LDADD = $(CUDA_TEST_LIBS)
# the tests for real GPUs, on the emulated one
check_PROGRAMS += cuda_device_emulated_test cuda_training_emulated_test
TESTS += cuda_device_emulated_test cuda_training_emulated_test
cuda_training_emulated_test_SOURCES = %D%/cuda/cuda_training_test.c %D%/cuda/emulated_module.h \
	%D%/cuda/lab.h %D%/choose_tests.h
cuda_training_emulated_test_CPPFLAGS = $(AM_CPPFLAGS) -DEMULATED
cuda_training_emulated_test_LDADD = libcudaemulator.a $(ENGINE_LIBS)
nodist_EXTRA_cuda_training_emulated_test_SOURCES = %D%/cuda/link.cpp
cuda_device_emulated_test_SOURCES = %D%/cuda/cuda_device_test.c %D%/cuda/emulated_module.h
cuda_device_emulated_test_CPPFLAGS = $(AM_CPPFLAGS) -DEMULATED
cuda_device_emulated_test_LDADD = $(CUDA_TEST_LIBS)
nodist_EXTRA_cuda_device_emulated_test_SOURCES = %D%/cuda/link.cpp
# tinca on emulated GPUs, for tests of several processes
check_PROGRAMS += tinca_emulated
tinca_emulated_SOURCES = $(tinca_SOURCES) %D%/cuda/emulated_tinca.c %D%/cuda/emulated_module.h
nodist_tinca_emulated_SOURCES = $(nodist_tinca_SOURCES)
nodist_EXTRA_tinca_emulated_SOURCES = %D%/cuda/link.cpp
tinca_emulated_LDADD = libcudaemulator.a $(UI_LIBS)
check_PROGRAMS += cuda_batches_test cuda_execution_test cuda_fallback_test cuda_group_test cuda_run_test
TESTS += cuda_batches_test cuda_execution_test cuda_fallback_test cuda_group_test cuda_run_test
cuda_batches_test_SOURCES = %D%/cuda/cuda_batches_test.c %D%/cuda/emulated_module.h \
	%D%/cuda/lab.h %D%/unit/session_files.h
cuda_batches_test_LDADD = $(STUDIES_ARCHIVES) libcudaemulator.a $(STUDIES_LIBS)
nodist_EXTRA_cuda_batches_test_SOURCES = %D%/cuda/link.cpp
check_PROGRAMS += cuda_autotune_test
TESTS += cuda_autotune_test
cuda_autotune_test_SOURCES = %D%/cuda/cuda_autotune_test.c %D%/cuda/emulated_module.h \
	%D%/cuda/lab.h
cuda_autotune_test_LDADD = $(STUDIES_ARCHIVES) libcudaemulator.a $(STUDIES_LIBS)
nodist_EXTRA_cuda_autotune_test_SOURCES = %D%/cuda/link.cpp
check_PROGRAMS += cuda_timing_test
TESTS += cuda_timing_test
cuda_timing_test_SOURCES = %D%/cuda/cuda_timing_test.c %D%/cuda/emulated_module.h \
	%D%/cuda/lab.h %D%/unit/session_files.h
cuda_timing_test_LDADD = $(STUDIES_ARCHIVES) libcudaemulator.a $(STUDIES_LIBS)
nodist_EXTRA_cuda_timing_test_SOURCES = %D%/cuda/link.cpp
check_PROGRAMS += cuda_methods_test
TESTS += cuda_methods_test
cuda_methods_test_SOURCES = %D%/cuda/cuda_methods_test.c %D%/cuda/emulated_module.h \
	%D%/cuda/lab.h %D%/cuda/lacking.h
cuda_methods_test_LDADD = libcudaemulator.a $(ENGINE_LIBS)
nodist_EXTRA_cuda_methods_test_SOURCES = %D%/cuda/link.cpp
cuda_fallback_test_SOURCES = %D%/cuda/cuda_fallback_test.c %D%/cuda/emulated_module.h \
	%D%/cuda/lab.h %D%/cuda/lacking.h
cuda_fallback_test_LDADD = libcudaemulator.a $(ENGINE_LIBS)
cuda_execution_test_SOURCES = %D%/cuda/cuda_execution_test.c %D%/cuda/emulated_module.h %D%/cuda/lab.h
cuda_execution_test_LDADD = libcudaemulator.a $(ENGINE_LIBS)
cuda_group_test_SOURCES = %D%/cuda/cuda_group_test.c %D%/cuda/emulated_module.h %D%/cuda/lab.h
cuda_group_test_LDADD = libcudaemulator.a $(ENGINE_LIBS)
cuda_run_test_SOURCES = %D%/cuda/cuda_run_test.c %D%/cuda/emulated_module.h \
	%D%/unit/session_files.h
cuda_run_test_LDADD = $(STUDIES_ARCHIVES) libcudaemulator.a $(STUDIES_LIBS)
if LIBRARY
check_PROGRAMS += cuda_library_test
TESTS += cuda_library_test
cuda_library_test_SOURCES = %D%/cuda/cuda_library_test.c %D%/cuda/emulated_module.h \
	%D%/unit/session_files.h
cuda_library_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/include
cuda_library_test_LDADD = liblibrary.a libcudaemulator.a $(STUDIES_LIBS)
nodist_EXTRA_cuda_library_test_SOURCES = %D%/cuda/link.cpp
endif
# no such file: it makes the C++ compiler link
nodist_EXTRA_cuda_execution_test_SOURCES = %D%/cuda/link.cpp
nodist_EXTRA_cuda_fallback_test_SOURCES = %D%/cuda/link.cpp
nodist_EXTRA_cuda_group_test_SOURCES = %D%/cuda/link.cpp
nodist_EXTRA_cuda_run_test_SOURCES = %D%/cuda/link.cpp
nodist_EXTRA_cuda_finish_test_SOURCES = %D%/cuda/link.cpp
nodist_EXTRA_cuda_kernels_test_SOURCES = %D%/cuda/link.cpp
nodist_EXTRA_cuda_networks_test_SOURCES = %D%/cuda/link.cpp
nodist_EXTRA_cuda_layouts_test_SOURCES = %D%/cuda/link.cpp
nodist_EXTRA_cuda_tensor_test_SOURCES = %D%/cuda/link.cpp
endif

# the module's loader, with stand-ins for the module
FAKE_MODULES = fake_module_old.so fake_module_version.so fake_module_nothing.so fake_module_other.so
check_DATA += $(FAKE_MODULES)
CLEANFILES += $(FAKE_MODULES)
EXTRA_DIST += %D%/cuda/fake_module.c
$(FAKE_MODULES): src/engine/devices/cuda/module.h src/engine/devices/device_backend.h src/engine/devices/device.h
FAKE_MODULE_BUILD = $(AM_V_CCLD)$(CC) $(CFLAGS) -I$(srcdir)/src -shared -fPIC -o $@ \
	$(srcdir)/%D%/cuda/fake_module.c
fake_module_old.so: %D%/cuda/fake_module.c
	$(FAKE_MODULE_BUILD) -DFAKE_OLD
fake_module_version.so: %D%/cuda/fake_module.c
	$(FAKE_MODULE_BUILD) -DFAKE_VERSION
fake_module_nothing.so: %D%/cuda/fake_module.c
	$(FAKE_MODULE_BUILD) -DFAKE_NOTHING
fake_module_other.so: %D%/cuda/fake_module.c
	$(FAKE_MODULE_BUILD) -DFAKE_OTHER
check_PROGRAMS += cuda_module_test
TESTS += cuda_module_test
cuda_module_test_SOURCES = %D%/cuda/cuda_module_test.c
cuda_module_test_LDADD = $(ENGINE_LIBS)

# --- tests: hostile input ---
# fuzz_replay feeds seeds and old findings to the parsers; fuzz_test.sh, of check-long, builds and
# runs the fuzzers where clang can, in fuzz/ of the build tree
check_PROGRAMS += fuzz_replay fuzz_seeds hostile_test
fuzz_replay_SOURCES = %D%/fuzz/arrays.c %D%/fuzz/caffe.c %D%/fuzz/checkpoint.c %D%/fuzz/cifar.c %D%/fuzz/events.c %D%/fuzz/fuzz.h \
	%D%/fuzz/gz.c %D%/fuzz/idx.c \
	%D%/fuzz/jpeg.c %D%/fuzz/log.c %D%/fuzz/mapping.c %D%/fuzz/network.c %D%/fuzz/onnx.c %D%/fuzz/picture.c %D%/fuzz/picture.h \
	%D%/fuzz/png.c %D%/fuzz/preferences.c %D%/fuzz/replay.c %D%/fuzz/safetensors.c \
	%D%/fuzz/scratch.c \
	%D%/fuzz/session.c %D%/fuzz/source.c %D%/fuzz/source.h %D%/fuzz/sweep.c
fuzz_replay_LDADD = $(UI_LIBS)
fuzz_seeds_SOURCES = %D%/fuzz/checkpoint.c %D%/fuzz/fuzz.h %D%/fuzz/scratch.c %D%/fuzz/seeds.c
fuzz_seeds_LDADD = $(STUDIES_LIBS)
hostile_test_SOURCES = %D%/unit/hostile_test.c %D%/unit/session_files.h
hostile_test_LDADD = $(STUDIES_LIBS)
HOSTILE_TESTS = %D%/fuzz/replay_test.sh %D%/cli/hostile_test.sh \
	%D%/cli/hostile_runs_test.sh %D%/cli/special_files_test.sh \
	%D%/ui/hostile_screens_test.sh %D%/ui/special_files_test.sh
TESTS += hostile_test $(HOSTILE_TESTS)
EXTRA_DIST += $(HOSTILE_TESTS) %D%/fuzz/fuzz_test.sh %D%/cli/hostile_text.sh %D%/ui/hostile_screen.sh %D%/fuzz/build.mk %D%/fuzz/found %D%/fuzz/libfuzzer.c
clean-local:
	rm -rf fuzz

# --- lint ---
# what cppcheck and clang-tidy say, as far as they are here; .clang-tidy and %D%/cppcheck.txt
# tell which of their rules are ours, and why the others are not
lint: $(BUILT_SOURCES)
	@srcdir='$(srcdir)' CPPFLAGS='$(AM_CPPFLAGS)' $(SHELL) $(srcdir)/%D%/lint.sh
.PHONY: lint
EXTRA_DIST += .clang-tidy %D%/cppcheck.txt %D%/lint.sh

# --- other ways to test ---
# check-unit: the compiled tests alone; check-threads: those where threads meet (for --enable-tsan);
# check-long: real data, up to hours; bench: what this machine makes of each kernel and network, with
# FAMILY=conv (a family or a part of names) of these kernels alone
if LIBRARY
LIBRARY_THREADS = library_test$(EXEEXT)
endif
THREAD_TESTS = inspection_test$(EXEEXT) chains_test$(EXEEXT) storm_test$(EXEEXT) $(LIBRARY_THREADS) \
	resume_test$(EXEEXT) data_loader_test$(EXEEXT) run_test$(EXEEXT) cluster_messages_test$(EXEEXT) \
	cluster_sums_test$(EXEEXT) pool_test$(EXEEXT) series_test$(EXEEXT) setup_test$(EXEEXT) probe_test$(EXEEXT) measurement_test$(EXEEXT)
LONG_TESTS = %D%/long/whole_lists_long.sh %D%/long/accuracy_long.sh %D%/long/trajectories_long.sh \
	%D%/long/gan_trajectories_long.sh %D%/long/kernels_long.sh %D%/long/storm_long.sh \
	%D%/long/commands_faults_long.sh %D%/long/faults_long.sh %D%/long/torture_long.sh %D%/long/crash_states_long.sh %D%/long/confusion_long.sh \
	%D%/long/fuzz_long.sh %D%/long/valgrind_long.sh \
	%D%/long/cuda_device_long.sh \
	%D%/long/load_long.sh %D%/long/research_long.sh %D%/long/fresh_machine.sh %D%/long/prune_long.sh %D%/long/after_long.sh %D%/long/find_rate_long.sh %D%/long/turns_long.sh %D%/long/onnx_long.sh %D%/long/onnx_top1_long.sh %D%/long/tensorboard_long.sh %D%/long/tensorboard_server_long.sh %D%/long/torch_long.sh %D%/long/caffe_long.sh %D%/long/hosts_long.sh %D%/long/ranks_torture_long.sh %D%/long/mpi_long.sh %D%/long/watch_long.sh %D%/long/portability_long.sh %D%/long/reproducible_long.sh %D%/long/packages_long.sh %D%/long/container_long.sh
EXTRA_DIST += $(LONG_TESTS) %D%/long/link_relay.c %D%/long/caffe_check.py %D%/long/onnx_check.py %D%/long/onnx_top1.py %D%/long/tensorboard_check.py %D%/long/tensorboard_server_check.py %D%/long/torch_check.py %D%/long/research_check.py %D%/long/distillation_trial.sh %D%/bench/networks.sh %D%/check.sh %D%/long/watch_trainers.py %D%/long/watch_check.py
# whole networks on plain loops take a sanitizer half an hour; their operators are tested by themselves,
# those of the emulated GPU by cuda_kernels_test
# neither of the next two builds the program, which their tests do not run
if SANITIZED
TOO_SLOW = trajectory_test$(EXEEXT) cuda_device_emulated_test$(EXEEXT)
endif
# The longest begin first, so that none of them is left alone at the end.
LONGEST = chains_test$(EXEEXT) inference_test$(EXEEXT) inspection_test$(EXEEXT) roofline_test$(EXEEXT) \
	library_test$(EXEEXT) storm_test$(EXEEXT) resume_test$(EXEEXT) cuda_batches_test$(EXEEXT) \
	cuda_finish_test$(EXEEXT) cuda_group_test$(EXEEXT) cuda_kernels_test$(EXEEXT) cuda_layouts_test$(EXEEXT) \
	cuda_run_test$(EXEEXT) cuda_tensor_test$(EXEEXT) cuda_training_emulated_test$(EXEEXT)
UNIT_TESTS = $(filter-out %.sh $(TOO_SLOW),$(TESTS))
check-unit: $(BUILT_SOURCES)
	$(MAKE) $(AM_MAKEFLAGS) $(chart_PROGRAMS) check-TESTS check_LIBRARIES= check_PROGRAMS='$(UNIT_TESTS)' \
		TESTS='$(filter $(LONGEST),$(UNIT_TESTS)) $(filter-out $(LONGEST),$(UNIT_TESTS))'
# check-named: the tests in NAMED; of the programs these, and those that scripts run
check-named:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(NAMED)' check_LIBRARIES= \
		check_PROGRAMS='$(filter-out %.sh,$(NAMED)) $(filter-out $(TESTS),$(check_PROGRAMS))'
check-threads: $(BUILT_SOURCES)
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS check_LIBRARIES= check_DATA= check_PROGRAMS='$(THREAD_TESTS)' TESTS='$(THREAD_TESTS)'
# check-package: what a package runs when it is built: half a minute, no network is trained for long
PACKAGE_TESTS = text_test$(EXEEXT) json_test$(EXEEXT) file_test$(EXEEXT) random_test$(EXEEXT) float16_test$(EXEEXT) \
	image_test$(EXEEXT) network_test$(EXEEXT) plan_test$(EXEEXT) %D%/cli/usage_test.sh \
	%D%/cli/completion_test.sh %D%/cli/export_operands_test.sh
check-package: all
	$(MAKE) $(AM_MAKEFLAGS) check check_LIBRARIES= check_DATA= TESTS='$(PACKAGE_TESTS)' \
		check_PROGRAMS='$(filter-out %.sh,$(PACKAGE_TESTS)) json_look$(EXEEXT)'
# the programs that the long tests run
long_test_programs = json_look$(EXEEXT) make_picture$(EXEEXT) trajectory_test$(EXEEXT) \
	blocked_kernels_test$(EXEEXT) blocked_training_test$(EXEEXT) chains_test$(EXEEXT) \
	gan_trajectory_test$(EXEEXT) storm_test$(EXEEXT) cpu_kernels_test$(EXEEXT) fuzz_seeds$(EXEEXT) \
	cuda_device_test$(EXEEXT)
LONG_TESTS += %D%/long/aarch64_long.sh %D%/long/signals_long.sh %D%/long/sweep_ends_long.sh
check-long: all
	$(MAKE) $(AM_MAKEFLAGS) check check_PROGRAMS='$(long_test_programs)' TESTS='$(LONG_TESTS)'
bench: all
	test -n '$(FAMILY)' || TINCA='$(abs_top_builddir)/tinca' $(SHELL) $(srcdir)/%D%/bench/networks.sh
# bench-terminal: how long a key takes to reach the screen while a run computes on all cores
EXTRA_PROGRAMS += key_latency
key_latency_SOURCES = %D%/bench/key_latency.c
key_latency_LDADD = libbase.a
CLEANFILES += key_latency
EXTRA_DIST += %D%/bench/terminal.sh
bench-terminal: all key_latency$(EXEEXT)
	TINCA='$(abs_top_builddir)/tinca' $(SHELL) $(srcdir)/%D%/bench/terminal.sh
.PHONY: check-package check-unit check-named check-threads check-long bench bench-terminal

# --- how tests run ---
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_COMPILER = $(SHELL)
TEST_EXTENSIONS = .sh
# an allocation too large to be true must come back as NULL under AddressSanitizer, too
AM_TESTS_ENVIRONMENT = srcdir='$(srcdir)'; export srcdir; TINCA='$(abs_top_builddir)/tinca'; export TINCA; \
	XDG_CACHE_HOME=/dev/null; export XDG_CACHE_HOME; OPENBLAS_THREAD_TIMEOUT=4; export OPENBLAS_THREAD_TIMEOUT; \
	ASAN_OPTIONS=allocator_may_return_null=1:$$ASAN_OPTIONS; export ASAN_OPTIONS; \
	LSAN_OPTIONS=suppressions='$(abs_top_srcdir)/%D%/leaks.txt':print_suppressions=0:$$LSAN_OPTIONS; export LSAN_OPTIONS;
EXTRA_DIST += %D%/leaks.txt %D%/instruction_sets.h %D%/random_fill.h %D%/sample.h %D%/sanitized.h %D%/tap.h
