/* Every window of points gets a line by least squares, whose standard error comes from what is left
 * of the losses; the training that makes the points follows below. */
#include "session/find_rate/find_rate.h"

#include "base/language.h"
#include "base/memory.h"
#include "session/config/config_data.h"
#include "session/prepare/prepare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The narrowest windows have a fifth of the rates, but not fewer than 20 beside the middle; where
 * none of them has a slope that counts, windows of 3/2, 2 and 5/2 of that width are tried. */
enum { LEAST_WINDOW = 20, WINDOW_SHARE = 5, WIDEST = 5 };
/* Standard errors by which a slope has to differ from 0: by chance a window of 21 losses reaches 5
 * once in 25,000 times, and a search has about a hundred windows, most of which share losses. */
static const double clear = 5;

static const double kept = 0.98;   /* of the moving average, at each iteration */
static const double too_large = 4; /* times the least smoothed loss: the training has diverged */

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

/* Returns what windows of one width show; no reason is filled in. */
static struct rate_suggestion find_steepest(const struct rate_point *points, size_t count,
                                            size_t half)
{
    struct rate_suggestion suggestion = {.highest = least_window(points, count, half)};
    double steepest = 0;
    for (size_t i = half; i <= suggestion.highest; i++) {
        const struct line line = fit(points, i, half);
        if (!(line.slope < -clear * line.deviation))
            continue;
        if (!suggestion.found)
            suggestion.lowest = i;
        suggestion.found = true;
        if (line.slope < steepest) {
            steepest = line.slope;
            suggestion.point = i;
        }
    }
    return suggestion;
}

struct rate_suggestion rate_points_suggest(const struct rate_point *points, size_t count,
                                           size_t iterations)
{
    struct rate_suggestion suggestion = {.found = false};
    const size_t half = half_window(iterations);
    for (size_t width = 2; width <= WIDEST && !suggestion.found; width++)
        if (count > half * width)
            suggestion = find_steepest(points, count, half * width / 2);
    if (suggestion.found)
        return suggestion;
    suggestion = (struct rate_suggestion){.found = false};
    if (count < 2 * half + 1)
        snprintf(
            suggestion.reason, sizeof suggestion.reason,
            _("%zu losses are too few for a slope, which needs %zu: give more --iterations, or "
              "lower rates"),
            count, 2 * half + 1);
    else
        snprintf(suggestion.reason, sizeof suggestion.reason, "%s",
                 _("the loss falls at no rate by more than the losses of the batches scatter: give "
                   "a larger --batch, more --iterations or other rates"));
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
    prepare_bind(prepared, &bound, i);
    const double loss = (double)execution_iterate(prepared->execution, i, (float)rate);
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
        if (!prepare_groups(&finder->prepared, &search->config, i, error) ||
            !step(finder, i, error) ||
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
        return error_set(error, ERROR_USAGE, "--iterations", "give 10 to 100000",
                         "so many rates cannot be compared");
    return true;
}

/* Leaves out what a search does not do: it neither validates, tests nor ends early. It trains on
 * the images of the run, without the share that the run holds out. Returns false with an error. */
static bool keep_training_only(struct run_config *config, size_t iterations, struct error *error)
{
    char data[CONFIG_SPEC];
    if (!config_check_validation(config, error))
        return false;
    if (strlen(config_training_spec(config, data)) >= sizeof config->data)
        return error_set(error, ERROR_USAGE, "--data", "give it a shorter path",
                         "with the share that it trains on it is too long");
    memcpy(config->data, data, strlen(data) + 1);
    config->validate[0] = config->test[0] = '\0';
    config->data_divides = false;
    config->stop_patience = 0;
    config->ema = 0;
    config->has_iterations = true;
    config->iterations = iterations;
    /* epochs that were given do not contradict the iterations */
    config->given = (struct config_given){0};
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
    if (finder->prepared.gan)
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
