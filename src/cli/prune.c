/* tinca prune: removes channels of a saved model, or sets its smallest weights to zero
 * (--unstructured). training/compress/prune.h does the work; this file reads the options and prints
 * the result. */
#include "training/compress/prune.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/stop_signal.h"
#include "cli/technique.h"

#include "base/files/file.h"
#include "base/text.h"
#include "models/measure/model_operand.h"
#include "models/measure/turns.h"
#include "runs/settings/config_data.h"
#include "runs/settings/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the result ---
 *
 * It is a table of layers and one of figures, before and after; as JSON it has the same. The share
 * is that of the figure before which remains. */

static const char *const goal_names[] = {"flops", "parameters", "latency"};

/* --- figures of both --- */

static void add_count_row(struct table *table, const char *name, uint64_t before, uint64_t after)
{
    table_cell(table, "%s", name);
    table_cell(table, "%llu", (unsigned long long)before);
    table_cell(table, "%llu", (unsigned long long)after);
    table_cell(table, "%.4f", (double)after / (double)before);
}

static void add_ms_rows(struct table *table, const struct statistics *before,
                        const struct statistics *after)
{
    table_cell(table, "%s", _("ms/image, median"));
    table_cell(table, "%.4g", before->median);
    table_cell(table, "%.4g", after->median);
    table_cell(table, "%.4f", after->median / before->median);
    table_cell(table, "%s", _("ms/image, least"));
    table_cell(table, "%.4g", before->min);
    table_cell(table, "%.4g", after->min);
    table_cell(table, "%.4f", after->min / before->min);
}

/* Adds the accuracy: of classes with its interval, or of pixels. */
static void add_accuracy_rows(struct table *table, const struct evaluation *before,
                              const struct evaluation *after)
{
    if (isfinite(before->top1)) {
        table_cell(table, "%s", _("top-1 %"));
        table_cell(table, "%.2f [%.2f, %.2f]", before->top1, before->top1_low, before->top1_high);
        table_cell(table, "%.2f [%.2f, %.2f]", after->top1, after->top1_low, after->top1_high);
    } else {
        table_cell(table, "%s", _("pixel accuracy %"));
        table_cell(table, "%.2f", before->pixel_accuracy);
        table_cell(table, "%.2f", after->pixel_accuracy);
    }
    table_cell(table, "%s", "");
    table_cell(table, "%s", _("validation loss"));
    table_cell(table, "%s", TEXT_NUMBER(before->loss, 4));
    table_cell(table, "%s", TEXT_NUMBER(after->loss, 4));
    table_cell(table, "%s", "");
}

static bool add_accuracy(struct json *object, const struct evaluation *accuracy)
{
    return json_add_number(object, "top1", accuracy->top1) &&
           json_add_number(object, "top1_low", accuracy->top1_low) &&
           json_add_number(object, "top1_high", accuracy->top1_high) &&
           json_add_number(object, "pixel_accuracy", accuracy->pixel_accuracy) &&
           json_add_number(object, "loss", accuracy->loss) &&
           json_add_count(object, "images", accuracy->images);
}

/* --- channels --- */

static bool add_figures(struct json *root, const char *key, const struct prune_figures *figures,
                        bool evaluated)
{
    struct json *object = json_add_object(root, key);
    return json_add_count(object, "flops", figures->flops) &&
           json_add_count(object, "parameters", figures->parameters) &&
           json_add_count(object, "bytes", figures->bytes) &&
           output_add_statistics(object, "ms_per_image", &figures->ms) &&
           (!evaluated || add_accuracy(object, &figures->accuracy));
}

static bool add_stages(struct json *root, const struct prune_result *result)
{
    struct json *list = json_add_array(root, "steps");
    bool added = list;
    for (size_t i = 0; added && i < result->stage_count; i++) {
        const struct prune_stage *stage = &result->stages[i];
        struct json *object = json_add_object(list, NULL);
        added = json_add_count(object, "flops", stage->flops) &&
                json_add_count(object, "parameters", stage->parameters) &&
                (stage->run[0] ? json_add_string(object, "run", file_base_name(stage->run))
                               : json_add_null(object, "run"));
    }
    return added;
}

