/* tinca compare: the table of the dissertation (accuracy, size, times of networks), from the user's
 * runs. studies/compare makes and writes the table; this file reads the options and opens the runs.
 */
#include "studies/compare/pareto.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/runs.h"
#include "cli/stop_signal.h"

#include "base/files/output_file.h"
#include "base/language.h"
#include "runs/history/seed_group.h"
#include "runs/settings/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the order of enum compare_format. */
static const char *const format_names[] = {"text", "json", "csv", "markdown", NULL};

struct compare_request {
    struct run_config config; /* threads */
    const char *sort, *pareto, *target, *device;
    size_t format;
    bool published, settings, reverse, pairs, as_json, measure;
};

/* Writes the comparison to a stream, which the caller checks; false with an error if out of memory.
 */
static bool write_stream(const struct comparison *comparison, const struct compare_request *request,
                         FILE *stream, struct error *error)
{
    struct text text = {0};
    compare_write(comparison, (enum compare_format)request->format, &text, stream);
    const bool failed = text.failed;
    text_free(&text);
    return !failed || error_set_memory(error, "the comparison", 0);
}

/* Standard output gets each part when it is complete: with --pairs the whole may not fit into
 * memory. */
static bool write_output(const struct comparison *comparison, const struct compare_request *request,
                         struct error *error)
{
    struct output_file output;
    if (!request->target || output_file_is_stdout(request->target))
        return write_stream(comparison, request, stdout, error);
    if (!output_file_open(&output, request->target, OUTPUT_TEXT, error))
        return false;
    if (write_stream(comparison, request, output.stream, error))
        return output_file_commit(&output, error);
    output_file_abandon(&output);
    return false;
}

/* Adds the run that an operand names, or the runs of a group of seeds as one row. */
static bool add(struct comparison *comparison, struct opened_runs *runs, const char *operand,
                struct error *error)
{
    const size_t first = runs->count;
    if (!runs_open_operand(runs, operand, error))
        return false;
    for (size_t i = first; i < runs->count; i++)
        if (!compare_add_run(comparison, runs->list[i], error))
            return false;
    return !seed_group_is_operand(operand) ||
           compare_merge_seeds(comparison,
                               record_settings(run_config(runs->list[first])).seed_group, error);
}

/* --- turns --- */

/* Shows the progress on a terminal, and ends the measurement after a signal. */
static bool report_block(void *context, uint64_t done, uint64_t of, struct error *error)
{
    char line[120];
    (void)context;
    if (isatty(STDERR_FILENO)) {
        snprintf(line, sizeof line, _("in turns: block %llu of at most %llu"),
                 (unsigned long long)done, (unsigned long long)of);
        output_live(line, OUTPUT_WIDTH);
    }
    return !stop_signal_came() ||
           error_set(error, ERROR_INTERRUPTED, "compare", NULL, "a signal stopped the measurement");
}

/* Lets the models of the operands take turns, of a group of seeds the first run's, and stores what
 * they gave. */
static bool take_turns(const struct operands *operands, const struct compare_request *request,
                       struct error *error)
{
    struct opened_runs runs = {0};
    const struct run *list[TURNS_MODELS];
    bool good = true;
    stop_signal_catch();
    for (size_t i = 0; good && i < operands->count; i++) {
        const size_t first = runs.count;
        good = runs_open_operand(&runs, operands->values[i], error);
        if (good && i < TURNS_MODELS)
            list[i] = runs.list[first];
    }
    const struct measure_request measure = {.device = request->device,
                                            .threads = machine_settings(&request->config).threads,
                                            .progress = report_block};
    good = good && measure_turns(list, operands->count, &measure, error);
    if (isatty(STDERR_FILENO))
        output_live_clear();
    runs_close(&runs);
    return good;
}

static bool fill(struct comparison *comparison, struct opened_runs *runs,
                 const struct operands *operands, const struct compare_request *request,
                 struct error *error)
{
    bool filled = true;
    comparison->pairs = request->pairs;
    for (size_t i = 0; filled && i < operands->count; i++)
        filled = add(comparison, runs, operands->values[i], error);
    filled = filled && (!request->settings || compare_add_settings(comparison, error)) &&
             (!request->published || compare_add_published(comparison, error)) &&
             compare_complete(comparison, error);
    return filled &&
           (!request->sort || compare_sort(comparison, request->sort, request->reverse, error));
}

/* Finds the Pareto front, if one is requested. */
static bool find_front(struct comparison *comparison, const struct compare_request *request,
                       struct compare_front *front, struct error *error)
{
    struct compare_figure x, y;
    if (!request->pareto)
        return true;
    comparison->front = front;
    return compare_parse_front(comparison, request->pareto, &x, &y, error) &&
           compare_find_front(comparison, &x, &y, front, error);
}

