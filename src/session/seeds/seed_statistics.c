/* A figure is a place in three tables: its name, where it is in a run's figures, and where its mean
 * is put. Runs whose figure is not finite do not count. */
#include "session/seeds/seed_statistics.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

const char *const seed_figure_names[SEED_FIGURES] = {
    [SEED_LOSS] = "loss",
    [SEED_VALIDATION_LOSS] = "validation_loss",
    [SEED_BEST_VALIDATION_LOSS] = "best_validation_loss",
    [SEED_TOP1] = "top1",
    [SEED_TOP5] = "top5",
    [SEED_BEST_TOP1] = "best_top1",
    [SEED_TEST_LOSS] = "test_loss",
    [SEED_TEST_TOP1] = "test_top1",
    [SEED_TEST_TOP5] = "test_top5",
};

double seed_figure_of(const struct run_figures *figures, enum seed_figure figure)
{
    const double values[SEED_FIGURES] = {
        [SEED_LOSS] = figures->loss,
        [SEED_VALIDATION_LOSS] = figures->validation_loss,
        [SEED_BEST_VALIDATION_LOSS] = figures->best_validation_loss,
        [SEED_TOP1] = figures->top1,
        [SEED_TOP5] = figures->top5,
        [SEED_BEST_TOP1] = figures->best_top1,
        [SEED_TEST_LOSS] = figures->test_loss,
        [SEED_TEST_TOP1] = figures->test_top1,
        [SEED_TEST_TOP5] = figures->test_top5,
    };
    return values[figure];
}

bool seed_statistics_compute(const struct run_figures *runs, size_t count,
                             struct seed_statistics *statistics, struct error *error)
{
    double *values = memory_new(count, sizeof *values, "the statistics", error);
    *statistics = (struct seed_statistics){.runs = count};
    bool computed = values || count == 0;
    for (size_t f = 0; computed && f < SEED_FIGURES; f++) {
        size_t known = 0;
        for (size_t i = 0; i < count; i++) {
            const double value = seed_figure_of(&runs[i], (enum seed_figure)f);
            if (isfinite(value))
                values[known++] = value;
        }
        statistics->counts[f] = known;
        computed = statistics_compute(values, known, &statistics->figures[f], error);
    }
    free(values);
    return computed;
}

struct run_figures seed_statistics_means(const struct seed_statistics *statistics)
{
    const struct statistics *figures = statistics->figures;
    return (struct run_figures){
        .has_loss = statistics->counts[SEED_LOSS] > 0,
        .loss = figures[SEED_LOSS].mean,
        .validation_loss = figures[SEED_VALIDATION_LOSS].mean,
        .best_validation_loss = figures[SEED_BEST_VALIDATION_LOSS].mean,
        .top1 = figures[SEED_TOP1].mean,
        .top5 = figures[SEED_TOP5].mean,
        .best_top1 = figures[SEED_BEST_TOP1].mean,
        .test_loss = figures[SEED_TEST_LOSS].mean,
        .test_top1 = figures[SEED_TEST_TOP1].mean,
        .test_top5 = figures[SEED_TEST_TOP5].mean,
    };
}

bool seed_statistics_to_json(const struct seed_statistics *statistics, struct json *object)
{
    bool added = object;
    for (size_t f = 0; added && f < SEED_FIGURES; f++) {
        struct json *figure = json_add_object(object, seed_figure_names[f]);
        added = json_add_count(figure, "n", statistics->counts[f]) &&
                json_add_number(figure, "mean", statistics->figures[f].mean) &&
                json_add_number(figure, "sd", statistics->figures[f].sd) &&
                json_add_number(figure, "ci95", statistics->figures[f].ci95);
    }
    return added;
}
