/* ranks.h: a run that several processes compute (engine/cluster/cluster.h).
 *
 * Rank 0 has the run: folder, journal, checkpoints, and all decisions. The other ranks wait for its
 * commands in ranks_serve: prepare a run, take over the weights, compute an iteration with this
 * learning rate, compute a part of a validation, end the run. So a learning-rate schedule, a pause,
 * or a stop needs no agreement. Each rank reads its part of every batch itself.
 *
 * In all functions, `cluster` may be NULL: then there are no other ranks, and the function does
 * nothing. Functions that return false have set the error.
 */
#ifndef TINCA_TRAINING_RANKS_RANKS_H
#define TINCA_TRAINING_RANKS_RANKS_H

#include "engine/cluster/cluster.h"
#include "engine/execution/execution.h"
#include "runs/settings/config.h"
#include "training/prepare/prepare.h"

/* Checks that all ranks were started with the same settings, except threads. All of them call it;
 * fails on all of them. */
bool ranks_compare(struct cluster *cluster, const struct run_config *config, struct error *error);

/* Puts the number and the host of this rank before an error's subject; does nothing without a
 * cluster. Returns false. */
bool ranks_name_error(const struct cluster *cluster, struct error *error);

/* --- rank 0 --- */

/* Measures a few iterations of all ranks, and of rank 0 alone, with its own threads and with the
 * threads of all ranks on its host. Writes a sentence into `text`, or "" if all ranks are faster or
 * the measurement fails: then the training fails, too, and reports why. */
void ranks_compare_with_one(struct cluster *cluster, const struct run_config *config, char *text,
                            size_t size);

/* Tells the others to prepare a run, whose pictures are prepared by `from`. ranks_agree must
 * follow, whether or not this rank can prepare it. */
bool ranks_begin(struct cluster *cluster, const struct run_config *config,
                 const struct run_preprocessing *from, uint64_t first_iteration,
                 struct error *error);

/* Compares how the ranks have prepared the run: `prepared` says whether this one has, and *error
 * why not. Fails if one has not, or if ranks would compute other bits: another network or data set,
 * other instructions, BLAS library or version. If it returns true, ranks_end must follow. */
bool ranks_agree(struct cluster *cluster, const struct run_config *config,
                 const struct preparation *preparation, bool prepared, struct error *error);

/* Gives the others the weights and the solver's state. */
bool ranks_share_state(struct cluster *cluster, struct preparation *preparation,
                       struct error *error);

/* The division of a validation among the ranks. */
struct ranks_validation {
    size_t parts;    /* at most 1: rank 0 validates alone */
    size_t part;     /* of this rank; `parts` or more: none */
    size_t room;     /* results that each rank sends */
    size_t *ranks;   /* [parts]: which rank has a part */
    uint64_t number; /* identifies the last validation */
};

/* Divides the validations of a run among the ranks that have the validation set, with the kernels
 * `chosen` that rank 0 has (computed_with.h); all ranks have shared their state. Writes into `text`
 * why ranks take no part although there would be work for them; "" if all can. Returns false with
 * an error. Free *validation in any case. */
bool ranks_divide_validation(struct cluster *cluster, struct preparation *prepared,
                             const char *chosen, struct ranks_validation *validation, char *text,
                             size_t size, struct error *error);
void ranks_validation_free(struct ranks_validation *validation); /* may be {0} */

/* Validates, with the other ranks if they have parts. The result has the bits of evaluator_run. */
bool ranks_validate(struct cluster *cluster, struct ranks_validation *validation,
                    struct evaluator *evaluator, evaluator_progress *progress, void *context,
                    struct evaluation *evaluation, struct error *error);

/* Tells the others to compute an iteration; with `next`, on their part of the next batch, otherwise
 * on that of the last one. */
void ranks_step(struct cluster *cluster, uint64_t iteration, float learning_rate, bool next);

/* Finds the first bad layer of all parts of a batch (method_find_first_bad_layer). */
bool ranks_find_first_bad_layer(struct cluster *cluster, const struct preparation *prepared,
                                uint64_t iteration, struct bad_layer *layer);

/* Tells the others that the run is over. */
void ranks_end(struct cluster *cluster);

/* Tells the others that no further run will come. */
void ranks_quit(struct cluster *cluster);

/* --- the other ranks --- */

/* Obeys rank 0 until it quits, and does the work `besides` in each run. `threads` is the number
 * that this rank was started with; 0: that of rank 0. */
bool ranks_serve(struct cluster *cluster, size_t threads, const struct run_besides *besides,
                 struct error *error);

#endif
