/* The actions of the run table. The question about a run stores the run's directory, and the
 * question about deletion marks its runs, because both lists of runs may change while it is open.
 */
#include "ui/app/run_actions.h"

#include "base/language.h"
#include "session/history/run_remove.h"
#include "session/import/import.h"
#include "session/run/resume.h"
#include "session/values/run_facts.h"
#include "ui/app/app.h"
#include "ui/app/exporting.h"
#include "ui/app/other_runs.h"
#include "ui/app/run_cells.h"
#include "ui/app/run_loading.h"

#include <stdio.h>
#include <string.h>

static bool is_run(const struct app *app, size_t index)
{
    return index < app_run_count(app);
}

static bool is_being_read(struct app *app, const struct run_entry *entry)
{
    const bool unread = entry && loading_is_unread(entry);
    if (unread)
        app_say(app, ROLE_WARNING, _("This run is still being read; try again in a moment."));
    return unread;
}

/* --- a name --- */

struct run_entry *run_actions_subject(const struct app *app)
{
    for (size_t i = 0; i < app_run_count(app); i++) {
        const char *directory = run_entry_directory(app_run_at(app, i));
        if (directory && strcmp(directory, app->shared.subject) == 0)
            return app_run_at(app, i);
    }
    return NULL;
}

static void answer_rename(struct app *app, size_t choice)
{
    struct error error;
    struct dialog *dialog = &app->dialog;
    struct run_entry *entry = run_actions_subject(app);
    (void)choice;
    if (!run_name_write(app->shared.subject, dialog->edit.text, &error)) {
        dialog->open = true;
        snprintf(dialog->note, sizeof dialog->note, "%.190s", error.why);
        return;
    }
    if (!entry)
        return;
    run_name_read(app->shared.subject, entry->name);
    app->shared.runs_changed = true;
    if (entry->name[0])
        app_say(app, ROLE_GOOD, _("The run %s is called \"%s\" now."), runs_id(entry), entry->name);
    else
        app_say(app, ROLE_GOOD, _("The name of run %s was removed."), runs_id(entry));
}

static void clear_note(struct app *app)
{
    app->dialog.note[0] = '\0';
}

void ask_run_name(struct app *app, size_t index)
{
    const struct run_entry *entry = is_run(app, index) ? app_run_at(app, index) : NULL;
    const char *directory = entry ? run_entry_directory(entry) : NULL;
    if (!directory) {
        app_say(app, ROLE_WARNING, "%s",
                entry ? _("This run has not begun: it can be named when it has.")
                      : _("There is no run to name."));
        return;
    }
    struct dialog *dialog = dialog_begin(app, _("A name for this run"), answer_rename);
    snprintf(app->shared.subject, sizeof app->shared.subject, "%s", directory);
    snprintf(dialog->text, sizeof dialog->text,
             _("%s: commands accept the name instead of this ID. An empty name removes it."),
             runs_id(entry));
    line_edit_begin(&dialog->edit, entry->name, RUN_NAME_SIZE, false);
    dialog->edited = clear_note;
}

/* --- its settings --- */

/* Returns the settings of a run. An imported run has only those that its log gives; the others get
 * their defaults. */
static struct run_config settings_of(const struct run_entry *entry)
{
    char value[600];
    struct run_config config;
    if (!entry->imported[0])
        return entry->config;
    config_defaults(&config);
    for (size_t i = 0; i < config_field_count; i++) {
        const char *key = config_fields[i].key;
        config_get(&entry->config, key, value, sizeof value);
        if (config_is_given(&entry->config, key) && strcmp(value, "unknown") != 0)
            config_set(&config, key, value, NULL);
    }
    return config;
}

