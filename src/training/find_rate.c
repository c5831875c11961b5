/* Every window of points gets a line by least squares. Its standard error comes from the residuals:
 * those of the window, or of the earlier windows if theirs scatter more. When a large rate has
 * spoilt a network so that it gives every class the same probability, losses scatter less, and
 * small changes would count. The training that makes the points follows below. */
#include "training/find_rate.h"

#include "base/language.h"
#include "base/memory.h"
#include "runs/settings/config_data.h"
#include "training/prepare/prepare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The narrowest windows have a fifth of the rates, but not fewer than 20 beside the middle; where
 * none of them has a slope that counts, windows of 3/2, 2 and 5/2 of that width are tried. */
enum { LEAST_WINDOW = 20, WINDOW_SHARE = 5, WIDEST = 5 };
/* The standard errors by which a slope must differ from 0. In 20,000 simulated searches of 100
 * rates whose loss does not fall, one of about 250 windows reaches 5 by chance once in 4,000
 * searches, and 3.3 once in 20. A fall or a rise at the border of a search needs fewer. */
static const double clear = 5, by_chance = 3.3, at_border = 2;
/* These determine the proposed number of iterations: the one with which an unclear slope would have
 * 6 standard errors, which grow with the root of the number; or ten times that of the search. */
static const double wanted_errors = 6, many_more = 10;
/* If a search ends below this rate and shows nothing, its rates were too low to train. */
static const double high_rate = 1;

static const double kept = 0.98; /* weight of the old value in the moving average */
static const double too_large =
    4; /* factor on the least smoothed loss: above it the training has diverged */

/* --- the suggestion --- */

/* The line through the losses of a window. */
struct line {
    double mean;      /* of the losses */
    double slope;     /* over the logarithm of the rate */
    double deviation; /* the slope's standard error */
};

/* Returns the number of points on each side of the middle of the narrowest windows. */
static size_t half_window(size_t iterations)
{
    return iterations / WINDOW_SHARE > LEAST_WINDOW ? iterations / WINDOW_SHARE / 2
                                                    : LEAST_WINDOW / 2;
}

