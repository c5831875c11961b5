/* seed_statistics.h: mean, standard deviation and 95 % interval of the results of a group of seeds.
 * The interval is Student's, of the mean over all seeds. Thread-safe. */
#ifndef TINCA_SESSION_SEEDS_SEED_STATISTICS_H
#define TINCA_SESSION_SEEDS_SEED_STATISTICS_H

#include "base/json/json.h"
#include "session/values/run_snapshot.h"
#include "session/values/statistics.h"

enum seed_figure {
    SEED_LOSS,
    SEED_VALIDATION_LOSS,
    SEED_BEST_VALIDATION_LOSS,
    SEED_TOP1,
    SEED_TOP5,
    SEED_BEST_TOP1,
    SEED_TEST_LOSS,
    SEED_TEST_TOP1,
    SEED_TEST_TOP5,
    SEED_FIGURES
};
/* The figures' names in JSON and CSV, in this order. */
extern const char *const seed_figure_names[SEED_FIGURES];

struct seed_statistics {
    size_t runs;                 /* of the group */
    size_t counts[SEED_FIGURES]; /* runs whose figure is finite; the others do not count */
    struct statistics figures[SEED_FIGURES]; /* all NaN where counts is 0; sd, ci95 where it is 1 */
};

/* Returns a figure of a run. */
double seed_figure_of(const struct run_figures *figures, enum seed_figure figure);

/* Computes the statistics of `count` runs. Returns false with an error if out of memory. */
bool seed_statistics_compute(const struct run_figures *runs, size_t count,
                             struct seed_statistics *statistics, struct error *error);

/* Returns the means in place of one run's results. */
struct run_figures seed_statistics_means(const struct seed_statistics *statistics);

/* Adds to `object` a member for each figure: {"n", "mean", "sd", "ci95"}. Returns false if out of
 * memory. */
bool seed_statistics_to_json(const struct seed_statistics *statistics, struct json *object);

#endif
