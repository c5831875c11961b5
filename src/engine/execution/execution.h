/* execution.h: runs a plan: allocates its memory, and computes forward, backward and update.
 *
 * An execution owns the arena, the gradients and the solver's state; it borrows plan, device and
 * weights. A training and an inference execution may share weights and device if one thread uses
 * both.
 *
 * A device with separate memory works asynchronously: these functions return before it has
 * finished, except those that return a value. device_check reports its failures; call it before you
 * use a result. Functions with "device" in their name return pointers into device memory.
 *
 * A plan for several ranks is executed by all GPUs of a process group (communicator_nccl.c), each
 * with an equal micro-batch, so the batch size is a multiple of the number of ranks. Losses,
 * output, gradients and weights are those of the whole batch.
 *
 * If the device has one GPU only, such a plan is executed by those of all processes of a cluster:
 * every process binds its micro-batch, and makes the same calls of execution_join,
 * execution_iterate and execution_find_first_bad_layer. Losses, gradients and weights are those of
 * the whole batch; the output is that of the micro-batch.
 *
 * A plan for several processes is executed by all of a cluster (device->cluster) at once
 * (communicator_mpi.c): every process binds its micro-batch and makes the same calls of
 * execution_iterate. Losses, gradients and weights are those of the whole batch; the output is that
 * of the micro-batch. After an iteration, cluster_check says whether its values are valid.
 */
#ifndef TINCA_ENGINE_EXECUTION_EXECUTION_H
#define TINCA_ENGINE_EXECUTION_EXECUTION_H

#include "base/error.h"
#include "engine/cluster/cluster_sums.h"
#include "engine/devices/device.h"
#include "engine/plan/plan.h"
#include "engine/profile/profile.h"
#include "engine/training/clipping.h"
#include "engine/training/loss_scale.h"
#include "engine/training/parameter_groups.h"
#include "engine/weights/weights.h"

#include <stddef.h>
#include <stdint.h>

struct execution;

/* Allocates the plan's memory on the device. `seed` selects the random numbers of dropout. Returns
 * NULL with an error. */
struct execution *execution_create(const struct plan *plan, struct device *device,
                                   struct weights *weights, const struct solver_settings *solver,
                                   uint64_t seed, struct error *error);
void execution_free(struct execution *execution); /* may be NULL */

/* Makes the process group of the GPUs of all processes of a cluster, which must have created their
 * executions and call this at the same time, before the first iteration. Returns false with an
 * error if NCCL is missing on one of them; the cluster has failed if NCCL has. Does nothing without
 * such GPUs. */
bool execution_join(struct execution *execution, struct error *error);

/* A batch, borrowed until the next bind. count <= plan->batch. */
struct execution_batch {
    const float *images;   /* [count, C, H, W] */
    const int32_t *labels; /* [count] or NULL */
    const float *targets;  /* second input of a paired network, or NULL */
    size_t count;
    /* Soft targets [count], and class weights [classes] for label smoothing; NULL: none. Only for a
     * plan that was built with plan_settings.soft_targets. */
    const struct soft_target *soft_targets;
    const float *class_weights;
    /* Instead of `images` and `targets`: 8-bit samples of the same shapes. The device computes
     * (sample - mean) / deviation, by channel, with the bits of the host's float32. Only for a plan
     * that was built with plan_settings.sample_batches. */
    const uint8_t *image_samples, *target_samples;
    float mean[3], deviation[3];
    /* The arrays lie in memory of device_allocate_batch, from which the device reads them after
     * execution_bind has returned: change or release them after device_await_batches. */
    bool in_device_batch;
};
/* Sets the batch, which is in host memory, and copies it to a device with separate memory. Unless
 * batch->in_device_batch, the arrays may change once it returns. */
void execution_bind(struct execution *execution, const struct execution_batch *batch);

/* Set a batch that is already in device memory; return the bound batch, in device memory. */
void execution_bind_device(struct execution *execution, const struct execution_batch *batch);
const struct execution_batch *execution_device_batch(const struct execution *execution);

/* Runs the forward pass. `iteration` selects the random numbers of dropout. */
void execution_forward(struct execution *execution, uint64_t iteration);

/* Return the weighted sum of the means of all losses over the batch, and the mean of the main loss,
 * after a forward pass with labels. Sums are float32 in the order of the images, as in Caffe. */
float execution_loss(const struct execution *execution);
float execution_main_loss(const struct execution *execution);

/* Returns the mean of one of the graph's losses, by its place in graph->losses. */
float execution_loss_of(const struct execution *execution, size_t loss);

/* Returns the main loss of each image [count]. */
const float *execution_image_losses(const struct execution *execution);

/* Returns the output node's values [count, C, H, W], which are valid until the next forward pass.
 */
const float *execution_output(const struct execution *execution);

/* Runs the backward pass after a forward pass. */
void execution_backward(struct execution *execution);

/* Takes a solver step with the gradients of the last backward pass. */
void execution_update(struct execution *execution, float learning_rate);

/* Runs forward pass, backward pass and solver step on the present batch. Returns the loss; if it is
 * NaN or infinite, no step was taken. The device may still be working. */
