/* tinca advise --other: reads the table of models (studies/models), prints what to try next and
 * why, and with --apply lets means_apply do it. */
#include "cli/internal.h"

#include "cli/command.h"
#include "cli/output.h"
#include "cli/stop_signal.h"

#include "base/escape/shell.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "base/text.h"
#include "runs/settings/settings.h"
#include "studies/models/means_apply.h"
#include "training/compress/technique.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool advise_other_check(const struct advise_other *other, struct error *error)
{
    double minutes;
    if (!other->apply && (other->budget || other->output))
        return error_set(error, ERROR_USAGE, other->budget ? "--budget" : "--output",
                         "give --apply, too", "nothing is applied without it");
    if (other->budget && (!text_to_double(other->budget, &minutes) || minutes <= 0))
        return error_set(error, ERROR_USAGE, "--budget", "give minutes, such as 30",
                         "%s is not understood, or out of range", other->budget);
    return !other->output || output_file_check(other->output, OUTPUT_BINARY, error);
}

static struct means_request request_of(const struct advise_request *request)
{
    return (struct means_request){
        .network = request->network,
        .faster = request->need != ADVISE_SMALLER || isfinite(request->limit_ms),
        .smaller = request->need != ADVISE_FASTER || isfinite(request->limit_mb),
        .limit_ms = request->limit_ms,
        .limit_mb = request->limit_mb,
        .accept_loss = request->accept_loss};
}

static struct means_settings settings_of(const struct advise_other *other)
{
    const struct run_config *config = &other->config;
    return (struct means_settings){
        .data = config_is_given(config, KEY(data)) ? data_settings(config).data : NULL,
        .epochs =
            config_is_given(config, KEY(epochs)) ? training_settings(config).epochs : MEANS_EPOCHS,
        .seed = training_settings(config).seed};
}

/* --- printing --- */

static void append_option(struct text *text, const char *option, const char *value)
{
    if (!value[0])
        return;
    text_append(text, " %s ", option);
    shell_word_append(text, value);
}

/* Appends what remains, as a step prune or factorize has it; `plain`: the option of a mere share.
 */
static void append_goal(struct text *text, const char *argument, const char *plain)
{
    double value;
    const char *const options[] = {[TECHNIQUE_PLAIN] = plain,
                                   [TECHNIQUE_PARAMETERS] = "--parameters",
                                   [TECHNIQUE_ZEROS] = "--unstructured",
                                   [TECHNIQUE_TIME] = "--latency"};
    if (argument[0]) {
        const enum technique_goal goal = technique_goal_of(argument, &value);
        text_append(text, " %s %.6g", options[goal], value);
    }
}

/* Appends the data, the epochs, the device and the seed of a training, as far as it has them. */
static void append_training(struct text *text, const struct model_table *table, const char *data,
                            const char *validate, const struct means_settings *settings)
{
    if (data) {
        append_option(text, "--data", data);
        append_option(text, "--validate", validate);
        text_append(text, " --epochs %zu", settings->epochs);
    }
    append_option(text, "--device", table->device);
    text_append(text, " --threads %zu --seed %zu", table->threads, settings->seed);
}

/* Appends the command of a step of a chain of techniques to the row's model. */
static void append_step(struct text *text, const char *step, const struct model_table *table,
                        const struct model_row *row, const char *data,
                        const struct means_settings *settings)
{
    const char *argument;
    const bool prunes = technique_step_is(step, "prune", &argument);
    if (technique_step_is(step, "quantize", &argument)) {
        append_option(text, "quantize", row->path);
        append_option(text, "--calibrate", data ? data : "SPEC");
        append_option(text, "--data", row->data);
        append_option(text, "--method", argument);
        append_training(text, table, NULL, "", settings);
        text_append(text, " -o FILE.safetensors -q");
    } else if (prunes || technique_step_is(step, "factorize", &argument)) {
        append_option(text, prunes ? "prune" : "factorize", row->path);
        append_goal(text, argument, prunes ? "--flops" : "--energy");
        append_training(text, table, data, row->data, settings);
        text_append(text, " -o FILE.safetensors -q");
    } else if (technique_step_is(step, "distill", &argument)) {
        append_option(text, "train", row->path);
        append_option(text, "--weights", row->path);
        append_option(text, "--teacher", argument);
        append_training(text, table, data ? data : "SPEC", row->data, settings);
        text_append(text, " --save FILE.safetensors -q");
    } else if (technique_step_is(step, "half", &argument)) {
        append_option(text, "weights", row->path);
        append_option(text, "--save-precision", argument[0] ? argument : "float16");
        text_append(text, " --save FILE.safetensors");
    }
}

/* Prints the command that applies the technique by hand. */
static void print_command(const struct model_table *table, const struct means_advice *advice,
                          const struct means_settings *settings)
{
    struct text text = {0};
    const char *data = means_training_data(table, advice->row, advice->reference, settings);
    text_append(&text, "tinca");
    append_step(&text, advice->step, table, &table->rows[advice->row], data, settings);
    if (text.data && !text.failed)
        output_print("\n  %s\n", text.data);
    text_free(&text);
}

