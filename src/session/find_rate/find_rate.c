/* The slope at a point is that between its neighbours. Points behind the least smoothed loss do not
 * count: there the loss falls only after it has risen. */
#include "session/find_rate/find_rate.h"

#include "base/language.h"
#include "base/memory.h"
#include "session/prepare/prepare.h"

#include <math.h>
#include <stdlib.h>

static const double kept = 0.98;   /* of the moving average, at each iteration */
static const double too_large = 4; /* times the least smoothed loss: the training has diverged */

/* --- the suggestion --- */

static size_t least_point(const struct rate_point *points, size_t count)
{
    size_t least = 0;
    for (size_t i = 1; i < count; i++)
        if (points[i].smoothed < points[least].smoothed)
            least = i;
    return least;
}

size_t rate_points_steepest(const struct rate_point *points, size_t count)
{
    size_t steepest = count;
    double lowest = 0;
    if (count < 3)
        return count;
    const size_t last = least_point(points, count);
    for (size_t i = 1; i < count - 1 && i <= last; i++) {
        const double slope = (points[i + 1].smoothed - points[i - 1].smoothed) /
                             log(points[i + 1].rate / points[i - 1].rate);
        if (slope < lowest) {
            lowest = slope;
            steepest = i;
        }
    }
    return steepest;
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

/* Leaves out what a search does not do: it neither validates nor ends early. */
static struct run_config training_only(const struct rate_search *search)
{
    struct run_config config = search->config;
    config.validate[0] = '\0';
    config.stop_patience = 0;
    config.ema = 0;
    config.has_iterations = true;
    config.iterations = search->iterations;
    /* epochs that were given do not contradict the iterations */
    config.given = (struct config_given){0};
    return config;
}

static bool search_all(struct finder *finder, find_rate_progress *progress, void *context,
                       struct error *error)
{
    struct rate_search *search = finder->search;
    search->config = training_only(search);
    if (!config_check(&search->config, error) ||
        !prepare(&finder->prepared, &search->config, 0, NULL, NULL, error))
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
    search->suggested = rate_points_steepest(search->points, search->count);
    if (!found)
        rate_search_free(search);
    return found;
}

void rate_search_free(struct rate_search *search)
{
    free(search->points);
    search->points = NULL;
    search->count = search->suggested = 0;
}
