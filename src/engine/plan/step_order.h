/* step_order.h: the order of execution, with the recomputations that it needs. Internal to the
 * plan. */
#ifndef TINCA_ENGINE_PLAN_STEP_ORDER_H
#define TINCA_ENGINE_PLAN_STEP_ORDER_H

#include "engine/plan/plan.h"

/* Facts about the values of a plan whose steps are complete. */
struct step_order {
    struct plan *plan; /* borrowed; step_order_make writes its order and its steps' positions */
    size_t *root;    /* by node: the node whose memory has its value: itself, or a view's source */
    size_t *writer;  /* by node: its step; PLAN_NONE for inputs */
    bool *read_late; /* by node: its value is read after the forward pass */
    bool *pending;   /* by node: scratch, to be recomputed before the next backward pass */
};

/* Allocates `order` and plan->order; step_order_free releases the former. Returns false with an
 * error if out of memory. */
bool step_order_create(struct step_order *order, struct plan *plan, struct error *error);

/* Frees what step_order_create allocated, but not plan->order. */
void step_order_free(struct step_order *order);

/* Returns whether the node's value may be recomputed: it is no input, view, loss or output, and
 * computing it twice does not change running statistics. */
bool step_order_can_recompute(const struct step_order *order, size_t node);

/* Fills plan->order. Values that are read after the forward pass stay in memory if keep[] (by node;
 * NULL: all) is set or if they cannot be recomputed; the others are recomputed. */
void step_order_make(struct step_order *order, const bool *keep);

/* Set chain_end of all steps: the first one before the arena is laid out, once fusion and layouts
 * are complete; the second one, which splits chains whose steps share memory, afterwards
 * (chains.c). */
void step_order_find_chains(struct plan *plan);
void step_order_split_chains(struct plan *plan);

#endif
