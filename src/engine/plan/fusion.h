/* plan_absorb.h: nodes that are not executed, because the kernel of another does their work.
 * Internal to the plan.
 */
#ifndef TINCA_ENGINE_PLAN_FUSION_H
#define TINCA_ENGINE_PLAN_FUSION_H

#include "engine/plan/plan.h"

/* Of a plan whose steps have their kernels and nothing else yet. Moves of channels are read
 * through and, with `finishes`, sums and activations finished, wherever the kernels that are to do
 * so say that they can. The steps of such nodes become views. False with an error when memory is
 * out. */
bool plan_absorb(struct plan *plan, bool finishes, struct error *error);

#endif
