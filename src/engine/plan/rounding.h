/* rounding.h: the rounding of values in a plan in bf16, on a device that computes on the host.
 *
 * bf16 is the upper half of a float32. Values are rounded to the nearest one, and ties to even;
 * those below the normal numbers become 0, as the processors' instructions do it.
 *
 *   products   Convolutions and linear layers multiply operands of bf16: input and weights and, in
 *              the backward pass, the gradient of the output. Sums are float32.
 *   values     The output of a node with more than one position, and its gradient, are bf16, except
 *              the output of the network, and nodes before it that may share its memory. Vectors
 *              are float32.
 *   the rest   Weights, their gradients, the solver's state and statistics are float32.
 *
 * Kernels with the trait KERNEL_BF16 round by themselves, and their channel-blocked values take
 * half the memory; if they have plain arrays, they round the operands of products, and the
 * execution rounds their results. Around any other kernel the execution rounds operands and
 * results; this is all that the device `reference` does. Both compute the same, apart from the
 * order of sums and from fused nodes: between those nothing is rounded, and in inference the factor
 * of a fused batch norm is multiplied with the weights before they are rounded.
 */
#ifndef TINCA_ENGINE_PLAN_ROUNDING_H
#define TINCA_ENGINE_PLAN_ROUNDING_H

#include "engine/plan/plan.h"

/* Marks the nodes whose values are rounded (plan->rounded), before fusion. plain[] comes from
 * layouts_mark_plain. */
void rounding_mark(struct plan *plan, const bool *plain);

/* Sets the operands and results to round around the kernel of every step, after fusion. */
void rounding_complete(struct plan *plan);

/* Return how many values of an operand are copied and rounded for a step, for `batch` images; 0 if
 * the operand is not copied. */
size_t rounding_input_count(const struct plan_step *step, size_t batch);
size_t rounding_weight_count(const struct plan *plan, const struct plan_step *step);
size_t rounding_output_count(const struct plan_step *step, size_t batch);

/* Returns the bytes of the workspace that a step needs for rounded operands, after those of its
 * kernel. */
size_t rounding_workspace_bytes(const struct plan *plan, const struct plan_step *step);

#endif
