/* device.h: the table that a device fills in.
 *
 * `reference` is plain C loops, one thread, the readable truth. `cpu` is SIMD kernels and BLAS on a
 * thread pool. An opened device belongs to one thread at a time.
 */
#ifndef TINCA_ENGINE_DEVICES_DEVICE_H
#define TINCA_ENGINE_DEVICES_DEVICE_H

#include "base/error.h"
#include "engine/graph/kernel.h"
#include "engine/training/solver.h"

#include <stddef.h>
#include <stdint.h>

struct device;
struct device_backend;

/* What a device can do at the most, measured: all of its threads together. */
struct device_limits {
    double flops;       /* float32 operations a second: the best that was reached */
    double sgemm_flops; /* the part of them that matrix products of a library reach */
    double bytes;       /* that move between memory and the processor in a second */
};

/* One of several devices of a kind. */
struct device_facts {
    char name[64];          /* "NVIDIA H200" */
    unsigned capability[2]; /* major and minor number of what it can do */
    uint64_t memory_bytes;
};

/* What factors are rounded to before they are multiplied. Sums and all that is kept are float32. */
enum device_precision {
    PRECISION_FLOAT32,
    PRECISION_TF32,
    PRECISION_BF16,
    PRECISION_FP16,
    PRECISIONS
};
const char *device_precision_name(enum device_precision precision); /* "tf32" */
bool device_precision_parse(const char *name, enum device_precision *precision);

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
    bool computes_on_host; /* kernels read host pointers: no copies are needed */
    /* --- NULL on a device of which there is one --- */
    /* How many there are; `cuda:2` is called the third, `cuda` the first. */
    size_t (*count)(void);
    bool (*describe)(size_t number, struct device_facts *facts);
    uint64_t (*memory_free)(size_t number); /* bytes, now; 0: not known */
    /* --- NULL on devices that compute in the host's memory --- */
    const struct device_backend *backend;
    /* Chooses what products are multiplied with. NULL: only float32. */
    bool (*set_precision)(struct device *device, enum device_precision precision,
                          struct error *error);
};

enum { DEVICE_MAX_RANKS = 16 }; /* that can be joined */
enum { DEVICE_NAME_SIZE = 64 }; /* holds a name that lists them all */

/* Several cards, `cuda:0,1`, are the first one with the others beside it: what is not spread over
 * all of them, as training is (execution.h), is done there. */
struct device {
    const struct device_driver *driver;
    char name[DEVICE_NAME_SIZE];
    size_t number; /* of several of the same kind */
    size_t threads;
    struct pool *pool;
    void *state;
    struct device *others[DEVICE_MAX_RANKS - 1];
    size_t other_count;
};

/* Finds the driver of a name, `reference`, `cpu` or `cuda[:N[,N...]]`, and asks whether it can be
 * used. An unknown name, or one card twice, is ERROR_USAGE; what this machine lacks
 * ERROR_UNSUPPORTED with the reason. `number` (may be NULL) receives the first N, or 0. */
const struct device_driver *device_find(const char *name, size_t *number, struct error *error);

/* How many cards a name lists, there or not; 1 for any other name. */
size_t device_ranks(const char *name);

/* Opens by name, as device_find. threads 0: all cores. */
struct device *device_open(const char *name, size_t threads, struct error *error);
void device_close(struct device *device); /* may be NULL */

/* Measures what the device can do now, with its threads, while nothing else runs on it. False with
 * the reason where it cannot be measured: then *limits is not touched. */
bool device_measure_limits(struct device *device, struct device_limits *limits,
                           struct error *error);

/* What rounds: the instruction set of the kernels, or the card's name, with the number of cards
 * that are joined. Bits are the same only where it is. Returns `text`. */
char *device_computes_with(const char *name, char *text, size_t size);

/* Multiplies with this precision from now on. A device that knows only float32 refuses others. */
bool device_set_precision(struct device *device, enum device_precision precision,
                          struct error *error);

/* Bytes that the device has allocated in its own memory; 0 where that is the host's. Of several
 * cards that which has allocated the most. */
uint64_t device_memory_used(struct device *device);

/* False with an error when anything that the device was asked for has failed; what it computed
 * since is worth nothing. Devices that compute in the host's memory do not fail. */
bool device_check(struct device *device, struct error *error);

/* Zeroes; copies rows of `width` bytes that are `pitch` bytes apart, from one place in the device's
 * memory to another; copies what lies in the host's into it. */
void device_clear(struct device *device, void *memory, size_t bytes);
void device_copy_rows(struct device *device, void *to, size_t to_pitch, const void *from,
                      size_t from_pitch, size_t width, size_t rows);
void device_copy_in(struct device *device, void *to, const void *from, size_t bytes);

/* Bytes that are free for a run on the device of this name, now; 0: not known, or it computes in
 * the host's memory. Of several cards where it is least. */
uint64_t device_memory_free(const char *name);

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
