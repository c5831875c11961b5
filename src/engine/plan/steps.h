/* steps.h: the steps of a plan and their kernels. Internal to the plan. */
#ifndef TINCA_ENGINE_PLAN_STEPS_H
#define TINCA_ENGINE_PLAN_STEPS_H

#include "engine/plan/plan.h"

/* Writes plan->steps: one for each node that the output or a loss needs, with its kernel. The array
 * has room for all nodes. Returns false with an error if the network cannot be trained, the device
 * lacks an operator, a node is too large or out of memory. */
bool steps_build(struct plan *plan, const struct plan_settings *settings, struct error *error);

/* Divides the workspace of each step; returns the bytes of the largest one, rounded up. */
size_t steps_place_workspace(struct plan *plan);

/* Gives every step its place in the memory that kernels prepare; returns the bytes of the whole. */
size_t steps_place_prepared(struct plan *plan);

#endif