/* Returns the line by least squares through the points middle - half to middle + half. */
static struct line fit(const struct rate_point *points, size_t middle, size_t half)
{
    const size_t first = middle - half, n = 2 * half + 1;
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0;
    for (size_t i = first; i < first + n; i++) {
        mean_x += log(points[i].rate) / (double)n;
        mean_y += points[i].loss / (double)n;
    }
    for (size_t i = first; i < first + n; i++) {
        const double x = log(points[i].rate) - mean_x, y = points[i].loss - mean_y;
        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    const double slope = xy / xx, rest = fmax(yy - slope * xy, 0);
    return (struct line){mean_y, slope, sqrt(rest / (double)(n - 2) / xx)};
}

/* Returns the middle of the window with the least mean loss. */
static size_t least_window(const struct rate_point *points, size_t count, size_t half)
{
    size_t least = half;
    double mean = fit(points, half, half).mean;
    for (size_t i = half + 1; i + half < count; i++) {
        const struct line line = fit(points, i, half);
        if (line.mean < mean) {
            mean = line.mean;
            least = i;
        }
    }
    return least;
}

/* The slopes in the windows of one width, up to the window of the least mean loss. */
struct slopes {
    size_t half;     /* of the windows */
    size_t steepest; /* the middle of the steepest window that counts; 0: none counts */
    size_t clearest; /* the middle of the window that falls by the most standard errors */
    double errors;   /* the number of these standard errors; 0: no window falls */
};

/* Returns by how many standard errors, each at least `least`, the line falls; negative if it rises.
 */
static double errors_of_fall(const struct line *line, double least)
{
    return line->slope == 0 ? 0 : -line->slope / fmax(line->deviation, least);
}

static struct slopes find_slopes(const struct rate_point *points, size_t count, size_t half)
{
    struct slopes slopes = {.half = half};
    const size_t least = least_window(points, count, half);
    double steepest = 0, squares = 0; /* sums of the standard errors so far */
    for (size_t i = half; i <= least; i++) {
        const struct line line = fit(points, i, half);
        squares += line.deviation * line.deviation;
        const double errors = errors_of_fall(&line, sqrt(squares / (double)(i - half + 1)));
        if (errors > slopes.errors) {
            slopes.errors = errors;
            slopes.clearest = i;
        }
        if (errors > clear && line.slope < steepest) {
            steepest = line.slope;
            slopes.steepest = i;
        }
    }
    return slopes;
}

/* Returns the slopes of the narrowest width at which a window counts, or else those with the
 * clearest fall. */
static struct slopes find_clear_slopes(const struct rate_point *points, size_t count, size_t half)
{
    struct slopes clearest = {.half = half};
    for (size_t width = 2; width <= WIDEST && count > half * width; width++) {
        const struct slopes slopes = find_slopes(points, count, half * width / 2);
        if (slopes.steepest)
            return slopes;
        if (slopes.errors > clearest.errors)
            clearest = slopes;
    }
    return clearest;
}

/* The middles of the first and the last of the windows in a row around the steepest that fall at
 * least half as steeply. */
struct fall {
    size_t first, last;
};

static struct fall find_fall(const struct rate_point *points, size_t count,
                             const struct slopes *slopes)
{
    const size_t half = slopes->half;
    const double enough = fit(points, slopes->steepest, half).slope / 2;
    struct fall fall = {slopes->steepest, slopes->steepest};
    while (fall.first > half && fit(points, fall.first - 1, half).slope <= enough)
        fall.first--;
    while (fall.last + half + 1 < count && fit(points, fall.last + 1, half).slope <= enough)
        fall.last++;
    return fall;
}

/* Suggests the middle of the steepest window; the range is the fall around it, and at least the
 * inner quarter of this window: behind it the loss may rise at once. */
static void set_suggestion(struct rate_suggestion *suggestion, const struct slopes *slopes,
                           const struct fall *fall)
{
    const size_t low = slopes->steepest - slopes->half / 4,
                 high = slopes->steepest + slopes->half / 4;
    suggestion->found = true;
    suggestion->point = slopes->steepest;
    suggestion->lowest = fall->first < low ? fall->first : low;
    suggestion->highest = fall->last > high ? fall->last : high;
}

/* --- why there is no suggestion --- */

/* Explains that there are fewer losses than the narrowest window needs. */
static void explain_few(struct rate_suggestion *suggestion, size_t count, size_t iterations,
                        size_t needed)
{
    if (count < iterations)
        snprintf(suggestion->reason, sizeof suggestion->reason,
                 _("the loss grew without limit after %zu losses, and a slope needs %zu: give a "
                   "lower --low"),
                 count, needed);
    else
        snprintf(suggestion->reason, sizeof suggestion->reason,
                 _("%zu losses are too few for a slope, which needs %zu: give more --iterations"),
                 count, needed);
}

/* Returns whether the loss falls in the narrowest window around this point: then a fall at the
 * border is not an effect of a wide window. */
static bool narrow_falls(const struct rate_point *points, size_t middle, size_t half)
{
    const struct line line = fit(points, middle, half);
    return errors_of_fall(&line, 0) > at_border;
}

/* Explains that the fall reaches the first or the last window of the search, so that it may be
 * steeper at rates outside. Returns false if it does not: if losses grew without limit behind the
 * last window, higher rates are of no use. */
static bool explain_border(struct rate_suggestion *suggestion, const struct rate_point *points,
                           size_t count, size_t iterations, const struct fall *fall, size_t half)
{
    const size_t narrow = half_window(iterations);
    if (fall->first == half && narrow_falls(points, narrow, narrow))
        snprintf(suggestion->reason, sizeof suggestion->reason,
                 _("the loss falls from the lowest rates on, up to %.2g, and may fall more steeply "
                   "before them: give a lower --low"),
                 points[fall->last].rate);
    else if (count == iterations && fall->last + half + 1 == count &&
             narrow_falls(points, count - 1 - narrow, narrow))
        snprintf(suggestion->reason, sizeof suggestion->reason,
                 _("the loss falls from %.2g up to the highest rates, and may fall more steeply "
                   "behind them: give a higher --high"),
                 points[fall->first].rate);
    else
        return false;
    return true;
}

/* Returns the middle of the narrowest window from which on all of them rise; 0 if the last one does
 * not rise. */
static size_t last_rise(const struct rate_point *points, size_t count, size_t half)
{
    size_t middle = count - 1 - half;
    const struct line last = fit(points, middle, half);
    if (errors_of_fall(&last, 0) > -at_border)
        return 0;
    while (middle > half && fit(points, middle - 1, half).slope > 0)
        middle--;
    return middle;
}

/* Returns the number of iterations with which a fall of `errors` standard errors would count. */
static double enough_iterations(size_t iterations, double errors)
{
    const double wanted = (double)iterations * pow(wanted_errors / errors, 2);
    return fmin(ceil(wanted / 50) * 50, FIND_RATE_MOST);
}

/* Explains that there are windows, but that none of their slopes counts. */
static void explain_unclear(struct rate_suggestion *suggestion, const struct rate_point *points,
                            size_t count, size_t iterations, const struct slopes *clearest)
{
    const size_t rise = last_rise(points, count, half_window(iterations)), last = count - 1;
    const double errors = floor(clearest->errors * 10) / 10; /* 4.96 is less than 5, as printed */
    const double more = fmin((double)iterations * many_more, FIND_RATE_MOST);
    char *reason = suggestion->reason;
    const size_t size = sizeof suggestion->reason;
    if (errors >= by_chance)
        snprintf(reason, size,
                 _("the losses of the batches scatter too much: the clearest fall, at about %.2g, "
                   "is %.1f times its standard error, and %g are needed: give --iterations %.0f "
                   "or a larger --batch"),
                 points[clearest->clearest].rate, errors, clear,
                 enough_iterations(iterations, clearest->errors));
    else if (rise || count < iterations)
        snprintf(reason, size,
                 _("the loss falls at no rate, and rises from about %.2g on (the clearest slope is "
                   "%.1f times its standard error, as by chance, and %g are needed): give "
                   "--iterations %.0f, and perhaps another --solver"),
                 points[rise ? rise : last].rate, errors, clear, more);
    else if (points[last].rate < high_rate)
        snprintf(reason, size,
                 _("from %.2g to %.2g the loss neither falls nor rises by more than the losses of "
                   "the batches scatter: give a higher --high"),
                 points[0].rate, points[last].rate);
    else
        snprintf(reason, size,
                 _("from %.2g to %.2g the loss neither falls nor rises by more than the losses of "
                   "the batches scatter: give --iterations %.0f, and perhaps another --solver"),
                 points[0].rate, points[last].rate, more);
}

struct rate_suggestion rate_points_suggest(const struct rate_point *points, size_t count,
                                           size_t iterations)
{
    struct rate_suggestion suggestion = {.found = false};
    const size_t half = half_window(iterations);
    if (count < 2 * half + 1) {
        explain_few(&suggestion, count, iterations, 2 * half + 1);
        return suggestion;
    }
    const struct slopes slopes = find_clear_slopes(points, count, half);
    if (!slopes.steepest) {
        explain_unclear(&suggestion, points, count, iterations, &slopes);
        return suggestion;
    }
    const struct fall fall = find_fall(points, count, &slopes);
    if (!explain_border(&suggestion, points, count, iterations, &fall, slopes.half))
        set_suggestion(&suggestion, &slopes, &fall);
    return suggestion;
}

/* --- the training --- */

struct finder {
    struct rate_search *search;
    struct preparation prepared;
    double average; /* the moving average, with its bias towards 0 */
    double least;   /* the least smoothed loss so far */
};

static double rate_at(const struct rate_search *search, size_t i)
{
    const double part = (double)i / (double)(search->iterations - 1);
    return search->low * pow(search->high / search->low, part);
}

/* Trains on the next batch and records its loss. Returns false with an error. */
static bool step(struct finder *finder, size_t i, struct error *error)
{
    struct preparation *prepared = &finder->prepared;
    struct rate_search *search = finder->search;
    struct data_batch batch;
    if (!data_loader_next(prepared->loader, &batch, error))
        return false;
    const double rate = rate_at(search, i);
    const struct execution_batch bound = prepare_batch(prepared, &batch);
    struct step_losses losses;
    method_step(&prepared->method, &bound, i, (float)rate, &losses);
    const double loss = (double)losses.total;
    if (!device_check(prepared->device, error))
        return false;
    if (!isfinite(loss)) {
        search->diverged = true;
        return true;
    }
    finder->average = kept * finder->average + (1 - kept) * loss;
    const double smoothed = finder->average / (1 - pow(kept, (double)i + 1));
    search->points[search->count++] = (struct rate_point){rate, loss, smoothed};
    finder->least = i == 0 ? smoothed : fmin(finder->least, smoothed);
    search->diverged = smoothed > too_large * finder->least && finder->least > 0;
    return true;
}

static bool train(struct finder *finder, find_rate_progress *progress, void *context,
                  struct error *error)
{
    struct rate_search *search = finder->search;
    for (size_t i = 0; i < search->iterations && !search->diverged; i++)
        if (!prepare_groups(&finder->prepared, i, error) || !step(finder, i, error) ||
            (progress && !progress(context, i + 1, search->iterations, error)))
            return false;
    return true;
}

/* --- the search --- */

static bool check(const struct rate_search *search, struct error *error)
{
    if (!(search->low > 0) || !(search->high > search->low) || !isfinite(search->high))
        return error_set(error, ERROR_USAGE, "--low and --high", "give two rates, as 1e-6 and 10",
                         "the rates begin above 0 and grow");
    if (search->iterations < FIND_RATE_LEAST || search->iterations > FIND_RATE_MOST)
        return error_set(error, ERROR_USAGE, OPTION(iterations), "give 10 to 100000",
                         "so many rates cannot be compared");
    return true;
}

/* Removes the settings without a meaning in a search: it neither validates, tests nor ends early.
 * It trains on the images of the run, without the share that the run holds out. Returns false with
 * an error. */
static bool keep_training_only(struct run_config *config, size_t iterations, struct error *error)
{
    struct run_config search;
    char data[CONFIG_SPEC], number[24];
    if (!config_check_validation(config, error))
        return false;
    config_defaults(&search);
    config_take(&search, config, TASK_FIND_RATE);
    if (!config_put(&search, KEY(data), config_training_spec(config, data), NULL))
        return error_set(error, ERROR_USAGE, OPTION(data), "give it a shorter path",
                         "with the share that it trains on it is too long");
    snprintf(number, sizeof number, "%zu", iterations);
    config_set(&search, KEY(iterations), number, NULL);
    *config = search;
    return true;
}

static bool search_all(struct finder *finder, find_rate_progress *progress, void *context,
                       struct error *error)
{
    struct rate_search *search = finder->search;
    const struct run_preprocessing from = run_preprocessing_of(&search->config, NULL);
    if (!keep_training_only(&search->config, search->iterations, error) ||
        !config_check(&search->config, error) ||
        !prepare(&finder->prepared, &search->config, &from, 0, NULL, NULL, error))
        return false;
    if (!method_has_one_loss(&finder->prepared.method))
        return error_set(error, ERROR_UNSUPPORTED, finder->prepared.network->name,
                         "choose a network with one loss",
                         "two networks that train against each other have no loss that falls");
    search->points = memory_new(search->iterations, sizeof *search->points, "the points", error);
    return search->points && train(finder, progress, context, error);
}

bool rate_search_run(struct rate_search *search, find_rate_progress *progress, void *context,
                     struct error *error)
{
    struct finder finder = {.search = search};
    search->points = NULL;
    search->count = 0;
    search->diverged = false;
    if (!check(search, error))
        return false;
    const bool found = search_all(&finder, progress, context, error);
    prepare_free(&finder.prepared);
    search->suggestion = rate_points_suggest(search->points, search->count, search->iterations);
    if (!found)
        rate_search_free(search);
    return found;
}

void rate_search_free(struct rate_search *search)
{
    free(search->points);
    search->points = NULL;
    search->count = 0;
    search->suggestion = (struct rate_suggestion){.found = false};
}
