/* tinca compare: the table of the dissertation (accuracy, size, times of networks), from the user's
 * runs. session/compare makes and writes the table; this file reads the options and opens the runs.
 */
#include "session/compare/compare.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/runs.h"

#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order of enum compare_format. */
static const char *const format_names[] = {"text", "json", "csv", "markdown", NULL};

struct compare_request {
    const char *sort, *target;
    size_t format;
    bool published, as_json;
};

/* Returns the output as text, which the caller frees; NULL with an error if out of memory. */
static char *make_output(const struct comparison *comparison, const struct compare_request *request,
                         struct error *error)
{
    struct text text = {0};
    compare_write(comparison, (enum compare_format)request->format, &text);
    if (text.data && !text.failed)
        return text.data;
    text_free(&text);
    error_set_memory(error, "the comparison", 0);
    return NULL;
}

static bool write_output(const struct comparison *comparison, const struct compare_request *request,
                         struct error *error)
{
    char *output = make_output(comparison, request, error);
    const char *target = request->target ? request->target : "-";
    bool written = output && output_file_write(target, output, strlen(output), OUTPUT_TEXT, error);
    free(output);
    return written;
}

/* Opens the runs, which the caller frees also after an error, and writes the comparison. */
static bool compare(struct run **runs, const struct operands *operands,
                    const struct compare_request *request, struct error *error)
{
    struct comparison comparison = {0};
    bool compared = true;
    for (size_t i = 0; compared && i < operands->count; i++)
        compared = (runs[i] = runs_open(operands->values[i], error)) &&
                   compare_add_run(&comparison, runs[i], error);
    compared = compared && (!request->published || compare_add_published(&comparison, error));
    if (compared)
        compare_complete(&comparison);
    compared = compared && (!request->sort || compare_sort(&comparison, request->sort, error)) &&
               write_output(&comparison, request, error);
    compare_free(&comparison);
    return compared;
}

static int compare_command_run(const struct command *command, int argc, char **argv)
{
    struct error error;
    struct operands operands;
    struct compare_request request = {0};
    int status;
    const struct option_row rows[] = {
        {.name = "sort",
         .argument = "COLUMN",
         .help = N_(
             "Sort by network, run, top1, e_p, parameters, flops, size, memory, energy, ms (both "
             "on the first device) or a device's name, the best first; without it in the order "
             "given."),
         .kind = OPTION_TEXT,
         .value = &request.sort},
        {.name = "published",
         .help = N_("Add the studies' published figures, marked as such."),
         .kind = OPTION_SWITCH,
         .value = &request.published},
        {.name = "format",
         .argument = "NAME",
         .help = N_("What to write."),
         .kind = OPTION_CHOICE,
         .value = &request.format,
         .choices = format_names},
        OUTPUT_JSON_OPTION(&request.as_json),
        {.name = "output",
         .letter = 'o',
         .argument = "FILE",
         .help = N_("Write to FILE instead of standard output, which is also -."),
         .kind = OPTION_TEXT,
         .value = &request.target},
        {0}};
    const struct option_set set = {.rows = rows, .operands_min = 1, .operands_max = (size_t)-1};
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    if (request.as_json)
        request.format = COMPARE_JSON;
    if (request.format == COMPARE_JSON)
        language_begin(language_names[0]); /* JSON is the same in every language */
    struct run **runs = memory_new(operands.count, sizeof *runs, "the list of runs", &error);
    status = runs && compare(runs, &operands, &request, &error) ? EXIT_DONE : output_error(&error);
    for (size_t i = 0; runs && i < operands.count; i++)
        run_free(runs[i]);
    free(runs);
    return status;
}

const struct command command_compare = {
    .name = "compare",
    .operands = "RUN...",
    .summary = N_("Put runs side by side: accuracy, size, times of one image."),
    /* xgettext:no-c-format */
    .details =
        N_("RUN is an ID that tinca runs lists, the beginning of one, a run's name, or its folder. "
           "The times are those that tinca measure stored; for a time that is missing, the command "
           "that would measure it is printed. Rows of one device whose 95 % intervals overlap are "
           "marked with ~ and the other row's number: the difference is not significant."),
    .run = compare_command_run,
};