void run_actions_clone(struct app *app, size_t index)
{
    const struct run_entry *entry = is_run(app, index) ? app_run_at(app, index) : NULL;
    if (is_being_read(app, entry))
        return;
    if (!entry || (run_entry_is_saved(entry) && entry->refused)) {
        app_say(app, ROLE_WARNING, _("There are no settings to copy."));
        return;
    }
    const struct run_config config = settings_of(entry);
    form_begin(&app->shared.form, &config);
    app_form_changed(app);
    app_show(app, SCREEN_SETUP);
    if (entry->imported[0])
        app_say(app, ROLE_GOOD, _("These settings are from the log of run %s; choose the rest."),
                runs_display_name(entry));
    else
        app_say(app, ROLE_GOOD, _("The form holds all settings of run %s: r runs them."),
                runs_id(entry)[0] ? runs_display_name(entry) : entry->config.network);
}

/* --- deletion --- */

static bool is_marked(const struct app *app, size_t index)
{
    const struct run_entry *entry = app_run_at(app, index);
    return entry->marked && run_entry_directory(entry) && runs_match(app, index);
}

static size_t marked_count(const struct app *app)
{
    size_t count = 0;
    for (size_t i = 0; i < app_run_count(app); i++)
        count += is_marked(app, i);
    return count;
}

/* Selects the runs that the question is about: the marked runs that the table shows or, without
 * marks, run number `index`. A later change of the lists or marks does not change this selection.
 * Returns the number of marked runs. */
static size_t select_for_deletion(struct app *app, size_t index)
{
    const size_t marked = marked_count(app);
    for (size_t i = 0; i < app_run_count(app); i++)
        app_run_at(app, i)->deletion_candidate = marked > 0 ? is_marked(app, i) : i == index;
    return marked;
}

static void remove_entry(struct app *app, struct run_entry *entry)
{
    bool kept = run_entry_is_saved(entry);
    struct run_list *list = kept ? &app->shared.saved_runs : &app->shared.runs;
    size_t place = (size_t)(entry - list->entries);
    app_notify(app, EVENT_RUN_REMOVED, entry);
    if (entry == app_entry(app))
        app->shared.shown = SIZE_MAX;
    run_list_drop(list, place);
    if (app->shared.shown_is_saved == kept && app->shared.shown != SIZE_MAX &&
        app->shared.shown > place)
        app->shared.shown--;
    app->shared.runs_changed = true;
}

/* --- resuming --- */

bool run_actions_may_resume(const struct run_entry *entry, struct error *error)
{
    if (run_entry_is_saved(entry) && entry->refused) {
        if (error)
            *error = entry->error;
        return false;
    }
    struct run_snapshot end = entry->snapshot;
    if (end.status == RUN_DONE && entry->run && run_damage(entry->run)->kind != ERROR_NONE)
        end.status = RUN_INTERRUPTED; /* resuming computes the damaged curves again */
    return !entry->live && run_trained_by_tinca(entry->imported, runs_id(entry), error) &&
           resume_allows(&end, runs_id(entry), error);
}

/* Removes the old entry of a resumed run. It is searched by directory, because appending to the
 * session's list may have moved the entries. */
static void remove_resumed(struct app *app, const char *directory)
{
    for (size_t i = 0; i < app_run_count(app); i++) {
        struct run_entry *entry = app_run_at(app, i);
        const char *path = run_entry_directory(entry);
        if (path && strcmp(path, directory) == 0) {
            remove_entry(app, entry);
            return;
        }
    }
}

void run_actions_resume(struct app *app, size_t index)
{
    struct error error;
    struct run_entry *entry = is_run(app, index) ? app_run_at(app, index) : NULL;
    const char *path = entry ? run_entry_directory(entry) : NULL;
    char directory[512];
    if (!path) {
        app_say(app, ROLE_WARNING, "%s",
                entry ? _("This run has not begun.") : _("There is no run to go on with."));
        return;
    }
    if (is_being_read(app, entry) || others_reject_command(app, entry))
        return;
    snprintf(directory, sizeof directory, "%s", path);
    if (!run_actions_may_resume(entry, &error) ||
        !run_list_resume(&app->shared.runs, &entry->config, directory, &error)) {
        app_say_error(app, &error);
        return;
    }
    remove_resumed(app, directory);
    app_start_resumed(app);
}

