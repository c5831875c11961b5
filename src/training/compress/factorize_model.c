/* The steps are those of factorize.h: decompose, choose ranks by the target, build the network,
 * write its weights. The result is an ordinary saved model, whose network names the step in its
 * chain of techniques. With a fine-tuning it is saved beside the output first, and is that run's
 * beginning.
 *
 * For a time, the price of size (factorize.h) is bisected on a logarithmic scale, where the size of
 * a layer is its share of the measured time. At each step the network with these ranks is timed
 * layer by layer (bench.h): smaller parts are not always faster, since two kernels are started
 * instead of one and each may use the processor less well. Layers whose parts take longer than the
 * layer did stay as they are, and the network is timed once more without them. The weights are
 * drawn: a time does not depend on their values. */
#include "training/compress/factorize_model.h"

#include "base/files/file.h"
#include "base/json/json.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/network/network_compression.h"
#include "engine/network/network_write.h"
#include "engine/weights/safetensors.h"
#include "models/saved/model_file.h"
#include "models/saved/model_output.h"
#include "runs/settings/settings.h"
#include "training/bench/bench.h"
#include "training/compress/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const factorize_target_names[FACTORIZE_TARGETS + 1] = {"energy", "parameters",
                                                                   "latency", NULL};

/* --- the request --- */

static bool check_value(const struct factorize_request *request, struct error *error)
{
    const double value = request->value;
    switch (request->target) {
    case FACTORIZE_ENERGY:
        return (value > 0 && value <= 1) ||
               error_set(error, ERROR_USAGE, "--energy", "give a share, as 0.9",
                         "%g is not between 0 and 1", value);
    case FACTORIZE_PARAMETERS:
        return (value > 0 && value < 1) ||
               error_set(error, ERROR_USAGE, "--parameters", "give a share, as 0.5",
                         "%g is not between 0 and 1", value);
    default:
        return value > 0 || error_set(error, ERROR_USAGE, "--latency", "give milliseconds, as 2.5",
                                      "%g is not a time", value);
    }
}

/* Writes the step of the chain of techniques. */
static char *print_step(const struct factorize_request *request, char *text, size_t size)
{
    static const char *const before[] = {"", "p", ""}, *const after[] = {"", "", "ms"};
    snprintf(text, size, "factorize:%s%g%s", before[request->target], request->value,
             after[request->target]);
    return text;
}

/* Checks that the network can be factorized: training against a discriminator begins with random
 * weights, and a quantized network's weights are multiples of a scale, which factors are not. */
static bool check_origin(const struct network *network, bool tunes, struct error *error)
{
    if (tunes && network_has_discriminator(network))
        return error_set(error, ERROR_UNSUPPORTED, network->name, "factorize it without --epochs",
                         "training against a discriminator cannot begin with weights");
    return !graph_is_quantized(&network->graph) ||
           error_set(error, ERROR_UNSUPPORTED, network->name,
                     "factorize the model before it is quantized",
                     "this model is quantized, and its factors would not be");
}

/* --- the file --- */

