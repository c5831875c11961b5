/* tinca models: one table of all the user's models. studies/models gathers and measures them; this
 * file reads the options and prints. */
#include "studies/models/model_table.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/stop_signal.h"

#include "base/files/output_file.h"
#include "base/language.h"
#include "base/text.h"
#include "runs/settings/config.h"
#include "runs/settings/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum models_format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV, FORMAT_MARKDOWN };
static const char *const format_names[] = {"text", "json", "csv", "markdown", NULL};

struct models_request {
    struct run_config config; /* data, device, threads */
    const char *sort, *target;
    size_t format, images;
    bool measure, again, only, as_json, as_csv, quiet;
};

/* --- measuring --- */

struct progress {
    const char *name;
    size_t number, of;
    bool shown; /* on a terminal, unless quiet */
};

/* Shows the progress, and ends the measurement after a signal. */
static bool report(void *context, uint64_t done, uint64_t of, struct error *error)
{
    const struct progress *progress = context;
    char line[200];
    if (progress->shown) {
        snprintf(line, sizeof line, _("%zu/%zu %s: %llu of %llu"), progress->number, progress->of,
                 progress->name, (unsigned long long)done, (unsigned long long)of);
        output_live(line, OUTPUT_WIDTH);
    }
    return !stop_signal_came() || error_set(error, ERROR_INTERRUPTED, progress->name,
                                            "repeat the command: what was measured is stored",
                                            "a signal stopped the measurement");
}

static bool is_due(const struct model_table *table, const struct models_request *request,
                   size_t row)
{
    return request->again || !model_table_is_measured(table, row);
}

/* Reports why a model could not be measured. Returns the exit status 1. */
static int report_failure(const struct model_row *row, const struct error *error)
{
    struct error named = *error;
    if (strcmp(error->what, row->shown) != 0)
        snprintf(named.what, sizeof named.what, "%.120s: %.120s", row->shown, error->what);
    output_error(&named);
    return EXIT_FAILED;
}

/* Measures what is not measured yet. A model that cannot be measured is reported, and the others
 * are measured all the same. Returns the exit status. */
static int measure(struct model_table *table, const struct models_request *request)
{
    struct error error;
    size_t of = 0, number = 0;
    int status = EXIT_DONE;
    stop_signal_catch();
    for (size_t i = 0; i < table->count; i++)
        of += is_due(table, request, i);
    for (size_t i = 0; i < table->count && !stop_signal_came(); i++) {
        if (!is_due(table, request, i))
            continue;
        struct progress progress = {.name = table->rows[i].figures.facts.name,
                                    .number = ++number,
                                    .of = of,
                                    .shown = !request->quiet && isatty(STDERR_FILENO)};
        const bool measured =
            model_table_measure(table, i, request->images, report, &progress, &error);
        if (progress.shown)
            output_live_clear();
        if (!measured && !stop_signal_came())
            status = report_failure(&table->rows[i], &error);
    }
    model_table_complete(table);
    return stop_signal_came() ? EXIT_INTERRUPTED : status;
}

/* --- printing --- */

static bool any_validation(const struct model_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].source == MODEL_ACCURACY_VALIDATION)
            return true;
    return false;
}

static size_t count_unmeasured(const struct model_table *table)
{
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++)
        count += table->rows[i].source == MODEL_ACCURACY_UNKNOWN || !table->rows[i].timed;
    return count;
}

/* Prints what the table cannot say in its cells. */
static void print_notes(const struct model_table *table)
{
    const size_t unmeasured = count_unmeasured(table);
    const char *reason = NULL;
    output_print(_("\nTimes of one image on %s. FRONT: no other model with the same data set is as "
                   "accurate and as fast (ms), small (bytes), cheap (flops).\n"),
                 table->device);
    if (model_table_data_sets(table) > 1)
        output_print(
            _("There are %zu data sets: accuracies of different ones are no comparison, and "
              "each has its own fronts.\n"),
            model_table_data_sets(table));
    if (any_validation(table))
        output_print("%s\n", _("v: from the validation of its run; --measure measures it."));
    for (size_t i = 0; i < table->count && !reason; i++)
        if (table->rows[i].timed && table->rows[i].now.energy_unknown[0])
            reason = table->rows[i].now.energy_unknown;
    if (reason)
        output_print(_("J/image: not known: %s\n"), reason);
    if (unmeasured > 0)
        output_print(
            ngettext("%zu model is not measured: tinca models --measure does it, once.\n",
                     "%zu models are not measured: tinca models --measure does it, once.\n",
                     unmeasured),
            unmeasured);
}

static int print_text(const struct model_table *table)
{
    if (table->count == 0) {
        output_print("%s\n",
                     _("There are no models yet: tinca train makes one, or name files of them."));
        return EXIT_DONE;
    }
    struct table shown = model_table_shown(table);
    const int status = output_table(&shown);
    print_notes(table);
    return status;
}

static void append_json(const struct model_table *table, struct text *text)
{
    struct json *root = model_table_to_json(table);
    char *document = root ? json_print_utf8(root, true, NULL) : NULL;
    if (document)
        text_append(text, "%s\n", document);
    text->failed |= !document;
    free(document);
    json_free(root);
}

