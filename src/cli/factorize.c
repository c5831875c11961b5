/* tinca factorize: replaces layers of a saved model by products of smaller ones, and saves the
 * result as a model. */
#include "training/compress/factorize_model.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/stop_signal.h"
#include "cli/technique.h"
#include "ui/terminal/signals.h"

#include "base/escape/shell.h"
#include "base/files/file.h"
#include "base/language.h"
#include "base/text.h"
#include "models/measure/model_operand.h"
#include "models/measure/turns.h"
#include "runs/settings/config_data.h"
#include "runs/settings/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const convolution_names[] = {"spatial", "tucker", "none", NULL};
static const char *const linear_names[] = {"svd", "none", NULL};
static const char *const method_names[] = {"svd", "spatial", "tucker"};

/* The names of each enum factor_state, for people and for JSON. */
static const char *const state_texts[FACTOR_STATES] = {[FACTOR_REPLACED] = "",
                                                       [FACTOR_NOT_SMALLER] = N_("not smaller"),
                                                       [FACTOR_NOT_WORTH] = N_("saves too little"),
                                                       [FACTOR_SLOWER] = N_("no time saved"),
                                                       [FACTOR_NOT_CHOSEN] = N_("not chosen"),
                                                       [FACTOR_KEPT] = N_("kept"),
                                                       [FACTOR_TRANSPOSED] = N_("transposed"),
                                                       [FACTOR_TRAINING] = N_("training only")};
static const char *const state_names[FACTOR_STATES] = {
    [FACTOR_REPLACED] = "factorized",        [FACTOR_NOT_SMALLER] = "not-smaller",
    [FACTOR_NOT_WORTH] = "saves-too-little", [FACTOR_SLOWER] = "slower",
    [FACTOR_NOT_CHOSEN] = "not-chosen",      [FACTOR_KEPT] = "kept",
    [FACTOR_TRANSPOSED] = "transposed",      [FACTOR_TRAINING] = "training-only"};

struct factorize {
    struct factorize_request request;
    bool quiet, as_json;
};

/* --- JSON --- */

static bool add_change(struct json *parent, const char *key, uint64_t before, uint64_t after)
{
    struct json *change = json_add_object(parent, key);
    return json_add_count(change, "before", before) && json_add_count(change, "after", after);
}

static bool add_ranks(struct json *object, const struct factorized_layer *layer)
{
    struct json *ranks = json_add_array(object, "ranks");
    struct json *full = json_add_array(object, "full_ranks");
    bool added = ranks && full;
    for (size_t mode = 0; added && mode < layer->factor.modes; mode++)
        added = json_add_count(ranks, NULL, layer->ranks[mode]) &&
                json_add_count(full, NULL, layer->factor.spectra[mode].full);
    return added;
}

static bool add_layer(struct json *list, const struct graph *graph,
                      const struct factorized_layer *layer)
{
    struct json *object = json_add_object(list, NULL);
    return json_add_string(object, "name", graph->nodes[layer->node].name) &&
           json_add_string(object, "state", state_names[layer->state]) &&
           (layer->state != FACTOR_REPLACED ||
            (json_add_string(object, "method", method_names[layer->factor.method]) &&
             add_ranks(object, layer) && json_add_number(object, "energy", layer->fit.energy) &&
             json_add_number(object, "error", layer->fit.error) &&
             json_add_number(object, "tail", layer->fit.tail))) &&
           add_change(object, "parameters", layer->before.parameters, layer->after.parameters) &&
           add_change(object, "flops", layer->before.flops, layer->after.flops);
}

static bool add_times(struct json *root, const struct factorized_model *made)
{
    if (isnan(made->ms_after))
        return true;
    struct json *times = json_add_object(root, "ms_per_image");
    return json_add_number(times, "before", made->ms_before) &&
           json_add_number(times, "after", made->ms_after) &&
           json_add_string(times, "device", made->origin.device->name) &&
           json_add_count(times, "threads", made->origin.device->threads);
}

/* Appends the command that trains the new model further. */
static void append_tuning(struct text *text, const char *path)
{
    text_append(text, "tinca train ");
    shell_word_append(text, path);
    text_append(text, " --weights ");
    shell_word_append(text, path);
    text_append(text, " --data SPEC --epochs N");
}

