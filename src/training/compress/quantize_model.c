/* Folds the batch norms, reads the sample, calibrates with every layer quantized, measures each
 * layer alone, decides about the first and the last one, and makes, measures and saves the network.
 */
#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "engine/graph/name_pattern.h"
#include "engine/graph/operator.h"
#include "engine/quantize/fold_batch_norm.h"
#include "engine/quantize/simulate.h"
#include "models/saved/model_file.h"
#include "models/saved/model_output.h"
#include "runs/settings/settings.h"
#include "training/compress/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The share of the permitted loss above which the first or the last layer alone makes both stay
 * float32. */
static const double single_share = 0.25;

/* --- the report --- */

const char *const quantize_kept_names[] = {
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
