/* Reading saved runs in background threads. loading_step, called between two frames, takes over
 * what the threads have finished. Two requests can wait for data: `whole`, a run to be shown, and
 * `action`, a function to be called once all runs are listed. Each remembers the screen that was in
 * front; leaving that screen for good cancels it. On a fast disk the data arrives within the short
 * waits below, so that no intermediate frame appears. */
#include "ui/app/run_loading.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "studies/compare/run_reader.h"
#include "ui/app/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest waits for a fast disk, too short to be noticed; and how long after a change of the
 * folder it is listed again, because a new run creates its folder before its files. */
static const double OUTLINES_SECONDS = 0.008, WHOLE_SECONDS = 0.1, SETTLE_SECONDS = 2;

void loading_free(struct run_loading *loading)
{
    run_listing_drop(loading->listing);
    run_reader_drop(loading->outlines);
    run_reader_drop(loading->session);
    run_reader_drop(loading->whole);
    *loading = (struct run_loading){0};
}

bool loading_is_unread(const struct run_entry *entry)
{
    return run_entry_is_saved(entry) && !entry->outline_known && !entry->refused;
}

bool loading_any_unread(const struct app *app)
{
    for (size_t i = 0; i < app->shared.saved_runs.count; i++)
        if (loading_is_unread(&app->shared.saved_runs.entries[i]))
            return true;
    return false;
}

struct run_entry *loading_find_entry(struct app *app, const char *directory)
{
    struct run_list *saved = &app->shared.saved_runs;
    size_t *next = &app->loading->next; /* results come in the order of the list, from its end */
    if (*next < saved->count && strcmp(saved->entries[*next].directory, directory) == 0)
        return &saved->entries[(*next)--];
    for (size_t i = app->shared.saved_runs.count; i-- > 0;)
        if (strcmp(saved->entries[i].directory, directory) == 0) {
            *next = i - 1; /* SIZE_MAX after the first */
            return &saved->entries[i];
        }
    return NULL; /* it was deleted, or resumed in this session */
}

/* --- the list of runs --- */

static void take_queue(struct app *app)
{
    struct queued_run *places;
    size_t count;
    if (run_listing_take_queue(app->loading->listing, &places, &count) &&
        queue_list_take(&app->shared.queue, &app->shared.saved_runs, places, count))
        app->shared.runs_changed = true;
}

static void take_listing(struct app *app)
{
    struct run_loading *loading = app->loading;
    struct error error;
    if (!loading->listing || !run_listing_wait(loading->listing, 0))
        return;
    const struct run_ids *found = run_listing_result(loading->listing);
    if (found->error.kind != ERROR_NONE && loading->reports_errors)
        app_say_error(app, &found->error);
    if (found->changed.tv_sec != loading->changed.tv_sec ||
        found->changed.tv_nsec != loading->changed.tv_nsec)
        loading->settles = clock_nanoseconds() + (uint64_t)(SETTLE_SECONDS * 1e9);
    loading->changed = found->changed;
    app->shared.deleted_runs = found->deleted;
    if (found->ids && !run_list_add_saved_ids(&app->shared.saved_runs, &app->shared.runs,
                                              found->home, found->ids, found->count, &error))
        app_say_error(app, &error);
    app->shared.runs_changed = app->shared.runs_changed || found->ids;
    take_queue(app);
    loading->listed = true;
    loading->reports_errors = false;
    run_listing_drop(loading->listing);
    loading->listing = NULL;
}

void loading_list_runs(struct app *app, bool afresh)
{
    struct run_loading *loading = app->loading;
    const bool only_changed = !afresh && loading->listed && clock_nanoseconds() > loading->settles;
    loading->reports_errors = loading->reports_errors || afresh;
    if (!loading->listing) /* if no thread can be started, a later call tries again */
        loading->listing = run_listing_start(only_changed ? &loading->changed : NULL, NULL);
    if (loading->listing && run_listing_wait(loading->listing, OUTLINES_SECONDS))
        take_listing(app);
}

bool loading_is_listing(const struct app *app)
{
    return app->loading->listing;
}

/* --- outlines --- */

static bool is_wanted(const struct run_entry *entry)
{
    return loading_is_unread(entry) || (entry->outdated && !entry->run);
}

static bool any_wanted(const struct app *app)
{
    for (size_t i = 0; i < app->shared.saved_runs.count; i++)
        if (is_wanted(&app->shared.saved_runs.entries[i]))
            return true;
    return false;
}

