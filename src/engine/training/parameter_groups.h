/* parameter_groups.h: parts of the weights that the solver treats differently, as PyTorch's
 * parameter groups: frozen ones, and ones with a learning rate of their own. */
#ifndef TINCA_ENGINE_TRAINING_PARAMETER_GROUPS_H
#define TINCA_ENGINE_TRAINING_PARAMETER_GROUPS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct graph;

/* The values [first, first + count) of the weights. */
struct parameter_group {
    size_t first, count;
    float rate;            /* factor of the learning rate; 0: frozen, the solver leaves it out */
    uint64_t steps_before; /* solver steps in which it was frozen: adam does not count them */
};

/* The groups in the order of the weights; together they contain every learnable value. */
struct parameter_groups {
    struct parameter_group *groups;
    size_t count;
};

struct parameter_rates {
    const char *frozen;    /* patterns (engine/graph/name_pattern.h); "": none */
    const char *rates;     /* "PATTERN=FACTOR,..."; the first that matches counts; "": none */
    uint64_t frozen_steps; /* solver steps after which the frozen ones join; 0: never */
};

/* Makes the groups as they are after `steps` solver steps. parameter_groups_free releases them.
 * Returns false with an error if a pattern matches nothing, a factor is no number of 0 to 1000, or
 * out of memory. */
bool parameter_groups_make(struct parameter_groups *groups, const struct graph *graph,
                           const struct parameter_rates *rates, uint64_t steps,
                           struct error *error);

/* Frees the groups and leaves them empty. */
void parameter_groups_free(struct parameter_groups *groups);

/* Sets the gradients of frozen groups to 0, so that they are not in the norm of all gradients. */
void parameter_groups_clear(const struct parameter_groups *groups, float *gradients);

#endif
