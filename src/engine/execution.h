/* execution.h: a plan with memory behind it: forward, backward and update.
 *
 * Owns the arena, the gradients and the solver's state; borrows plan, device and weights. A
 * training and an inference execution may share weights and device, used by one thread in turn.
 */
#ifndef TINCA_ENGINE_EXECUTION_H
#define TINCA_ENGINE_EXECUTION_H

#include "base/error.h"
#include "engine/device.h"
#include "engine/plan.h"
#include "engine/profile.h"
#include "engine/weights.h"

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

/* Per-node gradients and solver state, by parameter offset as in the weights. */
const float *execution_parameter_gradients(const struct execution *execution);

/* For networks that are joined (gan.h), on devices whose memory is the host's. gradients =
 * (gradients + more) * scale, over the learnable weights. */
void execution_mix_gradients(struct execution *execution, const float *more, float scale);
/* [count, C, H, W] after a backward pass; NULL unless the plan keeps it. */
const float *execution_input_gradient(const struct execution *execution);
/* To be filled between the forward and the backward pass; NULL unless the plan seeds it. */
float *execution_output_gradient(struct execution *execution);

float *execution_solver_state(struct execution *execution, size_t which);
uint64_t execution_solver_step(const struct execution *execution);
void execution_set_solver_step(struct execution *execution, uint64_t step);

/* Attaches a profile (NULL: none). */
void execution_set_profile(struct execution *execution, struct profile *profile);

/* After a loss that is no number: runs the forward pass again, node by node, and names the first
 * one with a value or a parameter that is not finite. Returns false when all are finite. */
struct culprit {
    char node[NODE_NAME_SIZE];
    bool in_weights; /* its parameters, not its output */
};
bool execution_find_culprit(struct execution *execution, uint64_t iteration,
                            struct culprit *culprit);

#endif
