/* device_backend.h: the functions of a device with separate memory, such as a GPU.
 *
 * A pointer named `on_device` points into device memory; a comment says where others do. A device
 * does its work in the order in which it is enqueued. Functions return before the work is done,
 * unless their comment says "waits". The first failure is recorded, and check() reports it; work
 * that is enqueued after it has undefined results but is safe.
 */
#ifndef TINCA_ENGINE_DEVICES_DEVICE_BACKEND_H
#define TINCA_ENGINE_DEVICES_DEVICE_BACKEND_H

#include "engine/devices/device.h"
#include "engine/profile/profile.h"

/* The values that change from one iteration to the next. Kernels read them from the device's
 * memory, because the arguments of a replayed recording are fixed. */
struct iteration_values {
    uint64_t iteration, step;
    float learning_rate;
    double beta1, beta2; /* adam */
    float loss_scale;    /* by which losses multiply their gradients, and update() divides; 0: 1 */
};

/* An array of a batch in host memory, and the device memory that send() copies it to. */
struct batch_array {
    void *on_device;
    const void *host;
    size_t bytes; /* in host memory */
    /* 8-bit samples of `channels` planes of `area` pixels, which are normalised to float32 on the
     * device; 0: the array is copied as it is. */
    size_t channels, area;
};
enum { BATCH_ARRAYS = 5 };

/* Converts samples to float32: (sample - mean) / deviation, by channel, each operation rounded. */
struct sample_scale {
    float mean[3], deviation[3];
};

struct device_batch {
    struct batch_array arrays[BATCH_ARRAYS];
    struct sample_scale scale;
    bool pinned; /* the host's arrays are in memory of allocate_pinned */
};

/* The buffers that batches pass through. */
struct staging_sizes {
    size_t batch;     /* bytes of the largest batch in host memory */
    size_t on_device; /* bytes of a buffer in device memory: the largest batch that is sent ahead or
                         consists of samples; 0: there is none */
    bool ahead; /* batches are copied while the device computes, which takes a second buffer */
};

/* The values of `losses` loss nodes for each of `count` images, and the weights of the nodes. */
enum { DEVICE_LOSSES = 8 };
struct device_losses {
    const float *on_device[DEVICE_LOSSES];
    float weights[DEVICE_LOSSES];
    size_t losses, count;
};

/* A process group of GPUs of which each belongs to another process. */
enum { DEVICE_GROUP_ID = 128 };
struct device_process_group {
    size_t rank, ranks;
    unsigned char id[DEVICE_GROUP_ID]; /* made by rank 0, the same in all processes */
    /* Returns whether the other processes are well; any thread may call it. */
    bool (*is_sound)(void *owner);
    void *owner;
};

struct device_staging;   /* buffers through which batches are sent */
struct device_event;     /* a point in the device's work that the host can wait for */
struct device_recording; /* enqueued work that can be replayed, such as a CUDA graph */

struct device_backend {
    /* Returns false with an error if anything has failed since the device was opened. */
    bool (*check)(struct device *device, struct error *error);
    /* Waits until all enqueued work is done. */
    void (*wait)(struct device *device);

    /* Returns the bytes of device memory that are allocated. */
    uint64_t (*memory_used)(struct device *device);
    /* Sets bytes of device memory to zero. */
    void (*clear)(struct device *device, void *on_device, size_t bytes);
    /* Copy from host to device and back. Both wait. After a failure copy_out changes nothing. */
    void (*copy_in)(struct device *device, void *on_device, const void *host, size_t bytes);
    void (*copy_out)(struct device *device, void *host, const void *on_device, size_t bytes);
    /* Copies rows of `width` bytes within the device's memory. The rows begin `to_pitch` and
     * `from_pitch` bytes apart. */
    void (*copy_rows)(struct device *device, void *to, size_t to_pitch, const void *from,
                      size_t from_pitch, size_t width, size_t rows);
    /* Sets values = (values + more) * scale for arrays in device memory. */
    void (*mix)(struct device *device, float *values, const float *more, float scale, size_t count);
    /* Moves averages towards values by `share` of the distance, as torch.lerp does, for arrays in
     * device memory; a share of 1 copies them. */
    void (*average)(struct device *device, float *averages, const float *values, float share,
                    size_t count);

    /* Allocate and release pinned host memory, which the device copies from and to directly.
     * allocate_pinned returns NULL with an error if it fails. */
    void *(*allocate_pinned)(struct device *device, size_t bytes, const char *what,
                             struct error *error);
    void (*release_pinned)(struct device *device, void *pinned);

