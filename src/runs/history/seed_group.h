/* seed_group.h: finds the runs of a group of seeds: runs of one configuration with different seeds,
 * which lists and tables show as one entry, and the statistics of their results.
 *
 * Each run of a group has the group's ID in its setting seed-group, and in its setting seeds how
 * many runs the group was to have; there is no other record of the group, so deleting, moving or
 * copying runs needs no care. A command names a group GROUP@seeds: by its ID, or by any of its
 * runs. Not thread-safe. */
#ifndef TINCA_RUNS_HISTORY_SEED_GROUP_H
#define TINCA_RUNS_HISTORY_SEED_GROUP_H

#include "base/error.h"
#include "base/json/json.h"
#include "runs/settings/config.h"
#include "runs/values/run_snapshot.h"
#include "runs/values/statistics.h"

#include <stdbool.h>
#include <stddef.h>

struct seed_member {
    char directory[512];
    size_t seed;
};

struct seed_group {
    char id[64];
    struct run_config config;    /* of the run with the lowest seed */
    struct seed_member *members; /* by seed; of equal seeds in the order of their IDs */
    size_t count, capacity;
};

/* Returns whether an operand names a group: it ends with "@seeds". */
bool seed_group_is_operand(const char *operand);

/* Finds the runs of the group that `operand` names, with or without "@seeds" at its end. Returns
 * false with an error if there is no such group. Free it in either case. */
bool seed_group_find(struct seed_group *group, const char *operand, struct error *error);

/* Reads the runs whose setting seed-group is `id` in the same way; there may be none. */
bool seed_group_read(struct seed_group *group, const char *id, struct error *error);

/* Returns whether the group has a run with this seed. */
bool seed_group_has(const struct seed_group *group, size_t seed);

void seed_group_free(struct seed_group *group); /* leaves it {0} */

/* Writes an ID for a new group of runs with this configuration. Returns `id`, which holds
 * RUN_ID_SIZE bytes. */
char *seed_group_new_id(const struct run_config *config, char *id);

/* --- statistics of the results --- */

/* Mean, standard deviation and 95 % interval of the results of a group of seeds. The interval is
 * Student's, of the mean over all seeds. Thread-safe. */

struct seed_statistics {                /* of figure_results; the other elements are not valid */
    size_t runs;                        /* of the group */
    size_t counts[FIGURES];             /* runs whose figure is finite; the others do not count */
    struct statistics figures[FIGURES]; /* all NaN where counts is 0; sd, ci95 where it is 1 */
};

/* Computes the statistics of `count` runs. Returns false with an error if out of memory. */
bool seed_statistics_compute(const struct run_figures *runs, size_t count,
                             struct seed_statistics *statistics, struct error *error);

/* Puts the means in place of one run's results. */
void seed_statistics_take_means(const struct seed_statistics *statistics,
                                struct run_figures *figures);

/* Adds to `object` a member for each figure: {"n", "mean", "sd", "ci95"}. Returns false if out of
 * memory. */
bool seed_statistics_to_json(const struct seed_statistics *statistics, struct json *object);

#endif
