/* internal.h: the commands of rank 0 and their parts. Internal to training/ranks. */
#ifndef TINCA_TRAINING_RANKS_INTERNAL_H
#define TINCA_TRAINING_RANKS_INTERNAL_H

#include "training/bench/scaling.h"
#include "training/ranks/ranks.h"

enum ranks_order {
    RANKS_COMPARE,
    RANKS_BEGIN,
    RANKS_STATE,
    RANKS_DIVIDE,
    RANKS_STEP,
    RANKS_VALIDATE,
    RANKS_FIND,
    RANKS_WORK,
    RANKS_END,
    RANKS_QUIT
};

/* A command as it is broadcast. RANKS_COMPARE and RANKS_BEGIN are followed by a broadcast of the
 * configuration, RANKS_BEGIN also by one of struct run_preprocessing, RANKS_STATE by the arrays,
 * and RANKS_DIVIDE by the record of the kernels. */
struct ranks_command {
    uint64_t order, iteration;
    struct method_counters counters; /* RANKS_STATE */
    uint64_t batch, bytes;           /* RANKS_DIVIDE: of a validation; of the record */
    float learning_rate;
    bool next;
};

/* Broadcast rank 0's command, or the data that follow it. Return false with an error after a
 * failure. */
bool ranks_command(struct cluster *cluster, const struct ranks_command *command,
                   struct error *error);
bool ranks_broadcast(struct cluster *cluster, void *data, size_t bytes, struct error *error);

/* Measures a few iterations of all ranks and of rank 0 alone. All ranks call it. Returns false if
 * they cannot be measured. */
bool ranks_measure_scaling(struct cluster *cluster, const struct run_config *config,
                           struct scaling *scaling);

/* Broadcasts the state of training from rank 0. */
bool ranks_broadcast_state(struct cluster *cluster, struct preparation *preparation);

/* Ranks other than 0 call the first function when rank 0 divides the validation, and the second one
 * when it validates. The command is that of rank 0. They return false with an error after a
 * failure, of which the others know. */
bool ranks_take_part(struct cluster *cluster, const struct ranks_command *divide,
                     struct preparation *prepared, struct ranks_validation *validation,
                     struct error *error);
bool ranks_validate_part(struct cluster *cluster, const struct ranks_command *validate,
                         struct preparation *prepared, const struct ranks_validation *validation,
                         struct error *error);

/* Gathers the bad layer of each rank, and returns the first of all. */
bool ranks_gather_bad_layers(struct cluster *cluster, const struct preparation *prepared,
                             uint64_t iteration, struct bad_layer *layer);

/* Gathers the work of all ranks on rank 0, in their order; the caller frees the array. Returns NULL
 * after a failure or without memory. `mine` is its own. The second function is that of the other
 * ranks. */
struct cluster_work *ranks_collect_work(struct cluster *cluster, const struct cluster_work *mine);
bool ranks_gather_work(struct cluster *cluster, const struct cluster_work *mine,
                       struct cluster_work **all);

#endif