static bool add_layers(struct json *root, const struct prune_result *result)
{
    struct json *list = json_add_array(root, "layers");
    bool added = list;
    for (size_t i = 0; added && i < result->layer_count; i++) {
        const struct prune_layer *layer = &result->layers[i];
        struct json *object = json_add_object(list, NULL);
        added = json_add_string(object, "name", layer->name) &&
                json_add_count(object, "before", layer->before) &&
                json_add_count(object, "after", layer->after) &&
                (layer->hold == CHANNEL_FREE ||
                 (json_add_string(object, "held_by", layer->holder) &&
                  json_add_string(object, "held_because", channel_hold_text(layer->hold))));
    }
    return added;
}

static int print_channels_json(const struct prune_request *request,
                               const struct prune_result *result)
{
    struct json *root = json_new_object();
    return output_json(
        root, json_add_string(root, "network", result->network) &&
                  json_add_string(root, "model", request->model) &&
                  json_add_string(root, "output", request->output) &&
                  json_add_string(root, "criterion", channel_criterion_names[request->criterion]) &&
                  json_add_string(root, "goal", goal_names[request->goal]) &&
                  json_add_number(root, "target", request->target) &&
                  json_add_string(root, "device", result->device) &&
                  json_add_count(root, "threads", result->threads) &&
                  json_add_count(root, "groups", result->free_groups) &&
                  json_add_count(root, "held_groups", result->held_groups) &&
                  add_figures(root, "before", &result->before, result->evaluated) &&
                  add_figures(root, "after", &result->after, result->evaluated) &&
                  add_stages(root, result) && add_layers(root, result));
}

static int print_layers(const struct prune_result *result)
{
    struct table table = table_begin("lrrl", _("LAYER|BEFORE|AFTER|WHY ITS CHANNELS STAY"));
    for (size_t i = 0; i < result->layer_count; i++) {
        const struct prune_layer *layer = &result->layers[i];
        table_cell(&table, "%s", layer->name);
        table_cell(&table, "%zu", layer->before);
        table_cell(&table, "%zu", layer->after);
        table_cell(&table, "%s", language_text(channel_hold_text(layer->hold)));
    }
    return output_table(&table);
}

/* Prints the measurement that ended the search for a time, and warns if the last one differs. */
static void print_latency(const struct prune_request *request, const struct prune_result *result)
{
    const double last = result->after.ms.median;
    if (request->goal != GOAL_LATENCY || result->stage_count == 0)
        return;
    output_print(_("target %.4g ms an image: the search measured %.4g ms\n"), request->target,
                 result->stages[result->stage_count - 1].ms);
    if (last > request->target)
        output_note(_("The target is not met by the last measurement, %.4g ms: measure on an idle "
                      "machine, or give a shorter time.\n"),
                    last);
}

static int print_channels(const struct prune_request *request, const struct prune_result *result)
{
    const struct prune_figures *before = &result->before, *after = &result->after;
    const int status = print_layers(result);
    struct table table = table_begin("lrrr", _("FIGURE|BEFORE|AFTER|SHARE"));
    add_count_row(&table, _("FLOPs"), before->flops, after->flops);
    add_count_row(&table, _("parameters"), before->parameters, after->parameters);
    add_count_row(&table, _("bytes"), before->bytes, after->bytes);
    add_ms_rows(&table, &before->ms, &after->ms);
    if (result->evaluated)
        add_accuracy_rows(&table, &before->accuracy, &after->accuracy);
    output_print("\n");
    if (status != 0 || output_table(&table) != 0)
        return 1;
    output_print("%s\n", turns_advice_text());
    print_latency(request, result);
    output_print(_("\n%s written to %s\n"), result->network, request->output);
    return 0;
}

