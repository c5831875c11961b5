# A module that the program loads when a CUDA device is asked for; only it is linked to CUDA's
# libraries. It is found beside the program, and then where it is installed. The same files are plain
# C++ for the emulator of the tests.
CUDA_FILES = \
	%D%/activation.cu \
	%D%/average_pool.cu \
	%D%/backend.cu \
	%D%/batch_norm.cu \
	%D%/batch_norm_last.cu \
	%D%/channels.cu \
	%D%/column_sums.cu \
	%D%/context.cu \
	%D%/conv.cu \
	%D%/conv_choice.cu \
	%D%/conv_cudnn.cu \
	%D%/conv_depthwise.cu \
	%D%/conv_pointwise.cu \
	%D%/conv_transpose.cu \
	%D%/conv_weights.cu \
	%D%/conv_weights_direct.cu \
	%D%/conv_weights_last.cu \
	%D%/conv_weights_tensor.cu \
	%D%/cudnn_conv.cu \
	%D%/cudnn_library.cu \
	%D%/dropout.cu \
	%D%/epilogue.cu \
	%D%/gate.cu \
	%D%/gemm_split.cu \
	%D%/gemm_wgmma.cu \
	%D%/group.cu \
	%D%/implicit_gemm.cu \
	%D%/implicit_gemm_last.cu \
	%D%/implicit_gemm_tensor.cu \
	%D%/iteration.cu \
	%D%/join.cu \
	%D%/limits.cu \
	%D%/linear.cu \
	%D%/losses.cu \
	%D%/lrn.cu \
	%D%/max_pool.cu \
	%D%/module.cu \
	%D%/normalise.cu \
	%D%/softmax.cu \
	%D%/table.cu \
	%D%/update.cu
CUDA_PARTS = \
	%D%/batch_norm.h \
	%D%/context.h \
	%D%/conv.h \
	%D%/conv_choice.h \
	%D%/conv_tensor.h \
	%D%/conv_tile.h \
	%D%/cudnn_library.h \
	%D%/divide.h \
	%D%/epilogue.h \
	%D%/gather.h \
	%D%/gemm.h \
	%D%/gemm_split.h \
	%D%/implicit_gemm.h \
	%D%/kernels.h \
	%D%/kernels.inc \
	%D%/launch.h \
	%D%/mma.h \
	%D%/moves.h \
	%D%/pool_window.h \
	%D%/reduce.h \
	%D%/tensor_tile.h \
	%D%/wgmma_tile.h
EXTRA_DIST += $(CUDA_FILES) $(CUDA_PARTS) tests/cuda/machine_code.py
if CUDA_MODULE
cudadir = $(pkglibdir)
cuda_DATA = tinca-cuda.so
CUDA_OBJECTS = $(CUDA_FILES:.cu=.cuda.o)
TINCA_NVCCFLAGS = -std=c++17 -Xcompiler -fPIC,-fvisibility=hidden,-Wall,-Wextra,-Wno-missing-field-initializers \
	-D_GNU_SOURCE $(CUDNN_CPPFLAGS) $(NCCL_CPPFLAGS) -I. -I$(srcdir)/src \
	-DCUDA_ARCHITECTURES='"$(CUDA_NUMBERS)"'
CODE = $(NVCC_ARCH)
%D%/gemm_wgmma.cuda.o: CODE = $(NVCC_ARCH_WGMMA)
$(CUDA_OBJECTS): %.cuda.o: %.cu
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	$(NVCC) $(CODE) $(TINCA_NVCCFLAGS) $(NVCCFLAGS) -MD -MP -MF $(@:.o=.d) -c $< -o $@
tinca-cuda.so: $(CUDA_OBJECTS)
	$(AM_V_GEN)$(NVCC) $(NVCC_ARCH) -shared -cudart static -o $@ $(CUDA_OBJECTS) $(NVCC_RPATH) -lcublas -ldl
-include $(CUDA_OBJECTS:.o=.d)
CLEANFILES += tinca-cuda.so $(CUDA_OBJECTS) $(CUDA_OBJECTS:.o=.d)
endif
AM_DISTCHECK_CONFIGURE_FLAGS = --with-cuda-arch=sm_90

