/* Measures how much accuracy quantization costs, layer by layer: a layer alone by the accuracy on
 * the sample, and all together by the noise of the outputs, for which the original network and the
 * quantized one are observed on the same images. */
#include "runs/settings/settings.h"

#include "base/files/file.h"
#include "base/host/host.h"
#include "base/language.h"
#include "base/memory.h"
#include "engine/graph/name_pattern.h"
#include "engine/graph/operator.h"
#include "engine/ops/op.h"
#include "engine/quantize/fold_batch_norm.h"
#include "engine/quantize/graph_copy.h"
#include "engine/quantize/simulate.h"
#include "models/saved/model_file.h"
#include "models/saved/model_output.h"
#include "training/compress/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The FLOPs of all layers' measurements together, and the least number of images for each. */
static const double layer_flops = 2e12;
enum { LEAST_IMAGES = 16 };

/* --- networks that are made --- */

static void made_network_free(struct made_network *made)
{
    weights_free(&made->weights);
    network_free(made->network);
    *made = (struct made_network){0};
}

/* Makes the network that `plan` describes; if `simulate`, one whose graph rounds. The chain of
 * techniques gets `step` (NULL: none). Call made_network_free in any case. */
static bool quantize_make(const struct quantize_state *state, const struct quantize_plan *plan,
                          bool simulate, const char *step, struct made_network *made,
                          struct error *error)
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

/* Quantizes each layer alone, and fills its part of the report. */
static bool quantize_measure_layers(struct quantize_state *state, struct error *error)
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

/* Returns the bytes of a quantization besides copies of the weights. */
static uint64_t quantize_bytes(const struct network *network, const void *request)
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

/* Fills the noise of weights and outputs of the quantized network. */
static bool quantize_measure_noise(struct quantize_state *state, struct error *error)
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

/* --- the model --- */

/* Folds the batch norms, reads the sample, calibrates with every layer quantized, measures each
 * layer alone, decides about the first and the last one, and makes, measures and saves the network.
 */

/* The share of the permitted loss above which the first or the last layer alone makes both stay
 * float32. */
static const double single_share = 0.25;

/* --- the report --- */

static const char *const quantize_kept_names[] = {
    [KEPT_NOT] = "no", [KEPT_ASKED] = "asked", [KEPT_SENSITIVE] = "sensitive"};

static bool add_layer(struct json *list, const struct quantize_layer *layer)
{
    struct json *object = json_add_object(list, NULL);
    const bool quantized = layer->kept == KEPT_NOT;
    return json_add_string(object, "layer", layer->name) &&
           json_add_string(object, "op", layer->op) &&
           json_add_string(object, "weights", quantized ? "int8" : "float32") &&
           json_add_string(object, "kept", quantize_kept_names[layer->kept]) &&
           json_add_number(object, "weight_sqnr_db", layer->weight_sqnr) &&
           json_add_number(object, "output_sqnr_db", layer->output_sqnr) &&
           json_add_number(object, "top1_loss",
                           layer->kept == KEPT_ASKED ? NAN : layer->top1_loss) &&
           json_add_number(object, "loss_rise", layer->kept == KEPT_ASKED ? NAN : layer->loss_rise);
}

static bool add_accuracy(struct json *root, const char *key, const struct evaluation *evaluation)
{
    struct json *object = json_add_object(root, key);
    return json_add_number(object, "top1", evaluation->top1) &&
           json_add_number(object, "top1_low", evaluation->top1_low) &&
           json_add_number(object, "top1_high", evaluation->top1_high) &&
           json_add_number(object, "loss", evaluation->loss) &&
           json_add_count(object, "images", evaluation->images);
}

struct json *quantize_result_json(const struct quantize_request *request,
                                  const struct quantize_result *result)
{
    struct json *root = json_new_object();
    bool complete =
        json_add_string(root, "network", result->network) &&
        json_add_string(root, "method", calibration_method_names[request->method]) &&
        json_add_string(root, "scales", request->per_tensor ? "per-tensor" : "per-channel") &&
        json_add_count(root, "images", result->images) &&
        json_add_count(root, "layer_images", result->layer_images) &&
        add_accuracy(root, "before", &result->before) &&
        add_accuracy(root, "after", &result->after) &&
        (!result->tuned || add_accuracy(root, "before_tuning", &result->untuned));
    struct json *layers = json_add_array(root, "layers");
    for (size_t i = 0; complete && i < result->layer_count; i++)
        complete = add_layer(layers, &result->layers[i]);
    if (complete && layers)
        return root;
    json_free(root);
    return NULL;
}

