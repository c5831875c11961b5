/* tinca export: kept runs as one session file, or as the studies' CSV files. */
#include "session/export.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/runs.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>

enum export_format { FORMAT_JSON, FORMAT_CSV, FORMAT_PNG };
static const char *const format_names[] = {"json", "csv", "png", NULL};

static bool write_runs(struct run *const *runs, size_t count, size_t format, const char *target,
                       struct error *error)
{
    if (format == FORMAT_CSV)
        return export_csv(runs, count, target ? target : ".", error);
    return export_session(runs, count, target, error);
}

static bool export_runs(const struct operands *operands, size_t format, const char *target,
                        struct error *error)
{
    struct run **runs = memory_new(operands->count, sizeof *runs, "the list of runs", error);
    bool opened = runs;
    for (size_t i = 0; opened && i < operands->count; i++)
        opened = (runs[i] = runs_open(operands->values[i], error));
    bool written = opened && write_runs(runs, operands->count, format, target, error);
    for (size_t i = 0; runs && i < operands->count; i++)
        run_free(runs[i]);
    free(runs);
    return written;
}

static int export_run(const struct command *command, int argc, char **argv)
{
    struct error error;
    struct operands operands;
    size_t format = FORMAT_JSON;
    const char *target = NULL;
    int status;
    const struct option_row rows[] = {
        {"format", 0, "NAME", "What is written.", OPTION_CHOICE, &format, 0, 0, format_names},
        {"output", 'o', "FILE",
         "Where to: a file (json), or a folder (csv; without it the current one).", OPTION_TEXT,
         &target, 0, 0, NULL},
        {0}};
    const struct option_set set = {.rows = rows, .operands_min = 1, .operands_max = (size_t)-1};
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    if (format == FORMAT_PNG)
        error_set(&error, ERROR_USAGE, "--format png", "use --format json or csv",
                  "pictures of curves come with a later version");
    else if (format == FORMAT_JSON && !target)
        error_set(&error, ERROR_USAGE, "export", "give -o FILE.json", "no file was named");
    else if (export_runs(&operands, format, target, &error))
        return EXIT_DONE;
    return output_error(&error);
}

const struct command command_export = {
    "export", "RUN...", "Write runs as one session file (JSON), or as the studies' CSV files.",
    "RUN is an ID that tinca runs lists, the beginning of one, or the folder of a run. A session "
    "file is described by docs/session.schema.json; the CSV files are loss_HOST_tinca.csv and "
    "times_HOST_tinca.csv.",
    export_run};
