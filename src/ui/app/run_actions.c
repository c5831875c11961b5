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
        app_say(app, ROLE_GOOD, _("The run %s has no name of its own any more."), runs_id(entry));
}

static void forget_note(struct app *app)
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
             _("%s: commands take the name for it. An empty one takes the name away."),
             runs_id(entry));
    line_edit_begin(&dialog->edit, entry->name, RUN_NAME_SIZE, false);
    dialog->edited = forget_note;
}

/* --- its settings --- */

/* Of an imported run what its log said; the rest is as in any other form. */
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
        app_say(app, ROLE_WARNING, _("There are no settings to take over."));
        return;
    }
    const struct run_config config = settings_of(entry);
    form_begin(&app->shared.form, &config);
    app_form_changed(app);
    app_show(app, SCREEN_SETUP);
    if (entry->imported[0])
        app_say(app, ROLE_GOOD, _("The form holds what the log of run %s tells; choose the rest."),
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

/* Notes what the question is about: the marked runs in sight, or this one. While it stands lists
 * and marks may change, but not what the answer deletes. Returns how many are marked. */
static size_t choose_doomed(struct app *app, size_t index)
{
    const size_t marked = marked_count(app);
    for (size_t i = 0; i < app_run_count(app); i++)
        app_run_at(app, i)->deletion_candidate = marked > 0 ? is_marked(app, i) : i == index;
    return marked;
}

static void forget(struct app *app, struct run_entry *entry)
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

/* --- going on --- */

static bool may_resume(const struct run_entry *entry, struct error *error)
{
    if (run_entry_is_saved(entry) && entry->refused) {
        *error = entry->error;
        return false;
    }
    struct run_snapshot end = entry->snapshot;
    if (end.status == RUN_DONE && entry->run && run_damage(entry->run)->kind != ERROR_NONE)
        end.status = RUN_INTERRUPTED; /* its curves can be computed again */
    return run_is_own(entry->imported, runs_id(entry), error) &&
           resume_allows(&end, runs_id(entry), error);
}

/* The list of this sitting may have moved: the run is looked for again. */
static void forget_resumed(struct app *app, const char *directory)
{
    for (size_t i = 0; i < app_run_count(app); i++) {
        struct run_entry *entry = app_run_at(app, i);
        const char *there = run_entry_directory(entry);
        if (there && strcmp(there, directory) == 0) {
            forget(app, entry);
            return;
        }
    }
}

void run_actions_resume(struct app *app, size_t index)
{
    struct error error;
    struct run_entry *entry = is_run(app, index) ? app_run_at(app, index) : NULL;
    const char *there = entry ? run_entry_directory(entry) : NULL;
    char directory[512];
    if (!there) {
        app_say(app, ROLE_WARNING, "%s",
                entry ? _("This run has not begun.") : _("There is no run to go on with."));
        return;
    }
    if (is_being_read(app, entry) || others_reject_command(app, entry))
        return;
    snprintf(directory, sizeof directory, "%s", there);
    if (!may_resume(entry, &error) ||
        !run_list_resume(&app->shared.runs, &entry->config, directory, &error)) {
        app_say_error(app, &error);
        return;
    }
    forget_resumed(app, directory);
    app_start_resumed(app);
}

static bool delete_one(struct app *app, struct run_entry *entry, struct error *error)
{
    if (!run_remove(run_entry_directory(entry), error))
        return false;
    forget(app, entry);
    return true;
}

static void answer_delete(struct app *app, size_t choice)
{
    struct error error;
    size_t deleted = 0;
    bool good = true;
    if (choice != 1) /* to keep them is offered first */
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

/* What the answer would delete; false: something speaks against it. */
static bool check_doomed(const struct app *app, struct run_removal *removal, struct error *error)
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
    const size_t marked = choose_doomed(app, index);
    if (!check_doomed(app, &removal, &error)) {
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

/* A run that waits, or was refused, has no files. */
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