float execution_iterate(struct execution *execution, uint64_t iteration, float learning_rate);

/* Waits until the device has finished. */
void execution_wait(struct execution *execution);

/* Returns the gradients of the learnable parameters, laid out as the weights; NULL if the plan has
 * none, or if there is not enough memory for a copy. */
const float *execution_parameter_gradients(const struct execution *execution);

/* --- for two networks that train together (gan.h) --- */

/* Sets gradients = (gradients + more) * scale for the learnable weights. */
void execution_mix_gradients(struct execution *execution, const float *more, float scale);

/* Return the gradients and the output [count, C, H, W], in device memory. */
const float *execution_device_gradients(const struct execution *execution);
const float *execution_device_output(const struct execution *execution);

/* Returns the gradient of the input [count, C, H, W] after a backward pass; NULL unless the plan
 * has needs_input_gradient. */
const float *execution_device_input_gradient(const struct execution *execution);

/* Returns the gradient of the output, which the caller fills between the forward and the backward
 * pass; NULL unless the plan has seeds_output_gradient. */
float *execution_device_output_gradient(struct execution *execution);

/* --- the solver's state --- */

/* Returns an array of the solver's state, laid out as the weights; NULL if the solver has none.
 * Call execution_fetch before you read it, and execution_touch after you have written it or the
 * weights. */
float *execution_solver_state(struct execution *execution, size_t which);

/* Copies weights and state from the device. Returns false with an error if the device has failed;
 * their values are undefined then. */
bool execution_fetch(struct execution *execution, struct error *error);

/* Records that weights and state in host memory have changed. */
void execution_touch(struct execution *execution);

/* Return and set the number of solver steps so far. In float16 the first waits for the last step,
 * which does not count if it was skipped because a gradient overflowed. */
uint64_t execution_solver_step(struct execution *execution);
void execution_set_solver_step(struct execution *execution, uint64_t step);

/* Sets the momentum of the next solver steps, which must not become or cease to be 0. The device
 * must compute in the host's memory. */
void execution_set_momentum(struct execution *execution, float momentum);

/* Limits the gradients before each solver step from now on. Returns false with an error if the
 * device cannot: only those that compute in the host's memory can. */
bool execution_set_clipping(struct execution *execution, const struct gradient_clipping *clipping,
                            struct error *error);

/* Lets the solver treat parts of the weights differently from now on; `groups` must live as long as
 * the execution. Returns false with an error if the device cannot: only those that compute in the
 * host's memory can. */
bool execution_set_groups(struct execution *execution, const struct parameter_groups *groups,
                          struct error *error);

/* The way in which several processes add their gradients (cluster_sums.h). */
struct gradient_sums {
    enum cluster_sum_kind kind;
    bool share;          /* add exact sums in memory that the ranks share, if they can */
    size_t bucket_bytes; /* otherwise: send that many at least while the backward pass computes;
                            SIZE_MAX: all at once after it */
};

/* Sets how the processes add gradients from now on; without several processes, does nothing. */
void execution_set_sums(struct execution *execution, const struct gradient_sums *sums);

/* Return and set how the loss is scaled in float16 (loss_scale.h). Otherwise the scale is 0, and
 * setting it does nothing. The first waits for the last step. */
struct loss_scale execution_loss_scale(struct execution *execution);
void execution_set_loss_scale(struct execution *execution, struct loss_scale scale);

/* Returns the scale without waiting: the last step may still change it. */
struct loss_scale execution_last_loss_scale(const struct execution *execution);

/* The recordings of a CUDA graph that a device has refused. It launches each kernel by itself
 * instead, which costs time. */
struct recording_refusals {
    const char *why;   /* valid as long as its execution; "": nothing was refused */
    uint64_t captures; /* recordings that were refused; after one, an execution begins no other */
    uint64_t passes;   /* passes of full batches that ran without a graph for this reason */
};

/* Returns the refusals so far; none if `execution` is NULL or has no GPU. */
struct recording_refusals execution_recording_refusals(const struct execution *execution);

/* Adds refusals to a sum, which starts as {0} and has the first reason. */
void recording_refusals_add(struct recording_refusals *sum, const struct recording_refusals *more);

/* Makes a GPU record the passes of training one by one, as CUDA graphs. For a caller of
 * execution_forward, execution_backward and execution_update that repeats them with few different
 * batches in device memory; execution_iterate is recorded as a whole without this. */
void execution_record_passes(struct execution *execution);

/* Attaches a profile (NULL: none). */
void execution_set_profile(struct execution *execution, struct profile *profile);

/* The first layer whose output, or whose parameters, are NaN or infinite. */
struct bad_layer {
    char node[NODE_NAME_SIZE];
    bool in_weights; /* the parameters are not finite; else the output */
};

/* Finds the bad layer after a loss that is NaN or infinite, by running the forward pass once more,
 * node by node. Returns false if all values are finite. */
bool execution_find_first_bad_layer(struct execution *execution, uint64_t iteration,
                                    struct bad_layer *layer);

#endif