/* --- the beginning --- */

/* The rate of a fine-tuning, unless the caller gives one: it moves weights only within their grids.
 */
#define TUNE_RATE "0.001"

/* Makes the settings of a fine-tuning. Returns false with an error. */
static bool set_tuning(const struct quantize_request *request, struct run_config *config,
                       struct error *error)
{
    *config = request->config;
    return config_set(config, KEY(data), request->calibrate, error) &&
           (!request->data[0] || config_set(config, KEY(validate), request->data, error)) &&
           (config_is_given(config, KEY(learning_rate)) ||
            config_set(config, KEY(learning_rate), TUNE_RATE, error));
}

static bool check_tuning(const struct quantize_request *request, struct error *error)
{
    struct run_config config;
    return !fine_tune_is_wanted(&request->config) ||
           (set_tuning(request, &config, error) && fine_tune_check(&config, request->model, error));
}

static bool check_model(const struct quantize_state *state, struct error *error)
{
    const struct network *network = state->model.network;
    if (graph_is_quantized(&network->graph))
        return error_set(error, ERROR_INPUT, state->request->model,
                         "name the model that it was made from", "it is quantized already");
    return network->classes ||
           error_set(error, ERROR_UNSUPPORTED, state->request->model,
                     "choose a model that predicts classes",
                     "it predicts no classes, and what quantization costs is measured in them");
}

static bool list_layers(struct quantize_state *state, struct error *error)
{
    const struct graph *graph = &state->folded.network->graph;
    struct quantize_result *result = state->result;
    const char *keep = state->request->keep;
    char weight[NODE_NAME_SIZE + 16];
    result->layers = memory_new(graph->node_count, sizeof *result->layers, "the layers", error);
    state->layers = memory_new(graph->node_count, sizeof *state->layers, "the layers", error);
    size_t quantized = 0;
    for (size_t i = 0; result->layers && state->layers && i < graph->node_count; i++) {
        const struct node *node = &graph->nodes[i];
        if (!quantize_has_weights(node))
            continue;
        snprintf(weight, sizeof weight, "%s.weight", node->name);
        struct quantize_layer *layer = &result->layers[result->layer_count++];
        snprintf(layer->name, sizeof layer->name, "%s", node->name);
        layer->op = node->op->name;
        layer->kept = name_pattern_matches(keep, weight) ? KEPT_ASKED : KEPT_NOT;
        state->layers[i] = layer->kept == KEPT_NOT;
        quantized += state->layers[i];
    }
    if (!result->layers || !state->layers)
        return false;
    return quantized > 0 ||
           error_set(error, ERROR_USAGE, state->request->model,
                     result->layer_count
                         ? N_("keep fewer layers")
                         : N_("choose a network with convolutions or linear layers"),
                     "no layer is left that can be quantized");
}

