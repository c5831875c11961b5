/* recompute.h: which values to recompute so that training fits a memory limit. Internal to the
 * plan. */
#ifndef TINCA_ENGINE_PLAN_RECOMPUTE_H
#define TINCA_ENGINE_PLAN_RECOMPUTE_H

#include "engine/plan/step_order.h"

struct recompute_search {
    struct step_order *order;
    /* Returns the arena's bytes if the values of keep[] (by node) stay in memory and the others are
     * recomputed: the exact number, or a lower bound in less time. Makes the order for it. */
    uint64_t (*measure)(void *context, const bool *keep, bool exact);
    void *context;
    uint64_t limit; /* bytes of the arena; 0: as few as possible */
};

/* Sets keep[] (by node) to the values that stay in memory. Chooses the least recomputation that
 * fits the limit or, if none fits, the least memory. The result depends on the plan and the limit
 * only. Returns false with an error if out of memory. */
bool recompute_choose(const struct recompute_search *search, bool *keep, struct error *error);

/* Sets keep[] (by node) so that only normalised values are recomputed: their statistics are saved,
 * so that one pass over the input writes them again. Ignores search->limit. Keeps all values if
 * that saves less than a tenth of the arena. Returns false with an error if out of memory. */
bool recompute_choose_norms(const struct recompute_search *search, bool *keep, struct error *error);

#endif