/* Opens the runs, which the caller frees also after an error, and writes the comparison. */
static bool compare(struct opened_runs *runs, const struct operands *operands,
                    const struct compare_request *request, struct error *error)
{
    struct comparison comparison = {0};
    struct compare_front front = {0};
    const bool compared = (!request->measure || take_turns(operands, request, error)) &&
                          fill(&comparison, runs, operands, request, error) &&
                          find_front(&comparison, request, &front, error) &&
                          write_output(&comparison, request, error);
    compare_front_free(&front);
    compare_free(&comparison);
    return compared;
}

/* Writes the comparison. Returns the exit status. */
static int answer(const struct operands *operands, struct compare_request *request)
{
    struct opened_runs runs = {0};
    struct error error;
    if (request->as_json)
        request->format = COMPARE_JSON;
    if (request->format == COMPARE_JSON)
        language_begin(language_names[0]); /* JSON is the same in every language */
    const int status = compare(&runs, operands, request, &error) ? EXIT_DONE : output_error(&error);
    runs_close(&runs);
    return status;
}

/* The options of --measure. */
#define MEASURE_OPTIONS(request)                                                                   \
    {.name = "measure",                                                                            \
     .help = N_("Let the runs' models take turns on one device first, in blocks A B B A, and "     \
                "store the result: only such times are compared."),                                \
     .kind = OPTION_SWITCH,                                                                        \
     .value = &(request).measure},                                                                 \
    {                                                                                              \
        .name = "device", .argument = "NAME",                                                      \
        .help = N_("With --measure: the device that computes; without it the first run's."),       \
        .kind = OPTION_TEXT, .value = &(request).device                                            \
    }

static const char *const fields[] = {KEY(threads), NULL};

static int compare_command_run(const struct command *command, int argc, char **argv)
{
    struct operands operands;
    struct compare_request request = {0};
    int status;
    const struct option_row rows[] = {
        TEXT_ROW(
            "sort", "COLUMN",
            N_("Sort by network, run, top1, best_top1, top5, loss, validation_loss, "
               "best_validation_loss, test_top1, test_top5, test_loss, e_p, parameters, flops, "
               "size, memory, energy, ms (both on the first device), a device's name or a "
               "setting's key, the best first (times without a verdict); else in the order given."),
            &request.sort),
        SWITCH_ROW("reverse", N_("With --sort: the worst first; rows without a value stay last."),
                   &request.reverse),
        TEXT_ROW("pareto", "X,Y",
                 N_("Name the rows that no other row beats in both columns, such as ms,best_top1."),
                 &request.pareto),
        SWITCH_ROW("settings", N_("Add a column for each setting in which the runs differ."),
                   &request.settings),
        SWITCH_ROW("pairs", N_("Test every pair of runs, also of more than four."), &request.pairs),
        SWITCH_ROW("published", N_("Add the studies' published figures, marked as such."),
                   &request.published),
        MEASURE_OPTIONS(request),
        OUTPUT_FORMAT_OPTION(&request.format, format_names, &request.target),
        OUTPUT_JSON_OPTION(&request.as_json),
        OUTPUT_TARGET_OPTION(&request.target),
        {0}};
    const struct option_set set = {.rows = rows,
                                   .config = &request.config,
                                   .fields = fields,
                                   .operands_min = 1,
                                   .operands_max = (size_t)-1,
                                   .opens_device = true};
    config_defaults(&request.config);
    return options_read(command, &set, argc, argv, &operands, &status) ? answer(&operands, &request)
                                                                       : status;
}

const struct command command_compare = {
    .name = "compare",
    .operands = "RUN...",
    .summary = N_("Put runs side by side: accuracy, size, times of one image."),
    /* xgettext:no-c-format */
    .details =
        N_("RUN is an ID that tinca runs lists, the beginning of one, a run's name, or its folder; "
           "RUN@seeds "
           "is the group of seeds that it belongs to, as one row of means with 95 % intervals. "
           "The times are those that tinca measure stored; for a time that is missing, the command "
           "that would measure it is printed. Times of two rows are compared only if they were "
           "taken in turns, by --measure (2 to 8 runs): a t-test of at least 10 undisturbed "
           "blocks, level 5 % for each pair, without a correction for several pairs, where "
           "differences below 1 % do not count. Rows that it does not "
           "show to differ are marked with ~ and the other row's number; of other times the "
           "ratio is shown without a verdict. "
           "Accuracies, too, differ only if a test shows it, which is named: McNemar's test of two "
           "runs that validated on the same images, Welch's t-test of two groups of seeds."),
    .run = compare_command_run,
};