static int print_json(const struct factorize *factorize, const struct factorized_model *made)
{
    char name[NETWORK_SHORT_NAME];
    struct text tuning = {0};
    const struct factorization *f = &made->factorization;
    struct json *root = json_new_object();
    bool added =
        json_add_string(root, "model", factorize->request.model) &&
        json_add_string(root, "output", factorize->request.output) &&
        json_add_string(root, "network", network_short_name(made->network, name, sizeof name)) &&
        json_add_string(root, "target", factorize_target_names[factorize->request.target]) &&
        json_add_number(root, "value", factorize->request.value) &&
        (factorize->request.target == FACTORIZE_ENERGY ||
         json_add_number(root, "price", f->price)) &&
        add_change(root, "parameters", made->parameters_before, made->parameters_after) &&
        add_change(root, "flops", made->flops_before, made->flops_after) &&
        add_change(root, "bytes", made->bytes_before, made->bytes_after) && add_times(root, made) &&
        (!made->run[0] || json_add_string(root, "run", file_base_name(made->run)));
    struct json *layers = json_add_array(root, "layers");
    for (size_t i = 0; added && i < f->count; i++)
        added = add_layer(layers, &f->network->graph, &f->layers[i]);
    append_tuning(&tuning, factorize->request.output);
    added = added && !tuning.failed &&
            (network_has_discriminator(made->network)
                 ? json_add_null(root, "fine_tune")
                 : json_add_string(root, "fine_tune", tuning.data));
    text_free(&tuning);
    return output_json(root, added);
}

/* --- text --- */

static void add_row(struct table *table, const struct graph *graph,
                    const struct factorized_layer *layer)
{
    char before[32], after[32];
    const bool replaced = layer->state == FACTOR_REPLACED;
    table_cell(table, "%s", graph->nodes[layer->node].name);
    table_cell(table, "%s",
               replaced ? method_names[layer->factor.method] : gettext(state_texts[layer->state]));
    if (replaced && layer->factor.modes == 2)
        table_cell(table, _("%zu, %zu of %zu, %zu"), layer->ranks[0], layer->ranks[1],
                   layer->factor.spectra[0].full, layer->factor.spectra[1].full);
    else if (replaced)
        table_cell(table, _("%zu of %zu"), layer->ranks[0], layer->factor.spectra[0].full);
    else
        table_cell(table, "-");
    table_cell(table, replaced ? "%.2f" : "-", 100 * layer->fit.energy);
    table_cell(table, replaced ? "%.4f" : "-", layer->fit.error);
    table_cell(table, "%s", text_count(layer->before.parameters, before, sizeof before));
    table_cell(table, "%s", text_count(layer->after.parameters, after, sizeof after));
    table_cell(table, "%s", text_si((double)layer->before.flops, before, sizeof before));
    table_cell(table, "%s", text_si((double)layer->after.flops, after, sizeof after));
}

static void print_totals(const struct factorized_model *made)
{
    char a[32], b[32];
    output_print(_("  parameters %s, were %s (%.1f %%)\n"),
                 text_count(made->parameters_after, a, sizeof a),
                 text_count(made->parameters_before, b, sizeof b),
                 100.0 * (double)made->parameters_after / (double)made->parameters_before);
    output_print(_("  FLOPs      %s, were %s\n"), text_si((double)made->flops_after, a, sizeof a),
                 text_si((double)made->flops_before, b, sizeof b));
    output_print(_("  file       %s, was %s\n"), text_bytes(made->bytes_after, a, sizeof a),
                 text_bytes(made->bytes_before, b, sizeof b));
    if (!isnan(made->ms_after))
        output_print(_("  ms/image   %.4g, was %.4g (%s, batch 1)\n"), made->ms_after,
                     made->ms_before, made->origin.device->name);
    if (!isnan(made->ms_after))
        output_print("  %s\n", turns_advice_text());
}

/* Returns the largest difference between a layer's error and what its singular values say. */
static double largest_difference(const struct factorization *f)
{
    double largest = 0;
    for (size_t i = 0; i < f->count; i++)
        if (f->layers[i].state == FACTOR_REPLACED)
            largest = fmax(largest, fabs(f->layers[i].fit.error - f->layers[i].fit.tail));
    return largest;
}

