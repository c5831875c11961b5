/* backend.h: the backends of an execution: devices that compute in host memory, one device with
 * separate memory such as a GPU, a process group of several in one process or one in each of
 * several, and several processes that compute in host memory. Internal to engine/execution.
 *
 * execution.c dispatches through one table; the backends share the passes (passes.h).
 */
#ifndef TINCA_ENGINE_EXECUTION_BACKEND_H
#define TINCA_ENGINE_EXECUTION_BACKEND_H

#include "engine/execution/execution.h"

struct backend_device;  /* private to backend_device.c */
struct backend_group;   /* private to backend_group.c */
struct backend_share;   /* private to backend_share.c */
struct backend_joined;  /* private to backend_joined.c */
struct execution_chain; /* chains.h */

struct execution {
    const struct execution_backend *backend;
    const struct plan *plan;
    struct device *device;
    struct weights *weights;
    struct solver_settings solver;
    struct gradient_clipping clipping;
    const struct parameter_groups *groups; /* NULL: one group with all weights */
    uint64_t solver_step;
    char *block; /* one allocation for the device arrays that follow; NULL in host memory */
    size_t block_used;
    char *arena;
    char *prepared;            /* what kernels have prepared; NULL: nothing */
    uint64_t prepared_version; /* of the weights that it was prepared from */
    float *rounded;            /* the weights as integers have them (int8_weights.h); or NULL */
    uint64_t rounded_version;  /* of the weights that they were rounded from; 0: none */
    float *gradients;          /* gradients of the parameters, laid out as the learnable weights;
                                  with several processes, those of each piece (image_pieces.h) */
    float *state[2];
    struct kernel_site *sites;      /* by step: the plan's, with the size of the bound batch */
    struct kernel_call *calls;      /* in execution order; values, labels and iteration change */
    struct execution_chain *chains; /* by their first step (chains.h) */
    struct pool_job *jobs;          /* of chains; a sequence begins at its first step */
    bool *runs;              /* by step: it has a kernel, whose inputs and labels the batch has */
    float **values;          /* by node: its output in the forward pass */
    float **backward_values; /* by node: its output in the backward pass */
    struct execution_batch batch; /* the bound batch, in device memory */
    struct profile *profile;
    uint64_t call_start;            /* host: when the measured call began (clock_nanoseconds) */
    struct host_fallback *fallback; /* NULL: every node runs on the device */
    struct backend_device *on_device;
    struct backend_group *group;
    struct backend_joined *joined; /* NULL: no GPU of another process shares the batch */
    struct backend_share *share;   /* NULL: no other process shares the batch */
    struct execution *rank0; /* ranks 1, 2, ... of a group: the execution of rank 0; else NULL */
};

struct execution_backend {
    /* Allocates the block of device memory from which arena and gradients are taken. */
    bool (*reserve)(struct execution *execution, struct error *error);
    /* Allocates the rest of the backend, once arena, gradients and calls are set up. */
    bool (*create)(struct execution *execution, uint64_t seed, struct error *error);
    /* Frees what reserve and create have allocated, also if one of them has failed. */
    void (*free)(struct execution *execution);

    /* These are the functions of execution.h with the same names. */
    void (*bind)(struct execution *execution, const struct execution_batch *batch);
    void (*forward)(struct execution *execution, uint64_t iteration);
    void (*backward)(struct execution *execution);
    void (*update)(struct execution *execution, float learning_rate);
    float (*iterate)(struct execution *execution, uint64_t iteration, float learning_rate);
    void (*wait)(struct execution *execution);
    const float *(*output)(const struct execution *execution);
    const float *(*gradients)(const struct execution *execution);
    float *(*solver_state)(struct execution *execution, size_t which);
    bool (*fetch)(struct execution *execution, struct error *error);
    void (*touch)(struct execution *execution);
    void (*mix_gradients)(struct execution *execution, const float *more, float scale);

    /* Returns the values of a loss for every image of the batch, across all ranks, in host memory.
     */
    const float *(*losses)(const struct execution *execution, size_t loss);
    /* Returns whether values[0..count) in device memory are all finite. */
    bool (*all_finite)(const struct execution *execution, const float *values, size_t count);
    /* Returns the first step whose output or parameters are not finite, and sets *in_weights if it
     * is the parameters; PLAN_NONE if all are finite. */
    size_t (*find_not_finite)(struct execution *execution, uint64_t iteration, bool *in_weights);

