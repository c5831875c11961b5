/* device.h: the interface of a device, and how devices are named, opened and checked.
 *
 * `reference` has plain C loops in one thread; all other devices are compared with it. `cpu` has
 * SIMD kernels and BLAS on a thread pool. An open device may be used by one thread at a time.
 */
#ifndef TINCA_ENGINE_DEVICES_DEVICE_H
#define TINCA_ENGINE_DEVICES_DEVICE_H

#include "base/error.h"
#include "base/host/pci_address.h"
#include "engine/graph/kernel.h"
#include "engine/graph/machine_model.h"
#include "engine/training/solver.h"

#include <stddef.h>
#include <stdint.h>

struct device;
struct device_backend;
struct plan_choices;

/* The measured limits of a device, with all of its threads. */
struct device_limits {
    double flops;       /* peak operations per second, of products in the device's precision */
    double sgemm_flops; /* float32 operations per second in a matrix product of the BLAS library */
    double bytes;       /* memory bandwidth, bytes per second */
};

/* A call that a library refused, so that another kernel computes the pass from then on. */
struct device_refusal {
    char layer[64];
    char pass[32];   /* "the forward pass", in English */
    char kernel[48]; /* the kernel that computes it instead */
    char why[200];   /* the library's words */
};

/* One of several devices of a kind. */
struct device_facts {
    char name[64];          /* "NVIDIA H200" */
    unsigned capability[2]; /* major and minor number of the compute capability */
    uint64_t memory_bytes;
    char cudnn[24];     /* the version of cuDNN, "9.1.0"; "": it is not used */
    char no_cudnn[200]; /* why it is not used, in English */
    struct pci_address pci;
};

/* The format to which the operands of matrix products and convolutions are rounded. Accumulators
 * are float32, and so are stored values, except those that plan/rounding.h names. */
enum device_precision {
    PRECISION_FLOAT32,
    PRECISION_TF32,
    PRECISION_BF16,
    PRECISION_FP16,
    PRECISION_INT8, /* integers of 8 bits, in inference of a quantized network (ops/int8.h) */
    PRECISIONS
};
/* The names of the precisions, by enum device_precision, then NULL. */
extern const char *const device_precision_names[PRECISIONS + 1];

/* The cache of autotuning, which the opener of the device stores. A key says what is computed, its
 * value which algorithm was measured to be the fastest; both are text without tabs. Thread safe. */
enum { AUTOTUNE_HARDWARE = 192 };
struct device_autotune {
    void *owner;
    char hardware[AUTOTUNE_HARDWARE]; /* the hardware that the measured times are valid for */
    bool measures; /* false: plans use only stored times, and follow rules where there are none */
    /* Writes the value of a key. Returns false if there is none. */
    bool (*find)(const struct device_autotune *autotune, const char *key, char *value, size_t size);
    void (*add)(const struct device_autotune *autotune, const char *key, const char *value,
                double seconds);
};

