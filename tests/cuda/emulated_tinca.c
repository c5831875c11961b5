/* Linked with the program: gives it emulated GPUs instead of CUDA's module, as many as
 * TINCA_EMULATED_GPUS says, and no NCCL with TINCA_EMULATED_NCCL=no. TINCA_EMULATED_FAILURE=N makes
 * the N-th launch of a kernel fail. */
#include "cuda/emulated_module.h"

#include <stdlib.h>
#include <string.h>

__attribute__((constructor)) static void use_emulated_gpus(void)
{
    const char *gpus = getenv("TINCA_EMULATED_GPUS"), *nccl = getenv("TINCA_EMULATED_NCCL");
    const char *failure = getenv("TINCA_EMULATED_FAILURE");
    emulator_set_gpus(gpus ? atoi(gpus) : 1);
    emulator_hide_nccl(nccl && strcmp(nccl, "no") == 0);
    if (failure)
        emulator_fail_launch(strtoul(failure, NULL, 10), 700);
    cuda_use_module(tinca_cuda_module());
}
