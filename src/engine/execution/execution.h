/* execution.h: a plan with memory behind it: forward, backward and update.
 *
 * Owns the arena, the gradients and the solver's state; borrows plan, device and weights. A
 * training and an inference execution may share weights and device, used by one thread in turn.
 *
 * A device whose memory is not the host's works on while these functions return; those that give a
 * value wait for it. What fails there is told by device_check, to be asked before a result is
 * believed. Functions that end in _there give pointers into the device's memory.
 *
 * A plan for several cards is executed by all of them at once (execution_group.c), each with equal
 * parts of the batch: counts are multiples of their number. What is asked for here, losses, output,
 * gradients, weights, is that of the whole batch.
 */
#ifndef TINCA_ENGINE_EXECUTION_EXECUTION_H
#define TINCA_ENGINE_EXECUTION_EXECUTION_H

#include "base/error.h"
#include "engine/devices/device.h"
#include "engine/devices/profile.h"
#include "engine/plan/plan.h"
#include "engine/weights/weights.h"

#include <stddef.h>
#include <stdint.h>

struct execution;

struct execution *execution_create(const struct plan *plan, struct device *device,
                                   struct weights *weights, const struct solver_settings *solver,
                                   uint64_t seed, struct error *error);
void execution_free(struct execution *execution); /* may be NULL */

/* A batch in host memory, borrowed until the next bind. count <= plan->batch. */
struct execution_batch {
    const float *images;   /* [count, C, H, W] */
    const int32_t *labels; /* [count] or NULL */
    const float *targets;  /* second input of a paired network, or NULL */
    size_t count;
};
void execution_bind(struct execution *execution, const struct execution_batch *batch);

/* The same with a batch that lies in the device's memory already, and the batch that is bound. */
void execution_bind_device(struct execution *execution, const struct execution_batch *batch);
const struct execution_batch *execution_device_batch(const struct execution *execution);

/* Runs the forward pass. `iteration` selects the random numbers of dropout. */
void execution_forward(struct execution *execution, uint64_t iteration);

/* The weighted sum of the losses' means over the batch, after a forward pass with labels; the main
 * loss alone with execution_main_loss. Float32 sums in image order, as Caffe takes them. */
float execution_loss(const struct execution *execution);
float execution_main_loss(const struct execution *execution);
const float *execution_image_losses(const struct execution *execution); /* [count], main loss */

/* The output node's values [count, C, H, W]: valid until the next forward. */
const float *execution_output(const struct execution *execution);

void execution_backward(struct execution *execution);

/* One solver step with the gradients of the last backward pass. */
void execution_update(struct execution *execution, float learning_rate);

/* All of the three, on the batch that is bound. Returns the loss; when it is no number, there was
 * no step. A device may still be at it when this returns. */
float execution_iterate(struct execution *execution, uint64_t iteration, float learning_rate);

/* Until all of it is done. */
void execution_wait(struct execution *execution);

/* Per-node gradients, by parameter offset as in the weights; NULL: there are none, or there is no
 * memory for a copy of them. */
const float *execution_parameter_gradients(const struct execution *execution);

/* For networks that are joined (gan.h). gradients = (gradients + more) * scale, over the learnable
 * weights. */
void execution_mix_gradients(struct execution *execution, const float *more, float scale);
const float *execution_device_gradients(const struct execution *execution);
const float *execution_device_output(const struct execution *execution);
/* [count, C, H, W] after a backward pass; NULL unless the plan keeps it. */
const float *execution_device_input_gradient(const struct execution *execution);
/* To be filled between the forward and the backward pass; NULL unless the plan seeds it. */
float *execution_device_output_gradient(struct execution *execution);

/* The solver's state, laid out as the weights; NULL: this solver has none. Before it is read, and
 * after it or the weights were written, the device must be asked: */
float *execution_solver_state(struct execution *execution, size_t which);
/* Brings weights and state here. False when the device failed: they are then worth nothing. */
bool execution_fetch(struct execution *execution, struct error *error);
/* Weights and state were changed here. */
void execution_touch(struct execution *execution);
uint64_t execution_solver_step(const struct execution *execution);
void execution_set_solver_step(struct execution *execution, uint64_t step);

/* Attaches a profile (NULL: none). */
void execution_set_profile(struct execution *execution, struct profile *profile);

/* After a loss that is no number: runs the forward pass again, node by node, and names the first
 * one with a value or a parameter that is not finite. Returns false when all are finite. */
struct bad_layer {
    char node[NODE_NAME_SIZE];
    bool in_weights; /* its parameters, not its output */
};
bool execution_find_first_bad_layer(struct execution *execution, uint64_t iteration,
                                    struct bad_layer *layer);

#endif