static uint64_t size_of(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

static bool begin(struct quantize_state *state, struct error *error)
{
    const struct quantize_request *request = state->request;
    const struct machine_settings machine = machine_settings(&request->config);
    /* the folded network's weights and the quantized one's */
    const struct model_use use = {.copies = 2, .more = quantize_bytes, .context = request};
    if (!check_tuning(request, error) ||
        !model_output_check(request->model, request->output, error) ||
        !technique_watch_step(state->watch, _("reading the model"), error) ||
        !model_load_for(&state->model, request->model, machine.device, machine.threads, &use,
                        error) ||
        !check_model(state, error) ||
        !name_pattern_check(request->keep, &state->model.network->graph, "--keep", error) ||
        !fine_tune_check_layers(&request->config, &state->model.network->graph, false, error))
        return false;
    state->folded.network =
        fold_batch_norm(state->model.network, &state->model.weights, &state->folded.weights, error);
    if (!state->folded.network || !quantize_check_weights(&state->folded.weights, error) ||
        !list_layers(state, error))
        return false;
    state->result->bytes_before = size_of(request->model);
    const size_t nodes = state->folded.network->graph.node_count;
    state->ranges = memory_new(nodes, sizeof *state->ranges, "the ranges", error);
    state->grids = memory_new(nodes, sizeof *state->grids, "the ranges", error);
    return state->ranges && state->grids &&
           technique_watch_step(state->watch, _("reading the sample"), error) &&
           sample_images_read(&state->sample, &state->model, request->calibrate, request->images,
                              request->seed, error);
}

/* Plans with the layers of the state, and sets the grids from the ranges. */
static bool plan_layers(struct quantize_state *state, bool calibrate, struct error *error)
{
    quantize_plan_free(&state->plan);
    if (!quantize_plan_make(&state->plan, &state->folded.network->graph, state->layers, false,
                            error) ||
        (calibrate && !quantize_calibrate(state, error)))
        return false;
    quantize_set_grids(&state->plan, state->ranges, state->grids);
    return true;
}

/* --- the first and the last layer --- */

/* Returns whether quantizing a layer costs too much; a loss of one or two images of the sample is
 * chance. */
static bool is_sensitive(const struct quantize_state *state, const struct quantize_layer *layer)
{
    const double images = layer->top1_loss * (double)state->result->layer_images / 100;
    return layer->kept == KEPT_NOT && layer->loss_rise > 0 && images > 2.5 &&
           layer->top1_loss > single_share * state->request->max_loss;
}

static void keep_layer(struct quantize_state *state, struct quantize_layer *layer)
{
    size_t node;
    layer->kept = KEPT_SENSITIVE;
    if (graph_find(&state->folded.network->graph, layer->name, &node))
        state->layers[node] = false;
}

/* Keeps the first and the last layer if they are sensitive, but not the only one. */
static bool keep_sensitive(struct quantize_state *state, struct error *error)
{
    struct quantize_result *result = state->result;
    struct quantize_layer *first = &result->layers[0];
    struct quantize_layer *last = &result->layers[result->layer_count - 1];
    const bool keeps_first = is_sensitive(state, first), keeps_last = is_sensitive(state, last);
    if (result->layer_count < 3 || (!keeps_first && !keeps_last))
        return true;
    if (keeps_first)
        keep_layer(state, first);
    if (keeps_last)
        keep_layer(state, last);
    bool any = false;
    for (size_t i = 0; i < result->layer_count; i++)
        any |= result->layers[i].kept == KEPT_NOT;
    return any ? plan_layers(state, false, error)
               : error_set(error, ERROR_UNSUPPORTED, state->request->model, "keep fewer layers",
                           "no layer is left that can be quantized");
}

/* --- the result --- */

/* Evaluates a network that has the model's input on the set. */
static bool evaluate(struct quantize_state *state, const struct made_network *made,
                     const struct dataset *dataset, struct evaluation *evaluation,
                     struct error *error)
{
    struct model model = state->model;
    const struct evaluation_request request = {.progress = technique_watch_poll,
                                               .context = (void *)state->watch};
    if (made) {
        model.network = made->network;
        model.weights = made->weights;
    }
    model.chosen = NULL;
    const bool evaluated = model_evaluate_set(&model, dataset, &request, evaluation, error);
    free(model.chosen);
    return evaluated;
}

/* Evaluates the quantized network and, unless `again`, the original. */
static bool evaluate_both(struct quantize_state *state, bool again, struct error *error)
{
    const struct quantize_request *request = state->request;
    const char *spec = request->data[0] ? request->data : request->calibrate;
    struct dataset *dataset = model_open_set(&state->model, spec, error);
    const bool evaluated =
        dataset &&
        (again ||
         (technique_watch_step(state->watch, _("measuring the accuracy of the original"), error) &&
          evaluate(state, NULL, dataset, &state->result->before, error))) &&
        technique_watch_step(state->watch, _("measuring the accuracy of the quantized network"),
                             error) &&
        evaluate(state, &state->simulated, dataset, &state->result->after, error);
    dataset_free(dataset);
    return evaluated;
}

static bool save(struct quantize_state *state, struct error *error)
{
    const struct quantize_request *request = state->request;
    struct quantize_result *result = state->result;
    struct json *report = quantize_result_json(request, result);
    char *text = report ? json_print(report, false, error) : NULL;
    json_free(report);
    if (!report)
        error_set_memory(error, "the report", 0);
    const struct model_facts facts = {.network = state->quantized.network,
                                      .origin = &state->model,
                                      .preprocessing = state->model.preprocessing,
                                      .quantization = text};
    const bool saved = text && model_file_save(&facts, &state->quantized.weights, WEIGHTS_FLOAT32,
                                               request->output, error);
    free(text);
    result->bytes_after = size_of(request->output);
    return saved;
}

/* Makes the network with simulated rounding, which shares the quantized network's values. */
static bool make_simulated(struct quantize_state *state, const char *step, struct error *error)
{
    struct made_network *made = &state->simulated;
    made->network = quantize_network(&state->plan, state->folded.network, NULL, state->grids,
                                     !state->request->per_tensor, step, NULL, error);
    if (!made->network || !network_simulate(made->network, error))
        return false;
    made->weights = (struct weights){
        .graph = &made->network->graph, .values = state->quantized.weights.values, .version = 1};
    return true;
}

/* Makes the quantized network and measures it. */
static bool make_result(struct quantize_state *state, struct error *error)
{
    char step[64];
    snprintf(step, sizeof step, "quantize:%s", calibration_method_names[state->request->method]);
    if (!quantize_make(state, &state->plan, false, step, &state->quantized, error) ||
        !make_simulated(state, step, error))
        return false;
    state->result->images = state->sample.count;
    network_full_name(state->quantized.network, state->result->network,
                      sizeof state->result->network);
    return quantize_measure_noise(state, error) && evaluate_both(state, false, error);
}

/* --- fine-tuning --- */

/* Starts a run whose network and first weights are the quantized model, so that it trains with
 * simulated quantization (engine/quantize/simulate.h). */
static struct run *start(const struct quantize_state *state, struct error *error)
{
    const struct quantize_request *request = state->request;
    struct run_config config;
    const struct fine_tuning tuning = {.settings = &config,
                                       .model = request->output,
                                       .tag = "quantize",
                                       .note = "fine-tuning with simulated quantization"};
    return set_tuning(request, &config, error) ? fine_tune_start(&tuning, error) : NULL;
}

/* Trains the saved network, and reads its weights into those of the state. */
static bool train(struct quantize_state *state, struct error *error)
{
    struct run *run = start(state, error);
    if (!run)
        return false;
    char *trained = file_join(run_facts(run)->directory, "weights.safetensors");
    bool done = fine_tune_finish(run, state->watch,
                                 N_("the output is the network without fine-tuning; tinca resume "
                                    "continues the run"),
                                 error);
    done = done && (trained || error_set_memory(error, "a path", 0)) &&
           weights_load(&state->quantized.weights, trained, error);
    weights_mark_changed(&state->simulated.weights); /* it has the same values */
    free(trained);
    return done;
}

/* Returns whether the network has lost so much that it must be trained. */
static bool must_tune(const struct quantize_state *state)
{
    const struct quantize_result *result = state->result;
    return fine_tune_is_wanted(&state->request->config) &&
           result->before.top1 - result->after.top1 > state->request->max_loss;
}

/* Fine-tunes the saved network if it has lost too much, and saves it again if its top-1 accuracy is
 * higher. */
static bool tune(struct quantize_state *state, struct error *error)
{
    struct quantize_result *result = state->result;
    if (!must_tune(state))
        return true;
    result->untuned = result->after;
    if (!train(state, error) || !evaluate_both(state, true, error))
        return false;
    result->tuned = result->after.top1 > result->untuned.top1;
    if (result->tuned)
        return quantize_measure_noise(state, error) && save(state, error);
    result->after = result->untuned;
    return true;
}

static void free_state(struct quantize_state *state)
{
    state->simulated.weights.values = NULL; /* they belong to the quantized network */
    made_network_free(&state->simulated);
    made_network_free(&state->quantized);
    made_network_free(&state->folded);
    quantize_plan_free(&state->plan);
    sample_images_free(&state->sample);
    free(state->layers);
    free(state->ranges);
    free(state->grids);
    model_free(&state->model);
}

bool quantize_model(const struct quantize_request *request, const struct technique_watch *watch,
                    struct quantize_result *result, struct error *error)
{
    struct quantize_state state = {.request = request, .watch = watch, .result = result};
    *result = (struct quantize_result){0};
    const bool done = begin(&state, error) && plan_layers(&state, true, error) &&
                      quantize_measure_layers(&state, error) && keep_sensitive(&state, error) &&
                      make_result(&state, error) && save(&state, error) && tune(&state, error);
    free_state(&state);
    return done;
}

void quantize_result_free(struct quantize_result *result)
{
    free(result->layers);
    *result = (struct quantize_result){0};
}
