/* ranks_internal.h: the commands of rank 0. Internal to session/ranks. */
#ifndef TINCA_SESSION_RANKS_RANKS_INTERNAL_H
#define TINCA_SESSION_RANKS_RANKS_INTERNAL_H

#include "session/measure/scaling.h"
#include "session/ranks/ranks.h"

enum ranks_order {
    RANKS_COMPARE,
    RANKS_BEGIN,
    RANKS_STATE,
    RANKS_STEP,
    RANKS_FIND,
    RANKS_WORK,
    RANKS_END,
    RANKS_QUIT
};

/* A command as it is broadcast. RANKS_COMPARE and RANKS_BEGIN are followed by a broadcast of the
 * configuration, and RANKS_STATE by the arrays. */
struct ranks_command {
    uint64_t order, iteration, solver_step;
    struct loss_scale loss_scale;
    float learning_rate;
    bool next;
};

/* Measures a few iterations of all ranks and of rank 0 alone. All ranks call it. Returns false if
 * that cannot be measured. */
bool ranks_measure_scaling(struct cluster *cluster, const struct run_config *config,
                           struct scaling *scaling);

/* Broadcast the state of training: rank 0's becomes everybody's. */
bool ranks_broadcast_state(struct cluster *cluster, struct preparation *preparation);

/* Gathers what each rank has found, and returns the first layer of all. */
bool ranks_gather_bad_layers(struct cluster *cluster, struct execution *execution,
                             const struct graph *graph, uint64_t iteration,
                             struct bad_layer *layer);

/* Rank 0 gets the work of all ranks, in their order, and frees the array; NULL after a failure or
 * without memory. `mine` is its own. The second function is that of the other ranks. */
struct cluster_work *ranks_collect_work(struct cluster *cluster, const struct cluster_work *mine);
bool ranks_gather_work(struct cluster *cluster, const struct cluster_work *mine,
                       struct cluster_work **all);

#endif