/* --- weights --- */

static bool add_side(struct json *root, const char *key, const struct magnitude_result *result,
                     size_t i)
{
    struct json *object = json_add_object(root, key);
    return json_add_count(object, "bytes", result->bytes[i]) &&
           json_add_count(object, "compressed_bytes", result->compressed[i]) &&
           output_add_statistics(object, "ms_per_image", &result->ms[i]) &&
           (!result->evaluated || add_accuracy(object, &result->accuracy[i]));
}

static int print_magnitude_json(const struct magnitude_request *request,
                                const struct magnitude_result *result)
{
    struct json *root = json_new_object();
    return output_json(root, json_add_string(root, "network", result->network) &&
                                 json_add_string(root, "model", request->model) &&
                                 json_add_string(root, "output", request->output) &&
                                 json_add_number(root, "share", request->share) &&
                                 json_add_count(root, "weights", result->weights) &&
                                 json_add_count(root, "zeros", result->zeros) &&
                                 add_side(root, "before", result, 0) &&
                                 add_side(root, "after", result, 1));
}

static int print_magnitude(const struct magnitude_request *request,
                           const struct magnitude_result *result)
{
    struct table table = table_begin("lrrr", _("FIGURE|BEFORE|AFTER|SHARE"));
    const struct statistics *ms = result->ms;
    add_count_row(&table, _("bytes"), result->bytes[0], result->bytes[1]);
    add_count_row(&table, _("bytes, compressed"), result->compressed[0], result->compressed[1]);
    add_ms_rows(&table, &ms[0], &ms[1]);
    if (result->evaluated)
        add_accuracy_rows(&table, &result->accuracy[0], &result->accuracy[1]);
    output_print(_("%llu of %llu weights are zero.\n"), (unsigned long long)result->zeros,
                 (unsigned long long)result->weights);
    if (output_table(&table) != 0)
        return 1;
    output_print("%s\n", turns_advice_text());
    output_print(_("\nThe network has the same shape and computes as much as before: only a "
                   "compressed file is smaller.\n"));
    output_print(_("%s written to %s\n"), result->network, request->output);
    return 0;
}

/* --- the request --- */

/* The options as they were given; NULL: not given. */
struct wanted {
    const char *output, *criterion, *flops, *parameters, *latency, *unstructured;
    struct option_list keep;
    size_t steps, batches;
    bool json, quiet;
    struct run_config config;
    char patterns[TECHNIQUE_PATTERNS]; /* of --keep, joined */
};

static bool read_number(const char *option, const char *text, double *value, struct error *error)
{
    return text_to_double(text, value) ||
           error_set(error, ERROR_USAGE, option, "give a number, as 0.5", "\"%s\" is no number",
                     text);
}

/* Sets goal and target from the one option that has them. */
static bool read_goal(const struct wanted *wanted, struct prune_request *request,
                      struct error *error)
{
    const struct {
        const char *option, *text;
        enum prune_goal goal;
    } goals[] = {{"--flops", wanted->flops, GOAL_FLOPS},
                 {"--parameters", wanted->parameters, GOAL_PARAMETERS},
                 {"--latency", wanted->latency, GOAL_LATENCY}};
    size_t given = wanted->unstructured ? 1 : 0;
    for (size_t i = 0; i < sizeof goals / sizeof *goals; i++) {
        if (!goals[i].text)
            continue;
        given++;
        request->goal = goals[i].goal;
        if (!read_number(goals[i].option, goals[i].text, &request->target, error))
            return false;
    }
    return given == 1 ||
           error_set(error, ERROR_USAGE, "prune",
                     "give one of --flops, --parameters, --latency and --unstructured",
                     given ? N_("it has more than one target")
                           : N_("it does not say how much is to remain"));
}

static enum channel_criterion criterion_of(const char *name)
{
    enum channel_criterion criterion = CRITERION_L1;
    for (size_t i = 0; name && channel_criterion_names[i]; i++)
        if (strcmp(channel_criterion_names[i], name) == 0)
            criterion = (enum channel_criterion)i;
    return criterion;
}