static void take_outlines(struct app *app)
{
    struct run_loading *loading = app->loading;
    for (const size_t ready = loading->outlines ? run_reader_ready(loading->outlines) : 0;
         loading->taken < ready; loading->taken++) {
        struct run_read *read = run_reader_result(loading->outlines, loading->taken);
        struct run_entry *entry = loading_find_entry(app, read->directory);
        if (entry && is_wanted(entry))
            run_entry_update(entry, read);
        app->shared.runs_changed = true;
    }
    if (!loading->outlines || !run_reader_done(loading->outlines))
        return;
    run_reader_drop(loading->outlines);
    loading->outlines = NULL;
}

/* Starts a thread that reads the outlines of all runs that have none. */
static void begin_outlines(struct app *app)
{
    struct run_loading *loading = app->loading;
    const char **directories =
        memory_new(app->shared.saved_runs.count, sizeof *directories, "the list of runs", NULL);
    size_t count = 0;
    for (size_t i = app->shared.saved_runs.count; directories && i-- > 0;)
        if (is_wanted(&app->shared.saved_runs.entries[i]))
            directories[count++] = app->shared.saved_runs.entries[i].directory;
    loading->taken = 0;
    if (count > 0) /* if no thread can be started, a later call tries again */
        loading->outlines = run_reader_start(RUN_DEPTH_OUTLINE, directories, count, NULL);
    free(directories);
}

bool loading_read_outlines(struct app *app)
{
    struct run_loading *loading = app->loading;
    take_outlines(app);
    if (!loading->outlines)
        begin_outlines(app);
    if (!loading->outlines || !run_reader_wait(loading->outlines, OUTLINES_SECONDS))
        return false;
    take_outlines(app);
    return true;
}

bool loading_is_reading_outlines(const struct app *app)
{
    return app->loading->outlines;
}

/* --- waiting requests --- */

static bool is_below(const struct app *app, enum screen_id screen)
{
    for (size_t i = 0; i < app->depth; i++)
        if (app->stack[i] == screen)
            return true;
    return false;
}

static bool is_in_front(const struct app *app)
{
    return app_is_in_front(app, app->loading->waiting) && !app_is_covered(app);
}

static void end_waiting(struct app *app)
{
    struct run_loading *loading = app->loading;
    run_reader_drop(loading->whole);
    loading->whole = NULL;
    run_reader_drop(loading->session);
    loading->session = NULL;
    loading->action = NULL;
}

static void begin_waiting(struct app *app)
{
    end_waiting(app);
    app->loading->waiting = app->stack[app->depth - 1];
}

static bool is_waiting(const struct app *app)
{
    return app->loading->whole || app->loading->action;
}

static void say_reading(struct app *app, const char *text)
{
    app_say_while(app, is_waiting, ROLE_FAINT, "%s", text);
}

/* --- outlines of all runs, for an action --- */

static void take_session(struct app *app)
{
    struct run_loading *loading = app->loading;
    for (size_t i = 0; i < run_reader_ready(loading->session); i++) {
        const struct run_read *read = run_reader_result(loading->session, i);
        for (size_t n = 0; n < app->shared.runs.count; n++) {
            const char *directory = run_entry_directory(&app->shared.runs.entries[n]);
            if (!directory || strcmp(directory, read->directory) != 0)
                continue;
            memcpy(app->shared.runs.entries[n].models, read->saved, sizeof read->saved);
            app->shared.runs.entries[n].disk_bytes = read->disk_bytes;
        }
    }
    run_reader_drop(loading->session);
    loading->session = NULL;
}

static bool begin_session(struct app *app, struct error *error)
{
    struct run_loading *loading = app->loading;
    const char **directories =
        memory_new(app->shared.runs.count, sizeof *directories, "the list of runs", error);
    size_t count = 0;
    for (size_t i = 0; directories && i < app->shared.runs.count; i++) {
        directories[count] = run_entry_directory(&app->shared.runs.entries[i]);
        count += directories[count] != NULL;
    }
    if (directories && count > 0)
        loading->session = run_reader_start(RUN_DEPTH_OUTLINE, directories, count, error);
    free(directories);
    return count == 0 ? directories != NULL : loading->session != NULL;
}

