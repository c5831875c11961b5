/* Classifies the statuses that CUDA and cuBLAS return, and records the first failure of an open
 * device. */
#include "engine/devices/cuda/context.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Guards `failure` and `failure_kind` of all contexts: each rank's thread writes those of its GPU,
 * and other threads may read them. */
static pthread_mutex_t failures = PTHREAD_MUTEX_INITIALIZER;

/* Returns the kind of a status. The cases are numbers, because older toolkits lack some of the
 * names. */
enum cuda_failure_kind cuda_failure_kind_of(cudaError_t status)
{
    switch ((int)status) {
    case 0:
        return CUDA_FINE;
    case 2: /* memory allocation */
        return CUDA_NO_MEMORY;
    case 35: /* insufficient driver */
        return CUDA_OLD_DRIVER;
    case 100: /* no device */
        return CUDA_NO_GPU;
    case 200: /* invalid kernel image */
    case 209: /* no kernel image for the device */
    case 222: /* unsupported PTX version */
        return CUDA_NO_CODE;
    case 46:  /* devices unavailable */
    case 214: /* memory error that cannot be corrected */
    case 220: /* the same on NVLink */
    case 721: /* contained: the GPU must be reset */
    case 722: /* injected by the tensor unit */
    case 802: /* the system is not ready */
    case 999: /* unknown: from a GPU that fell off the bus */
        return CUDA_LOST;
    default:
        return CUDA_BROKEN;
    }
}

/* Leaves the group intact after two kinds of failure: a capture that fails is discarded, and the
 * caller handles a lack of memory. */
void cuda_note_words(struct cuda_context *context, enum cuda_failure_kind failure_kind,
                     const char *what, const char *why)
{
    if (context->failure[0])
        return;
    pthread_mutex_lock(&failures);
    context->failure_kind = failure_kind;
    snprintf(context->failure, sizeof context->failure, "%s: %s", what, why);
    pthread_mutex_unlock(&failures);
    if (!context->recording && failure_kind != CUDA_NO_MEMORY)
        cuda_fail_group(context);
}

bool cuda_report_failure(const struct cuda_context *context, struct cuda_report *report)
{
    *report = {};
    pthread_mutex_lock(&failures);
    report->failure_kind = context->failure_kind;
    memcpy(report->text, context->failure, sizeof report->text);
    pthread_mutex_unlock(&failures);
    return report->text[0] == '\0';
}

void cuda_note(struct cuda_context *context, const char *what, cudaError_t status)
{
    if (status != cudaSuccess)
        cuda_note_words(context, cuda_failure_kind_of(status), what, cudaGetErrorString(status));
}

void cuda_note_blas(struct cuda_context *context, const char *what, cublasStatus_t status)
{
    if (status != CUBLAS_STATUS_SUCCESS)
        cuda_note_words(context,
                        status == CUBLAS_STATUS_ALLOC_FAILED ? CUDA_NO_MEMORY : CUDA_BROKEN, what,
                        cublasGetStatusString(status));
}

void cuda_enter(struct cuda_context *context)
{
    cuda_note(context, "the device", cudaSetDevice(context->ordinal));
}
