/* tinca quantize: makes a model of 8-bit integers out of a saved one, and shows what that costs,
 * layer by layer. training/compress/quantize_model.h does the work. */
#include "training/compress/quantize_model.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/stop_signal.h"
#include "cli/technique.h"

#include "base/files/output_file.h"
#include "base/text.h"
#include "models/measure/model_operand.h"
#include "runs/settings/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the result --- */

/* Adds a number with its sign; the loss of a network whose output is NaN rises by no number. */
static void signed_cell(struct table *table, int decimals, double value)
{
    if (isfinite(value))
        table_cell(table, "%+.*f", decimals, value);
    else
        table_cell(table, "%s", TEXT_NUMBER(value, 4));
}

static void add_row(struct table *table, const struct quantize_layer *layer)
{
    const char *const weights[] = {[KEPT_NOT] = "int8",
                                   [KEPT_ASKED] = _("float32 (asked)"),
                                   [KEPT_SENSITIVE] = _("float32 (sensitive)")};
    table_cell(table, "%s", layer->name);
    table_cell(table, "%s", weights[layer->kept]);
    table_number(table, "%.1f", layer->weight_sqnr);
    table_number(table, "%.1f", layer->output_sqnr);
    if (layer->kept == KEPT_ASKED) {
        table_fill(table, 2, "-");
        return;
    }
    signed_cell(table, 2, 0 - layer->top1_loss);
    signed_cell(table, 4, layer->loss_rise);
}

static int print_text(const struct quantize_request *request, const struct quantize_result *result)
{
    struct table table = table_begin("llrrrr", _("layer|weights|weights dB|output dB|alone: "
                                                 "top-1|alone: loss"));
    for (size_t i = 0; i < result->layer_count; i++)
        add_row(&table, &result->layers[i]);
    const int status = output_table(&table);
    output_print(_("dB: signal to quantization noise; alone: what this layer alone changes, on %zu "
                   "images\n"),
                 result->layer_images);
    output_print(_("%s on %zu images: top-1 %.2f %% [%.2f, %.2f], before %.2f %% [%.2f, %.2f]\n"),
                 result->network, result->after.images, result->after.top1, result->after.top1_low,
                 result->after.top1_high, result->before.top1, result->before.top1_low,
                 result->before.top1_high);
    if (result->tuned)
        output_print(_("  fine-tuned: top-1 was %.2f %% before\n"), result->untuned.top1);
    output_print(_("%s: %llu bytes, before %llu (%.2f)\n"), request->output,
                 (unsigned long long)result->bytes_after, (unsigned long long)result->bytes_before,
                 (double)result->bytes_after / (double)result->bytes_before);
    return status;
}

static int print_json(const struct quantize_request *request, const struct quantize_result *result)
{
    struct json *root = quantize_result_json(request, result);
    const bool complete = json_add_string(root, "model", request->model) &&
                          json_add_string(root, "output", request->output) &&
                          json_add_count(root, "bytes_before", result->bytes_before) &&
                          json_add_count(root, "bytes_after", result->bytes_after);
    return output_json(root, complete);
}

/* --- options --- */

struct wanted {
    const char *output, *calibrate, *data, *method, *scales, *max_loss;
    struct option_list keep;
    size_t images;
    bool json, quiet;
    struct run_config config;
    char patterns[TECHNIQUE_PATTERNS]; /* of --keep, joined */
};

static const char *const scale_names[] = {"per-channel", "per-tensor", NULL};

static bool read_request(struct wanted *wanted, const char *model, struct quantize_request *request,
                         struct error *error)
{
    *request = (struct quantize_request){.model = model,
                                         .output = wanted->output,
                                         .calibrate = wanted->calibrate,
                                         .data = wanted->data ? wanted->data : "",
                                         .keep = wanted->patterns,
                                         .images = wanted->images,
                                         .method = CALIBRATION_PERCENTILE,
                                         .per_tensor = wanted->scales &&
                                                       strcmp(wanted->scales, "per-tensor") == 0,
                                         .max_loss = QUANTIZE_MAX_LOSS,
                                         .seed = training_settings(&wanted->config).seed,
                                         .config = wanted->config};
    for (size_t i = 0; wanted->method && calibration_method_names[i]; i++)
        if (strcmp(calibration_method_names[i], wanted->method) == 0)
            request->method = (enum calibration_method)i;
    if (!wanted->output)
        return error_set(error, ERROR_USAGE, "quantize", "give -o FILE", "no file was named");
    if (!wanted->calibrate)
        return error_set(error, ERROR_USAGE, "quantize",
                         "give --calibrate SPEC, the set that the model was trained on",
                         "the ranges of the values need images");
    if (wanted->max_loss && (!text_to_double(wanted->max_loss, &request->max_loss) ||
                             request->max_loss < 0 || request->max_loss > 100))
        return error_set(error, ERROR_USAGE, "--max-loss", "give points of top-1 accuracy, as 0.5",
                         "\"%s\" is no number of 0 to 100", wanted->max_loss);
    return fine_tune_refuse_idle(&wanted->config, NULL, false, error) &&
           technique_join_keep(&wanted->keep, wanted->patterns, error);
}

