/* The images of a sample are drawn without replacement: the beginning of a random permutation,
 * which a smaller sample of the same seed has, too. An observer flattens the observed values, and
 * concatenates the vectors in as many levels as the number of a node's inputs needs; its graph has
 * the parameters of the original, in the same places. For the ranges, the sample is computed twice:
 * for the ranges of the values, and for their histograms, whose bins depend on them. */
#include "training/compress/internal.h"

#include "base/language.h"
#include "base/memory.h"
#include "base/random.h"
#include "data/loader/data_loader.h"
#include "engine/ops/op.h"
#include "engine/quantize/graph_copy.h"
#include "models/saved/class_match.h"
#include "models/saved/ranking.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* --- images --- */

enum { BATCH = 32 }; /* of an evaluation */

/* Sets chosen[0..count) to different numbers below `images`: the beginning of a random permutation
 * (Fisher & Yates). */
static bool choose(size_t *chosen, size_t count, size_t images, uint64_t seed, struct error *error)
{
    size_t *all = memory_new(images, sizeof *all, "the order of images", error);
    if (!all)
        return false;
    for (size_t i = 0; i < images; i++)
        all[i] = i;
    for (size_t i = 0; i < count; i++) {
        const struct random_block block = random_philox(seed, RANDOM_CALIBRATE, 0, i);
        const uint64_t word = (uint64_t)block.word[0] << 32 | block.word[1];
        const size_t other = i + (size_t)(word % (images - i)), kept = all[i];
        chosen[i] = all[i] = all[other];
        all[other] = kept;
    }
    free(all);
    return true;
}

static bool check_set(struct model *model, struct dataset *dataset, struct error *error)
{
    const struct dataset_facts *facts = dataset_facts(dataset);
    if (facts->paired || facts->images == 0)
        return error_set(error, ERROR_INPUT, facts->spec, "choose the set that it was trained on",
                         facts->paired ? N_("its examples are pairs of pictures, without classes")
                                       : N_("it holds no images"));
    return class_match_model(model, dataset, error);
}

static bool read_images(struct sample_images *sample, const struct model *model,
                        const struct dataset *dataset, uint64_t seed, struct error *error)
{
    const size_t images = dataset_facts(dataset)->images;
    sample->count = sample->count < images ? sample->count : images;
    sample->values = shape_count(model->network->input);
    size_t *chosen = memory_new(sample->count, sizeof *chosen, "the order of images", error);
    sample->images =
        memory_new_aligned(sample->count * sample->values, sizeof(float), "the images", error);
    sample->labels = memory_new(sample->count, sizeof *sample->labels, "the labels", error);
    bool read = chosen && sample->images && sample->labels &&
                choose(chosen, sample->count, images, seed, error);
    for (size_t i = 0; read && i < sample->count; i++) {
        read = data_loader_read_example(dataset, &model->preprocessing.normalisation, chosen[i],
                                        sample->images + i * sample->values, NULL, error);
        sample->labels[i] = (int32_t)dataset_label(dataset, chosen[i]);
    }
    free(chosen);
    return read;
}

bool sample_images_read(struct sample_images *sample, struct model *model, const char *spec,
                        size_t count, uint64_t seed, struct error *error)
{
    const struct shape input = model->network->input;
    const struct dataset_request wish = {input.channels, input.height, input.width};
    *sample = (struct sample_images){.count = count};
    struct dataset *dataset = dataset_open_as(spec, "train", &wish, &model->preprocessing, error);
    const bool read = dataset && check_set(model, dataset, error) &&
                      read_images(sample, model, dataset, seed, error);
    dataset_free(dataset);
    return read;
}

void sample_images_free(struct sample_images *sample)
{
    free(sample->images);
    free(sample->labels);
    *sample = (struct sample_images){0};
}

/* Adds an image's logits to the result. */
static void tally(const float *logits, size_t classes, int32_t label, struct sample_result *result)
{
    const uint32_t first = ranking_first(logits, classes);
    result->right += first == (uint32_t)label;
    if (first == RANKING_NONE) {
        result->loss = NAN;
    } else {
        const struct class_shares shares = ranking_shares(logits, classes);
        result->loss += log(shares.sum) + (double)shares.largest - (double)logits[label];
    }
    result->images++;
}

bool sample_images_evaluate(const struct sample_images *sample, size_t images,
                            const struct network *network, struct weights *weights,
                            struct device *device, struct sample_result *result,
                            struct error *error)
{
    const struct plan_settings settings = {.mode = PLAN_INFERENCE,
                                           .batch = BATCH,
                                           .threads = device->threads,
                                           .device = device,
                                           .machine = &device->machine};
    struct plan *plan = plan_build(&network->graph, device->driver, &settings, error);
    struct execution *execution =
        plan ? execution_create(plan, device, weights, NULL, 0, error) : NULL;
    *result = (struct sample_result){0};
    for (size_t first = 0; execution && first < images; first += BATCH) {
        const size_t count = images - first < BATCH ? images - first : BATCH;
        const struct execution_batch batch = {.images = sample->images + first * sample->values,
                                              .count = count};
        execution_bind(execution, &batch);
        execution_forward(execution, 0);
        const float *logits = execution_output(execution);
        for (size_t i = 0; i < count; i++)
            tally(logits + i * network->classes, network->classes, sample->labels[first + i],
                  result);
    }
    result->loss /= (double)images;
    const bool evaluated = execution && device_check(device, error);
    execution_free(execution);
    plan_free(plan);
    return evaluated;
}

/* --- observers --- */

/* Limits of a batch: the bytes of its values, and its images. */
enum { BATCH_BYTES = 128 << 20, BATCH_MOST = 32 };

