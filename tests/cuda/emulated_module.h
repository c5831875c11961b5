/* emulated_module.h: the CUDA module, compiled for this processor, for tests. */
#ifndef TINCA_TESTS_EMULATED_MODULE_H
#define TINCA_TESTS_EMULATED_MODULE_H

#include "engine/devices/cuda/cuda.h"

/* The module's only function; it is linked into the test. */
const struct cuda_module *tinca_cuda_module(void);

/* Functions of the emulator: see emulator/cuda_runtime.h, emulator/nccl.h and
 * emulator/cudnn.h. */
void emulator_set_order(uint64_t seed);
void emulator_fail_allocation(size_t n);
void emulator_fail_launch(size_t n, int error);
void emulator_fail_gpu(int gpu);
void emulator_set_gpus(int count);
void emulator_set_first_gpu(int number);
void emulator_hide_nccl(bool hide);
void emulator_fail_join(bool fail);
void emulator_hide_cudnn(bool hide);
void emulator_set_cudnn_version(size_t version);
void emulator_fail_cudnn_create(bool fail);
void emulator_fail_cudnn(int pass, int status);
void emulator_set_cudnn_workspace(size_t bytes);
void emulator_limit_cudnn(bool limit);
size_t emulator_cudnn_passes(bool best);
size_t emulator_cudnn_fused(bool relu);
size_t emulator_communicators(void);
void emulator_set_free(size_t bytes);
size_t emulator_graphs_run(void);
void emulator_refuse_graphs(bool refuse);
void emulator_set_code(int version);
void emulator_set_delay(uint64_t seed);
#define EMULATOR_LAZY UINT64_MAX
void emulator_set_pace(unsigned microseconds);
size_t emulator_tasks_done(void);
size_t emulator_kernels_run(void);

#endif