/* --- running --- */

static int prune_channels(const struct wanted *wanted, struct prune_request *request,
                          const struct technique_watch *watch)
{
    struct error error;
    struct prune_result *result = malloc(sizeof *result);
    char spec[CONFIG_SPEC];
    int status;
    if (!result) {
        error_set_memory(&error, "the result", sizeof *result);
        return output_error(&error);
    }
    if (!prune_run(request, watch, result, &error))
        status = output_error(&error);
    else {
        output_model_made(request->output, config_validation_spec(&request->config, spec));
        status = wanted->quiet && !wanted->json
                     ? EXIT_DONE
                     : (wanted->json ? print_channels_json : print_channels)(request, result);
        prune_result_free(result);
    }
    free(result);
    return status;
}

/* Refuses what unstructured pruning cannot do. */
static bool check_unstructured(const struct wanted *wanted, const struct prune_request *request,
                               struct error *error)
{
    if (fine_tune_is_wanted(&request->config))
        return error_set(error, ERROR_USAGE, "--unstructured",
                         "train before, and set weights to zero last",
                         "fine-tuning would give its zeros a value again");
    if (config_is_given(&request->config, KEY(save_precision)))
        return error_set(error, ERROR_USAGE, OPTION(save_precision), "leave it out",
                         "weights of which some are set to zero are saved in float32");
    if (config_holds_out(&request->config) && !config_is_given(&request->config, KEY(data)))
        return error_set(error, ERROR_USAGE, OPTION(validate), "give --data SPEC",
                         "a part of the training data needs that data");
    if (wanted->criterion || wanted->keep.count || wanted->steps != 1)
        return error_set(error, ERROR_USAGE, "--unstructured",
                         "leave out --criterion, --keep and --steps",
                         "it chooses the smallest weights of the whole network at once");
    return true;
}

static int prune_weights(const struct wanted *wanted, const struct prune_request *request,
                         const struct technique_watch *watch)
{
    struct error error;
    struct magnitude_result result;
    const struct machine_settings machine = machine_settings(&request->config);
    char spec[CONFIG_SPEC];
    struct magnitude_request magnitude = {.model = request->model,
                                          .output = request->output,
                                          .device = machine.device,
                                          .threads = machine.threads,
                                          .validate =
                                              config_validation_spec(&request->config, spec)};
    if (!check_unstructured(wanted, request, &error) ||
        !read_number("--unstructured", wanted->unstructured, &magnitude.share, &error) ||
        !magnitude_run(&magnitude, watch, &result, &error))
        return output_error(&error);
    output_model_made(request->output, magnitude.validate);
    return wanted->quiet && !wanted->json
               ? EXIT_DONE
               : (wanted->json ? print_magnitude_json : print_magnitude)(&magnitude, &result);
}

static int prune_wanted(struct wanted *wanted, const char *model)
{
    struct error error;
    struct technique_display display = {
        .command = "prune", .advice = N_("the same command continues"), .quiet = wanted->quiet};
    const struct technique_watch watch = technique_display_watch(&display);
    struct prune_request request = {
        .model = model,
        .output = wanted->output,
        .criterion = criterion_of(wanted->criterion),
        .steps = wanted->steps,
        .batches = wanted->batches,
        .keep = wanted->patterns,
        .format = (enum weights_format)record_settings(&wanted->config).save_precision,
        .config = wanted->config};
    const bool gradients = !wanted->unstructured && request.criterion == CRITERION_TAYLOR;
    if (!wanted->output)
        error_set(&error, ERROR_USAGE, "prune", "give -o FILE", "no file was named");
    else if (read_goal(wanted, &request, &error) &&
             fine_tune_refuse_idle(&request.config, KEY(save_precision), gradients, &error) &&
             technique_join_keep(&wanted->keep, wanted->patterns, &error)) {
        stop_signal_catch_for_runs();
        return wanted->unstructured ? prune_weights(wanted, &request, &watch)
                                    : prune_channels(wanted, &request, &watch);
    }
    return output_error(&error);
}

