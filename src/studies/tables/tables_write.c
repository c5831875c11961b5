/* Writes the tables of a study in one of the formats. All formats have the same cells. If memory
 * runs out, cells are left out; only tables_write checks it. */
#include "studies/tables/internal.h"

#include "base/escape/csv.h"
#include "base/escape/markdown.h"
#include "base/escape/visible.h"
#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "runs/folder/run_directory.h"
#include "runs/record/run_open.h"

#include <dirent.h>
#include <stdlib.h>

static void write_table(const struct table *table, const char *title, enum tables_format format,
                        struct text *text)
{
    switch (format) {
    case TABLES_TEXT:
        visible_append_format(text, visible_append, "%s\n\n", title);
        table_text(table, 0, text);
        break;
    case TABLES_MARKDOWN:
        visible_append_format(text, markdown_append, "## %s\n\n", title);
        table_markdown(table, text);
        break;
    case TABLES_CSV:
        visible_append_format(text, csv_append, "%s\n", title);
        table_csv(table, text);
        break;
    default:
        table_latex(table, title, text);
        break;
    }
    text_append(text, "\n");
}

static void write_notes(const struct tables *tables, enum tables_format format, struct text *text)
{
    static visible_appender *const append[] = {[TABLES_TEXT] = visible_append,
                                               [TABLES_MARKDOWN] = markdown_append,
                                               [TABLES_CSV] = csv_append,
                                               [TABLES_LATEX] = latex_append};
    static const char *const before[] = {[TABLES_TEXT] = "[%zu] ",
                                         [TABLES_MARKDOWN] = "- \\[%zu\\] ",
                                         [TABLES_CSV] = "[%zu],",
                                         [TABLES_LATEX] = "\\par\\noindent [%zu] "};
    if (tables->notes.count > 0) {
        append[format](text, _("Not run: the commands"));
        text_append(text, format == TABLES_MARKDOWN ? "\n\n" : "\n");
    }
    for (size_t i = 0; i < tables->notes.count; i++) {
        text_append(text, before[format], i + 1);
        append[format](text, tables->notes.cells[i]);
        text_append(text, "\n");
    }
    if (tables->chart.length == 0)
        return;
    text_append(text, format == TABLES_LATEX ? "\\par\\noindent " : "\n");
    append[format](text, _("The curves as a picture:"));
    text_append(text, format == TABLES_CSV ? "," : " ");
    append[format](text, tables->chart.data);
    text_append(text, "\n");
}

bool tables_write(enum tables_study study, const struct comparison *runs,
                  const struct study_file *votes, enum tables_format format, struct text *text,
                  struct error *error)
{
    struct tables tables = {.runs = runs};
    if (study == TABLES_TRINDADE)
        tables_trindade(&tables);
    else
        tables_gondim(&tables, votes);
    text->failed |= tables.out_of_memory || tables.chart.failed || tables.notes.failed;
    for (size_t i = 0; i < tables.count; i++) {
        write_table(&tables.sheets[i], tables.titles[i], format, text);
        table_free(&tables.sheets[i]);
    }
    if (!text->failed)
        write_notes(&tables, format, text);
    table_free(&tables.notes);
    text_free(&tables.chart);
    return !text->failed || error_set_memory(error, "the tables", 0);
}

/* --- the runs --- */

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