static int quantize(struct wanted *wanted, const char *model)
{
    struct quantize_request request;
    struct quantize_result result = {0};
    struct error error;
    struct technique_display display = {.command = "quantize", .quiet = wanted->quiet};
    const struct technique_watch watch = technique_display_watch(&display);
    int status;
    if (!read_request(wanted, model, &request, &error))
        return output_error(&error);
    stop_signal_catch_for_runs();
    const bool made = quantize_model(&request, &watch, &result, &error);
    if (made)
        output_model_made(request.output, request.data[0] ? request.data : request.calibrate);
    if (!made)
        status = output_error(&error);
    else if (wanted->json)
        status = print_json(&request, &result);
    else
        status = wanted->quiet ? EXIT_DONE : print_text(&request, &result);
    quantize_result_free(&result);
    return status;
}

enum { OPTIONS = 10 }; /* with the row that ends the table */

static void list_options(struct wanted *wanted, struct option_row *rows)
{
    const struct option_row table[OPTIONS] = {
        LETTER_TEXT_ROW("output", 'o', "FILE", N_("The quantized model (safetensors)."),
                        &wanted->output),
        TEXT_ROW("calibrate", "SPEC",
                 N_("The set whose images give the ranges of the values, by default its training "
                    "split."),
                 &wanted->calibrate),
        COUNT_ROW("images", "N", N_("Read N images of it, drawn by --seed."), &wanted->images, 1,
                  1000000),
        {.name = "method",
         .argument = "NAME",
         .help =
             N_("Choose a range by all values, by all but one in 10,000 (percentile, the default), "
                "by the least divergence, or by the least squared error."),
         .kind = OPTION_NAME,
         .value = &wanted->method,
         .choices = calibration_method_names},
        NAME_ROW("weights", "KIND",
                 N_("Give each output of a layer a scale (per-channel, the default), or a layer "
                    "one."),
                 &wanted->scales, scale_names),
        LIST_ROW("keep", "LAYER",
                 N_("Keep the layers with this name or pattern in float32; give the option once "
                    "for each."),
                 &wanted->keep),
        TEXT_ROW("max-loss", "POINTS", N_("How much top-1 accuracy may be lost (1 point)."),
                 &wanted->max_loss),
        OUTPUT_JSON_OPTION(&wanted->json),
        OUTPUT_QUIET_OPTION(&wanted->quiet),
        {0}};
    memcpy(rows, table, sizeof table);
}

static int quantize_command_run(const struct command *command, int argc, char **argv)
{
    static const char *const fields[] = {KEY(data), NULL}; /* on which the accuracy is measured */
    struct wanted wanted = {.images = QUANTIZE_IMAGES};
    struct option_row rows[OPTIONS];
    struct operands operands;
    int status;
    list_options(&wanted, rows);
    const struct option_set set = {.rows = rows,
                                   .config = &wanted.config,
                                   .task = TASK_FINE_TUNE,
                                   .classes = SETTINGS_ALL & ~(unsigned)SETTINGS_DATA,
                                   .fields = fields,
                                   .unused = KEY(epochs),
                                   .operands_min = 1,
                                   .operands_max = 1};
    struct error error;
    config_defaults(&wanted.config);
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    char *model = model_operand_path(operands.values[0], &error);
    if (!model)
        return output_error(&error);
    if (config_is_given(&wanted.config, KEY(data)))
        wanted.data = data_settings(&wanted.config).data;
    status = quantize(&wanted, model);
    free(model);
    return status;
}

const struct command command_quantize = {
    .name = "quantize",
    .operands = "MODEL --calibrate SPEC -o FILE",
    .summary = N_("Make a model of 8-bit integers out of a saved one."),
    .details = N_(
        "MODEL is a file that tinca train --save has written, or a run, whose best weights are "
        "used. Batch norms become part of the "
        "layers before them; weights are rounded to integers of 8 bits and the values between the "
        "layers to 256 levels, whose ranges a sample of images gives. The report shows for each "
        "layer how much noise this adds and what it costs alone. The accuracy is measured on "
        "--data, without it on the test split of the sample's set. The first and the last layer "
        "stay float32 if one of them alone costs more than a quarter of --max-loss. If all of it "
        "costs more than --max-loss and --epochs is given, the network is trained with simulated "
        "quantization, in a run of its own. The file has about a quarter of the size."),
    .run = quantize_command_run,
};