/* Says where the model is and how to train it further. Training against a discriminator cannot
 * begin with weights. */
static void print_saved(const char *path, const struct network *network)
{
    struct text tuning = {0};
    if (network_has_discriminator(network)) {
        output_print(_("Saved as %s.\n"), path);
        return;
    }
    append_tuning(&tuning, path);
    output_print(_("Saved as %s. To train it further:\n"), path);
    output_print("  %s\n", tuning.failed ? "" : tuning.data);
    text_free(&tuning);
}

/* Prints the layers and what became of them. Returns the exit status. */
static int print_layers(const struct factorization *f)
{
    struct table table =
        table_begin("llrrrrrrr", _("LAYER|METHOD|RANK|ENERGY %|ERROR|PARAMETERS|NOW|FLOPS|NOW"));
    for (size_t i = 0; i < f->count; i++)
        add_row(&table, &f->network->graph, &f->layers[i]);
    const int status = output_table(&table);
    output_print("\n");
    output_print_wrapped(_("An error is the norm of the difference between a layer's weights and "
                           "the product of its factors, relative to the weights' norm. It equals "
                           "the tail of the singular values that the rank cuts off."),
                         0, 0, OUTPUT_WIDTH);
    output_print(_("Largest difference from that tail, by rounding to float32: %.1e\n\n"),
                 largest_difference(f));
    return status;
}

static int print_text(const struct factorize *factorize, const struct factorized_model *made)
{
    char name[NETWORK_SHORT_NAME];
    int status = EXIT_DONE;
    const struct factorization *f = &made->factorization;
    network_short_name(made->network, name, sizeof name);
    if (made->continued)
        output_print(_("%s: factorized before the interruption\n"), name);
    else
        output_print(ngettext("%s: %zu layer factorized\n", "%s: %zu layers factorized\n",
                              factorization_replaced(f)),
                     name, factorization_replaced(f));
    if (made->run[0])
        output_print(_("  fine-tuned in the run %s\n"), file_base_name(made->run));
    print_totals(made);
    output_print("\n");
    if (!made->continued)
        status = print_layers(f);
    print_saved(factorize->request.output, made->network);
    return status;
}

/* --- the command --- */

static int factorize_and_print(struct factorize *factorize)
{
    struct error error;
    struct factorized_model made;
    struct factorize_request *request = &factorize->request;
    struct technique_display display = {.command = "factorize",
                                        .advice = N_("the same command continues"),
                                        .quiet = factorize->quiet,
                                        .live = true};
    const struct technique_watch watch = technique_display_watch(&display);
    char spec[CONFIG_SPEC];
    if (fine_tune_is_wanted(&request->config))
        stop_signal_catch_for_runs();
    else
        signals_end_at_once(); /* the singular values of a large layer take minutes */
    const bool done = factorize_model(request, &watch, &made, &error);
    technique_display_end(&display);
    if (!done)
        return output_error(&error);
    output_model_made(request->output, config_validation_spec(&request->config, spec));
    const int status =
        factorize->as_json ? print_json(factorize, &made) : print_text(factorize, &made);
    factorized_model_free(&made);
    return status;
}

/* Reads the target: one of the three options, or the usual energy. */
static bool read_target(const char *const texts[FACTORIZE_TARGETS],
                        struct factorize_request *request, struct error *error)
{
    char option[24];
    size_t given = 0;
    request->target = FACTORIZE_ENERGY;
    request->value = FACTORIZE_USUAL_ENERGY;
    for (size_t i = 0; i < FACTORIZE_TARGETS; i++) {
        if (!texts[i])
            continue;
        snprintf(option, sizeof option, "--%s", factorize_target_names[i]);
        if (given++)
            return error_set(error, ERROR_USAGE, option, "give one of them",
                             "--energy, --parameters and --latency exclude each other");
        request->target = (enum factorize_target)i;
        if (!text_to_double(texts[i], &request->value))
            return error_set(error, ERROR_USAGE, option, "give a number, as 0.5",
                             "\"%s\" is no number", texts[i]);
    }
    return true;
}

