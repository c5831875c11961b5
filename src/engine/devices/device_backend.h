/* remote.h: what a device does besides computing when its memory is not the host's.
 *
 * Pointers called `there` are in the device's memory, all others in the host's. A device does what
 * it is asked for in the order in which it is asked; functions return before it is done, but for
 * those that say that they wait. What goes wrong on the way is kept until check() is asked; what is
 * asked for after it is undefined but harmless.
 */
#ifndef TINCA_ENGINE_DEVICES_DEVICE_BACKEND_H
#define TINCA_ENGINE_DEVICES_DEVICE_BACKEND_H

#include "engine/devices/device.h"
#include "engine/devices/profile.h"

/* What changes from one iteration to the next, for kernels that are replayed and so cannot be told
 * by their arguments. */
struct iteration_values {
    uint64_t iteration, step;
    float learning_rate;
    double beta1, beta2; /* adam */
};

/* A part of a batch, on its way. */
struct batch_part {
    void *there;
    const void *here;
    size_t bytes;
};
enum { BATCH_PARTS = 3 };

/* Losses of images [count] there, each with its weight in the sum. */
enum { DEVICE_LOSSES = 8 };
struct device_losses {
    const float *there[DEVICE_LOSSES];
    float weights[DEVICE_LOSSES];
    size_t losses, count;
};

struct device_staging;   /* buffers through which batches are sent */
struct device_event;     /* a place in what the device does, to be waited for */
struct device_recording; /* work that was recorded, to be done over and over */

struct device_backend {
    /* False with an error when anything has failed since the device was opened. */
    bool (*check)(struct device *device, struct error *error);
    void (*wait)(struct device *device); /* until all that was asked for is done */

    uint64_t (*memory_used)(struct device *device); /* bytes that are allocated there now */
    void (*clear)(struct device *device, void *there, size_t bytes);
    void (*copy_in)(struct device *device, void *there, const void *here, size_t bytes); /* waits */
    void (*copy_out)(struct device *device, void *here, const void *there,
                     size_t bytes); /* waits */
    /* Rows of `width` bytes, `to_pitch` and `from_pitch` bytes apart; both there. */
    void (*copy_rows)(struct device *device, void *to, size_t to_pitch, const void *from,
                      size_t from_pitch, size_t width, size_t rows);
    /* values = (values + more) * scale, all there. */
    void (*mix)(struct device *device, float *values, const float *more, float scale, size_t count);

    /* Host memory that is copied without a detour. */
    void *(*allocate_pinned)(struct device *device, size_t bytes, const char *what,
                             struct error *error);
    void (*release_pinned)(struct device *device, void *here);

    /* Batches of at most `bytes` bytes in all. `ahead`: a batch is copied while the one before is
     * computed, at the price of two more batches there. send() is done with `here` when it
     * returns; it waits only for the batch before the last one. */
    struct device_staging *(*staging_create)(struct device *device, size_t bytes, bool ahead,
                                             struct error *error);
    void (*staging_free)(struct device *device, struct device_staging *stage); /* may be NULL */
    void (*send)(struct device *device, struct device_staging *stage,
                 const struct batch_part parts[BATCH_PARTS]);

    /* Copies into pinned memory, which is filled once a later mark has been waited for. */
    void (*read_later)(struct device *device, void *pinned, const void *there, size_t bytes);
    struct device_event *(*event_create)(struct device *device, struct error *error);
    void (*event_free)(struct device *device, struct device_event *mark); /* may be NULL */
    void (*event_record)(struct device *device, struct device_event *mark);
    void (*event_wait)(struct device *device, struct device_event *mark); /* waits */

    /* Tells the kernels what is new. Updates are done again, if they were held back. */
    void (*set_iteration_values)(struct device *device, const struct iteration_values *moment);
    /* Holds updates back until the next moment when the weighted sum of the losses' means is no
     * number. The same sum in the same order as execution_loss. */
    void (*judge)(struct device *device, const struct device_losses *losses);

    /* What is asked for between the two is not done but recorded. record_end returns NULL when it
     * cannot be: nothing has been done then, and nothing has failed. */
    void (*record_begin)(struct device *device);
    struct device_recording *(*record_end)(struct device *device);
    void (*replay)(struct device *device, struct device_recording *recording);
    void (*recording_free)(struct device *device, struct device_recording *recording);

    /* Several cards, each asked by a thread of its own, that do the work of one. join() lets
     * `device` and its others work together until part(), asked of the same. In between each of
     * them is asked for gather() and average() in the same order; both are done when all cards
     * have come to them. When a card fails, none waits for it any more, and check() of that one
     * says so. False with an error: what is needed is not there. */
    bool (*join)(struct device *device, struct error *error);
    void (*part)(struct device *device);
    /* all[0..cards * bytes) = what all have in own[0..bytes), in their order. */
    void (*all_gather)(struct device *device, void *all, const void *own, size_t bytes);
    void (*all_reduce_mean)(struct device *device, float *values, size_t count);
    /* Kernels are not to ask other cards for anything for a while. */
    void (*set_standalone)(struct device *device, bool alone);
    /* To be asked now and then by a card's idle thread: looks whether one has failed. */
    void (*poll)(struct device *device);

    /* Notes the time as number `i` of a list; seconds between two of its entries. The latter
     * waits. Between an even entry and the next, matrix products of libraries are measured too. */
    void (*stamp)(struct device *device, size_t i);
    double (*stamp_seconds)(struct device *device, size_t from, size_t to);
    /* Takes the products that were measured, the last ones first; false: there are no more. */
    bool (*take_product)(struct device *device, struct gemm_row *product);
};

#endif