/* Prints the command that applies the advice and what follows from it. */
static void print_apply(const struct advise_other *other, const struct means_request *request,
                        const struct model_table *table, const struct means_advice *advice)
{
    struct text text = {0};
    const struct run_config *config = &other->config;
    text_append(&text, "tinca advise --apply --network ");
    shell_word_append(&text, advice->network);
    if (isfinite(request->limit_ms))
        text_append(&text, " --limit-ms %.6g", request->limit_ms);
    if (isfinite(request->limit_mb))
        text_append(&text, " --limit-mb %.6g", request->limit_mb);
    if (!isfinite(request->limit_ms) && !isfinite(request->limit_mb))
        text_append(&text, " --need %s",
                    request->faster && request->smaller ? "both"
                    : request->faster                   ? "faster"
                                                        : "smaller");
    text_append(&text, " --budget 30 --accept-loss %.6g --device ", request->accept_loss);
    shell_word_append(&text, table->device);
    if (config_is_given(config, KEY(data))) {
        text_append(&text, " --data ");
        shell_word_append(&text, data_settings(config).data);
    }
    if (config_is_given(config, KEY(epochs)))
        text_append(&text, " --epochs %zu", training_settings(config).epochs);
    if (config_is_given(config, KEY(seed)))
        text_append(&text, " --seed %zu", training_settings(config).seed);
    if (config_is_given(config, KEY(threads)))
        text_append(&text, " --threads %zu", machine_settings(config).threads);
    if (text.data && !text.failed)
        output_print(_("or, as often as the limits need it, within 30 minutes:\n\n  %s\n"),
                     text.data);
    text_free(&text);
}

static void print_advice(const struct advise_other *other, const struct means_request *request,
                         const struct model_table *table, const struct means_advice *advice)
{
    char text[MEANS_STEP + 400];
    const struct means_settings settings = settings_of(other);
    output_print_wrapped(means_verdict_text(table, advice, text, sizeof text), 0, 0, OUTPUT_WIDTH);
    output_print("\n%s\n", _("Why:"));
    for (size_t i = 0; i < advice->reason_count; i++) {
        output_print("  ");
        output_print_wrapped(advice->reasons[i], 2, 2, OUTPUT_WIDTH);
    }
    if (advice->verdict == MEANS_TRY) {
        print_command(table, advice, &settings);
        print_apply(other, request, table, advice);
    }
    if (advice->best != MODEL_NO_ROW)
        output_print(_("\nThe best so far: %s (%s)\n"),
                     table->rows[advice->best].figures.facts.name, table->rows[advice->best].path);
}

static int print(const struct advise_other *other, const struct means_request *request,
                 const struct model_table *table, const struct means_advice *advice, bool as_json)
{
    struct json *root = as_json ? json_new_object() : NULL;
    if (as_json)
        return output_json(root, root && means_to_json(table, advice, root));
    print_advice(other, request, table, advice);
    return EXIT_DONE;
}

/* --- applying --- */

static bool has_to_stop(void *context)
{
    (void)context;
    return stop_signal_came();
}

static void report(void *context, const char *line)
{
    const struct advise_other *other = context;
    if (!other->quiet)
        output_note("%s\n", line);
}

/* Applies what is advised. The advice is printed also after an interrupt: what was made stays. */
static int apply(const struct advise_other *other, const struct model_table_request *models,
                 const struct means_request *request, bool as_json)
{
    struct error error;
    struct model_table table;
    struct means_advice advice;
    double minutes = 0;
    if (other->budget)
        text_to_double(other->budget, &minutes);
    struct means_apply work = {.models = models,
                               .request = *request,
                               .settings = settings_of(other),
                               .output = other->output,
                               .seconds = minutes * 60,
                               .stop = has_to_stop,
                               .report = report,
                               .context = (void *)other};
    stop_signal_catch_for_runs();
    const bool applied = means_apply(&work, &table, &advice, &error);
    const bool ended = !applied && error.kind == ERROR_INTERRUPTED;
    int status = EXIT_DONE;
    if ((applied || ended) && advice.row != MODEL_NO_ROW)
        status = print(other, request, &table, &advice, as_json);
    if (ended && !stop_signal_came() && !other->quiet)
        output_note("%s\n", _("The time budget has ended; repeat the command to go on."));
    else if (!applied && !ended)
        status = output_error(&error);
    model_table_free(&table);
    return stop_signal_came() ? EXIT_INTERRUPTED : status;
}

static int advise_once(const struct advise_other *other, const struct model_table_request *models,
                       const struct means_request *request, bool as_json)
{
    struct error error;
    struct model_table table;
    struct means_advice advice;
    const bool advised =
        model_table_read(&table, models, &error) && means_advise(&table, request, &advice, &error);
    const int status =
        advised ? print(other, request, &table, &advice, as_json) : output_error(&error);
    model_table_free(&table);
    return status;
}

int advise_other_run(const struct advise_other *other, const struct advise_request *request,
                     const struct operands *operands, bool as_json)
{
    const struct means_settings settings = settings_of(other);
    struct means_request means = request_of(request);
    means.settings = &settings;
    const char *device = strcmp(request->device, "weak") == 0       ? "cpu"
                         : strcmp(request->device, "powerful") == 0 ? "cuda"
                                                                    : request->device;
    const struct model_table_request models = {.operands = (const char *const *)operands->values,
                                               .operand_count = operands->count,
                                               .only_operands =
                                                   operands->count > 0 && !other->apply,
                                               .device = device,
                                               .threads = machine_settings(&other->config).threads};
    return other->apply ? apply(other, &models, &means, as_json)
                        : advise_once(other, &models, &means, as_json);
}
