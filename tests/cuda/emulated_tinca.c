/* Linked with the program: gives it emulated GPUs instead of CUDA's module, as many as
 * TINCA_EMULATED_GPUS says, of which the first is number TINCA_EMULATED_FIRST of its host (as
 * CUDA_VISIBLE_DEVICES shows GPUs to one process), no NCCL with TINCA_EMULATED_NCCL=no, a cuDNN
 * that cannot start with TINCA_EMULATED_CUDNN=broken, and a driver that refuses CUDA graphs with
 * TINCA_EMULATED_GRAPHS=refused. TINCA_EMULATED_FAILURE=N makes the N-th launch of a kernel fail.
 */
#include "cuda/emulated_module.h"

#include <stdlib.h>
#include <string.h>

__attribute__((constructor)) static void use_emulated_gpus(void)
{
    const char *gpus = getenv("TINCA_EMULATED_GPUS"), *nccl = getenv("TINCA_EMULATED_NCCL");
    const char *failure = getenv("TINCA_EMULATED_FAILURE"), *cudnn = getenv("TINCA_EMULATED_CUDNN");
    const char *first = getenv("TINCA_EMULATED_FIRST");
    emulator_set_gpus(gpus ? atoi(gpus) : 1);
    emulator_set_first_gpu(first ? atoi(first) : 0);
    emulator_hide_nccl(nccl && strcmp(nccl, "no") == 0);
    const char *graphs = getenv("TINCA_EMULATED_GRAPHS");
    emulator_refuse_graphs(graphs && strcmp(graphs, "refused") == 0);
    emulator_fail_cudnn_create(cudnn && strcmp(cudnn, "broken") == 0);
    if (failure)
        emulator_fail_launch(strtoul(failure, NULL, 10), 700);
    cuda_use_module(tinca_cuda_module());
}
