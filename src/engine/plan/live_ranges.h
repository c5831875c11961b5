/* live_ranges.h: which arrays an iteration needs, when each is in use, and which of them share
 * memory. Internal to the plan. */
#ifndef TINCA_ENGINE_PLAN_LIVE_RANGES_H
#define TINCA_ENGINE_PLAN_LIVE_RANGES_H

#include "engine/plan/arena.h"
#include "engine/plan/plan.h"
#include "engine/plan/step_order.h"

/* The number of a block that does not exist. */
#define LIVE_RANGES_NONE ((size_t)-1)

struct live_ranges {
    struct plan *plan;              /* borrowed; accumulate[] of its steps is written */
    const struct step_order *order; /* borrowed */
    bool input_gradient;            /* the caller reads the gradient of the input */
    size_t nodes;
    struct arena_block *blocks; /* those merged into another one have 0 bytes */
    size_t block_count, block_capacity;
    size_t *value_block;    /* by node */
    size_t *backward_block; /* by node: the value after the forward pass; differs if recomputed */
    size_t *gradient_block; /* by node */
    size_t *saved_block, *backward_saved_block; /* by step */
    size_t (*copy_block)[NODE_MAX_INPUTS];      /* by step: the plain copies of its inputs */
    bool *written;                              /* by block: scratch, a pass wrote the gradient */
    /* Scratch: for each block the list of the nodes whose gradient it holds. */
    size_t *first_node, *next_node; /* by block, by node */
};

/* Allocates everything for a plan with an order; live_ranges_free releases it. Returns false with
 * an error if out of memory. */
bool live_ranges_create(struct live_ranges *ranges, struct plan *plan,
                        const struct step_order *order, const struct plan_settings *settings,
                        struct error *error);
void live_ranges_free(struct live_ranges *ranges);

/* Finds all blocks for the present order of the plan; offsets are not set. Also decides which
 * backward passes add to a gradient instead of overwriting it (step->accumulate). */
void live_ranges_find(struct live_ranges *ranges);

/* Returns the block of a node's value in the forward pass, following views; LIVE_RANGES_NONE if the
 * value is not in the arena. */
size_t live_ranges_value(const struct live_ranges *ranges, size_t node);

/* Returns the same for the time after the forward pass. */
size_t live_ranges_backward_value(const struct live_ranges *ranges, size_t node);

#endif
