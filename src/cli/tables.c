/* tinca tables: the tables of the studies, from the user's runs. session/compare makes and writes
 * them; this file reads the options and opens the runs. */
#include "session/tables/tables.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"
#include "session/files/run_directory.h"
#include "session/record/run_open.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static const char *const study_names[] = {"trindade", "gondim", NULL}; /* enum tables_study */
static const char *const format_names[] = {"text", "md", "csv", "latex", NULL};

struct tables_request {
    const char *study, *folder, *votes, *target;
    size_t format;
};

/* The runs that were opened. */
struct opened {
    struct run **runs;
    size_t count, capacity;
};

/* Opens a run and adds it. A run that cannot be read is reported, and left out. */
static bool open_one(struct opened *opened, const char *directory, struct error *error)
{
    struct error why;
    if (!memory_grow(&opened->runs, &opened->capacity, opened->count + 1, sizeof(struct run *),
                     "the list of runs", error))
        return false;
    opened->runs[opened->count] = run_open(directory, &why);
    if (opened->runs[opened->count])
        opened->count++;
    else
        output_error(&why);
    return true;
}

/* Opens all runs of a folder, in the order of their names: IDs sort by time. */
static bool open_folder(struct opened *opened, const char *folder, struct error *error)
{
    struct dirent **entries;
    const int count = scandir(folder, &entries, NULL, alphasort);
    if (count < 0)
        return error_set_errno(error, folder, "give a folder of runs", "cannot be listed");
    bool good = true;
    for (int i = 0; i < count; i++) {
        char *directory = file_join(folder, entries[i]->d_name);
        char *config = directory ? file_join(directory, "config.json") : NULL;
        if (!config)
            good = error_set_memory(error, "a path", 0);
        else if (good && entries[i]->d_name[0] != '.' && file_exists(config))
            good = open_one(opened, directory, error);
        free(config);
        free(directory);
        free(entries[i]);
    }
    free(entries);
    return good;
}

static bool open_runs(struct opened *opened, const char *folder, struct error *error)
{
    char *home = folder ? NULL : run_directory_home(error);
    const bool good = (folder || home) && open_folder(opened, folder ? folder : home, error);
    free(home);
    return good;
}

static bool write_tables(const struct tables_request *request, const struct opened *opened,
                         struct error *error)
{
    struct comparison runs = {0};
    struct study_file votes = {0};
    struct text text = {0};
    const bool gondim = strcmp(request->study, study_names[TABLES_GONDIM]) == 0;
    const char *file = request->votes ? request->votes : "tinca-study.json";
    bool good = !gondim || study_file_read(&votes, file, request->votes != NULL, error);
    for (size_t i = 0; good && i < opened->count; i++)
        good = compare_add_run(&runs, opened->runs[i], error);
    good = good &&
           tables_write(gondim ? TABLES_GONDIM : TABLES_TRINDADE, &runs, &votes,
                        (enum tables_format)request->format, &text, error) &&
           output_file_write(request->target ? request->target : "-", text.data, text.length,
                             OUTPUT_TEXT, error);
    text_free(&text);
    study_file_free(&votes);
    compare_free(&runs);
    return good;
}

static int tables_run(const struct command *command, int argc, char **argv)
{
    struct error error;
    struct operands operands;
    struct opened opened = {0};
    struct tables_request request = {0};
    int status;
    const struct option_row rows[] = {
        {.name = "format",
         .argument = "NAME",
         .help = N_("What to write."),
         .kind = OPTION_CHOICE,
         .value = &request.format,
         .choices = format_names},
        {.name = "runs",
         .argument = "FOLDER",
         .help = N_("Take the runs of this folder instead of the folder of all runs."),
         .kind = OPTION_TEXT,
         .value = &request.folder},
        {.name = "results",
         .argument = "FILE",
         .help = N_("The votes of tinca study; without it tinca-study.json, if there is one."),
         .kind = OPTION_TEXT,
         .value = &request.votes},
        {.name = "output",
         .letter = 'o',
         .argument = "FILE",
         .help = N_("Write to FILE instead of standard output, which is also -."),
         .kind = OPTION_TEXT,
         .value = &request.target},
        {0}};
    const struct option_set set = {.rows = rows, .operands_min = 1, .operands_max = 1};
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
        open_runs(&opened, request.folder, &error) && write_tables(&request, &opened, &error);
    for (size_t i = 0; i < opened.count; i++)
        run_free(opened.runs[i]);
    free(opened.runs);
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
