/* The dialogs of the screen Sweep: how to stop the sweep, and where to write its results. */
#include "ui/screens/sweep/internal.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "ui/app/app.h"
#include "ui/app/run_actions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- stop --- */

static void answer_stop(struct app *app, size_t choice)
{
    struct sweep_job *job = &app->shared.sweep;
    if (choice == 0) {
        job->stop_after = true;
        app_say(app, ROLE_GOOD, "%s", _("The sweep stops when this cell is done."));
    } else if (choice == 1) {
        sweep_job_stop_now(job);
        app_say(app, ROLE_GOOD, "%s",
                _("The sweep stops after this iteration; r goes on with it."));
    }
}

void ask_sweep_stop(struct app *app)
{
    struct dialog *dialog = dialog_begin(app, _("Stop the sweep?"), answer_stop);
    dialog->choices[dialog->choice_count++] =
        (struct dialog_choice){'e', 0, _("when this cell is done")};
    dialog->choices[dialog->choice_count++] =
        (struct dialog_choice){'n', 's', _("now, and save; the cell can be resumed")};
    dialog->choices[dialog->choice_count++] = (struct dialog_choice){'c', 'q', _("carry on")};
}

/* --- results --- */

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcmp(path + length - tail, ending) == 0;
}

static bool write_json(const struct sweep_job *job, const char *path, struct error *error)
{
    struct json *tree = sweep_to_json(&job->sweep, &job->estimate);
    char *text = tree ? json_print(tree, true, error) : NULL;
    bool written = tree ? text && output_file_write(path, text, strlen(text), OUTPUT_TEXT, error)
                        : error_set_memory(error, "the results", 0);
    free(text);
    json_free(tree);
    return written;
}

static bool write_results(const struct sweep_job *job, const char *path, struct error *error)
{
    struct text text = {0};
    if (ends_in(path, ".json"))
        return write_json(job, path, error);
    sweep_write_tables(&job->sweep, ends_in(path, ".md"), &text);
    bool written = text.failed || !text.data
                       ? error_set_memory(error, "the tables", 0)
                       : output_file_write(path, text.data, text.length, OUTPUT_TEXT, error);
    text_free(&text);
    return written;
}

/* Returns whether the path is a folder: the studies' results are two CSV files with fixed names. */
static bool is_folder(const char *path)
{
    return ends_in(path, "/") || file_is_directory(path);
}

/* Starts to write CSV files. A thread reads the runs; a message reports its end. */
static bool start_csv(struct app *app, const char *path, struct error *error)
{
    const struct sweep *sweep = &app->shared.sweep.sweep;
    struct export_item *items = memory_new(sweep->count, sizeof *items, "an export", error);
    size_t count = 0;
    bool listed = items;
    for (size_t i = 0; listed && i < sweep->count; i++) {
        if (!sweep_is_computed(&sweep->cells[i]))
            continue;
        char *directory = sweep_run_directory(&sweep->cells[i], error);
        listed = directory;
        if (listed)
            snprintf(items[count++].directory, sizeof items->directory, "%s", directory);
        free(directory);
    }
    if (listed && count == 0)
        listed = error_set(error, ERROR_USAGE, sweep->grid.name, _("start it with r"),
                           _("no cell of it is computed yet"));
    const struct export_request request = {
        .format = format_named("csv", CARRIES_RUNS), .items = items, .count = count, .path = path};
    bool started = listed && export_job_start(&app->shared.export, &request, error);
    free(items);
    return started;
}

static void note_results(struct app *app)
{
    struct dialog *dialog = &app->dialog;
    const char *path = dialog->edit.text;
    const enum path_kind kind = dialog_path_kind(app);
    dialog->note[0] = '\0';
    if (ends_in(path, "/") || kind == PATH_FOLDER)
        snprintf(dialog->note, sizeof dialog->note, "%s",
                 _("A folder gets the studies' two CSV files."));
    else if (!ends_in(path, ".md") && !ends_in(path, ".json") && !ends_in(path, ".txt"))
        snprintf(dialog->note, sizeof dialog->note, "%s",
                 _("The name must end in .md, .txt or .json, or be that of a folder/."));
    else if (kind == PATH_FILE)
        snprintf(dialog->note, sizeof dialog->note, "%s",
                 _("This file exists: Enter replaces it."));
}

static void answer_results(struct app *app, size_t choice)
{
    struct error error;
    char path[sizeof app->dialog.edit.text];
    (void)choice;
    memcpy(path, app->dialog.edit.text, sizeof path);
    if (is_folder(path)) {
        if (start_csv(app, path, &error))
            app_say_while(app, exporting_is_active, ROLE_FAINT, _("Writing %s ..."), path);
        else
            exporting_reopen_dialog(app, &error);
    } else if (!ends_in(path, ".md") && !ends_in(path, ".json") && !ends_in(path, ".txt"))
        app->dialog.open = true; /* the note says why */
    else if (!dialog_may_write(&app->dialog, file_exists(path)))
        return;
    else if (write_results(&app->shared.sweep, path, &error))
        app_say(app, ROLE_GOOD, _("Wrote %s."), path);
    else
        exporting_reopen_dialog(app, &error);
}

void ask_sweep_export(struct app *app)
{
    char name[SWEEP_NAME + 16], path[sizeof app->dialog.edit.text];
    struct dialog *dialog = dialog_begin(app, _("Export the sweep"), answer_results);
    snprintf(
        dialog->text, sizeof dialog->text, "%s",
        _("The tables as Markdown (.md) or text (.txt), all figures (.json), or the studies' CSV "
          "files (a folder/)."));
    snprintf(name, sizeof name, "sweep-%s.md", app->shared.sweep.sweep.grid.name);
    exporting_path(app, name, path, sizeof path);
    dialog_begin_line(dialog, path, false, completion_of_paths, NULL);
    dialog->edited = note_results;
    note_results(app);
}