static bool check_output(const char *output, struct error *error)
{
    return output || error_set(error, ERROR_USAGE, "-o", "give -o FILE.safetensors",
                               "the new model has no name");
}

static int factorize_run(const struct command *command, int argc, char **argv)
{
    const char *targets[FACTORIZE_TARGETS] = {NULL};
    struct factorize factorize = {0};
    struct factorize_request *request = &factorize.request;
    struct run_config *config = &request->config;
    size_t convolutions = CONVOLUTIONS_SPATIAL, linear = 0;
    struct operands operands;
    struct error error;
    int status;
    const struct option_row rows[] = {
        {"output", 'o', "FILE", N_("The new model's file (.safetensors)."), OPTION_TEXT,
         &request->output, 0, 0, NULL, NULL},
        {"energy", 0, "SHARE",
         N_("Each layer keeps this share of its squared singular values; without a target 0.9."),
         OPTION_TEXT, &targets[FACTORIZE_ENERGY], 0, 0, NULL, NULL},
        {"parameters", 0, "SHARE", N_("At most this share of the network's parameters is left."),
         OPTION_TEXT, &targets[FACTORIZE_PARAMETERS], 0, 0, NULL, NULL},
        {"latency", 0, "MS",
         N_("An image takes at most so many milliseconds on --device, measured here."), OPTION_TEXT,
         &targets[FACTORIZE_LATENCY], 0, 0, NULL, NULL},
        {"convolutions", 0, "METHOD", N_("How convolutions are factorized; 1x1 ones by SVD."),
         OPTION_CHOICE, &convolutions, 0, 0, convolution_names, NULL},
        {"linear", 0, "METHOD", N_("How linear layers are factorized."), OPTION_CHOICE, &linear, 0,
         0, linear_names, NULL},
        {"layers", 0, "PATTERNS", N_("Only these layers: names with commas between, * matches."),
         OPTION_TEXT, &request->settings.layers, 0, 0, NULL, NULL},
        {"keep", 0, "PATTERNS", N_("These layers stay as they are."), OPTION_TEXT,
         &request->settings.keep, 0, 0, NULL, NULL},
        {"quiet", 'q', NULL, N_("Do not show the progress."), OPTION_SWITCH, &factorize.quiet, 0, 0,
         NULL, NULL},
        OUTPUT_JSON_OPTION(&factorize.as_json),
        {0}};
    const struct option_set set = {.rows = rows,
                                   .config = config,
                                   .task = TASK_FINE_TUNE,
                                   .unused = KEY(epochs),
                                   .operands_min = 1,
                                   .operands_max = 1};
    config_defaults(config);
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    request->settings.convolutions = (enum factor_convolutions)convolutions;
    request->settings.linear = linear == 0;
    request->format_given = config_is_given(config, KEY(save_precision));
    request->format = (enum weights_format)record_settings(config).save_precision;
    if (!check_output(request->output, &error) || !read_target(targets, request, &error) ||
        !fine_tune_refuse_idle(config, KEY(save_precision), false, &error))
        return output_error(&error);
    char *model = model_operand_path(operands.values[0], &error);
    request->model = model;
    status = model ? factorize_and_print(&factorize) : output_error(&error);
    free(model);
    return status;
}

const struct command command_factorize = {
    .name = "factorize",
    .operands = "MODEL -o FILE",
    .summary = N_("Replace layers of a saved model by products of smaller ones."),
    .details =
        N_("MODEL is a file that tinca train --save has written, or a run, whose best weights are "
           "used. A linear layer becomes two by singular value decomposition; a convolution a k x "
           "1 and "
           "a 1 x k one (spatial) or a 1x1, a k x k and a 1x1 one (tucker); groups are factorized "
           "one by one. A layer whose factors would have no fewer parameters, or more FLOPs, stays "
           "as it is. The ranks are chosen by --energy, --parameters or --latency. With --epochs "
           "the new network is trained on --data, in a run of its own; an interrupted command "
           "continues when it is repeated. The new model can be evaluated, timed and exported like "
           "any other, and trained further with tinca train FILE --weights FILE."),
    .run = factorize_run,
};
