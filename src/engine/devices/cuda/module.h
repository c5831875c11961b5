/* module.h: what the module tinca-cuda.so offers to the program.
 *
 * The program knows no CUDA; the module, built by nvcc, is loaded when a CUDA device is asked for.
 * It exports one function, tinca_cuda_module(), that returns this table. It prints nothing and
 * words no errors: it reports, and cuda.c finds the words. A module made for another table, or by
 * another version of tinca, is refused: all structures that both sides know may differ.
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
enum { CUDA_MODULE_ABI = 3 }; /* of this header, remote.h, device.h, kernel.h and graph.h */

enum cuda_trouble {
    CUDA_FINE,
    CUDA_NO_MEMORY,  /* on the card */
    CUDA_LOST,       /* the card does not answer any more, or its memory is faulty */
    CUDA_NO_CODE,    /* the module has none for this card */
    CUDA_NO_DRIVER,  /* there is none */
    CUDA_OLD_DRIVER, /* it knows an older CUDA than the module needs */
    CUDA_NO_GPU,
    CUDA_NO_NCCL, /* the library that joins cards; the text says more, or is empty: the module was
                     built without */
    CUDA_NOT_JOINED, /* it is there, but would not */
    CUDA_BROKEN      /* anything else: most likely a mistake of ours */
};

struct cuda_report {
    enum cuda_trouble trouble;
    unsigned driver_version, needed_version; /* 12020 is CUDA 12.2; 0: not known */
    char text[256];                          /* CUDA's own words, and where it was */
};

struct cuda_module {
    uint32_t abi; /* these two stay the first of every version */
    uint32_t bytes;
    const char *version;       /* of tinca */
    const char *toolkit;       /* "13.0" */
    const char *architectures; /* "75 80 90" */

    /* How many cards there are; 0 with a report. */
    size_t (*count)(struct cuda_report *report);
    bool (*describe)(size_t number, struct device_facts *facts);
    uint64_t (*memory_free)(size_t number);

    /* The state of an opened card, device->state; NULL with a report. */
    void *(*open)(size_t number, struct cuda_report *report);
    void (*close)(void *state);
    void (*set_precision)(void *state, enum device_precision precision);
    /* False with a report of the first thing that failed since it was opened. */
    bool (*check)(void *state, struct cuda_report *report);

    size_t (*kernels)(const struct op *op, const struct kernel **list, size_t capacity);
    void (*update)(struct device *device, const struct solver_update *update);

    /* NULL with a report. */
    void *(*allocate)(void *state, size_t bytes, struct cuda_report *report);
    void (*release)(void *state, void *there);
    void *(*allocate_pinned)(void *state, size_t bytes, struct cuda_report *report);
    void (*release_pinned)(void *state, void *here);
    struct device_staging *(*staging_create)(void *state, size_t bytes, bool ahead,
                                             struct cuda_report *report);
    struct device_event *(*event_create)(void *state, struct cuda_report *report);

    /* Lets opened cards work together, until the first one's remote.part. False with a report. */
    bool (*join)(void *const *states, size_t count, struct cuda_report *report);

    /* All that needs no words: the rest of remote.h. */
    struct device_backend backend;
};

typedef const struct cuda_module *cuda_module_function(void);

#ifdef __cplusplus
}
#endif

#endif
