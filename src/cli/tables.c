/* tinca tables: the tables of the studies, from the user's runs. studies/tables opens the runs,
 * makes the tables and writes them; this file reads the options. */
#include "studies/tables/tables.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"

#include "base/files/output_file.h"
#include "base/language.h"

#include <string.h>

static const char *const study_names[] = {"trindade", "gondim", NULL}; /* enum tables_study */
static const char *const format_names[] = {"text", "md", "csv", "latex", NULL};

struct tables_request {
    const char *study, *folder, *votes, *target;
    size_t format;
};

static void report_unreadable(void *context, const struct error *why)
{
    (void)context;
    output_error(why);
}

static bool write_tables(const struct tables_request *request, const struct tables_runs *runs,
                         struct error *error)
{
    struct study_file votes = {0};
    struct text text = {0};
    const bool gondim = strcmp(request->study, study_names[TABLES_GONDIM]) == 0;
    const char *file = request->votes ? request->votes : STUDY_FILE;
    bool good = !gondim || study_file_read(&votes, file, request->votes != NULL, error);
    good = good &&
           tables_write(gondim ? TABLES_GONDIM : TABLES_TRINDADE, &runs->comparison, &votes,
                        (enum tables_format)request->format, &text, error) &&
           output_file_write(request->target ? request->target : "-", text.data, text.length,
                             OUTPUT_TEXT, error);
    text_free(&text);
    study_file_free(&votes);
    return good;
}

static int tables_run(const struct command *command, int argc, char **argv)
{
    struct error error;
    struct operands operands;
    struct tables_runs runs = {0};
    struct tables_request request = {0};
    int status;
    const struct option_row rows[] = {
        OUTPUT_FORMAT_OPTION(&request.format, format_names, &request.target),
        TEXT_ROW("runs", "FOLDER",
                 N_("Take the runs of this folder instead of the folder of all runs."),
                 &request.folder),
        TEXT_ROW("results", "FILE",
                 N_("The votes of tinca study; without it tinca-study.json, if there is one."),
                 &request.votes),
        OUTPUT_TARGET_OPTION(&request.target),
        {0}};
    const struct option_set set = {
        .rows = rows, .operands_min = 1, .operands_max = 1, .operand_choices = study_names};
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    request.study = operands.values[0];
    if (strcmp(request.study, study_names[TABLES_TRINDADE]) != 0 &&
        strcmp(request.study, study_names[TABLES_GONDIM]) != 0) {
        error_set(&error, ERROR_USAGE, request.study, "give trindade or gondim",
                  "there are no tables of such a study");
        return output_error(&error);
    }
    const bool good =
        tables_runs_open(&runs, request.folder, report_unreadable, NULL, NULL, &error) &&
        write_tables(&request, &runs, &error);
    tables_runs_free(&runs);
    return good ? EXIT_DONE : output_error(&error);
}

const struct command command_tables = {
    .name = "tables",
    .operands = "STUDY",
    .summary = N_("Print the tables of a study from your runs."),
    .details = N_(
        "STUDY is trindade (AlexNet and GoogLeNet: time and memory by batch, speed-up of each pair "
        "of devices, matrix products by kind, the raw loss by epoch) or gondim (accuracy, "
        "parameters, E_P and times of networks x techniques x rates; the networks that draw "
        "pictures).\nEvery cell is a stored measurement of a run, which is named in its row: the "
        "latest one that fits. A cell that was not run has a number, and below the tables stands "
        "the command that runs it. Published figures have columns of their own, and are blank "
        "where the study gives none."),
    .run = tables_run,
};
