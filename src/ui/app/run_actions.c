/* A dialog about a run stores the run's directory, because both lists of runs may change while it
 * is open. */
#include "ui/app/run_actions.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "exchange/logs/import.h"
#include "runs/record/resume.h"
#include "runs/values/run_facts.h"
#include "training/fork.h"
#include "ui/app/app.h"
#include "ui/app/other_runs.h"
#include "ui/app/run_loading.h"

#include <stdio.h>
#include <stdlib.h>
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

struct run_entry *run_actions_subject(const struct app *app)
{
    for (size_t i = 0; i < app_run_count(app); i++) {
        const char *directory = run_entry_directory(app_run_at(app, i));
        if (directory && strcmp(directory, app->shared.subject) == 0)
            return app_run_at(app, i);
    }
    return NULL;
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
        if (config_is_known(&entry->config, entry->imported, key))
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
    app->shared.fork = (struct fork_request){0};
    form_begin(&app->shared.form, &config);
    app_form_changed(app);
    app_show(app, SCREEN_SETUP);
    if (entry->imported[0])
        app_say(app, ROLE_GOOD, _("These settings are from the log of run %s; choose the rest."),
                runs_display_name(entry));
    else
        app_say(app, ROLE_GOOD, _("The form holds all settings of run %s: r runs them."),
                runs_id(entry)[0] ? runs_display_name(entry) : run_entry_network(entry));
}

/* --- a fork --- */

/* A thread reads the run that is to be forked: first which checkpoints it has, then the settings
 * and the place of the chosen one. */
struct fork_read {
    struct fork_request request;
    bool has[FORK_SOURCES];
    bool good;
    struct run_config config;
    struct run_fork place;
    struct error error;
};

static struct fork_read *new_fork_read(struct app *app, const char *directory)
{
    struct error error;
    struct fork_read *read = memory_new(1, sizeof *read, "a fork", &error);
    if (read)
        snprintf(read->request.directory, sizeof read->request.directory, "%s", directory);
    else
        app_say_error(app, &error);
    return read;
}

static void read_place(void *state)
{
    struct fork_read *read = state;
    read->good = fork_read_config(&read->request, &read->config, &read->error) &&
                 fork_plan(&read->request, &read->config, &read->place, &read->error);
}

static void fill_form(struct app *app, void *state)
{
    const struct fork_read *read = state;
    if (!read->good) {
        app_say_error(app, &read->error);
        return;
    }
    app->shared.fork = read->request;
    app->shared.fork_place = read->place;
    form_begin(&app->shared.form, &read->config);
    app_form_changed(app);
    app_show(app, SCREEN_SETUP);
    app_say(app, ROLE_GOOD, _("Change what shall differ; r runs the fork, F gives it up."));
}

/* The choices are the sources that the run has, in their order. */
static void answer_fork(struct app *app, size_t choice)
{
    struct fork_read *read = new_fork_read(app, app->shared.subject);
    size_t source = 0;
    while (source < FORK_SOURCES && (!app->shared.fork_has[source] || choice-- > 0))
        source++;
    if (read && source < FORK_SOURCES) {
        read->request.source = (enum fork_source)source;
        app_start_disk_job(app, read_place, fill_form, read);
    } else
        free(read);
}

static void find_sources(void *state)
{
    struct fork_read *read = state;
    for (int i = 0; i < FORK_SOURCES; i++)
        read->has[i] = fork_has(read->request.directory, (enum fork_source)i);
}

static void ask_source(struct app *app, void *state)
{
    static const struct {
        int key;
        const char *label;
    } offers[FORK_SOURCES] = {[FORK_LAST] = {'l', N_("its last checkpoint")},
                              [FORK_PREVIOUS] = {'p', N_("the checkpoint before")},
                              [FORK_FINAL] = {'f', N_("its final model: the weights alone")},
                              [FORK_BEST] = {'b', N_("its best model: the weights alone")}};
    const struct fork_read *read = state;
    bool any = false;
    for (int i = 0; i < FORK_SOURCES; i++)
        any |= read->has[i];
    if (!any) {
        app_say(app, ROLE_WARNING, _("This run has neither checkpoint nor model to begin with."));
        return;
    }
    struct dialog *dialog = dialog_begin(app, _("Fork this run?"), answer_fork);
    memcpy(app->shared.fork_has, read->has, sizeof read->has);
    snprintf(app->shared.subject, sizeof app->shared.subject, "%s", read->request.directory);
    snprintf(dialog->text, sizeof dialog->text, _("A new run begins with this of %s:"),
             file_base_name(read->request.directory));
    for (int i = 0; i < FORK_SOURCES; i++)
        if (read->has[i])
            dialog_offer(dialog, offers[i].key, 0, gettext(offers[i].label));
}