/* Calls the waiting action if its data is complete. Returns true if nothing waits afterwards. */
static bool step_action(struct app *app)
{
    struct run_loading *loading = app->loading;
    if (loading->action && (app->closing || !is_below(app, loading->waiting)))
        end_waiting(app);
    if (!loading->action)
        return true;
    const bool wanted = loading->outlines_first && any_wanted(app);
    if (!loading->listing && wanted)
        loading_read_outlines(app);
    if (loading->listing || wanted || (loading->session && !run_reader_done(loading->session)) ||
        !is_in_front(app))
        return false;
    loading_action *const action = loading->action;
    if (loading->session)
        take_session(app);
    end_waiting(app);
    action(app);
    return true;
}

static void begin_action(struct app *app, loading_action *action, bool outlines_first)
{
    struct run_loading *loading = app->loading;
    const uint64_t from = clock_nanoseconds();
    loading->action = action;
    loading->outlines_first = outlines_first;
    loading_list_runs(app, true);
    while (!step_action(app)) {
        if (clock_seconds(from, clock_nanoseconds()) >= WHOLE_SECONDS) {
            say_reading(app, _("Reading the folder of runs ... Esc abandons it."));
            return;
        }
        clock_sleep(0.0005);
        loading_step(app);
    }
}

void loading_list_runs_then(struct app *app, loading_action *action)
{
    begin_waiting(app);
    begin_action(app, action, false);
}

void loading_read_all_then(struct app *app, loading_action *action)
{
    struct error error;
    begin_waiting(app);
    if (begin_session(app, &error))
        begin_action(app, action, true);
    else
        app_say_error(app, &error);
}

/* --- the run that is to be shown --- */

static void show(struct app *app, struct run_entry *entry)
{
    const bool attached = app->loading->attached;
    if (!entry->run) {
        app_say_error(app, &entry->error);
        return;
    }
    app_show_run(app, app_run_count(app) - 1 - (size_t)(entry - app->shared.saved_runs.entries));
    if (attached && !entry->live)
        app_say(app, ROLE_STRONG, N_("This run is no longer active: it is %s."),
                language_text(run_entry_status(entry)));
}

static void step_opening(struct app *app)
{
    struct run_loading *loading = app->loading;
    if (loading->whole && (app->closing || !is_below(app, loading->waiting)))
        end_waiting(app);
    if (!loading->whole || !run_reader_done(loading->whole) || !is_in_front(app))
        return;
    struct run_read *read = run_reader_result(loading->whole, 0);
    struct run_entry *entry = loading_find_entry(app, read->directory);
    if (entry && !entry->run)
        run_entry_update(entry, read);
    app->shared.runs_changed = true;
    end_waiting(app);
    if (entry)
        show(app, entry);
}

void loading_open_run(struct app *app, const struct run_entry *entry, bool attached)
{
    struct run_loading *loading = app->loading;
    struct error error;
    const char *directory = entry->directory;
    char text[160];
    begin_waiting(app);
    loading->attached = attached;
    loading->whole = run_reader_start(RUN_DEPTH_WHOLE, &directory, 1, &error);
    if (!loading->whole) {
        app_say_error(app, &error);
        return;
    }
    if (run_reader_wait(loading->whole, WHOLE_SECONDS)) {
        step_opening(app);
        return;
    }
    snprintf(text, sizeof text, _("Reading run %s ... Esc abandons it."),
             file_base_name(directory));
    say_reading(app, text);
}

void app_show_run(struct app *app, size_t index)
{
    struct run_entry *entry = app_run_at(app, index);
    bool kept = run_entry_is_saved(entry);
    if (kept && !entry->run) {
        loading_open_run(app, entry, false);
        return;
    }
    app->shared.shown_is_saved = kept;
    app->shared.shown = kept ? (size_t)(entry - app->shared.saved_runs.entries) : index;
    app_show(app, SCREEN_RUN);
}

bool loading_cancel(struct app *app)
{
    if (!(app->loading->whole || app->loading->action) || !is_in_front(app))
        return false;
    end_waiting(app);
    return true;
}

void loading_step(struct app *app)
{
    take_listing(app);
    take_outlines(app);
    step_opening(app);
    step_action(app);
}

bool loading_is_busy(const struct app *app)
{
    const struct run_loading *loading = app->loading;
    const bool wanted = (loading->whole || loading->action) && is_in_front(app);
    return loading->listing || loading->outlines || wanted;
}