    /* With a profile: measure every kernel call, and add the measurements at the end of a pass. */
    void (*begin_call)(struct execution *execution);
    void (*end_call)(struct execution *execution, size_t node, bool backward);
    void (*end_pass)(struct execution *execution);
};

extern const struct execution_backend backend_host, backend_device, backend_group, backend_joined,
    backend_share;

/* --- backend_host.c: for the processes of a cluster --- */

bool backend_host_reserve(struct execution *execution, struct error *error);
void backend_host_bind(struct execution *execution, const struct execution_batch *batch);
void backend_host_update(struct execution *execution, float learning_rate);
float backend_host_iterate(struct execution *execution, uint64_t iteration, float learning_rate);
void backend_host_wait(struct execution *execution);
const float *backend_host_output(const struct execution *execution);
const float *backend_host_gradients(const struct execution *execution);
float *backend_host_solver_state(struct execution *execution, size_t which);
bool backend_host_fetch(struct execution *execution, struct error *error);
void backend_host_touch(struct execution *execution);
void backend_host_mix_gradients(struct execution *execution, const float *more, float scale);
const float *backend_host_losses(const struct execution *execution, size_t loss);
bool backend_host_all_finite(const struct execution *execution, const float *values, size_t count);
void backend_host_begin_call(struct execution *execution);
void backend_host_end_call(struct execution *execution, size_t node, bool backward);
void backend_host_end_pass(struct execution *execution);
void backend_host_free(struct execution *execution);

/* --- backend_share.c --- */

/* Returns the sum of a loss over the images of all processes, after a forward pass. */
float backend_share_loss(const struct execution *execution, size_t loss);

void backend_share_set_sums(struct execution *execution, const struct gradient_sums *sums);

/* --- execution.c --- */

/* Returns the sum of the losses of blocks[begin..begin + count) of a batch, in their tree. */
float execution_sum_losses(const float *losses, size_t batch, size_t blocks, size_t begin,
                           size_t count);

/* --- backend_joined.c --- */

/* Joins the process group of all processes' GPUs; collective: every process calls it once all have
 * prepared the run. Returns false with the same error in all if one cannot. */
bool backend_joined_join(struct execution *execution, struct error *error);

/* --- backend_device.c: for the ranks of a group --- */

bool backend_device_reserve(struct execution *execution, struct error *error);
bool backend_device_create(struct execution *execution, uint64_t seed, struct error *error);
void backend_device_free(struct execution *execution);
void backend_device_bind(struct execution *execution, const struct execution_batch *batch);
void backend_device_forward(struct execution *execution, uint64_t iteration);
void backend_device_backward(struct execution *execution);
void backend_device_update(struct execution *execution, float learning_rate);
float backend_device_iterate(struct execution *execution, uint64_t iteration, float learning_rate);
void backend_device_wait(struct execution *execution);
void backend_device_touch(struct execution *execution);
const float *backend_device_losses(const struct execution *execution, size_t loss);
const float *backend_device_output(const struct execution *execution);
const float *backend_device_gradients(const struct execution *execution);
float *backend_device_solver_state(struct execution *execution, size_t which);
bool backend_device_fetch(struct execution *execution, struct error *error);
void backend_device_mix_gradients(struct execution *execution, const float *more, float scale);
bool backend_device_all_finite(const struct execution *execution, const float *values,
                               size_t count);
struct recording_refusals backend_device_refusals(const struct execution *execution);
void backend_device_record_passes(struct execution *execution);
void backend_device_settle(struct execution *execution);
struct loss_scale backend_device_loss_scale(struct execution *execution);
struct loss_scale backend_device_last_loss_scale(const struct execution *execution);
void backend_device_set_loss_scale(struct execution *execution, struct loss_scale scale);
void backend_device_begin_call(struct execution *execution);
void backend_device_end_call(struct execution *execution, size_t node, bool backward);
void backend_device_end_pass(struct execution *execution);

#endif
