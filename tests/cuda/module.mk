# The tests of device cuda: on a real GPU, which are skipped where there is none, and on an emulated one.
check_PROGRAMS += cuda_device_test cuda_training_test cuda_module_test
TESTS += cuda_device_test cuda_training_test cuda_module_test
cuda_device_test_SOURCES = %D%/cuda_device_test.c $(CASES_MAIN) %D%/budget.h tests/choose_tests.h
cuda_device_test_LDADD = libopharness.a $(ENGINE_LIBS)
cuda_training_test_SOURCES = %D%/cuda_training_test.c $(CASES_MAIN) %D%/budget.h %D%/lab.h tests/choose_tests.h
cuda_training_test_LDADD = $(ENGINE_LIBS)
cuda_module_test_SOURCES = %D%/cuda_module_test.c $(CASES_MAIN)
cuda_module_test_LDADD = $(ENGINE_LIBS)
# the device's own sources, compiled as plain C++ with an emulator in place of CUDA's headers
if EMULATED_CUDA
CUDA_EMULATED_OBJECTS = $(CUDA_FILES:.cu=.emulated.o)
EMULATOR_CPPFLAGS = -DHAVE_CUDNN=1 -DHAVE_NCCL=1 -I$(srcdir)/%D%/emulator $(AM_CPPFLAGS)
# -Wno-psabi: GCC 4.6 passed arguments that are aligned to 64 bytes, as a CUtensorMap is, otherwise
$(CUDA_EMULATED_OBJECTS): %.emulated.o: %.cu
	$(AM_V_CXX)$(MKDIR_P) $(@D) && $(CXX) -x c++ $(DEFS) -I. $(EMULATOR_CPPFLAGS) $(CPPFLAGS) \
	    $(TINCA_CXXFLAGS) -Wno-psabi $(CXXFLAGS) -MD -MP -MF $(@:.o=.d) -c $< -o $@
-include $(CUDA_EMULATED_OBJECTS:.o=.d)
CLEANFILES += $(CUDA_EMULATED_OBJECTS) $(CUDA_EMULATED_OBJECTS:.o=.d)
check_LIBRARIES += libcudaemulator.a
libcudaemulator_a_SOURCES = \
	%D%/emulated_device.cpp %D%/emulated_device.h \
	%D%/emulator/blocks.cpp %D%/emulator/cublas.cpp \
	%D%/emulator/cublas_v2.h %D%/emulator/cuda.h %D%/emulator/cuda_runtime.h \
	%D%/emulator/cudnn.cpp %D%/emulator/cudnn.h \
	%D%/emulator/emulated_mma.h %D%/emulator/emulated_wgmma.h \
	%D%/emulator/mma.cpp %D%/emulator/wgmma.cpp \
	%D%/emulator/nccl.cpp %D%/emulator/nccl.h \
	%D%/emulator/nccl_processes.cpp %D%/emulator/nccl_processes.h \
	%D%/emulator/libraries.cpp %D%/emulator/libraries.h \
	%D%/emulator/runtime.cpp %D%/emulator/streams.cpp
libcudaemulator_a_CPPFLAGS = $(EMULATOR_CPPFLAGS)
libcudaemulator_a_CXXFLAGS = $(TINCA_CXXFLAGS)
libcudaemulator_a_LIBADD = $(CUDA_EMULATED_OBJECTS)
libcudaemulator_a_DEPENDENCIES = $(CUDA_EMULATED_OBJECTS)
CUDA_CASES = \
	%D%/cuda_autotune_test.c \
	%D%/cuda_batches_test.c \
	%D%/cuda_cudnn_test.c \
	%D%/cuda_device_test.c \
	%D%/cuda_execution_test.c \
	%D%/cuda_fallback_test.c \
	%D%/cuda_finish_test.c \
	%D%/cuda_group_test.c \
	%D%/cuda_kernels_test.c \
	%D%/cuda_layouts_test.c \
	%D%/cuda_methods_test.c \
	%D%/cuda_networks_test.c \
	%D%/cuda_run_test.c \
	%D%/cuda_tensor_test.c \
	%D%/cuda_timing_test.c \
	%D%/cuda_training_test.c \
	%D%/cuda_wgmma_test.c
check_PROGRAMS += cuda_test
TESTS += $(CUDA_CASES)
cuda_test_SOURCES = $(CUDA_CASES) $(CASES_MAIN) %D%/budget.h %D%/emulated_module.h %D%/lab.h %D%/lacking.h \
	%D%/wgmma_products.cpp %D%/wgmma_products.h tests/choose_tests.h tests/session_files.h
cuda_test_CPPFLAGS = $(EMULATOR_CPPFLAGS) -DEMULATED
cuda_test_CXXFLAGS = $(TINCA_CXXFLAGS)
cuda_test_LDADD = libopharness.a $(STUDIES_ARCHIVES) libcudaemulator.a $(STUDIES_LIBS)
if LIBRARY
cuda_test_SOURCES += %D%/cuda_library_test.c
cuda_test_CPPFLAGS += -I$(srcdir)/include
cuda_test_LDADD += liblibrary.a libcudaemulator.a $(STUDIES_LIBS)
TESTS += %D%/cuda_library_test.c
endif
# tinca on emulated GPUs, for tests of several processes
check_PROGRAMS += tinca_emulated
tinca_emulated_SOURCES = $(tinca_SOURCES) %D%/emulated_tinca.c %D%/emulated_module.h
nodist_tinca_emulated_SOURCES = $(nodist_tinca_SOURCES)
# no such file: it makes the C++ compiler link
nodist_EXTRA_tinca_emulated_SOURCES = %D%/link.cpp
tinca_emulated_LDADD = libcudaemulator.a $(UI_LIBS)
endif

# the module's loader, with stand-ins for the module
FAKE_MODULES = fake_module_old.so fake_module_version.so fake_module_nothing.so fake_module_other.so
check_DATA += $(FAKE_MODULES)
CLEANFILES += $(FAKE_MODULES)
EXTRA_DIST += %D%/fake_module.c
$(FAKE_MODULES): src/engine/devices/cuda/module.h src/engine/devices/device_backend.h src/engine/devices/device.h
FAKE_MODULE_BUILD = $(AM_V_CCLD)$(CC) $(CFLAGS) -I$(srcdir)/src -shared -fPIC -o $@ \
	$(srcdir)/%D%/fake_module.c
fake_module_old.so: %D%/fake_module.c
	$(FAKE_MODULE_BUILD) -DFAKE_OLD
fake_module_version.so: %D%/fake_module.c
	$(FAKE_MODULE_BUILD) -DFAKE_VERSION
fake_module_nothing.so: %D%/fake_module.c
	$(FAKE_MODULE_BUILD) -DFAKE_NOTHING
fake_module_other.so: %D%/fake_module.c
	$(FAKE_MODULE_BUILD) -DFAKE_OTHER
