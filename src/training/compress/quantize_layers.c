/* Measures how much accuracy quantization costs, layer by layer: a layer alone by the accuracy on
 * the sample, and all together by the noise of the outputs, for which the original network and the
 * quantized one are observed on the same images. */
#include "runs/settings/settings.h"
#include "training/compress/internal.h"

#include "base/host/host.h"
#include "base/language.h"
#include "base/memory.h"
#include "engine/ops/op.h"
#include "engine/quantize/graph_copy.h"
#include "engine/quantize/simulate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The FLOPs of all layers' measurements together, and the least number of images for each. */
static const double layer_flops = 2e12;
enum { LEAST_IMAGES = 16 };

/* --- networks that are made --- */

void made_network_free(struct made_network *made)
{
    weights_free(&made->weights);
    network_free(made->network);
    *made = (struct made_network){0};
}

bool quantize_make(const struct quantize_state *state, const struct quantize_plan *plan,
                   bool simulate, const char *step, struct made_network *made, struct error *error)
{
    made->network =
        quantize_network(plan, state->folded.network, &state->folded.weights, state->grids,
                         !state->request->per_tensor, step, &made->weights, error);
    return made->network && (!simulate || network_simulate(made->network, error));
}

/* --- each layer alone --- */

static size_t choose_layer_images(const struct quantize_state *state, size_t layers)
{
    const double flops = (double)graph_flops(&state->folded.network->graph) * (double)layers;
    const double images = layer_flops / (flops > 1 ? flops : 1);
    const size_t most = state->sample.count;
    if (images >= (double)most)
        return most;
    const size_t fitting = images > LEAST_IMAGES ? (size_t)images : LEAST_IMAGES;
    return fitting < most ? fitting : most;
}

/* Evaluates the network in which layer `i` alone is quantized. */
static bool evaluate_alone(const struct quantize_state *state, size_t i, bool *alone,
                           struct sample_result *result, struct error *error)
{
    struct quantize_plan plan = {0};
    struct made_network made = {0};
    alone[i] = true;
    const bool evaluated =
        quantize_plan_make(&plan, &state->folded.network->graph, alone, true, error) &&
        quantize_make(state, &plan, true, NULL, &made, error) &&
        sample_images_evaluate(&state->sample, state->result->layer_images, made.network,
                               &made.weights, state->model.device, result, error);
    alone[i] = false;
    made_network_free(&made);
    quantize_plan_free(&plan);
    return evaluated;
}

static bool measure_layer(struct quantize_state *state, struct quantize_layer *layer, size_t node,
                          bool *alone, const struct sample_result *original, struct error *error)
{
    struct sample_result result;
    char text[NODE_NAME_SIZE + 64];
    snprintf(text, sizeof text, _("quantizing the layer %s alone"), layer->name);
    if (!technique_watch_step(state->watch, text, error) ||
        !evaluate_alone(state, node, alone, &result, error))
        return false;
    layer->top1_loss =
        100 * ((double)original->right - (double)result.right) / (double)original->images;
    layer->loss_rise = result.loss - original->loss;
    return true;
}

bool quantize_measure_layers(struct quantize_state *state, struct error *error)
{
    const struct graph *graph = &state->folded.network->graph;
    struct quantize_result *result = state->result;
    struct sample_result original;
    bool *alone = memory_new(graph->node_count, sizeof *alone, "the layers", error);
    result->layer_images = choose_layer_images(state, result->layer_count);
    bool measured = alone && sample_images_evaluate(&state->sample, result->layer_images,
                                                    state->folded.network, &state->folded.weights,
                                                    state->model.device, &original, error);
    for (size_t i = 0; measured && i < result->layer_count; i++) {
        size_t node;
        struct quantize_layer *layer = &result->layers[i];
        if (layer->kept == KEPT_NOT && graph_find(graph, layer->name, &node))
            measured = measure_layer(state, layer, node, alone, &original, error);
    }
    free(alone);
    return measured;
}

/* --- memory --- */

/* Returns the bytes of the two observers that compare the outputs of the layers; 0: unknown. It
 * plans the network itself, though they observe one whose batch norms are folded. */
static uint64_t bytes_of_observers(const struct graph *graph,
                                   const struct machine_settings *machine)
{
    const struct device_driver *driver = device_find(machine->device, NULL, NULL);
    size_t *nodes = memory_new(graph->node_count, sizeof *nodes, "the layers", NULL), count = 0;
    bool *wanted = memory_new(graph->node_count, sizeof *wanted, "the layers", NULL);
    uint64_t bytes = 0;
    if (nodes && wanted && driver && driver->computes_on_host) {
        graph_mark_ancestors(graph, graph->output, wanted);
        for (size_t i = 0; i < graph->node_count; i++)
            if (wanted[i] && quantize_has_weights(&graph->nodes[i]))
                nodes[count++] = i;
        bytes = 2 * observer_bytes(graph, nodes, count, driver,
                                   machine->threads ? machine->threads : host_cores());
    }
    free(nodes);
    free(wanted);
    return bytes;
}

uint64_t quantize_bytes(const struct network *network, const void *request)
{
    const struct quantize_request *asked = request;
    const uint64_t images = (uint64_t)asked->images * shape_count(network->input) * sizeof(float);
    const struct machine_settings machine = machine_settings(&asked->config);
    return images + bytes_of_observers(&network->graph, &machine);
}

