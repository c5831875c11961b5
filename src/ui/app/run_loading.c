#include "ui/app/run_loading.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "session/history/run_listing.h"
#include "session/history/run_reader.h"
#include "ui/app/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64 }; /* outlines that one thread reads */

/* What is on a fast disk is there at once, without an intermediate picture; nobody notices so short
 * a wait. */
static const double OUTLINES_SECONDS = 0.008, WHOLE_SECONDS = 0.1, SETTLE_SECONDS = 2;

void loading_free(struct run_loading *view)
{
    run_listing_drop(view->listing);
    run_reader_drop(view->outlines);
    run_reader_drop(view->sitting);
    run_reader_drop(view->whole);
    *view = (struct run_loading){0};
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
    for (size_t i = app->shared.saved_runs.count; i-- > 0;)
        if (strcmp(app->shared.saved_runs.entries[i].directory, directory) == 0)
            return &app->shared.saved_runs.entries[i];
    return NULL; /* it was deleted, or goes on in this session */
}

/* --- which runs there are --- */

static void take_listing(struct app *app)
{
    struct run_loading *view = app->loading;
    struct error error;
    if (!view->listing || !run_listing_wait(view->listing, 0))
        return;
    const struct run_ids *found = run_listing_result(view->listing);
    if (found->error.kind != ERROR_NONE && view->asked)
        app_say_error(app, &found->error);
    if (found->changed.tv_sec != view->changed.tv_sec ||
        found->changed.tv_nsec != view->changed.tv_nsec)
        view->settles = clock_nanoseconds() + (uint64_t)(SETTLE_SECONDS * 1e9);
    view->changed = found->changed;
    if (found->ids && !run_list_add_saved_ids(&app->shared.saved_runs, &app->shared.runs,
                                              found->home, found->ids, found->count, &error))
        app_say_error(app, &error);
    app->shared.runs_changed = app->shared.runs_changed || found->ids;
    view->listed = true;
    view->asked = false;
    run_listing_drop(view->listing);
    view->listing = NULL;
}

void loading_list_runs(struct app *app, bool afresh)
{
    struct run_loading *view = app->loading;
    const bool only_changed = !afresh && view->listed && clock_nanoseconds() > view->settles;
    view->asked = view->asked || afresh;
    if (!view->listing) /* without a thread it is tried again a little later */
        view->listing = run_listing_start(only_changed ? &view->changed : NULL, NULL);
    if (view->listing && run_listing_wait(view->listing, OUTLINES_SECONDS))
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
    struct run_loading *view = app->loading;
    for (const size_t ready = view->outlines ? run_reader_ready(view->outlines) : 0;
         view->taken < ready; view->taken++) {
        struct run_read *read = run_reader_result(view->outlines, view->taken);
        struct run_entry *entry = loading_find_entry(app, read->directory);
        if (entry && is_wanted(entry))
            run_entry_update(entry, read);
        app->shared.runs_changed = true;
    }
    if (!view->outlines || !run_reader_done(view->outlines))
        return;
    run_reader_drop(view->outlines);
    view->outlines = NULL;
}

static void begin_outlines(struct app *app)
{
    struct run_loading *view = app->loading;
    const char *directories[BATCH];
    size_t count = 0;
    for (size_t i = app->shared.saved_runs.count; i-- > 0 && count < BATCH;)
        if (is_wanted(&app->shared.saved_runs.entries[i]))
            directories[count++] = app->shared.saved_runs.entries[i].directory;
    view->taken = 0;
    if (count > 0) /* without a thread it is tried again a little later */
        view->outlines = run_reader_start(RUN_DEPTH_OUTLINE, directories, count, NULL);
}

bool loading_read_outlines(struct app *app)
{
    struct run_loading *view = app->loading;
    take_outlines(app);
    if (!view->outlines)
        begin_outlines(app);
    if (!view->outlines || !run_reader_wait(view->outlines, OUTLINES_SECONDS))
        return false;
    take_outlines(app);
    return true;
}

/* --- what waits --- */

static bool is_below(const struct app *app, enum screen_id screen)
{
    for (size_t i = 0; i < app->depth; i++)
        if (app->stack[i] == screen)
            return true;
    return false;
}

static bool is_in_front(const struct app *app)
{
    return app_is_in_front(app, app->loading->from) && !app->dialog.open && !app->menu.open &&
           !app_is_typing(app);
}

static void end_waiting(struct app *app)
{
    struct run_loading *view = app->loading;
    run_reader_drop(view->whole);
    view->whole = NULL;
    run_reader_drop(view->sitting);
    view->sitting = NULL;
    view->then = NULL;
    if (app->message_until == UINT64_MAX && !app->closing)
        app->message[0] = '\0'; /* that it was being read */
}

