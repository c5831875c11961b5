/* module.h: the interface between the program and the module tinca-cuda.so.
 *
 * The program is not linked with CUDA. It loads the module, which nvcc builds, when a CUDA device
 * is opened. The module exports one function, tinca_cuda_module(), which returns the table below.
 * It prints nothing and writes no error texts: it returns a report, from which cuda.c makes the
 * text. A module with another CUDA_MODULE_ABI or of another version of tinca is refused, because
 * structures that both sides use may differ.
 */
#ifndef TINCA_ENGINE_DEVICES_CUDA_MODULE_H
#define TINCA_ENGINE_DEVICES_CUDA_MODULE_H

#include "engine/devices/device_backend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUDA_MODULE_FILE     "tinca-cuda.so"
#define CUDA_MODULE_FUNCTION "tinca_cuda_module"
/* Increase it with every change of this header, device_backend.h, device.h, kernel.h or graph.h. */
enum { CUDA_MODULE_ABI = 14 };

enum cuda_failure_kind {
    CUDA_FINE,
    CUDA_NO_MEMORY,  /* the GPU is out of memory */
    CUDA_LOST,       /* the GPU no longer answers, or its memory is faulty */
    CUDA_NO_CODE,    /* the module has no code for this GPU */
    CUDA_OLD_CODE,   /* its code for this GPU has no products of tensor cores; the text names it */
    CUDA_NO_DRIVER,  /* there is no driver */
    CUDA_OLD_DRIVER, /* the driver supports an older CUDA than the module needs */
    CUDA_NO_GPU,
    CUDA_NO_NCCL,    /* NCCL cannot be loaded, and the text says why; an empty text: the module was
                        built without NCCL */
    CUDA_NOT_JOINED, /* NCCL was loaded, but cannot create the communicators */
    CUDA_BROKEN      /* anything else; most likely a bug of tinca */
};

struct cuda_report {
    enum cuda_failure_kind failure_kind;
    unsigned driver_version, needed_version; /* 12020 is CUDA 12.2; 0: not known */
    char text[256];                          /* CUDA's message, and in which call */
};

struct cuda_module {
    uint32_t abi; /* this member and the next one come first in every version */
    uint32_t bytes;
    const char *version;       /* tinca's version */
    const char *toolkit;       /* "13.0" */
    const char *architectures; /* "75 80 90" */

    /* Returns the number of GPUs, or 0 with a report. */
    size_t (*count)(struct cuda_report *report);
    bool (*describe)(size_t number, struct device_facts *facts);
    uint64_t (*memory_free)(size_t number);

    /* Opens a GPU. Returns its state, for device->state, or NULL with a report. */
    void *(*open)(size_t number, struct cuda_report *report);
    void (*close)(void *state);
    /* Returns false, with a report, if the code for this GPU has only float32. */
    bool (*set_precision)(void *state, enum device_precision precision, struct cuda_report *report);
    /* Returns false, with a report of the first failure, if a call has failed since the GPU was
     * opened. */
    bool (*check)(void *state, struct cuda_report *report);

    size_t (*kernels)(const struct op *op, const struct kernel **list, size_t capacity);
    void (*update)(struct device *device, const struct solver_update *update);

    /* Returns device memory, or NULL with a report. */
    void *(*allocate)(void *state, size_t bytes, struct cuda_report *report);
    void (*release)(void *state, void *memory);
    void *(*allocate_pinned)(void *state, size_t bytes, struct cuda_report *report);
    void (*release_pinned)(void *state, void *pinned);
    struct device_staging *(*staging_create)(void *state, const struct staging_sizes *sizes,
                                             struct cuda_report *report);
    struct device_event *(*event_create)(void *state, struct cuda_report *report);

    /* Measures the limits of a GPU. Returns false, with a report, and leaves *limits unchanged, if
     * it cannot. */
    bool (*limits)(void *state, struct device_limits *limits, struct cuda_report *report);

    /* Makes a process group of open GPUs; backend.leave of the first one dissolves it. Returns
     * false with a report. */
    bool (*join)(void *const *states, size_t count, struct cuda_report *report);

    /* Make NCCL's unique ID (NULL: only check that NCCL is there), and a group of GPUs of several
     * processes. Return false with a report. */
    bool (*make_group_id)(unsigned char *id, struct cuda_report *report);
    bool (*join_processes)(void *state, const struct device_process_group *group,
                           struct cuda_report *report);

    /* The functions that return no report. */
    struct device_backend backend;

    /* Makes later plans measure, or look up, how fast algorithms are. The table outlives the state.
     */
    void (*use_autotune)(void *state, const struct device_autotune *autotune);
};

typedef const struct cuda_module *cuda_module_function(void);

#ifdef __cplusplus
}
#endif

#endif
