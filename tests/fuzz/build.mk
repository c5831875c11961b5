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
LEFT_OUT = $(filter-out %/onnx_absent.c,\
	$(wildcard $(SOURCE)/src/exchange/onnx/*.c)) %/caffe_binary.c
endif

ifneq ($(wildcard $(KERNELS)/events.pb-c.c),)
FLAGS += $(shell pkg-config --cflags libprotobuf-c)
LIBS += $(shell pkg-config --libs libprotobuf-c)
LEFT_OUT += %/tensorboard_absent.c
else
LEFT_OUT += $(filter-out %_absent.c,\
	$(wildcard $(SOURCE)/src/*/tensorboard/*.c)) %/training/tensorboard.c
endif

UNREACHED = engine/compress exchange/export exchange/torch exchange/watch runs/history studies/compare \
	studies/models studies/tables training/check training/inspect
# the same of single files in folders from which something is needed
UNREACHED_FILES = engine/execution/numerics exchange/caffe/caffe_export exchange/onnx/onnx_export \
	exchange/export_job exchange/format_describe exchange/formats exchange/frame/exporter \
	exchange/tensorboard/tensorboard_export models/list/model_list models/list/model_measure \
	models/saved/error_analysis models/saved/model_output models/saved/predict_rows \
	models/saved/predictions_file models/saved/predictor runs/record/resume runs/settings/lr_preview \
	runs/settings/train_command studies/pictures/study_pictures studies/pictures/study_pictures_run \
	studies/sweep/sweep_estimate studies/sweep/sweep_json studies/sweep/sweep_process studies/sweep/sweep_rank \
	studies/sweep/sweep_step studies/sweep/sweep_table training/compress/factorize_model training/compress/fine_tune \
	training/compress/prune training/compress/prune_magnitude training/compress/prune_state \
	training/compress/quantize_model \
	training/compress/quantize_sample training/compress/technique_apply training/find_rate training/fork \
	training/run_start
FOLDERS = src/base src/data src/engine src/runs src/models src/training src/exchange src/studies tests/fuzz
FILES = $(filter-out %/replay.c %/seeds.c %/libfuzzer.c %/canvas_cairo.c %/cluster_mpi.c \
	$(SOURCE)/src/engine/devices/cpu/% $(LEFT_OUT) $(UNREACHED:%=$(SOURCE)/src/%/%) \
	$(UNREACHED_FILES:%=$(SOURCE)/src/%.c),\
	$(foreach folder,$(FOLDERS),$(shell find $(SOURCE)/$(folder) -name '*.c'))) \
	$(addprefix $(SOURCE)/,src/ui/shared/preferences.c src/ui/plot/trace.c src/ui/terminal/theme.c \
	src/runs/history/run_trash.c) \
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
