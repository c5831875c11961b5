/* plan_schedule.h: which values are given up, and the order of what an iteration does. Internal to
 * the plan.
 */
#ifndef TINCA_ENGINE_PLAN_STEP_ORDER_H
#define TINCA_ENGINE_PLAN_STEP_ORDER_H

#include "engine/plan/plan.h"

/* Of a plan whose steps are complete. Views have no value of their own: `root` leads to it. */
struct schedule {
    struct plan *plan; /* borrowed; its actions and the times of its steps are written */
    size_t *root;      /* by node: the node whose value it is; an input's value is the caller's */
    size_t *writer;    /* by node: its step; PLAN_NONE: it has none */
    bool *late;        /* by node: read after the forward pass, as schedule_make found it */
    bool *pending;     /* by node: to be computed again before the next backward pass */
};

bool schedule_create(struct schedule *schedule, struct plan *plan, struct error *error);
void schedule_free(struct schedule *schedule);

/* Whether a backward pass of this step reads its input, its output, what its forward pass saved. */
bool schedule_reads_input(const struct plan_step *step);
size_t schedule_inputs_read(const struct plan_step *step); /* then the first so many */
bool schedule_reads_output(const struct plan_step *step);
bool schedule_makes_saved_again(const struct plan_step *step); /* when it is run again */

/* Whether the node's value is one that can be computed again: neither a result nor a view, and
 * without a trace in the weights. */
bool schedule_can_give_up(const struct schedule *schedule, size_t node);

/* Fills plan->order. Values that are read after the forward pass are kept for it when keep[] (by
 * node; NULL: all) says so or when they cannot be given up; the others are computed again. */
void schedule_make(struct schedule *schedule, const bool *keep);

#endif
