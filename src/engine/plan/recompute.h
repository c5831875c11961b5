/* plan_recompute.h: which values to keep so that training fits a memory limit. Internal to the
 * plan.
 */
#ifndef TINCA_ENGINE_PLAN_RECOMPUTE_H
#define TINCA_ENGINE_PLAN_RECOMPUTE_H

#include "engine/plan/step_order.h"

struct recompute_search {
    struct schedule *schedule;
    /* The arena's bytes when the values of keep[] (by node) are kept: exactly, or a lower bound
     * that takes less time. Leaves the schedule made for it. */
    uint64_t (*measure)(void *context, const bool *keep, bool exactly);
    void *context;
    uint64_t limit; /* of the arena */
};

/* Sets keep[] (by node) to the choice that fits the limit with the least work done again; where
 * none was found, to the one that takes the least memory. The answer depends on the plan and the
 * limit only. False when memory is out. */
bool recompute_choose(const struct recompute_search *search, bool *keep, struct error *error);

#endif
