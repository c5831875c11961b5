/* tinca compare: the dissertation's table, from the user's own runs. */
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

/* The whole output as text, owned by the caller. */
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
        {"sort", 0, "COLUMN",
         N_("By network, run, top1, e_p, parameters, flops, size, memory, ms (the first device) or "
            "a "
            "device's name: the best first. Without it in the order given."),
         OPTION_TEXT, &request.sort, 0, 0, NULL},
        {"published", 0, NULL, N_("Add the studies' published figures, marked as such."),
         OPTION_SWITCH, &request.published, 0, 0, NULL},
        {"format", 0, "NAME", N_("What is written."), OPTION_CHOICE, &request.format, 0, 0,
         format_names},
        OUTPUT_JSON_OPTION(&request.as_json),
        {"output", 'o', "FILE", N_("Write to FILE instead of standard output, which is also -."),
         OPTION_TEXT, &request.target, 0, 0, NULL},
        {0}};
    const struct option_set set = {.rows = rows, .operands_min = 1, .operands_max = (size_t)-1};
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    if (request.as_json)
        request.format = COMPARE_JSON;
    if (request.format == COMPARE_JSON)
        language_begin(language_names[0]); /* programs read the same everywhere */
    struct run **runs = memory_new(operands.count, sizeof *runs, "the list of runs", &error);
    status = runs && compare(runs, &operands, &request, &error) ? EXIT_DONE : output_error(&error);
    for (size_t i = 0; runs && i < operands.count; i++)
        run_free(runs[i]);
    free(runs);
    return status;
}

const struct command command_compare = {
    "compare", "RUN...", N_("Put runs side by side: accuracy, size, times of one image."),
    /* xgettext:no-c-format */
    N_("RUN is an ID that tinca runs lists, the beginning of one, a run's name, or its folder. "
       "Times "
       "are "
       "those that tinca measure kept; what was not measured is named with the command that would "
       "measure it. Rows of one device whose 95 % intervals overlap are marked with ~ and the "
       "other "
       "row's number: they cannot be told apart."),
    compare_command_run};