static void begin_waiting(struct app *app)
{
    end_waiting(app);
    app->loading->from = app->stack[app->depth - 1];
}

static void say_reading(struct app *app, const char *text)
{
    app_say(app, ROLE_FAINT, "%s", text);
    app->message_until = UINT64_MAX;
}

/* --- everything about all --- */

static void take_sitting(struct app *app)
{
    struct run_loading *view = app->loading;
    for (size_t i = 0; i < run_reader_ready(view->sitting); i++) {
        const struct run_read *read = run_reader_result(view->sitting, i);
        for (size_t n = 0; n < app->shared.runs.count; n++) {
            const char *directory = run_entry_directory(&app->shared.runs.entries[n]);
            if (directory && strcmp(directory, read->directory) == 0)
                memcpy(app->shared.runs.entries[n].models, read->saved, sizeof read->saved);
        }
    }
    run_reader_drop(view->sitting);
    view->sitting = NULL;
}

static bool begin_sitting(struct app *app, struct error *error)
{
    struct run_loading *view = app->loading;
    const char **directories =
        memory_new(app->shared.runs.count, sizeof *directories, "the list of runs", error);
    size_t count = 0;
    for (size_t i = 0; directories && i < app->shared.runs.count; i++) {
        directories[count] = run_entry_directory(&app->shared.runs.entries[i]);
        count += directories[count] != NULL;
    }
    if (directories && count > 0)
        view->sitting = run_reader_start(RUN_DEPTH_OUTLINE, directories, count, error);
    free(directories);
    return count == 0 ? directories != NULL : view->sitting != NULL;
}

/* True: `then` was called, or nothing waits. */
static bool step_then(struct app *app)
{
    struct run_loading *view = app->loading;
    if (view->then && (app->closing || !is_below(app, view->from)))
        end_waiting(app);
    if (!view->then)
        return true;
    const bool wanted = view->outlines_first && any_wanted(app);
    if (!view->listing && wanted)
        loading_read_outlines(app);
    if (view->listing || wanted || (view->sitting && !run_reader_done(view->sitting)) ||
        !is_in_front(app))
        return false;
    loading_action *const then = view->then;
    if (view->sitting)
        take_sitting(app);
    end_waiting(app);
    then(app);
    return true;
}

static void begin_then(struct app *app, loading_action *then, bool outlines_first)
{
    struct run_loading *view = app->loading;
    const uint64_t from = clock_nanoseconds();
    view->then = then;
    view->outlines_first = outlines_first;
    loading_list_runs(app, true);
    while (!step_then(app)) {
        if (clock_seconds(from, clock_nanoseconds()) >= WHOLE_SECONDS) {
            say_reading(app, _("Reading the folder of runs ... Esc abandons it."));
            return;
        }
        clock_sleep(0.0005);
        loading_step(app);
    }
}

void loading_list_runs_then(struct app *app, loading_action *then)
{
    begin_waiting(app);
    begin_then(app, then, false);
}

void loading_read_all_then(struct app *app, loading_action *then)
{
    struct error error;
    begin_waiting(app);
    if (begin_sitting(app, &error))
        begin_then(app, then, true);
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
        app_say(app, ROLE_STRONG, N_("This run is not on any more: it is %s."),
                language_text(run_entry_status(entry)));
}

static void step_opening(struct app *app)
{
    struct run_loading *view = app->loading;
    if (view->whole && (app->closing || !is_below(app, view->from)))
        end_waiting(app);
    if (!view->whole || !run_reader_done(view->whole) || !is_in_front(app))
        return;
    struct run_read *read = run_reader_result(view->whole, 0);
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
    struct run_loading *view = app->loading;
    struct error error;
    const char *directory = entry->directory;
    char text[160];
    begin_waiting(app);
    view->attached = attached;
    view->whole = run_reader_start(RUN_DEPTH_WHOLE, &directory, 1, &error);
    if (!view->whole) {
        app_say_error(app, &error);
        return;
    }
    if (run_reader_wait(view->whole, WHOLE_SECONDS)) {
        step_opening(app);
        return;
    }
    snprintf(text, sizeof text, _("Reading run %s ... Esc abandons it."),
             file_base_name(directory));
    say_reading(app, text);
}

bool loading_cancel(struct app *app)
{
    if (!(app->loading->whole || app->loading->then) || !is_in_front(app))
        return false;
    end_waiting(app);
    return true;
}

void loading_step(struct app *app)
{
    take_listing(app);
    take_outlines(app);
    step_opening(app);
    step_then(app);
}

bool loading_is_busy(const struct app *app)
{
    const struct run_loading *view = app->loading;
    const bool wanted = (view->whole || view->then) && is_in_front(app);
    return view->listing || view->outlines || wanted;
}
