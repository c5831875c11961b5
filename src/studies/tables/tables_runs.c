#include "studies/tables/tables_runs.h"

#include "base/files/file.h"
#include "base/memory.h"
#include "runs/folder/run_directory.h"
#include "runs/record/run_open.h"

#include <dirent.h>
#include <stdlib.h>

/* Opens a run and adds its row. */
static bool open_one(struct tables_runs *runs, const char *directory, tables_report *report,
                     void *context, struct error *error)
{
    struct error why;
    if (!memory_grow(&runs->runs, &runs->capacity, runs->count + 1, sizeof(struct run *),
                     "the list of runs", error))
        return false;
    struct run *run = run_open(directory, &why);
    if (!run) {
        if (report)
            report(context, &why);
        return true;
    }
    runs->runs[runs->count++] = run;
    return compare_add_run(&runs->comparison, run, error);
}

/* Opens the run that is the entry `name` of the folder; other entries are passed over. */
static bool open_entry(struct tables_runs *runs, const char *folder, const char *name,
                       tables_report *report, void *context, struct error *error)
{
    char *directory = file_join(folder, name);
    char *config = directory ? file_join(directory, "config.json") : NULL;
    bool good = config || error_set_memory(error, "a path", 0);
    if (good && name[0] != '.' && file_exists(config))
        good = open_one(runs, directory, report, context, error);
    free(config);
    free(directory);
    return good;
}

static bool open_folder(struct tables_runs *runs, const char *folder, tables_report *report,
                        tables_progress *progress, void *context, struct error *error)
{
    struct dirent **entries;
    const int count = scandir(folder, &entries, NULL, alphasort);
    if (count < 0)
        return error_set_errno(error, folder, "give a folder of runs", "cannot be listed");
    bool good = true;
    for (int i = 0; i < count; i++) {
        good = good && open_entry(runs, folder, entries[i]->d_name, report, context, error) &&
               (!progress || progress(context, (uint64_t)i + 1, (uint64_t)count, error));
        free(entries[i]);
    }
    free(entries);
    return good;
}

bool tables_runs_open(struct tables_runs *runs, const char *folder, tables_report *report,
                      tables_progress *progress, void *context, struct error *error)
{
    char *home = folder ? NULL : run_directory_home(error);
    const char *used = folder ? folder : home;
    const bool none = home && !file_exists(home); /* before the first run */
    const bool good = none || (used && open_folder(runs, used, report, progress, context, error));
    free(home);
    return good;
}

void tables_runs_free(struct tables_runs *runs)
{
    compare_free(&runs->comparison);
    for (size_t i = 0; i < runs->count; i++)
        run_free(runs->runs[i]);
    free(runs->runs);
    *runs = (struct tables_runs){0};
}