struct device_driver {
    const char *name; /* "cpu" */
    const char *description;
    /* Returns whether this machine and build can use it; if not, writes a reason in English, marked
     * for gettext. */
    bool (*available)(char *reason, size_t size);
    /* Fills device->pool and device->state. Returns false with an error. */
    bool (*open)(struct device *device, struct error *error);
    void (*close)(struct device *device);
    /* Writes the kernels of an operator, best first, into list[0..capacity); returns how many. */
    size_t (*kernels)(const struct op *op, const struct kernel **list, size_t capacity);
    /* Applies one solver step to all learnable weights. */
    void (*update)(struct device *device, const struct solver_update *update);
    /* Measures the device's limits, which takes about half a second. NULL: not supported. */
    bool (*limits)(struct device *device, struct device_limits *limits, struct error *error);
    /* Allocate and release device memory, aligned to MEMORY_ALIGNMENT. Returns NULL with an error.
     */
    void *(*allocate)(struct device *device, size_t bytes, const char *what, struct error *error);
    void (*release)(struct device *device, void *memory);
    bool computes_on_host; /* kernels read host pointers: no copies are needed */
    /* Returns the channels of a block in channel-blocked layouts. NULL: the device has no kernels
     * for such layouts. */
    size_t (*channel_block)(void);
    /* Copies a channel-blocked array of `batch` images to a plain one. NULL without channel_block.
     */
    void (*copy_to_plain)(struct device *device, struct tensor_layout layout, struct shape shape,
                          size_t batch, const void *from, float *to);
    size_t int8_block; /* channels of a block in arrays of integers of 8 bits; 0: they are plain */
    /* Convert arrays of `batch` images between float32, which is plain, and integers of 8 bits.
     * NULL: the device does not compute in int8. */
    void (*quantize)(struct device *device, struct quantization quantization,
                     struct tensor_layout layout, struct shape shape, size_t batch,
                     const float *from, uint8_t *to);
    void (*dequantize)(struct device *device, struct quantization quantization,
                       struct tensor_layout layout, struct shape shape, size_t batch,
                       const uint8_t *from, float *to);
    /* --- NULL for a driver with one device --- */
    /* Returns how many devices there are; cuda:2 is the third, cuda the first. */
    size_t (*count)(void);
    bool (*describe)(size_t number, struct device_facts *facts);
    /* Returns the bytes that are free now; 0: unknown. */
    uint64_t (*memory_free)(size_t number);
    /* --- NULL for devices that compute in the host's memory --- */
    const struct device_backend *backend;
    /* Returns whether its plans can compute in bf16 here (plan_settings.precision); if not, sets a
     * reason in English, marked N_. NULL: never. */
    bool (*plans_bf16)(const char **reason);
    /* Writes the bf16 nearest to each of `count` values to `to`, which may be `from`, as bf16_round
     * does (base/float16.h). NULL without plans_bf16. */
    void (*round)(struct device *device, const float *from, float *to, size_t count);
    /* Returns the bytes of the program that are not in memory, and that plans of this precision
     * never load: kernels for other processors. NULL: none are known. */
    uint64_t (*idle_code_bytes)(enum device_precision precision);
    /* Sets the precision of matrix products and convolutions. NULL: it is that of the plan. */
    bool (*set_precision)(struct device *device, enum device_precision precision,
                          struct error *error);
    /* Returns whether plans for an open device prefer channels-last values in this precision. NULL:
     * the device has no kernels for them. */
    bool (*prefers_channels_last)(enum device_precision precision);
    /* Measures the figures of the machine (machine_model.h), which takes about 0.15 s.
     * NULL: the device does not use them. */
    bool (*measure_machine)(struct device *device, struct machine_model *model,
                            struct error *error);
    /* Makes later plans use device->autotune, and sets its `hardware`. NULL: plans measure nothing.
     */
    void (*use_autotune)(struct device *device);
};

struct cluster;

enum { DEVICE_MAX_RANKS = 16 }; /* GPUs of a process group */
enum { DEVICE_NAME_SIZE = 64 }; /* enough for a name with all ranks */

/* An open device. If the name lists several GPUs, such as cuda:0,1, this is rank 0, and `others`
 * holds the other ranks. Training uses all ranks (execution.h), everything else only rank 0. */
struct device {
    const struct device_driver *driver;
    char name[DEVICE_NAME_SIZE];
    size_t number; /* among devices of this driver */
    size_t threads;
    struct pool *pool;
    void *state;
    struct device *others[DEVICE_MAX_RANKS - 1];
    size_t other_count;
    enum device_precision precision; /* device_set_precision */
    bool strict;                     /* its plans refuse nodes without a kernel (plan_settings) */
    /* For its plans (plan_settings); not measured when the device is opened. */
    struct machine_model machine;
    const struct plan_choices *choices; /* NULL: its plans predict */
    struct device_autotune autotune;
    struct cluster *cluster; /* borrowed: the processes that share a training's batches; or NULL */
};

/* Returns the driver of a name: reference, cpu or cuda[:N[,N...]]. NULL with ERROR_USAGE for an
 * unknown name or a GPU that is named twice, with ERROR_UNSUPPORTED and the reason if this machine
 * cannot use it. Sets *number (may be NULL) to the first N, or 0. */
const struct device_driver *device_find(const char *name, size_t *number, struct error *error);

/* Returns how many GPUs a name lists, whether or not they exist; 1 for any other name. */
size_t device_ranks(const char *name);

/* Returns how many threads a device has that is opened with `threads`: as many, or 0: one a core.
 */
size_t device_threads(size_t threads);

/* Opens a device by name (see device_find) with device_threads(threads). Returns NULL with an
 * error. */
struct device *device_open(const char *name, size_t threads, struct error *error);
void device_close(struct device *device); /* may be NULL */

/* Measures the limits of the device, which must be idle. Returns false with an error, and leaves
 * *limits unchanged, if it cannot be measured. */
bool device_measure_limits(struct device *device, struct device_limits *limits,
                           struct error *error);

/* Measures the figures of the machine with the device's threads, which must be idle, and sets
 * device->machine. Returns false with an error, and leaves it unchanged, if the device does not use
 * a model, out of memory, or if the clock gives implausible times. */
bool device_measure_machine(struct device *device, struct error *error);

/* Makes plans of the device, and of all ranks of its group, use a cache of measured times. Does
 * nothing if they measure nothing. */
void device_use_autotune(struct device *device, const struct device_autotune *autotune);