static uint64_t file_bytes(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

/* Finds the format for the new file: the requested one, or that of the model's largest array. */
static bool find_format(const struct factorize_request *request, enum weights_format *format,
                        struct error *error)
{
    struct safetensors file;
    uint64_t most = 0;
    *format = request->format;
    if (request->format_given)
        return true;
    if (!safetensors_open(&file, request->model, error))
        return false;
    for (size_t i = 0; i < file.count; i++) {
        const struct safetensors_entry *entry = &file.entries[i];
        if (safetensors_count(entry) <= most)
            continue;
        most = safetensors_count(entry);
        *format = entry->type == SAFETENSORS_BF16  ? WEIGHTS_BF16
                  : entry->type == SAFETENSORS_F16 ? WEIGHTS_FLOAT16
                                                   : WEIGHTS_FLOAT32;
    }
    safetensors_close(&file);
    return true;
}

/* --- ranks by time --- */

/* Prices are 2^-PRICE_RANGE to 2^PRICE_RANGE. */
enum { ITERATIONS = 50, BISECTIONS = 7, PRICE_RANGE = 14, MEASUREMENTS = 4 * BISECTIONS + 3 };

struct search {
    const struct factorize_request *request;
    const struct technique_watch *watch;
    struct factorized_model *made;
    double *layer_seconds; /* seconds of each layer before, by its number in the factorization */
    size_t measured;
    struct error *error;
};

/* Measures the network of this tree; bench_free frees the result. */
static bool measure_tree(struct search *search, const struct json *tree, bool profile,
                         struct bench *bench)
{
    const struct machine_settings machine = machine_settings(&search->request->config);
    char words[96];
    snprintf(words, sizeof words, _("measurement %zu of at most %zu"), ++search->measured,
             (size_t)MEASUREMENTS);
    if (!technique_watch_step(search->watch, words, search->error))
        return false;
    char *text = json_print(tree, false, search->error);
    const struct bench_settings settings = {
        .network = {.network = search->made->origin.network->name, .text = text},
        .device = machine.device,
        .threads = machine.threads,
        .mode = PLAN_INFERENCE,
        .batch = 1,
        .iterations = ITERATIONS,
        .seed = 1,
        .profile = profile};
    const bool measured = text && bench_run(&settings, bench, search->error);
    free(text);
    return measured;
}

/* Returns the seconds of a layer's forward pass by its name; 0 if it is no layer of the network. */
static double layer_seconds(const struct bench *bench, const char *name)
{
    size_t node;
    return graph_find(bench->main.graph, name, &node)
               ? profile_node(bench->main.profile, node).forward_seconds
               : 0;
}

static double parts_seconds(const struct bench *bench, const struct node *node)
{
    double sum = 0;
    char name[FACTOR_LAYER_NAME_SIZE];
    for (size_t i = 0; i < FACTOR_PARTS; i++)
        sum += layer_seconds(bench, factor_layers_name(node, i, name));
    return sum;
}

/* Times the network as it was, and each of its layers. */
static bool measure_origin(struct search *search)
{
    struct bench bench;
    struct factorization *f = &search->made->factorization;
    struct json *tree = network_to_json(f->network);
    if (!tree)
        return error_set_memory(search->error, "the network", 0);
    const bool measured = measure_tree(search, tree, true, &bench);
    json_free(tree);
    if (!measured)
        return false;
    for (size_t i = 0; i < f->count; i++) {
        search->layer_seconds[i] =
            layer_seconds(&bench, f->network->graph.nodes[f->layers[i].node].name);
        f->layers[i].size = search->layer_seconds[i] / (bench.profiled_seconds * ITERATIONS);
    }
    search->made->ms_before = bench.ms_per_image.median;
    bench_free(&bench);
    return true;
}

/* Times the network with the ranks chosen last. With `exclude`, excludes the layers whose parts are
 * slower, and sets *excluded to their number. */
static bool measure_ranks(struct search *search, bool exclude, double *ms, size_t *excluded)
{
    struct bench bench;
    struct factorization *f = &search->made->factorization;
    struct json *tree = factorization_tree(f, search->error);
    const bool measured = tree && measure_tree(search, tree, exclude, &bench);
    json_free(tree);
    if (!measured)
        return false;
    *ms = bench.ms_per_image.median;
    *excluded = 0;
    for (size_t i = 0; exclude && i < f->count; i++) {
        struct factorized_layer *layer = &f->layers[i];
        layer->excluded = layer->state == FACTOR_REPLACED &&
                          parts_seconds(&bench, &f->network->graph.nodes[layer->node]) >=
                              search->layer_seconds[i];
        *excluded += layer->excluded;
    }
    bench_free(&bench);
    return true;
}

/* Chooses the ranks at a price of 2^exponent without slow layers, and measures them. If no layer is
 * left, the time is that of the original network, which is not measured again. */
static bool try_price(struct search *search, double exponent, double *ms)
{
    struct factorization *f = &search->made->factorization;
    size_t excluded;
    for (size_t i = 0; i < f->count; i++)
        f->layers[i].excluded = false;
    if (!factorization_choose_at(f, exp2(exponent), search->error) ||
        !measure_ranks(search, true, ms, &excluded))
        return false;
    if (excluded > 0 && !factorization_choose_at(f, exp2(exponent), search->error))
        return false;
    if (factorization_replaced(f) > 0)
        return excluded == 0 || measure_ranks(search, false, ms, &excluded);
    *ms = search->made->ms_before;
    return true;
}

/* The best choice so far: its price and the layers that it excludes. */
struct choice {
    double exponent, ms;
    bool *excluded;
};

static void keep_choice(const struct factorization *f, struct choice *choice, double exponent,
                        double ms)
{
    choice->exponent = exponent;
    choice->ms = ms;
    for (size_t i = 0; i < f->count; i++)
        choice->excluded[i] = f->layers[i].excluded;
}

/* Searches for the lowest price at which an image takes at most the requested time. */
static bool bisect(struct search *search, struct choice *choice)
{
    double low = -PRICE_RANGE, ms;
    for (size_t i = 0; i < BISECTIONS; i++) {
        const double middle = (low + choice->exponent) / 2;
        if (!try_price(search, middle, &ms))
            return false;
        if (ms <= search->request->value)
            keep_choice(&search->made->factorization, choice, middle, ms);
        else
            low = middle;
    }
    return true;
}

/* Begins with the highest price. */
static bool begin_search(struct search *search, struct choice *choice)
{
    double ms;
    factorization_pin(&search->made->factorization, false);
    if (!try_price(search, PRICE_RANGE, &ms))
        return false;
    if (ms > search->request->value)
        return error_set(search->error, ERROR_USAGE, "--latency",
                         "ask for more time, or let more layers be factorized",
                         "with rank 1 in every layer that this makes faster an image takes %.4g "
                         "ms, more than %.4g",
                         ms, search->request->value);
    keep_choice(&search->made->factorization, choice, PRICE_RANGE, ms);
    return true;
}

/* Applies a choice that was measured before. */
static bool take_choice(struct search *search, const struct choice *choice)
{
    struct factorization *f = &search->made->factorization;
    for (size_t i = 0; i < f->count; i++)
        f->layers[i].excluded = choice->excluded[i];
    search->made->ms_after = choice->ms;
    return factorization_choose_at(f, exp2(choice->exponent), search->error);
}

static bool search_ranks(struct search *search, struct choice *choice)
{
    struct factorization *f = &search->made->factorization;
    if (!measure_origin(search))
        return false;
    if (search->made->ms_before <= search->request->value)
        return error_set(search->error, ERROR_USAGE, "--latency", "ask for less time",
                         "an image takes %.4g ms already, not more than %.4g",
                         search->made->ms_before, search->request->value);
    if (!begin_search(search, choice) || !bisect(search, choice) || !take_choice(search, choice))
        return false;
    factorization_pin(f, true); /* their ranks may grow until the time is used up */
    return bisect(search, choice) && take_choice(search, choice);
}

/* Chooses, of the ranks with which one image takes at most request->value milliseconds, those that
 * lose least, and sets made->ms_before and ms_after. A layer whose parts take longer than it does
 * stays as it is. Returns false with an error: the model is already that fast, or the limit cannot
 * be reached. */
static bool choose_latency(const struct factorize_request *request,
                           const struct technique_watch *watch, struct factorized_model *made,
                           struct error *error)
{
    const size_t count = made->factorization.count;
    struct search search = {.request = request, .watch = watch, .made = made, .error = error};
    struct choice choice = {0};
    search.layer_seconds = memory_new(count, sizeof *search.layer_seconds, "the times", error);
    choice.excluded = memory_new(count, sizeof *choice.excluded, "the times", error);
    const bool found = search.layer_seconds && choice.excluded && search_ranks(&search, &choice);
    free(search.layer_seconds);
    free(choice.excluded);
    return found;
}
/* --- the model --- */

static bool choose_ranks(const struct factorize_request *request,
                         const struct technique_watch *watch, struct factorized_model *made,
                         struct error *error)
{
    struct factorization *f = &made->factorization;
    const bool chosen = request->target == FACTORIZE_ENERGY
                            ? factorization_choose_energy(f, request->value, error)
                        : request->target == FACTORIZE_PARAMETERS
                            ? factorization_choose_parameters(f, request->value, error)
                            : choose_latency(request, watch, made, error);
    return chosen && (factorization_replaced(f) > 0 ||
                      error_set(error, ERROR_USAGE, made->origin.network->name,
                                "ask for less, or let other layers be factorized",
                                "at this target no layer's factors are smaller than the layer"));
}

/* Builds the new network and its weights. */
static bool make_network(const struct factorize_request *request, struct factorized_model *made,
                         struct error *error)
{
    char step[48];
    struct json *tree = factorization_tree(&made->factorization, error);
    if (tree && compression_append(tree, print_step(request, step, sizeof step), error))
        made->network = network_from_json(tree, error);
    json_free(tree);
    return made->network && weights_create(&made->weights, &made->network->graph, error) &&
           factorization_weights(&made->factorization, &made->weights, error);
}

/* Fills the sizes of both networks. */
static void fill_sizes(struct factorized_model *made, const char *path)
{
    made->bytes_after = file_bytes(path);
    made->flops_before = graph_flops(&made->origin.network->graph);
    made->flops_after = graph_flops(&made->network->graph);
    made->parameters_before = graph_parameter_count(&made->origin.network->graph);
    made->parameters_after = graph_parameter_count(&made->network->graph);
}

/* Reports the layer that is decomposed next. */
static bool report_layer(void *watch, const char *layer, size_t done, size_t count,
                         struct error *error)
{
    char text[256];
    snprintf(text, sizeof text, _("%s: its singular values (%zu of %zu)"), layer, done + 1, count);
    return technique_watch_step(watch, text, error);
}

/* Returns the bytes of the decomposed layers. */
static uint64_t bytes_of_factors(const struct network *network, const void *settings)
{
    return factorization_bytes(network, settings);
}

/* Factorizes the model and saves the result as `path`. */
static bool make(const struct factorize_request *request, const char *path,
                 const struct technique_watch *watch, struct factorized_model *made,
                 struct error *error)
{
    const struct model_use use = {
        .copies = 1, .more = bytes_of_factors, .context = &request->settings};
    const struct machine_settings machine = machine_settings(&request->config);
    if (!model_load_for(&made->origin, request->model, machine.device, machine.threads, &use,
                        error))
        return false;
    const bool saved =
        check_origin(made->origin.network, fine_tune_is_wanted(&request->config), error) &&
        fine_tune_check_layers(&request->config, &made->origin.network->graph, false, error) &&
        find_format(request, &made->format, error) &&
        factorization_begin(&made->factorization, made->origin.network, &made->origin.weights,
                            &request->settings, report_layer, (void *)watch, error) &&
        choose_ranks(request, watch, made, error) && make_network(request, made, error) &&
        model_save_derived(&made->origin, made->network, &made->weights, made->format, path, error);
    if (saved)
        fill_sizes(made, path);
    return saved;
}

/* --- fine-tuning --- */

/* Returns everything that the result depends on as text, which the caller frees; NULL with an
 * error. */
static char *print_request(const struct factorize_request *request, struct error *error)
{
    char step[48];
    const struct factorize_settings *settings = &request->settings;
    struct json *root = json_new_object();
    char *text = NULL;
    if (root && !request_add_model(root, request->model, error)) {
        json_free(root);
        return NULL;
    }
    if (json_add_string(root, "step", print_step(request, step, sizeof step)) &&
        json_add_count(root, "convolutions", settings->convolutions) &&
        json_add_bool(root, "linear", settings->linear) &&
        json_add_string(root, "layers", settings->layers ? settings->layers : "") &&
        json_add_string(root, "keep", settings->keep ? settings->keep : "") &&
        request_add_settings(root, &request->config))
        text = json_print(root, false, error);
    else
        error_set_memory(error, "the request", 0);
    json_free(root);
    return text;
}

/* Describes the model that an interrupted call has factorized and saved as `path`, of which only
 * the network is known. */
static bool describe(const struct factorize_request *request, const char *path,
                     struct factorized_model *made, struct error *error)
{
    struct model after = {0};
    const struct machine_settings machine = machine_settings(&request->config);
    if (!model_load(&made->origin, request->model, machine.device, machine.threads, error) ||
        !model_file_describe(&after, path, error))
        return false;
    made->network = after.network;
    after.network = NULL;
    model_free(&after);
    fill_sizes(made, path);
    return find_format(request, &made->format, error);
}

/* Makes the model that the run begins with, unless an interrupted call has made it, and trains it.
 */
static bool make_and_tune(const struct factorize_request *request, const char *path,
                          const char *text, const struct technique_watch *watch,
                          struct factorized_model *made, struct error *error)
{
    struct run_config config = request->config;
    const struct fine_tuning tuning = {.settings = &config,
                                       .model = path,
                                       .tag = "factorize",
                                       .note = "fine-tuning after a factorization",
                                       .output = request->output,
                                       .request = text,
                                       .replaces = request->replaces};
    if (!fine_tune_find(&tuning, &made->continued, error))
        return false;
    made->continued = made->continued && file_exists(path);
    if (!(made->continued ? describe(request, path, made, error)
                          : make(request, path, watch, made, error)) ||
        !config_set(&config, KEY(save_precision), weights_format_names[made->format], error))
        return false;
    weights_free(&made->weights); /* the run reads them from the file */
    weights_free(&made->origin.weights);
    const bool tuned = fine_tune_file(&tuning, watch, made->run, error);
    made->bytes_after = file_bytes(request->output);
    if (tuned || !fine_tune_was_cut_off(error))
        unlink(path);
    return tuned;
}

static bool factorize_and_tune(const struct factorize_request *request,
                               const struct technique_watch *watch, struct factorized_model *made,
                               struct error *error)
{
    struct text path = {0};
    char *text = print_request(request, error);
    text_append(&path, "%s" FACTORIZE_UNTRAINED, request->output);
    const bool done = text && (!path.failed || error_set_memory(error, "a path", 0)) &&
                      make_and_tune(request, path.data, text, watch, made, error);
    text_free(&path);
    free(text);
    return done;
}

bool factorize_model(const struct factorize_request *request, const struct technique_watch *watch,
                     struct factorized_model *made, struct error *error)
{
    *made = (struct factorized_model){.ms_before = (double)NAN, .ms_after = (double)NAN};
    if (!check_value(request, error) || !fine_tune_check(&request->config, request->model, error) ||
        !model_output_check(request->model, request->output, error))
        return false;
    made->bytes_before = file_bytes(request->model);
    if (fine_tune_is_wanted(&request->config) ? factorize_and_tune(request, watch, made, error)
                                              : make(request, request->output, watch, made, error))
        return true;
    factorized_model_free(made);
    return false;
}

void factorized_model_free(struct factorized_model *made)
{
    factorization_free(&made->factorization);
    weights_free(&made->weights);
    network_free(made->network);
    model_free(&made->origin);
    *made = (struct factorized_model){0};
}