/* --- options --- */

enum { TARGETS = 4, OPTIONS = 12 }; /* with the row that ends the table */

static void list_targets(struct wanted *wanted, struct option_row *rows)
{
    const struct option_row table[TARGETS] = {
        TEXT_ROW("flops", "SHARE",
                 N_("Remove channels until at most this share of the FLOPs remains."),
                 &wanted->flops),
        TEXT_ROW("parameters", "SHARE",
                 N_("Remove channels until at most this share of the parameters remains."),
                 &wanted->parameters),
        TEXT_ROW("latency", "MS",
                 N_("Remove channels until one image takes at most so many milliseconds here."),
                 &wanted->latency),
        TEXT_ROW("unstructured", "SHARE",
                 N_("Set this share of the weights, the smallest, to zero instead."),
                 &wanted->unstructured)};
    memcpy(rows, table, sizeof table);
}

static void list_options(struct wanted *wanted, struct option_row *rows)
{
    const struct option_row table[OPTIONS - TARGETS] = {
        LETTER_TEXT_ROW("output", 'o', "FILE", N_("The pruned model (safetensors)."),
                        &wanted->output),
        {.name = "criterion",
         .argument = "NAME",
         .help =
             N_("How important a channel is: its weights' L1 norm, the scale of its batch norm, "
                "or the change of the loss without it, by first order (taylor; needs --data)."),
         .kind = OPTION_NAME,
         .value = &wanted->criterion,
         .choices = channel_criterion_names},
        COUNT_ROW("steps", "N",
                  N_("Approach the target in N steps, each with the fine-tuning of --epochs."),
                  &wanted->steps, 1, PRUNE_MAX_STEPS),
        COUNT_ROW("batches", "N", N_("Batches that the criterion taylor reads."), &wanted->batches,
                  1, 1000000),
        {.name = "keep",
         .argument = "LAYER",
         .help =
             N_("Keep all channels of the layers with this name or pattern; give the option once "
                "for each."),
         .kind = OPTION_LIST,
         .value = &wanted->keep},
        OUTPUT_JSON_OPTION(&wanted->json),
        OUTPUT_QUIET_OPTION(&wanted->quiet),
        {0}};
    list_targets(wanted, rows);
    memcpy(rows + TARGETS, table, sizeof table);
}

static int prune_command_run(const struct command *command, int argc, char **argv)
{
    struct wanted wanted = {.steps = 1, .batches = PRUNE_BATCHES};
    struct operands operands;
    int status;
    struct option_row rows[OPTIONS];
    list_options(&wanted, rows);
    const struct option_set set = {.rows = rows,
                                   .config = &wanted.config,
                                   .task = TASK_FINE_TUNE,
                                   .unused = KEY(epochs),
                                   .operands_min = 1,
                                   .operands_max = 1};
    config_defaults(&wanted.config);
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    struct error error;
    char *model = model_operand_path(operands.values[0], &error);
    status = model ? prune_wanted(&wanted, model) : output_error(&error);
    free(model);
    return status;
}

const struct command command_prune = {
    .name = "prune",
    .operands = "MODEL -o FILE",
    .summary = N_("Make a saved model smaller: remove channels and fine-tune the rest."),
    .details = N_(
        "MODEL is a file that tinca train --save has written, or a run, whose best weights are "
        "used. The least important channels are "
        "removed, together with all that depends on them; what remains is an ordinary smaller "
        "network. With --epochs it is trained after each step on --data, in a run of its own that "
        "begins with the pruned weights. An interrupted command continues when it is "
        "repeated.\nUnstructured pruning leaves the network's shape as it is: the file becomes "
        "smaller when it is compressed, but nothing becomes faster."),
    .run = prune_command_run,
};
