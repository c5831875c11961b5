# Builds the fuzzers with clang: make -f tests/fuzz/build.mk SOURCE=.. KERNELS=DIRECTORY, in an empty
# folder. KERNELS is an ordinary build tree. The kernels, which parse nothing, come from there, as do
# config.h and the texts of the networks. The modules that draw charts and that talk to MPI are left out, and
# so are the folders in UNREACHED, from which no parser needs anything: if one comes to need them, the linker
# says so.
CLANG = clang
TARGETS = network session safetensors idx cifar png jpeg gz log checkpoint preferences sweep \
	npy npz list onnx mapping prototxt caffemodel events
CHECKS = undefined,float-cast-overflow,integer-divide-by-zero
SANITIZE = -fsanitize=address,$(CHECKS) -fno-sanitize-recover=$(CHECKS)
FLAGS := -std=c11 -O1 -g -fno-omit-frame-pointer -ffp-contract=off -D_GNU_SOURCE \
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

UNREACHED = session/check session/compare session/export session/find_rate session/findings session/history \
	session/inspect session/seeds session/storage session/tables session/watch
FOLDERS = src/base src/data src/engine src/session tests/fuzz
FILES = $(filter-out %/replay.c %/seeds.c %/libfuzzer.c %/canvas_cairo.c %/cluster_mpi.c \
	$(SOURCE)/src/engine/devices/cpu/% $(LEFT_OUT) $(UNREACHED:%=$(SOURCE)/src/%/%),\
	$(foreach folder,$(FOLDERS),$(shell find $(SOURCE)/$(folder) -name '*.c'))) \
	$(addprefix $(SOURCE)/,src/ui/shared/preferences.c src/ui/shared/preferences_file.c \
	src/ui/plot/smoothing.c src/ui/terminal/theme.c src/ui/terminal/glyphs.c) \
	$(addprefix $(SOURCE)/src/engine/devices/cpu/,cpu.c idle_code.c limits.c measure_machine.c)
PARSERS = $(FILES:$(SOURCE)/%.c=%.o)
GENERATED = network_builtins.o names_builtins.o $(patsubst $(KERNELS)/%.c,%.o,$(wildcard $(KERNELS)/*.pb-c.c))
OBJECTS = $(PARSERS) $(GENERATED)

all: $(TARGETS:%=fuzz_%)
fuzz_%: libtinca.a $(SOURCE)/tests/fuzz/libfuzzer.c $(LIBRARIES)
	$(CLANG) $(FLAGS) $(SANITIZE) -fsanitize=fuzzer -DTARGET=$@ -o $@ \
		$(SOURCE)/tests/fuzz/libfuzzer.c libtinca.a $(LIBRARIES) libtinca.a $(LIBS)
libtinca.a: $(OBJECTS)
	rm -f $@ && ar rc $@ $(OBJECTS)
$(PARSERS): %.o: $(SOURCE)/%.c
	@mkdir -p $(@D)
	$(CLANG) $(FLAGS) $(SANITIZE) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<
$(GENERATED): %.o: $(KERNELS)/%.c
	$(CLANG) $(FLAGS) $(SANITIZE) -MMD -c -o $@ $<
-include $(OBJECTS:.o=.d)