static int print_document(const struct model_table *table, const struct models_request *request)
{
    struct error error;
    struct text text = {0};
    struct table written = {0};
    if (request->format == FORMAT_JSON)
        append_json(table, &text);
    else if (request->format == FORMAT_CSV)
        table_csv((written = model_table_numbers(table), &written), &text);
    else
        table_markdown((written = model_table_shown(table), &written), &text);
    const bool good = text.failed ? error_set_memory(&error, "the table", 0)
                                  : output_file_write(request->target ? request->target : "-",
                                                      text.data, text.length, OUTPUT_TEXT, &error);
    table_free(&written);
    text_free(&text);
    return good ? EXIT_DONE : output_error(&error);
}

static int print(const struct model_table *table, const struct models_request *request)
{
    return request->format == FORMAT_TEXT ? print_text(table) : print_document(table, request);
}

/* --- the command --- */

static size_t sort_key(const char *name)
{
    size_t key = 0;
    while (model_sort_names[key] && strcmp(model_sort_names[key], name) != 0)
        key++;
    return key;
}

static int show(const struct operands *operands, const struct models_request *request)
{
    struct error error;
    struct model_table table;
    const struct run_config *config = &request->config;
    const struct model_table_request read = {
        .operands = (const char *const *)operands->values,
        .operand_count = operands->count,
        .only_operands = request->only,
        .data = config_is_given(config, KEY(data)) ? data_settings(config).data : NULL,
        .device = config_is_given(config, KEY(device)) ? machine_settings(config).device : NULL,
        .threads = machine_settings(config).threads};
    int status = EXIT_DONE;
    if (request->target && !output_file_check(request->target, OUTPUT_TEXT, &error))
        return output_error(&error);
    if (!model_table_read(&table, &read, &error)) {
        model_table_free(&table);
        return output_error(&error);
    }
    if (request->measure || request->again)
        status = measure(&table, request);
    if (request->sort)
        model_table_sort(&table, sort_key(request->sort));
    const int printed = status == EXIT_INTERRUPTED ? EXIT_DONE : print(&table, request);
    if (table.skipped > 0 && !request->quiet)
        output_note(ngettext("%zu model could not be read: %s: %s\n",
                             "%zu models could not be read, the first of them %s: %s\n",
                             table.skipped),
                    table.skipped, table.first_skipped.what, table.first_skipped.why);
    model_table_free(&table);
    return status != EXIT_DONE ? status : printed;
}

static bool check_formats(struct models_request *request, struct error *error)
{
    if (request->as_json && request->as_csv)
        return error_set(error, ERROR_USAGE, "--csv", "give one of --json and --csv",
                         "there can be one document only");
    if (request->as_json)
        request->format = FORMAT_JSON;
    if (request->as_csv)
        request->format = FORMAT_CSV;
    return !request->target || request->format != FORMAT_TEXT ||
           error_set(error, ERROR_USAGE, "--output", "give --format csv, markdown or json",
                     "the table as text is for the terminal");
}

enum { MODELS_ROWS = 11 };

static void make_rows(struct models_request *request, struct option_row rows[MODELS_ROWS])
{
    const struct option_row own[MODELS_ROWS] = {
        SWITCH_ROW("measure", N_("Measure the models that are not measured yet; it is done once."),
                   &request->measure),
        SWITCH_ROW("again", N_("Measure all of them, also those that are measured."),
                   &request->again),
        COUNT_ROW("images", "N", N_("Time the first N images of the set, one at a time. [500]"),
                  &request->images, 2, (size_t)1 << 32),
        SWITCH_ROW("only", N_("Only the models that are named, without those of the runs on disk."),
                   &request->only),
        NAME_ROW("sort", "KEY",
                 N_("Sort by this figure, the best first (times without a verdict)."),
                 &request->sort, model_sort_names),
        OUTPUT_FORMAT_OPTION(&request->format, format_names, &request->target),
        OUTPUT_JSON_OPTION(&request->as_json),
        SWITCH_ROW("csv", N_("Print the table as CSV."), &request->as_csv),
        OUTPUT_TARGET_OPTION(&request->target),
        LETTER_SWITCH_ROW("quiet", 'q', N_("Show no progress."), &request->quiet)};
    memcpy(rows, own, sizeof own);
}

static int models_run(const struct command *command, int argc, char **argv)
{
    struct models_request request = {0};
    struct operands operands;
    struct error error;
    int status;
    struct option_row rows[MODELS_ROWS] = {0};
    make_rows(&request, rows);
    const struct option_set set = {
        .rows = rows, .config = &request.config, .task = TASK_MODELS, .operands_max = (size_t)-1};
    config_defaults(&request.config);
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    if (!check_formats(&request, &error))
        return output_error(&error);
    if (request.format == FORMAT_JSON)
        language_begin(language_names[0]); /* JSON is the same in every language */
    return show(&operands, &request);
}

const struct command command_models = {
    .name = "models",
    .operands = "[MODEL|FOLDER|RUN...]",
    .summary = N_("One table of all your models: accuracy, size, time, and what each gained."),
    /* xgettext:no-c-format */
    .details = N_(
        "A row is a model: the best one of each run on disk, and each file, each file of a folder "
        "and each run that is named. Its name ends with the techniques that were applied after "
        "training, joined by +. The table shows top-1 accuracy with its 95 % interval (Wilson), "
        "parameters, bytes of the file, FLOPs, the median time of one image with its 95 % "
        "interval, energy, E_P, the Pareto fronts of accuracy against time, bytes and FLOPs that "
        "the model is on, and its gain against the model without its last technique. What is "
        "measured is stored, so that it is measured once for each data set, device and machine; "
        "what is not measured is shown so. Without --data a model is measured on the validation "
        "data of its run, a file on the data set that it was last measured on. Exit status 1: a "
        "model could not be measured."),
    .run = models_run,
};
