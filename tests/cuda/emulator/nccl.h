/* nccl.h of the emulator: the part of NCCL that the CUDA device needs (libraries.h). */
#ifndef TINCA_TESTS_NCCL_H
#define TINCA_TESTS_NCCL_H

#include "cuda_runtime.h"

typedef struct emulated_communicator *ncclComm_t;
typedef enum ncclResult_t {
    ncclSuccess = 0,
    ncclUnhandledCudaError = 1,
    ncclInvalidArgument = 4,
    ncclInProgress = 7
} ncclResult_t;
typedef struct {
    char internal[128];
} ncclUniqueId;
typedef enum ncclDataType_t { ncclUint8 = 1, ncclFloat32 = 7 } ncclDataType_t;
typedef enum ncclRedOp_t { ncclAvg = 4 } ncclRedOp_t;

extern "C" {
ncclResult_t ncclCommInitAll(ncclComm_t *communicators, int count, const int *gpus);
ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
ncclResult_t ncclCommInitRank(ncclComm_t *communicator, int ranks, ncclUniqueId id, int rank);
ncclResult_t ncclCommDestroy(ncclComm_t communicator);
ncclResult_t ncclCommAbort(ncclComm_t communicator);
ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t *error);
ncclResult_t ncclAllGather(const void *local, void *all, size_t count, ncclDataType_t type,
                           ncclComm_t communicator, cudaStream_t stream);
ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream);
const char *ncclGetErrorString(ncclResult_t result);

/* Hides the library; makes the next ncclCommInitAll and ncclCommInitRank fail. */
void emulator_hide_nccl(bool hide);
void emulator_fail_join(bool fail);
/* Returns the number of communicators that are not destroyed. */
size_t emulator_communicators(void);
}

#endif