void ask_fork(struct app *app, size_t index)
{
    const struct run_entry *entry = is_run(app, index) ? app_run_at(app, index) : NULL;
    const char *directory = entry ? run_entry_directory(entry) : NULL;
    if (!directory) {
        app_say(app, ROLE_WARNING, "%s",
                entry ? _("This run has neither checkpoint nor model to begin with.")
                      : _("There is no run to fork."));
        return;
    }
    struct fork_read *read = new_fork_read(app, directory);
    if (read)
        app_start_disk_job(app, find_sources, ask_source, read);
}

/* --- resuming --- */

/* Removes the old entry of a resumed run. It is searched by directory, because appending to the
 * session's list may have moved the entries. */
static void remove_resumed(struct app *app, const char *directory)
{
    for (size_t i = 0; i < app_run_count(app); i++) {
        struct run_entry *entry = app_run_at(app, i);
        const char *path = run_entry_directory(entry);
        if (path && strcmp(path, directory) == 0) {
            app_drop_entry(app, entry);
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
    if (!run_offers_resume(entry, &error) ||
        !run_list_resume(&app->shared.runs, &entry->config, directory, &error)) {
        app_say_error(app, &error);
        return;
    }
    remove_resumed(app, directory);
    app_start_resumed(app);
}

/* --- run cells --- */

const char *runs_id(const struct run_entry *entry)
{
    if (run_entry_is_saved(entry))
        return file_base_name(entry->directory);
    return entry->run ? run_facts(entry->run)->id : "";
}

bool runs_show(struct app *app, const char *id)
{
    for (size_t i = 0; id[0] && i < app_run_count(app); i++)
        if (strcmp(runs_id(app_run_at(app, i)), id) == 0) {
            app_show_run(app, i);
            return true;
        }
    return false;
}

const char *runs_display_name(const struct run_entry *entry)
{
    return entry->name[0] ? entry->name : runs_id(entry);
}

void runs_record(const struct run_entry *entry, struct run_record *record)
{
    const bool read = !run_entry_is_saved(entry) || entry->outline_known;
    *record = (struct run_record){
        .config = &entry->config,
        .snapshot = &entry->snapshot,
        .id = runs_id(entry),
        .name = entry->name,
        .tags = entry->tags,
        .note = entry->note,
        .network = run_entry_network(entry),
        .status = run_entry_status(entry),
        .imported = entry->imported,
        .parameters = entry->run ? run_facts(entry->run)->parameters : entry->parameters,
        .disk_bytes = entry->disk_bytes,
        .place = entry->queue.rank,
        .known = read,
        .started = (entry->run || entry->outline_known) &&
                   (entry->snapshot.iterations > 0 || entry->snapshot.iteration > 0),
    };
    run_record_fill(record);
}

bool runs_match(const struct app *app, size_t index)
{
    struct run_record record;
    runs_record(app_run_at(app, index), &record);
    return run_filter_matches(&app->shared.runs_filter, &record);
}

bool runs_any_marked(const struct app *app)
{
    for (size_t i = 0; i < app_run_count(app); i++)
        if (app_run_at(app, i)->marked && runs_match(app, i))
            return true;
    return false;
}

/* --- questions ---
 *
 * The questions of the workbench: how to stop the active run, and what becomes of the runs when the
 * user quits. */

struct run_entry *questions_target_run(const struct app *app)
{
    struct run_entry *entry = app_entry(app);
    return entry && run_entry_is_active(entry) ? entry : run_list_active(&app->shared.runs);
}

bool questions_send_command(struct app *app, enum run_command command, double value)
{
    struct run_entry *entry = questions_target_run(app);
    if (entry && run_send(entry->run, command, value))
        return true;
    app_say(app, ROLE_WARNING, entry ? "The run is busy; try again." : N_("No run is on."));
    return false;
}

/* --- stop --- */

static void answer_stop(struct app *app, size_t choice)
{
    static const enum run_command commands[] = {COMMAND_STOP_AT_EPOCH, COMMAND_STOP};
    static const char *const words[] = {N_("It stops when this epoch is done, and is saved."),
                                        N_("It stops after this iteration, and is saved.")};
    if (choice < 2 && questions_send_command(app, commands[choice], 0))
        app_say(app, ROLE_GOOD, "%s", gettext(words[choice]));
}

void ask_stop(struct app *app)
{
    if (!questions_target_run(app)) {
        app_say(app, ROLE_WARNING, "No run is on: there is nothing to stop.");
        return;
    }
    struct dialog *dialog = dialog_begin(app, _("Stop the run?"), answer_stop);
    dialog_offer(dialog, 'e', 0, _("after this epoch, and save"));
    dialog_offer(dialog, 'n', 's', _("now (after this iteration), and save"));
    dialog_offer(dialog, 'c', 'q', _("carry on"));
}

/* --- quit --- */

static bool is_closing(const struct app *app)
{
    return app->closing != CLOSING_NO;
}

void app_close(struct app *app, enum run_command command)
{
    const bool later = command == COMMAND_STOP_AT_EPOCH;
    if (later)
        sweep_job_stop(&app->shared.sweep);
    else
        sweep_job_stop_now(&app->shared.sweep);
    run_list_stop(&app->shared.runs, command);
    app->closing = CLOSING_QUIT;
    app_say_while(app, is_closing, ROLE_STRONG,
                  later && app->shared.runs.held
                      ? N_("Finishing the cell, then quitting; q stops it at once and saves ...")
                  : later ? N_("Finishing the epoch, then saving and quitting; q stops at once ...")
                          : N_("Finishing the iteration, then saving and quitting ..."));
}

static bool is_leaving(const struct app *app)
{
    return detach_is_active(&app->detach);
}

/* Returns whether a background process could go on: it would train without the other ranks. */
static bool can_leave(const struct app *app)
{
    return !app->shared.runs.cluster;
}

static void leave_running(struct app *app)
{
    if (!detach_begin(&app->detach, &app->shared.runs, &app->shared.sweep)) {
        app_say(app, ROLE_WARNING, "The run is busy; try again.");
        return;
    }
    app_say_while(app, is_leaving, ROLE_STRONG,
                  N_("Saving, then a background process goes on ..."));
}

static void answer_quit(struct app *app, size_t choice)
{
    if (choice == 0)
        app_close(app, COMMAND_STOP);
    else if (choice == 1)
        app_close(app, COMMAND_STOP_AT_EPOCH);
    else if (choice == 2 && can_leave(app))
        leave_running(app);
}

static void answer_quit_waiting(struct app *app, size_t choice)
{
    if (choice == 0)
        app_close(app, COMMAND_STOP);
    else if (choice == 1 && can_leave(app))
        leave_running(app);
}

/* Asks what becomes of runs that wait for those of other processes, while none is on here. */
static void ask_quit_waiting(struct app *app, size_t waiting)
{
    struct dialog *dialog = dialog_begin(app, _("Quit?"), answer_quit_waiting);
    snprintf(dialog->text, sizeof dialog->text,
             ngettext("%zu run waits for the runs of other processes.",
                      "%zu runs wait for the runs of other processes.", waiting),
             waiting);
    dialog_offer(dialog, 'y', 's', ngettext("drop it, and quit", "drop them, and quit", waiting));
    if (can_leave(app))
        dialog_offer(
            dialog, 'l', 'd',
            ngettext("leave it waiting, and quit", "leave them waiting, and quit", waiting));
    dialog_offer(dialog, 'c', 'n', _("carry on"));
}

/* Asks how to quit while a run or a sweep is active. */
static void ask_quit(struct app *app)
{
    size_t waiting = run_list_waiting(&app->shared.runs), due = sweep_job_due(&app->shared.sweep);
    if (waiting > 0 && !run_list_is_busy(&app->shared.runs) && !app->shared.sweep.on) {
        ask_quit_waiting(app, waiting);
        return;
    }
    struct dialog *dialog = dialog_begin(app, _("Quit?"), answer_quit);
    if (app->shared.sweep.on && due == 0)
        snprintf(dialog->text, sizeof dialog->text, _("The last cell of a sweep is on."));
    else if (app->shared.sweep.on)
        snprintf(
            dialog->text, sizeof dialog->text,
            ngettext("A sweep is on, and %zu of its cells waits; it is computed only if you leave "
                     "it running. Opened again, the sweep goes on where it was.",
                     "A sweep is on, and %zu of its cells wait; they are computed only if you "
                     "leave it running. Opened again, the sweep goes on where it was.",
                     due),
            due);
    else if (waiting > 0)
        snprintf(
            dialog->text, sizeof dialog->text,
            ngettext(
                "A run is on, and %zu more waits; it is started only if you leave them running.",
                "A run is on, and %zu more wait; they are started only if you leave them running.",
                waiting),
            waiting);
    else
        snprintf(dialog->text, sizeof dialog->text, _("A run is on."));
    dialog_offer(dialog, 'y', 's', _("stop it now, save, and quit"));
    dialog_offer(dialog, 'e', 0,
                 app->shared.runs.held ? _("finish this cell, and quit")
                                       : _("finish this epoch, save, and quit"));
    if (can_leave(app))
        dialog_offer(dialog, 'l', 'd', _("leave it running, and quit"));
    dialog_offer(dialog, 'c', 'n', _("carry on"));
}

void app_back(struct app *app)
{
    const struct run_list *runs = &app->shared.runs;
    if (app->depth > 1)
        app->depth--;
    else if (run_list_is_busy(runs) || run_list_waiting(runs) > 0 || app->shared.sweep.on)
        ask_quit(app);
    else
        app->closing = CLOSING_QUIT;
}

/* --- exporting --- */

void exporting_path(const struct app *app, const char *name, char *path, size_t size)
{
    const char *folder = app->shared.preferences.export_directory;
    snprintf(path, size, "%s%s%s", folder, folder[0] ? "/" : "", name);
}

bool exporting_is_active(const struct app *app)
{
    return app->shared.export.on;
}

void exporting_poll(struct app *app)
{
    const struct export_job *job = &app->shared.export;
    if (!export_job_poll(&app->shared.export))
        return;
    if (job->written && job->error.kind != ERROR_NONE)
        app_say(app, ROLE_WARNING, _("Wrote %s, of a run that is damaged: %s"), job->path,
                job->error.why);
    else if (job->written)
        app_say(app, ROLE_GOOD, ngettext("Wrote %s: %zu run.", "Wrote %s: %zu runs.", job->count),
                job->path, job->count);
    else
        app_say_error(app, &job->error);
}

void exporting_reopen_dialog(struct app *app, const struct error *error)
{
    app->dialog.open = true;
    snprintf(app->dialog.note, sizeof app->dialog.note, "%.120s: %.70s", error->why, error->advice);
    app_say_error(app, error);
}

/* --- what can be done with the runs --- */

bool app_offers_export(const struct app *app)
{
    const struct screen *front = app_screen(app);
    const struct run_entry *here = front->run ? front->run(app) : NULL;
    for (size_t i = 0; i < app_run_count(app); i++) {
        const struct run_entry *entry = app_run_at(app, i);
        const bool offered =
            entry == here || !run_entry_is_saved(entry) || (entry->marked && runs_match(app, i));
        if (offered && run_entry_directory(entry))
            return true;
    }
    return false;
}

bool app_offers_comparison(const struct app *app)
{
    for (size_t i = 0; i < app_run_count(app); i++) {
        const struct run_entry *entry = app_run_at(app, i);
        if (loading_is_unread(entry) || run_offers(entry, RUN_COMPARE))
            return true;
    }
    return false;
}