/* Adds a node behind the copied ones; its number in *added. */
static bool add_node(struct graph *graph, const struct op *op, const size_t *inputs, size_t count,
                     size_t *added, struct error *error)
{
    char name[NODE_NAME_SIZE];
    snprintf(name, sizeof name, "observer %zu", graph->node_count);
    return graph_add(graph, op, name, inputs, count, NULL, added, error);
}

/* Joins vectors[0..count) into one, in order, by as many levels as are needed. */
static bool join(struct graph *graph, size_t *vectors, size_t count, struct error *error)
{
    while (count > 1) {
        size_t joined = 0;
        for (size_t i = 0; i < count; i += NODE_MAX_INPUTS) {
            const size_t some = count - i < NODE_MAX_INPUTS ? count - i : NODE_MAX_INPUTS;
            size_t added = vectors[i];
            if (some > 1 && !add_node(graph, &op_concat, vectors + i, some, &added, error))
                return false;
            vectors[joined++] = added;
        }
        count = joined;
    }
    return true;
}

static bool copy_needed(struct graph_copy *copy, const struct graph *graph, struct error *error)
{
    bool copied = graph_copy_begin(copy, graph, error);
    if (copied)
        graph_mark_ancestors(graph, graph->output, copy->wanted);
    for (size_t i = 1; copied && i < graph->node_count; i++)
        copied = !copy->wanted[i] || graph_copy_add(copy, i, NULL, error);
    return copied;
}

static bool make_graph(struct observer *observer, const struct graph *graph, const size_t *nodes,
                       struct error *error)
{
    struct graph_copy copy;
    size_t *vectors = memory_new(observer->count, sizeof *vectors, "the observer", error);
    bool made = vectors && copy_needed(&copy, graph, error);
    for (size_t i = 0; made && i < observer->count; i++) {
        observer->offsets[i + 1] =
            observer->offsets[i] + shape_count(graph->nodes[nodes[i]].output);
        made = add_node(&copy.graph, &op_flatten, &copy.map[nodes[i]], 1, &vectors[i], error);
    }
    made = made && join(&copy.graph, vectors, observer->count, error) &&
           graph_finish(&copy.graph, error);
    if (made) {
        observer->graph = copy.graph;
        copy.graph = (struct graph){0};
    }
    if (vectors)
        graph_copy_free(&copy);
    free(vectors);
    return made;
}

/* Returns the images of a batch if each takes `bytes` bytes. */
static size_t batch_for(uint64_t bytes)
{
    const uint64_t fitting = BATCH_BYTES / (bytes ? bytes : 1);
    return fitting < 1 ? 1 : fitting < BATCH_MOST ? (size_t)fitting : BATCH_MOST;
}

static bool make_plan(struct observer *observer, struct device *device, struct weights *weights,
                      struct error *error)
{
    observer->batch = batch_for(observer->offsets[observer->count] * sizeof(float));
    const struct plan_settings settings = {.mode = PLAN_INFERENCE,
                                           .batch = observer->batch,
                                           .threads = device->threads,
                                           .device = device,
                                           .machine = &device->machine};
    observer->plan = plan_build(&observer->graph, device->driver, &settings, error);
    observer->execution =
        observer->plan ? execution_create(observer->plan, device, weights, NULL, 0, error) : NULL;
    return observer->execution;
}

bool observer_open(struct observer *observer, const struct graph *graph, const size_t *nodes,
                   size_t count, struct device *device, struct weights *weights,
                   struct error *error)
{
    *observer = (struct observer){.count = count};
    observer->offsets = memory_new(count + 1, sizeof *observer->offsets, "the observer", error);
    return observer->offsets && make_graph(observer, graph, nodes, error) &&
           make_plan(observer, device, weights, error);
}

void observer_close(struct observer *observer)
{
    execution_free(observer->execution);
    plan_free(observer->plan);
    graph_free(&observer->graph);
    free(observer->offsets);
    *observer = (struct observer){0};
}

uint64_t observer_bytes(const struct graph *graph, const size_t *nodes, size_t count,
                        const struct device_driver *driver, size_t threads)
{
    struct observer observer = {.count = count};
    uint64_t bytes = 0;
    observer.offsets = memory_new(count + 1, sizeof *observer.offsets, "the observer", NULL);
    if (observer.offsets && make_graph(&observer, graph, nodes, NULL)) {
        const struct plan_settings settings = {
            .mode = PLAN_INFERENCE,
            .batch = batch_for(observer.offsets[count] * sizeof(float)),
            .threads = threads,
            .only_forecast = true};
        observer.plan = plan_build(&observer.graph, driver, &settings, NULL);
    }
    if (observer.plan)
        bytes = observer.plan->forecast.total - observer.plan->forecast.weights;
    observer_close(&observer);
    return bytes;
}

const float *observer_run(struct observer *observer, const struct sample_images *sample,
                          size_t first, size_t count)
{
    const struct execution_batch batch = {.images = sample->images + first * sample->values,
                                          .count = count};
    execution_bind(observer->execution, &batch);
    execution_forward(observer->execution, 0);
    return execution_output(observer->execution);
}

/* --- ranges --- */

struct calibration {
    struct quantize_state *state;
    struct observer observer;
    size_t *nodes, count;                     /* the observed nodes */
    struct calibration_histogram *histograms; /* of each; NULL in the first pass */
};

/* Lists the nodes whose values determine a grid. */
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
        if (!technique_watch_step(calibration->state->watch, what, error))
            return false;
        add_values(calibration, observer_run(observer, sample, first, count), count);
    }
    return device_check(calibration->state->model.device, error);
}

/* Replaces each range by the one that the method chooses from its histogram. */
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
