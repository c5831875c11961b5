# The kernels of device cpu: one list of sources, which is compiled for each instruction set.
KERNEL_SOURCES = \
	%D%/activation.c \
	%D%/average_pool.c \
	%D%/batch_norm.c \
	%D%/blocked.c \
	%D%/blocked.h \
	%D%/blocked_channels.c \
	%D%/blocked_conv.c \
	%D%/blocked_conv.h \
	%D%/blocked_conv_compute.c \
	%D%/blocked_conv_kernels.c \
	%D%/blocked_conv_terms.c \
	%D%/blocked_elementwise.c \
	%D%/blocked_frame.h \
	%D%/blocked_lrn.c \
	%D%/blocked_norm.c \
	%D%/blocked_pool.c \
	%D%/blocked_weights.c \
	%D%/blocked_weights.h \
	%D%/blocked_weights_compute.c \
	%D%/blocked_winograd.c \
	%D%/channel_moves.h \
	%D%/channel_scale.c \
	%D%/channels.c \
	%D%/conv.c \
	%D%/conv.h \
	%D%/conv_depthwise.c \
	%D%/conv_depthwise_training.c \
	%D%/conv_gemm.c \
	%D%/conv_layout.h \
	%D%/conv_transpose.c \
	%D%/conv_weights.c \
	%D%/distillation.c \
	%D%/dropout.c \
	%D%/dropout_channels.c \
	%D%/elements.h \
	%D%/fake_quantize.c \
	%D%/functions.h \
	%D%/gemm.h \
	%D%/int8.h \
	%D%/int8_conv.c \
	%D%/int8_conv.h \
	%D%/int8_copies.c \
	%D%/int8_depthwise.c \
	%D%/int8_gather.h \
	%D%/int8_linear.c \
	%D%/int8_results.h \
	%D%/int8_tiles.h \
	%D%/int8_values.c \
	%D%/int8_winograd.c \
	%D%/join.c \
	%D%/kernels.inc \
	%D%/limit_loops.c \
	%D%/linear.c \
	%D%/lrn.c \
	%D%/max_pool.c \
	%D%/norm.c \
	%D%/norm.h \
	%D%/pair_losses.c \
	%D%/perceptron.c \
	%D%/pool_window.h \
	%D%/prelu.c \
	%D%/simd.h \
	%D%/softmax.c \
	%D%/softmax_cross_entropy.c \
	%D%/table.c \
	%D%/tiles.h \
	%D%/update.c
KERNEL_CFLAGS = $(LIBRARY_CFLAGS) -O3 -fopenmp-simd -ffp-contract=fast -fno-math-errno -fno-trapping-math
noinst_LIBRARIES += libkernels_generic.a
libkernels_generic_a_SOURCES = $(KERNEL_SOURCES)
libkernels_generic_a_CPPFLAGS = $(AM_CPPFLAGS) -DTINCA_ISA=generic
libkernels_generic_a_CFLAGS = $(KERNEL_CFLAGS)
KERNEL_LIBS = libkernels_generic.a
if X86_KERNELS
noinst_LIBRARIES += libkernels_avx2.a libkernels_avx512.a
libkernels_avx2_a_SOURCES = $(KERNEL_SOURCES)
libkernels_avx2_a_CPPFLAGS = $(AM_CPPFLAGS) -DTINCA_ISA=avx2
libkernels_avx2_a_CFLAGS = $(KERNEL_CFLAGS) -mavx2 -mfma
libkernels_avx512_a_SOURCES = $(KERNEL_SOURCES)
libkernels_avx512_a_CPPFLAGS = $(AM_CPPFLAGS) -DTINCA_ISA=avx512
libkernels_avx512_a_CFLAGS = $(KERNEL_CFLAGS) -mavx2 -mfma -mavx512f -mavx512bw -mavx512dq -mavx512vl \
	-mprefer-vector-width=512
