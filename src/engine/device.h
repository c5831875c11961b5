/* device.h: the table that a device fills in.
 *
 * `reference` is plain C loops, one thread, the readable truth. `cpu` is SIMD kernels and BLAS on a
 * thread pool. An opened device belongs to one thread at a time.
 */
#ifndef TINCA_ENGINE_DEVICE_H
#define TINCA_ENGINE_DEVICE_H

#include "base/error.h"
#include "engine/kernel.h"
#include "engine/solver.h"

#include <stddef.h>
#include <stdint.h>

struct device;

/* What a device can do at the most, measured: all of its threads together. */
struct device_limits {
    double flops;       /* float32 operations a second: the best that was reached */
    double sgemm_flops; /* the part of them that matrix products of a library reach */
    double bytes;       /* that move between memory and the processor in a second */
};

struct device_driver {
    const char *name; /* "cpu" */
    const char *description;
    /* False, with a printable reason in English (marked for gettext), when this machine or build
     * cannot use it. */
    bool (*available)(char *reason, size_t size);
    /* Fills device->pool and device->state. */
    bool (*open)(struct device *device, struct error *error);
    void (*close)(struct device *device);
    /* The kernels for an operator, best first, into list[0..capacity); returns how many. */
    size_t (*kernels)(const struct op *op, const struct kernel **list, size_t capacity);
    /* Applies one solver step to all learnable weights. */
    void (*update)(struct device *device, const struct solver_update *update);
    /* Measures its limits, in about half a second. NULL: it has no such measurement. */
    bool (*limits)(struct device *device, struct device_limits *limits, struct error *error);
    /* Device memory, aligned to MEMORY_ALIGNMENT. Host devices: plain memory. */
    void *(*allocate)(struct device *device, size_t bytes, const char *what, struct error *error);
    void (*release)(struct device *device, void *memory);
    bool host_memory; /* kernels read host pointers: no copies are needed */
};

struct device {
    const struct device_driver *driver;
    char name[32];
    size_t threads;
    struct pool *pool;
    void *state;
};

/* Opens by name: `reference`, `cpu`, `cuda[:N]`. threads 0: all cores. An unknown name is
 * ERROR_USAGE; one that this machine lacks ERROR_UNSUPPORTED with the reason. */
struct device *device_open(const char *name, size_t threads, struct error *error);
void device_close(struct device *device); /* may be NULL */

/* Measures what the device can do now, with its threads, while nothing else runs on it. False with
 * the reason where it cannot be measured: then *limits is not touched. */
bool device_measure_limits(struct device *device, struct device_limits *limits,
                           struct error *error);

/* All drivers, NULL-terminated, for `tinca devices`; cuda is listed even where it cannot be used.
 */
extern const struct device_driver *const device_drivers[];

/* The first kernel of the device that supports the site. NULL with an error that lists each
 * refusal. `why` (may be NULL) receives "NAME chosen; NAME refused: REASON; ...", in English, which
 * choice_translate() turns into the user's language. */
const struct kernel *device_choose_kernel(const struct device_driver *driver,
                                          const struct kernel_site *site, char *why, size_t size,
                                          struct error *error);

#endif
