/* The walk repeats the loss meter's recurrence on the recorded losses. It takes the mean before
 * each step from the record if possible. For tinca's runs the two have the same bits; a log has
 * only six digits, and the errors from reading them must not accumulate.
 *
 * Rounding errors are computed in double precision. Its relative error of 2^-53 for the products
 * and quotients of float32 values is far below what is shown. */
#include "session/findings/loss_lesson.h"

#include <math.h>

bool loss_mean_is_wrong(double caffe, double exact)
{
    return caffe < 0 || fabs(caffe - exact) > exact;
}

/* --- roundings --- */

static void find_roundings(const struct loss_step *step, double rounding[LESSON_OPERATIONS])
{
    const double held = (double)step->held, before = (double)step->before;
    const double first = (double)step->first, second = (double)step->second;
    if (step->filling) {
        rounding[0] = first - before * (held - 1);
        rounding[1] = second - (first + (double)step->loss);
        rounding[2] = (double)step->after - second / held;
    } else {
        rounding[0] = first - ((double)step->loss - (double)step->leaving);
        rounding[1] = second - first / held;
        rounding[2] = (double)step->after - (before + second);
    }
}

/* Returns the effect of the errors on the mean: an error before a division is divided, too. */
static double sum_roundings(const struct loss_step *step, const double rounding[LESSON_OPERATIONS])
{
    const double held = (double)step->held;
    return step->filling ? (rounding[0] + rounding[1]) / held + rounding[2]
                         : rounding[0] / held + rounding[1] + rounding[2];
}

/* --- the walk --- */

/* Advances the walk by one iteration. */
static void walk_one(struct loss_walk *walk)
{
    const struct series_point *point = &walk->series->points[walk->done];
    const bool full = walk->done >= walk->window;
    const float leaving = full ? walk->series->points[walk->done - walk->window].loss : 0;
    double rounding[LESSON_OPERATIONS];
    walk->step = loss_meter_step(walk->window, walk->done, walk->mean, leaving, point->loss);
    find_roundings(&walk->step, rounding);
    const double sum = sum_roundings(&walk->step, rounding);
    if (fabs(sum) > fabs(walk->worst_rounding)) {
        walk->worst_rounding = sum;
        walk->worst_at = point->iteration;
    }
    if (point->loss > walk->largest) {
        walk->largest = point->loss;
        walk->largest_at = point->iteration;
    }
    walk->mean = isnan(point->loss_caffe) ? walk->step.after : point->loss_caffe;
    walk->done++;
}

/* Returns the mean of the window that ends with the last point that was visited, summed in double
 * precision.
 */
static double exact_mean(const struct loss_walk *walk)
{
    double sum = 0;
    for (size_t i = walk->done - walk->step.held; i < walk->done; i++)
        sum += (double)walk->series->points[i].loss;
    return sum / (double)walk->step.held;
}

static void fill(const struct loss_walk *walk, struct loss_lesson *lesson)
{
    *lesson = (struct loss_lesson){.iteration = walk->done,
                                   .window = walk->window,
                                   .step = walk->step,
                                   .loss = walk->step.loss,
                                   .caffe = walk->mean,
                                   .exact = exact_mean(walk),
                                   .largest = walk->largest,
                                   .largest_at = walk->largest_at,
                                   .worst_rounding = walk->worst_rounding,
                                   .worst_at = walk->worst_at};
    find_roundings(&walk->step, lesson->rounding);
    lesson->step_rounding = sum_roundings(&walk->step, lesson->rounding);
    lesson->is_record = walk->step.after == walk->mean || isnan(walk->step.after);
    lesson->residue = (double)lesson->caffe - lesson->exact;
    lesson->ulp = (double)nextafterf(walk->largest, INFINITY) - (double)walk->largest;
}

/* Returns false with an error unless every iteration up to this one is recorded. */
static bool check_record(const struct series *series, uint64_t iteration, struct error *error)
{
    static const char *const what = "the arithmetic of the mean";
    const size_t count = series_count(series);
    if (count == 0)
        return error_set(error, ERROR_INPUT, what, "wait for the first iteration, or train again",
                         "this run has no iteration on record");
    const uint64_t last = series->points[count - 1].iteration;
    if (iteration < 1 || iteration > last)
        return error_set(error, ERROR_USAGE, what, "choose one of those",
                         "iteration %llu is not on record; the run has 1 to %llu",
                         (unsigned long long)iteration, (unsigned long long)last);
    if (last == count)
        return true;
    return error_set(error, ERROR_INPUT, what,
                     "it takes a record of every iteration (in Caffe: display: 1)",
                     "the mean depends on every loss before it, and this record has %llu of the "
                     "first %llu",
                     (unsigned long long)count, (unsigned long long)last);
}

bool loss_walk_to(struct loss_walk *walk, const struct series *series, size_t window,
                  uint64_t iteration, struct loss_lesson *lesson, struct error *error)
{
    if (!check_record(series, iteration, error))
        return false;
    if (window == 0)
        window = 1;
    if (walk->series != series || walk->window != window || walk->done > iteration)
        *walk = (struct loss_walk){.series = series, .window = window};
    while (walk->done < iteration)
        walk_one(walk);
    fill(walk, lesson);
    return true;
}

/* --- which iteration --- */

uint64_t loss_lesson_next_negative(const struct series *series, uint64_t iteration)
{
    uint64_t first = 0;
    bool below = false;
    for (size_t i = 0, count = series_count(series); i < count; i++) {
        const struct series_point *point = &series->points[i];
        const bool falls = point->loss_caffe < 0 && !below;
        below = point->loss_caffe < 0;
        if (falls && point->iteration > iteration)
            return point->iteration;
        if (falls && first == 0)
            first = point->iteration;
    }
    return first;
}

uint64_t loss_lesson_choose(const struct series *series)
{
    const size_t count = series_count(series);
    const uint64_t negative = loss_lesson_next_negative(series, 0);
    if (negative > 0 || count == 0)
        return negative;
    for (size_t i = 0; i < count; i++)
        if (loss_mean_is_wrong((double)series->points[i].loss_caffe,
                               (double)series->points[i].loss_mean))
            return series->points[i].iteration;
    return series->points[count - 1].iteration;
}
