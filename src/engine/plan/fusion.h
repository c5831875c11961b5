/* fusion.h: nodes whose work is fused into the kernel of another node. Internal to the plan. */
#ifndef TINCA_ENGINE_PLAN_FUSION_H
#define TINCA_ENGINE_PLAN_FUSION_H

#include "engine/plan/plan.h"

/* Fuses channel moves into the kernel that reads them and, if `epilogues` is set, additions and
 * activations into the kernel before them, wherever that kernel supports it. The steps of fused
 * nodes become views. Call it once kernels are chosen and before the order of execution is made.
 * Returns false with an error if out of memory. */
bool fusion_apply(struct plan *plan, bool epilogues, struct error *error);

/* Returns whether an addition or activation is fused into a kernel of this plan. */
bool fusion_has_epilogues(const struct plan *plan);

#endif