/* Writes what the bits of results depend on: the instruction set of the kernels for a precision, or
 * the name of the GPU, the number of ranks, the version of cuDNN and the layout of values. On a GPU
 * they also depend on what device_autotune finds, which is not written. Returns `text`. */
char *device_computes_with(const char *name, enum device_precision precision, char *text,
                           size_t size);

/* Returns whether the device can compute in a precision; false with an error, if not. */
bool device_check_precision(const struct device_driver *driver, enum device_precision precision,
                            struct error *error);

/* Sets the precision of matrix products and convolutions: of all work on a GPU, otherwise of the
 * plans that are built with device->precision. Returns false with an error if the device does not
 * support it. */
bool device_set_precision(struct device *device, enum device_precision precision,
                          struct error *error);

/* Returns the bytes allocated in the device's memory; 0 if it computes in the host's memory. With
 * several GPUs, returns the largest number. */
uint64_t device_memory_used(struct device *device);

/* Returns false with an error if any work on the device has failed; later results are invalid then.
 * Devices that compute in the host's memory do not fail. */
bool device_check(struct device *device, struct error *error);

/* Set device memory to zero, copy rows of `width` bytes within it, and copy host memory into it. */
void device_clear(struct device *device, void *memory, size_t bytes);
void device_copy_rows(struct device *device, void *to, size_t to_pitch, const void *from,
                      size_t from_pitch, size_t width, size_t rows);
void device_copy_in(struct device *device, void *to, const void *from, size_t bytes);

/* Writes number i of the calls that libraries have refused since the device was opened. Returns
 * false if there are no more. */
bool device_refused_call(struct device *device, size_t i, struct device_refusal *refusal);

/* --- memory for batches, from which a device with separate memory reads on its own --- */

/* Returns whether the device provides such memory; if not, do not call the functions below. */
bool device_provides_batches(const struct device *device);

/* Allocate and release host memory that all ranks of a device read directly (pinned memory). The
 * owner is the struct device. The first returns NULL with an error about `what`. Close the device
 * later. Call them in the thread that uses the device. */
void *device_allocate_batch(void *owner, size_t bytes, const char *what, struct error *error);
void device_release_batch(void *owner, void *memory);

/* Waits until all ranks have read the batches that execution_bind was given in such memory. */
void device_await_batches(void *owner);

/* Returns the bytes that are free now in the memory of the named device; 0 if unknown, or if it
 * computes in the host's memory. With several GPUs, returns the smallest number. */
uint64_t device_memory_free(const char *name);

/* All drivers, NULL-terminated; cuda is listed even if it cannot be used. */
extern const struct device_driver *const device_drivers[];

/* Returns the first kernel of the device that supports the site or, of several that predict their
 * times, the fastest or the one that site->recorded_kernel names. Returns NULL with an error that
 * lists all refusals if none does. `why` (may be NULL) receives "NAME chosen; NAME refused: REASON;
 * ...; predicted 12.3 us, NAME 17.8 us", in English, which choice_translate() turns into the user's
 * language. */
const struct kernel *device_choose_kernel(const struct device_driver *driver,
                                          const struct kernel_site *site, char *why, size_t size,
                                          struct error *error);

/* Returns whether predictions can decide which kernel is chosen for the site: several kernels that
 * support it state one. The last digits of results depend on the choice. */
bool device_predicts_kernel(const struct device_driver *driver, const struct kernel_site *site);

/* Returns the reference kernel for a site that device_choose_kernel refuses on this device; NULL if
 * it does not support the site either. `why` receives "NAME chosen; NAME refused: REASON; ...;
 * device DEVICE has no kernel that computes it", with a last part if its arrays must be copied. */
const struct kernel *device_reference_kernel(const struct device_driver *driver,
                                             const struct kernel_site *site, char *why,
                                             size_t size);

/* --- the drivers that device.c lists --- */

extern const struct device_driver device_reference, device_cpu, device_cuda;

/* --- how long a device works, from marks in its own order of work ---
 *
 * A device with separate memory only enqueues what it is asked for, so the host's clock tells when
 * it was asked and not when it was done. There a mark is an event on the device's stream; on a
 * device that computes in the host's memory it is the host's clock. The device must be open while
 * the timer is used, and no profile may be measured meanwhile. */

enum { DEVICE_TIMER_MARKS = 3 };

struct device_timer {
    struct device *device;
    uint64_t host[DEVICE_TIMER_MARKS]; /* nanoseconds, if the device computes on the host */
};

/* Sets mark `i`, anew if it was set before, behind all work that is enqueued. Does not wait. */
void device_timer_mark(struct device_timer *timer, size_t i);

/* Returns the seconds between two marks that were set; waits until the device has reached the
 * second one. */
double device_timer_seconds(const struct device_timer *timer, size_t from, size_t to);

#endif