    /* Returns buffers for batches of these sizes, or NULL with an error. */
    struct device_staging *(*staging_create)(struct device *device,
                                             const struct staging_sizes *sizes,
                                             struct error *error);
    void (*staging_free)(struct device *device, struct device_staging *staging); /* may be NULL */
    /* Copies a batch to the device; samples are normalised there. The device reads pinned arrays
     * later, until await_batches() says that it has. Others are first copied to pinned buffers,
     * which are allocated with the first such batch: the caller may change the arrays once send()
     * returns, which waits only if the batch before the previous one is still being copied. A batch
     * that is too large to be sent ahead is copied when the device's earlier work is done. */
    void (*send)(struct device *device, struct device_staging *staging,
                 const struct device_batch *batch);
    /* Waits until the device has read all pinned arrays of send(), or a GPU of its group has
     * failed. Any thread may call it while no batch is sent. */
    void (*await_batches)(struct device *device);

    /* Enqueues a copy into pinned memory. The values are valid once an event that is recorded later
     * has been waited for. */
    void (*read_later)(struct device *device, void *pinned, const void *on_device, size_t bytes);
    struct device_event *(*event_create)(struct device *device, struct error *error);
    void (*event_free)(struct device *device, struct device_event *event); /* may be NULL */
    void (*event_record)(struct device *device, struct device_event *event);
    void (*event_wait)(struct device *device, struct device_event *event); /* waits */

    /* Writes the iteration's values to where kernels read them, and enables updates if check_loss()
     * has disabled them. */
    void (*set_iteration_values)(struct device *device, const struct iteration_values *values);
    /* Computes the weighted sum of the losses' means, in the order of execution_loss. If it is NaN
     * or infinite, disables updates until the next set_iteration_values. */
    void (*check_loss)(struct device *device, const struct device_losses *losses);

    /* Enqueues a copy into pinned memory of whether the last update() found a gradient that is NaN
     * or infinite, and therefore did nothing. It looks only in float16. */
    void (*read_overflow_later)(struct device *device, unsigned *pinned);

    /* Record the work that is enqueued between the two calls instead of doing it, as the capture of
     * a CUDA graph does. record_end returns NULL, and writes why into `reason`, if the work cannot
     * be recorded; it was then not done, and check() does not report it. */
    void (*record_begin)(struct device *device);
    struct device_recording *(*record_end)(struct device *device, char *reason, size_t size);
    void (*replay)(struct device *device, struct device_recording *recording);
    void (*recording_free)(struct device *device, struct device_recording *recording);

    /* A process group: several GPUs, the ranks, that share every batch. One thread
     * per rank uses it. join() makes a group of `device` and device->others; leave(), called with
     * the same device, dissolves it. join() returns false with an error if NCCL is missing or
     * fails. In a group all ranks must call the collectives all_gather and all_reduce_mean in the
     * same order; a collective ends once all ranks have called it. If a rank fails, the other ranks
     * stop waiting for it, and the check() of the failed rank reports the failure. */
    bool (*join)(struct device *device, struct error *error);
    void (*leave)(struct device *device);
    /* These do the same for GPUs of several processes, which leave() dissolves, too.
     * make_group_id() makes an ID in id[0..DEVICE_GROUP_ID); NULL: it only checks that NCCL is
     * there. join_processes() returns once all processes have called it; after a failure of one it
     * may never return. While the group lasts, is_sound() of a process that returns false is a
     * failure of its rank. */
    bool (*make_group_id)(struct device *device, unsigned char *id, struct error *error);
    bool (*join_processes)(struct device *device, const struct device_process_group *group,
                           struct error *error);
    /* Concatenates local[0..bytes) of all ranks, in their order, in all[0..ranks * bytes). Both are
     * in device memory. */
    void (*all_gather)(struct device *device, void *all, const void *local, size_t bytes);
    /* Replaces values[0..count) in device memory by their mean over the ranks. */
    void (*all_reduce_mean)(struct device *device, float *values, size_t count);
    /* Sets whether kernels on this rank do without communication with other ranks. */
    void (*set_standalone)(struct device *device, bool standalone);
    /* Checks whether a rank has failed. A rank's thread calls it while it waits for work. */
    void (*poll)(struct device *device);

    /* These are for a profile. stamp() enqueues a time stamp with number `i`. stamp_seconds() waits
     * for two stamps and returns the seconds between them. Between an even stamp and the next, the
     * matrix products of libraries are measured as well. */
    void (*stamp)(struct device *device, size_t i);
    double (*stamp_seconds)(struct device *device, size_t from, size_t to);
    /* Removes the measured matrix product that was added last and returns it in *product. Returns
     * false if none is left. */
    bool (*take_product)(struct device *device, struct gemm_row *product);

    /* Writes number i of the calls that libraries have refused since the device was opened; if
     * there are very many, only the first are kept. Returns false if there are no more. */
    bool (*refused_call)(struct device *device, size_t i, struct device_refusal *refusal);
};

#endif