static bool delete_one(struct app *app, struct run_entry *entry, struct error *error)
{
    if (!run_remove(run_entry_directory(entry), error))
        return false;
    remove_entry(app, entry);
    return true;
}

static void answer_delete(struct app *app, size_t choice)
{
    struct error error;
    size_t deleted = 0;
    bool good = true;
    if (choice != 1) /* choice 0 keeps the runs */
        return;
    for (size_t i = app_run_count(app); good && i-- > 0;)
        if (app_run_at(app, i)->deletion_candidate) {
            good = delete_one(app, app_run_at(app, i), &error);
            deleted += good;
        }
    if (!good)
        app_say_error(app, &error);
    else
        app_say(app, ROLE_GOOD, ngettext("Deleted %zu run.", "Deleted %zu runs.", deleted),
                deleted);
}

static bool check(const struct run_entry *entry, struct run_removal *removal, struct error *error)
{
    const char *directory = run_entry_directory(entry);
    if (run_entry_is_active(entry))
        return error_set(error, ERROR_USAGE, runs_display_name(entry), "s stops it",
                         "this run is on");
    return run_remove_check(directory, removal, error);
}

/* Adds up the files and bytes of the runs that the answer would delete. Returns false if one of
 * them cannot be deleted. */
static bool check_deletion(const struct app *app, struct run_removal *removal, struct error *error)
{
    for (size_t i = 0; i < app_run_count(app); i++)
        if (app_run_at(app, i)->deletion_candidate && !check(app_run_at(app, i), removal, error))
            return false;
    return true;
}

static void ask_delete(struct app *app, size_t index)
{
    struct error error;
    struct run_removal removal = {0};
    const size_t marked = select_for_deletion(app, index);
    if (!check_deletion(app, &removal, &error)) {
        app_say_error(app, &error);
        return;
    }
    struct dialog *dialog = dialog_begin(app, _("Delete?"), answer_delete);
    double megabytes = (double)removal.bytes / 1e6;
    if (marked > 0)
        snprintf(dialog->text, sizeof dialog->text,
                 ngettext("%zu marked run with its curves and models, %.1f MB in %zu files, would "
                          "be lost for good.",
                          "%zu marked runs with their curves and models, %.1f MB in %zu files, "
                          "would be lost for good.",
                          marked),
                 marked, megabytes, removal.files);
    else
        snprintf(dialog->text, sizeof dialog->text,
                 _("1 run, %.64s, with its curves and models, %.1f MB in %zu files, would be lost "
                   "for good."),
                 runs_display_name(app_run_at(app, index)), megabytes, removal.files);
    dialog_offer(dialog, 'k', 'n', _("keep"));
    dialog_offer(dialog, 'd', 'y', _("delete"));
}

/* Removes a waiting run from the queue; a refused run stays. Neither has files. */
static void drop(struct app *app, size_t index)
{
    if (run_list_remove(&app->shared.runs, index)) {
        if (!app->shared.shown_is_saved && app->shared.shown > index &&
            app->shared.shown != SIZE_MAX)
            app->shared.shown--;
        app_say(app, ROLE_GOOD, _("It was dropped from the queue."));
    } else
        app_say(app, ROLE_WARNING, _("This run has no files to delete."));
    app->shared.runs_changed = true;
}

void ask_run_removal(struct app *app, size_t index)
{
    if (!is_run(app, index) && marked_count(app) == 0)
        app_say(app, ROLE_WARNING, _("There is no run to delete."));
    else if (marked_count(app) == 0 && !run_entry_directory(app_run_at(app, index)))
        drop(app, index);
    else if (exporting_is_active(app))
        app_say(app, ROLE_WARNING, _("An export is still being written; try again after it."));
    else
        ask_delete(app, index);
}