KERNEL_LIBS += libkernels_avx2.a libkernels_avx512.a
endif
# the kernels that work on bf16 (elements.h), for AVX512-BF16
if BF16_KERNELS
noinst_LIBRARIES += libkernels_avx512_bf16.a
libkernels_avx512_bf16_a_SOURCES = \
	%D%/activation.c \
	%D%/blocked.c \
	%D%/blocked_channels.c \
	%D%/blocked_conv.c \
	%D%/blocked_conv_compute.c \
	%D%/blocked_conv_kernels.c \
	%D%/blocked_conv_terms.c \
	%D%/blocked_elementwise.c \
	%D%/blocked_lrn.c \
	%D%/blocked_norm.c \
	%D%/blocked_pool.c \
	%D%/blocked_weights.c \
	%D%/blocked_weights_compute.c \
	%D%/channel_scale.c \
	%D%/conv_depthwise.c \
	%D%/conv_depthwise_training.c \
	%D%/dropout.c \
	%D%/dropout_channels.c \
	%D%/gemm_bf16.c \
	%D%/gemm_bf16.h \
	%D%/gemm_bf16_copy.c \
	%D%/join.c \
	%D%/limit_loop_bf16.c \
	%D%/linear_bf16.c \
	%D%/linear_bf16_training.c \
	%D%/norm.c \
	%D%/pairs.h \
	%D%/prelu.c \
	%D%/round_bf16.c \
	%D%/table_bf16.c
libkernels_avx512_bf16_a_CPPFLAGS = $(AM_CPPFLAGS) -DTINCA_ISA=avx512_bf16 -DTINCA_BF16
libkernels_avx512_bf16_a_CFLAGS = $(libkernels_avx512_a_CFLAGS) -mavx512bf16
KERNEL_LIBS += libkernels_avx512_bf16.a
endif
# the kernels that multiply bf16 with AMX
if AMX_KERNELS
noinst_LIBRARIES += libkernels_avx512_amx.a
libkernels_avx512_amx_a_SOURCES = \
	%D%/amx.h \
	%D%/amx_conv_compute.c \
	%D%/amx_gemm.c \
	%D%/amx_limit_loop.c \
	%D%/amx_weights_compute.c \
	%D%/blocked.c \
	%D%/blocked_conv.c \
	%D%/blocked_conv_kernels.c \
	%D%/blocked_conv_terms.c \
	%D%/blocked_weights.c \
	%D%/gemm_bf16_copy.c \
	%D%/linear_bf16_training.c \
	%D%/norm.c \
	%D%/table_amx.c
libkernels_avx512_amx_a_CPPFLAGS = $(AM_CPPFLAGS) -DTINCA_ISA=avx512_amx -DTINCA_BF16 -DTINCA_AMX
libkernels_avx512_amx_a_CFLAGS = $(libkernels_avx512_bf16_a_CFLAGS) -mamx-tile -mamx-bf16
KERNEL_LIBS += libkernels_avx512_amx.a
endif
# the kernels that multiply integers of 8 bits with VNNI
VNNI_SOURCES = \
	%D%/int8.h \
	%D%/int8_conv.c \
	%D%/int8_conv.h \
	%D%/int8_linear.c \
	%D%/int8_results.h \
	%D%/int8_tiles.h \
	%D%/table_int8.c
if VNNI_KERNELS
noinst_LIBRARIES += libkernels_avx_vnni.a libkernels_avx512_vnni.a
libkernels_avx_vnni_a_SOURCES = $(VNNI_SOURCES)
libkernels_avx_vnni_a_CPPFLAGS = $(AM_CPPFLAGS) -DTINCA_ISA=avx_vnni -DTINCA_VNNI
libkernels_avx_vnni_a_CFLAGS = $(libkernels_avx2_a_CFLAGS) -mavxvnni
libkernels_avx512_vnni_a_SOURCES = $(VNNI_SOURCES)
libkernels_avx512_vnni_a_CPPFLAGS = $(AM_CPPFLAGS) -DTINCA_ISA=avx512_vnni -DTINCA_VNNI
libkernels_avx512_vnni_a_CFLAGS = $(libkernels_avx512_a_CFLAGS) -mavx512vnni
KERNEL_LIBS += libkernels_avx_vnni.a libkernels_avx512_vnni.a
endif
# those that multiply them with AMX
AMX_INT8_SOURCES = \
	%D%/int8_amx.c \
	%D%/int8_amx.h \
	%D%/int8_amx_conv.c \
	%D%/int8_amx_linear.c \
	%D%/table_int8.c
if AMX_INT8_KERNELS
noinst_LIBRARIES += libkernels_avx512_amx_int8.a
libkernels_avx512_amx_int8_a_SOURCES = $(AMX_INT8_SOURCES)
libkernels_avx512_amx_int8_a_CPPFLAGS = $(AM_CPPFLAGS) -DTINCA_ISA=avx512_amx_int8 -DTINCA_VNNI -DTINCA_AMX_INT8
libkernels_avx512_amx_int8_a_CFLAGS = $(libkernels_avx512_vnni_a_CFLAGS) -mamx-tile -mamx-int8
KERNEL_LIBS += libkernels_avx512_amx_int8.a
endif
