/* The sample is computed twice: for the ranges of the values, and for their histograms, whose bins
 * depend on them. */
#include "session/compress/quantize_state.h"

#include "base/language.h"
#include "base/memory.h"
#include "session/compress/observer.h"

#include <stdlib.h>

struct calibration {
    struct quantize_state *state;
    struct observer observer;
    size_t *nodes, count;                     /* the observed nodes */
    struct calibration_histogram *histograms; /* of each; NULL in the first pass */
};

/* Lists the nodes whose values decide a grid. */
static bool list_nodes(struct calibration *calibration, struct error *error)
{
    const struct quantize_plan *plan = &calibration->state->plan;
    calibration->nodes =
        memory_new(plan->graph->node_count, sizeof *calibration->nodes, "the layers", error);
    for (size_t i = 0; calibration->nodes && i < plan->graph->node_count; i++)
        if (plan->group[i] != QUANTIZE_NONE && !plan->clipped[i])
            calibration->nodes[calibration->count++] = i;
    return calibration->nodes;
}

/* Adds the values of a batch to ranges or histograms. */
static void add_values(struct calibration *calibration, const float *values, size_t images)
{
    const size_t *offsets = calibration->observer.offsets;
    const size_t all = offsets[calibration->count];
    for (size_t n = 0; n < images; n++)
        for (size_t i = 0; i < calibration->count; i++) {
            const float *from = values + n * all + offsets[i];
            const size_t count = offsets[i + 1] - offsets[i];
            if (calibration->histograms)
                calibration_add(&calibration->histograms[i], from, count);
            else
                sample_range_add(&calibration->state->ranges[calibration->nodes[i]], from, count);
        }
}

static bool compute_sample(struct calibration *calibration, const char *what, struct error *error)
{
    struct observer *observer = &calibration->observer;
    const struct sample_images *sample = &calibration->state->sample;
    for (size_t first = 0; first < sample->count; first += observer->batch) {
        const size_t left = sample->count - first;
        const size_t count = left < observer->batch ? left : observer->batch;
        if (!quantize_step(calibration->state, what, error))
            return false;
        add_values(calibration, observer_run(observer, sample, first, count), count);
    }
    return device_check(calibration->state->model.device, error);
}

/* Replaces each range by what the method makes of its histogram. */
static bool choose_ranges(struct calibration *calibration, struct error *error)
{
    struct quantize_state *state = calibration->state;
    calibration->histograms =
        memory_new(calibration->count, sizeof *calibration->histograms, "the histograms", error);
    if (!calibration->histograms)
        return false;
    for (size_t i = 0; i < calibration->count; i++)
        calibration_begin(&calibration->histograms[i], state->ranges[calibration->nodes[i]]);
    if (!compute_sample(calibration, _("counting the values of the sample"), error))
        return false;
    for (size_t i = 0; i < calibration->count; i++)
        state->ranges[calibration->nodes[i]] =
            calibration_range(&calibration->histograms[i], state->request->method);
    return true;
}

bool quantize_calibrate(struct quantize_state *state, struct error *error)
{
    struct calibration calibration = {.state = state};
    for (size_t i = 0; i < state->plan.graph->node_count; i++)
        state->ranges[i] = SAMPLE_RANGE_NONE;
    const bool done =
        list_nodes(&calibration, error) &&
        observer_open(&calibration.observer, state->plan.graph, calibration.nodes,
                      calibration.count, state->model.device, &state->folded.weights, error) &&
        compute_sample(&calibration, _("finding the ranges of the values"), error) &&
        (state->request->method == CALIBRATION_MINMAX || choose_ranges(&calibration, error));
    observer_close(&calibration.observer);
    free(calibration.nodes);
    free(calibration.histograms);
    return done;
}
