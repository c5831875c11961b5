/* The snapshot has all figures, so a list needs no curves. That of a run of an earlier version
 * lacks the best validation loss, which its curves give. */
#include "session/values/run_figures.h"

#include "base/json/json.h"

#include <math.h>

struct run_figures run_figures_unknown(void)
{
    return (struct run_figures){false, false, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
}

/* Returns a result, which was computed as a float, as the number that its shortest decimals mean,
 * so that it has the same digits in every list and file. */
static double result(double value)
{
    return json_float((float)value);
}

/* Returns the lowest finite loss of the validations; NaN: there is none. */
static double lowest_validation_loss(const struct series *series)
{
    double lowest = NAN;
    for (size_t i = 0, count = series_validation_count(series); i < count; i++) {
        const double loss = (double)series->validations[i].loss;
        if (isfinite(loss) && !(loss >= lowest))
            lowest = loss;
    }
    return result(lowest);
}

struct run_figures run_figures_of(const struct run_snapshot *now, const struct series *series)
{
    struct run_figures figures = run_figures_unknown();
    figures.has_loss = now->iteration > 0;
    figures.has_validation = now->has_validation;
    if (figures.has_loss)
        figures.loss = result((double)now->loss);
    if (now->has_validation) {
        figures.validation_loss = result(now->validation_loss);
        figures.top1 = result(now->top1);
        figures.top5 = result(now->top5);
        /* of a network without classes the snapshot has no best accuracy, but may have a zero */
        figures.best_top1 = isnan(now->top1) ? (double)NAN : result(now->best_top1);
        figures.best_validation_loss = result(now->best_validation_loss);
    }
    if (now->test.images > 0) {
        figures.test_loss = result(now->test.loss);
        figures.test_top1 = result(now->test.top1);
        figures.test_top5 = result(now->test.top5);
    }
    if (series)
        figures.best_validation_loss = lowest_validation_loss(series);
    return figures;
}
