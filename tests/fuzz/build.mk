# Builds the fuzzers with clang: make -f tests/fuzz/build.mk SOURCE=.. KERNELS=DIRECTORY [OPTIMIZE=-O0], in an empty
# folder. KERNELS is an ordinary build tree. The kernels, which parse nothing, come from there, as do
# config.h and the texts of the networks. The modules that draw charts and that talk to MPI are left out, and
# so are the folders in UNREACHED and the files in UNREACHED_FILES, from which no parser needs anything: if one
# comes to need them, the linker says so. (A map of fuzz_replay, -Wl,-Map=FILE, names what is needed.)
CLANG = clang
TARGETS = network session safetensors idx cifar png jpeg gz log checkpoint preferences sweep \
	npy npz list onnx mapping prototxt caffemodel events
CHECKS = undefined,float-cast-overflow,integer-divide-by-zero
SANITIZE = -fsanitize=address,$(CHECKS) -fno-sanitize-recover=$(CHECKS)
OPTIMIZE = -O1
FLAGS := -std=c11 $(OPTIMIZE) -g -fno-omit-frame-pointer -ffp-contract=off -D_GNU_SOURCE \
	-DLOCALEDIR='"/nowhere"' -DPKGLIBDIR='"/nowhere"' \
	-I$(SOURCE)/src -I$(SOURCE)/tests -I$(SOURCE)/tests/fuzz -I$(KERNELS) \
	$(shell pkg-config --cflags libcjson libpng libjpeg zlib openblas ncursesw)
LIBRARIES = $(wildcard $(KERNELS)/libkernels_*.a)
LIBS := $(shell pkg-config --libs libcjson libpng libjpeg zlib openblas ncursesw) -lpthread -ldl -lm

# ONNX and Caffe's weights are there if the build tree has them, and so are TensorBoard's event files
ifneq ($(wildcard $(KERNELS)/onnx.pb-c.c),)
FLAGS += $(shell pkg-config --cflags libprotobuf-c)
LIBS += $(shell pkg-config --libs libprotobuf-c)
LEFT_OUT = %/onnx_absent.c %/caffe_binary_absent.c
else
LEFT_OUT = $(filter-out %/onnx_absent.c %/onnx_detect.c %/onnx_record.c,\
	$(wildcard $(SOURCE)/src/session/onnx/*.c)) %/caffe_binary.c %/caffe_binary_write.c
endif

ifneq ($(wildcard $(KERNELS)/events.pb-c.c),)
FLAGS += $(shell pkg-config --cflags libprotobuf-c)
LIBS += $(shell pkg-config --libs libprotobuf-c)
LEFT_OUT += %/tensorboard_absent.c
else
LEFT_OUT += $(filter-out %/tensorboard_absent.c %/event_detect.c,\
	$(wildcard $(SOURCE)/src/session/tensorboard/*.c))
endif

UNREACHED = engine/compress session/check session/compare session/export session/find_rate \
	session/history session/inspect session/seeds session/tables session/torch session/watch
# the same of single files in folders from which something is needed
UNREACHED_FILES = engine/execution/numerics session/caffe/caffe_export session/compress/factorize_model \
	session/compress/fine_tune session/compress/prune session/compress/prune_magnitude \
	session/compress/prune_state session/compress/prune_step session/compress/quantize_layers \
	session/compress/quantize_model session/compress/quantize_sample session/config/lr_preview \
	session/config/train_command session/measure/compare_files session/model/error_analysis \
	session/model/model_output session/model/predict_rows session/model/predictions_file \
	session/model/predictor session/models/means_apply session/models/means_requirements \
	session/models/means_techniques session/models/model_comparison session/models/model_list \
	session/models/model_measure session/models/model_table session/models/model_table_text \
	session/models/other_means session/models/technique_apply session/onnx/onnx_export \
	session/onnx/onnx_export_weights session/onnx/onnx_export_windows session/record/resume \
	session/study/study_pictures session/study/study_pictures_run session/sweep/sweep_after_table \
	session/sweep/sweep_disk session/sweep/sweep_estimate session/sweep/sweep_json session/sweep/sweep_order \
	session/sweep/sweep_process session/sweep/sweep_rank session/sweep/sweep_step session/sweep/sweep_table \
	session/sweep/sweep_token session/tensorboard/tensorboard_export session/training/fork \
	session/training/run_start
FOLDERS = src/base src/data src/engine src/session tests/fuzz
FILES = $(filter-out %/replay.c %/seeds.c %/libfuzzer.c %/canvas_cairo.c %/cluster_mpi.c \
	$(SOURCE)/src/engine/devices/cpu/% $(LEFT_OUT) $(UNREACHED:%=$(SOURCE)/src/%/%) \
	$(UNREACHED_FILES:%=$(SOURCE)/src/%.c),\
	$(foreach folder,$(FOLDERS),$(shell find $(SOURCE)/$(folder) -name '*.c'))) \
	$(addprefix $(SOURCE)/,src/ui/shared/preferences.c src/ui/plot/smoothing.c src/ui/terminal/theme.c \
	src/ui/terminal/glyphs.c src/session/history/run_trash.c) \
	$(addprefix $(SOURCE)/src/engine/devices/cpu/,cpu.c measure_machine.c)
PARSERS = $(FILES:$(SOURCE)/%.c=%.o)
GENERATED = network_builtins.o names_builtins.o $(patsubst $(KERNELS)/%.c,%.o,$(wildcard $(KERNELS)/*.pb-c.c))
OBJECTS = $(PARSERS) $(GENERATED)

all: $(TARGETS:%=fuzz_%)
fuzz_%: libtinca.a $(SOURCE)/tests/fuzz/libfuzzer.c $(LIBRARIES)
	$(CLANG) $(FLAGS) $(SANITIZE) -fsanitize=fuzzer -DTARGET=$@ -o $@ \
		$(SOURCE)/tests/fuzz/libfuzzer.c libtinca.a $(LIBRARIES) libtinca.a $(LIBS)
libtinca.a: $(OBJECTS)
	rm -f $@ && ar rc $@ $(OBJECTS)
# with another OPTIMIZE everything is compiled again
$(OBJECTS): optimize
optimize: FORCE
	@echo $(OPTIMIZE) | cmp -s - $@ || echo $(OPTIMIZE) >$@
FORCE:
$(PARSERS): %.o: $(SOURCE)/%.c
	@mkdir -p $(@D)
	$(CLANG) $(FLAGS) $(SANITIZE) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<
$(GENERATED): %.o: $(KERNELS)/%.c
	$(CLANG) $(FLAGS) $(SANITIZE) -MMD -c -o $@ $<
-include $(OBJECTS:.o=.d)