/* --- noise --- */

static double decibels(double signal, double noise)
{
    return noise > 0 ? 10 * log10(signal / noise) : INFINITY;
}

/* Returns the signal to noise ratio of the weights of a layer. */
static double weight_noise(const struct quantize_state *state, const char *layer)
{
    char name[NODE_NAME_SIZE + 16];
    snprintf(name, sizeof name, "%s.weight", layer);
    const struct parameter *a = graph_find_parameter(&state->folded.network->graph, name);
    const struct parameter *b = graph_find_parameter(&state->quantized.network->graph, name);
    double signal = 0, noise = 0;
    for (size_t i = 0; a && b && i < a->count; i++) {
        const double value = (double)state->folded.weights.values[a->offset + i];
        const double error = value - (double)state->quantized.weights.values[b->offset + i];
        signal += value * value;
        noise += error * error;
    }
    return decibels(signal, noise);
}

/* Finds the nodes at which a layer's output is observed: behind a relu that reads it, and behind
 * the rounding. Sets *clipped if a relu comes later, behind a concat; then negative values do not
 * count. */
static void find_output(const struct quantize_state *state, const char *layer, size_t *original,
                        size_t *rounded, bool *clipped)
{
    const struct graph *graph = &state->folded.network->graph;
    const struct graph *simulated = &state->simulated.network->graph;
    char name[NODE_NAME_SIZE];
    size_t reader;
    graph_find(graph, layer, original);
    *clipped = state->plan.clipped[*original];
    if (*clipped && graph_count_readers(graph, state->plan.wanted, *original, &reader) == 1 &&
        graph->nodes[reader].op == &op_relu)
        *original = reader;
    graph_copy_name(graph->nodes[*original].name, SIMULATE_SUFFIX, name);
    if (!graph_find(simulated, name, rounded))
        graph_find(simulated, graph->nodes[*original].name, rounded);
}

struct noise {
    struct observer original, rounded;
    size_t *original_nodes, *rounded_nodes;
    bool *clipped;            /* by layer */
    double *signals, *noises; /* by layer */
};

static void add_noise(struct noise *noise, const float *original, const float *rounded,
                      size_t images)
{
    const size_t *offsets = noise->original.offsets, all = offsets[noise->original.count];
    for (size_t n = 0; n < images; n++)
        for (size_t layer = 0; layer < noise->original.count; layer++)
            for (size_t i = offsets[layer]; i < offsets[layer + 1]; i++) {
                double value = (double)original[n * all + i];
                value = noise->clipped[layer] && value < 0 ? 0 : value;
                const double error = value - (double)rounded[n * all + i];
                noise->signals[layer] += value * value;
                noise->noises[layer] += error * error;
            }
}

static bool observe_both(struct quantize_state *state, struct noise *noise, struct error *error)
{
    const struct sample_images *sample = &state->sample;
    struct device *device = state->model.device;
    const size_t layers = state->result->layer_count;
    if (!observer_open(&noise->original, &state->folded.network->graph, noise->original_nodes,
                       layers, device, &state->folded.weights, error) ||
        !observer_open(&noise->rounded, &state->simulated.network->graph, noise->rounded_nodes,
                       layers, device, &state->simulated.weights, error))
        return false;
    for (size_t first = 0; first < sample->count; first += noise->original.batch) {
        const size_t left = sample->count - first, batch = noise->original.batch;
        const size_t count = left < batch ? left : batch;
        if (!technique_watch_step(state->watch, _("comparing the outputs of the layers"), error))
            return false;
        const float *original = observer_run(&noise->original, sample, first, count);
        add_noise(noise, original, observer_run(&noise->rounded, sample, first, count), count);
    }
    return device_check(device, error);
}

bool quantize_measure_noise(struct quantize_state *state, struct error *error)
{
    struct quantize_result *result = state->result;
    const size_t layers = result->layer_count;
    struct noise noise = {.original_nodes = memory_new(layers, sizeof(size_t), "the layers", error),
                          .rounded_nodes = memory_new(layers, sizeof(size_t), "the layers", error),
                          .clipped = memory_new(layers, sizeof(bool), "the layers", error),
                          .signals = memory_new(layers, sizeof(double), "the layers", error),
                          .noises = memory_new(layers, sizeof(double), "the layers", error)};
    bool measured = noise.original_nodes && noise.rounded_nodes && noise.clipped && noise.signals &&
                    noise.noises;
    for (size_t i = 0; measured && i < layers; i++)
        find_output(state, result->layers[i].name, &noise.original_nodes[i],
                    &noise.rounded_nodes[i], &noise.clipped[i]);
    measured = measured && observe_both(state, &noise, error);
    for (size_t i = 0; measured && i < layers; i++) {
        result->layers[i].weight_sqnr = weight_noise(state, result->layers[i].name);
        result->layers[i].output_sqnr = decibels(noise.signals[i], noise.noises[i]);
    }
    observer_close(&noise.original);
    observer_close(&noise.rounded);
    free(noise.original_nodes);
    free(noise.rounded_nodes);
    free(noise.clipped);
    free(noise.signals);
    free(noise.noises);
    return measured;
}
