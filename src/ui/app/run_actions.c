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
#include "ui/app/run_cells.h"
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
