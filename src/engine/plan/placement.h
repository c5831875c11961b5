/* placement.h: a plan's arena, its arrays and its memory forecast. Internal to the plan. */
#ifndef TINCA_ENGINE_PLAN_PLACEMENT_H
#define TINCA_ENGINE_PLAN_PLACEMENT_H

#include "engine/plan/live_ranges.h"
#include "engine/plan/plan.h"

/* Packs the blocks of `ranges` into the arena of their plan, followed by `workspace` bytes, and
 * writes all offsets, plan->arrays and the forecast. The first call, which is for a plan without
 * recomputation, also sets forecast.unlimited. plan->arrays has room for ranges->block_capacity
 * arrays. Returns false with an error if out of memory or the arena is too large. */
bool placement_make(struct live_ranges *ranges, const struct plan_settings *settings,
                    size_t workspace, struct error *error);

#endif
