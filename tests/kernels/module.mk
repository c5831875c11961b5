# The tests of the kernels of device cpu. The products of VNNI are computed by other instructions.
KERNELS_CASES = \
	%D%/blocked_kernels_test.c \
	%D%/blocked_training_test.c \
	%D%/cpu_kernels_test.c \
	%D%/inference_test.c \
	%D%/int8_kernels_test.c \
	%D%/kernel_values_test.c
check_PROGRAMS += kernels_test
TESTS += $(KERNELS_CASES)
kernels_test_SOURCES = $(KERNELS_CASES) $(CASES_MAIN) tests/amx_emulator.c tests/amx_emulator.h
kernels_test_LDADD = libopharness.a $(ENGINE_LIBS)
if X86_KERNELS
check_LIBRARIES += libkernels_vnni_emulated.a
libkernels_vnni_emulated_a_SOURCES = $(VNNI_SOURCES)
libkernels_vnni_emulated_a_CPPFLAGS = $(AM_CPPFLAGS) -DTINCA_ISA=vnni_emulated -DTINCA_VNNI \
	-DTINCA_EMULATE_VNNI
libkernels_vnni_emulated_a_CFLAGS = $(libkernels_avx2_a_CFLAGS)
kernels_test_LDADD += libkernels_vnni_emulated.a $(ENGINE_LIBS)
endif
# the code for AMX with AVX2 around the tiles, which the emulator executes
if AMX_INT8_KERNELS
check_LIBRARIES += libkernels_amx_int8_emulated.a
libkernels_amx_int8_emulated_a_SOURCES = $(AMX_INT8_SOURCES)
libkernels_amx_int8_emulated_a_CPPFLAGS = $(AM_CPPFLAGS) -DTINCA_ISA=amx_int8_emulated -DTINCA_VNNI \
	-DTINCA_EMULATE_VNNI -DTINCA_AMX_INT8
libkernels_amx_int8_emulated_a_CFLAGS = $(libkernels_avx2_a_CFLAGS) -mamx-tile -mamx-int8
kernels_test_LDADD += libkernels_amx_int8_emulated.a $(ENGINE_LIBS)
endif
