/* The run in sight, or in the list of runs all that are on, are read on four times a second, in a
 * thread that shares them; what it has published so far is shown meanwhile. The list also learns of
 * runs that begin: from the folder's time of change, and from the locks of those that had been
 * interrupted or stopped. */
#include "ui/app/other_runs.h"

#include "base/clock.h"
#include "base/language.h"
#include "base/memory.h"
#include "session/values/run_snapshot.h"
#include "ui/app/app.h"
#include "ui/app/run_loading.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double LIVE_SECONDS = 0.25, WATCH_SECONDS = 1, GREET_SECONDS = 0.05,
                    READ_SECONDS = 0.02, /* until a look at what is being read */
    SHORT_SECONDS = 0.008;               /* what is on a fast disk is there at once */
enum { PROBES = 64, GREETED = 200 };

static uint64_t after(double seconds)
{
    return clock_nanoseconds() + (uint64_t)(seconds * 1e9);
}

/* --- one run --- */

/* Its process has gone on from an earlier iteration, or another one has it now. */
static void take_anew(struct app *app, struct run_entry *entry, struct run_read *read)
{
    app_notify(app, EVENT_RUN_REPLACED, entry);
    entry->followed = entry->reopen_due = false;
    run_entry_update(entry, read);
}

/* Shows what the reader has published by now. */
static void take_snapshot(struct app *app, struct run_entry *entry)
{
    const struct run_snapshot before = entry->snapshot;
    if (!entry->run || entry->reopen_due)
        return;
    run_snapshot(entry->run, &entry->snapshot);
    entry->live = !run_status_is_over(entry->snapshot.status);
    if (entry->snapshot.iteration != before.iteration || entry->snapshot.status != before.status)
        app->shared.runs_changed = true;
    if (entry->followed && entry == app_run_in_front(app))
        others_report_changes(app, entry, &before);
}

static void take_news(struct app *app)
{
    struct other_runs *view = app->others;
    for (size_t i = 0; i < run_reader_ready(view->news); i++) {
        struct run_read *read = run_reader_result(view->news, i);
        struct run_entry *entry = loading_find_entry(app, read->directory);
        if (!entry)
            continue;
        entry->owner = read->owner;
        memcpy(entry->models, read->saved, sizeof entry->models);
        if (read->opened)
            take_anew(app, entry, read);
        else if (entry->run != read->run) /* it was closed meanwhile */
            continue;
        if (!entry->run)
            entry->live = false;
        take_snapshot(app, entry);
        entry->followed = entry->run != NULL;
    }
    run_reader_drop(view->news);
    view->news = NULL;
}

/* One that was stopped or interrupted may have been resumed elsewhere. */
static bool may_be_on_again(const struct run_entry *entry)
{
    return run_entry_is_saved(entry) && !entry->live && entry->outline_known &&
           entry->snapshot.status != RUN_DONE;
}

static void take_probes(struct app *app)
{
    struct other_runs *view = app->others;
    for (size_t i = 0; i < run_reader_ready(view->probes); i++) {
        const struct run_read *read = run_reader_result(view->probes, i);
        struct run_entry *entry = read->alive ? loading_find_entry(app, read->directory) : NULL;
        if (entry && may_be_on_again(entry))
            entry->live = entry->reopen_due = true;
    }
    run_reader_drop(view->probes);
    view->probes = NULL;
}

/* --- those in sight --- */

/* The kept run that the run screen shows, or NULL. */
static struct run_entry *in_sight(const struct app *app)
{
    struct run_entry *entry = app_run_in_front(app);
    return entry && run_entry_is_saved(entry) ? entry : NULL;
}

static bool any_live(const struct app *app)
{
    const struct run_entry *entry = in_sight(app);
    if (app_is_in_front(app, SCREEN_RUN))
        return entry && entry->live;
    for (size_t i = 0; i < app->shared.saved_runs.count; i++)
        if (app->shared.saved_runs.entries[i].live)
            return true;
    return false;
}

/* Has what is new read of the run in sight, or of all that are on. */
static void read_news(struct app *app, const struct run_entry *only)
{
    const size_t count = only ? 1 : app->shared.saved_runs.count;
    const char **directories = memory_new(count, sizeof *directories, "the list of runs", NULL);
    struct run **runs = memory_new(count, sizeof *runs, "the list of runs", NULL);
    size_t live = 0;
    for (size_t i = 0; directories && runs && i < count; i++) {
        const struct run_entry *entry = only ? only : &app->shared.saved_runs.entries[i];
        if (!entry->live)
            continue;
        directories[live] = entry->directory;
        runs[live++] = entry->reopen_due ? NULL : entry->run;
    }
    if (live > 0) /* without a thread it is tried again a little later */
        app->others->news = run_reader_start_open(RUN_DEPTH_NEWS, directories, runs, live, NULL);
    free(directories);
    free(runs);
}

/* Has some of the runs that are over asked whether they are on again. */
static void probe(struct app *app, const struct run_entry *only)
{
    struct other_runs *view = app->others;
    const char *directories[PROBES];
    size_t count = 0;
    if (only && may_be_on_again(only))
        directories[count++] = only->directory;
    for (size_t i = 0; !only && i < PROBES && i < app->shared.saved_runs.count; i++) {
        view->probe = (view->probe + 1) % app->shared.saved_runs.count;
        const struct run_entry *entry = &app->shared.saved_runs.entries[view->probe];
        if (may_be_on_again(entry))
            directories[count++] = entry->directory;
    }
    if (count > 0)
        view->probes = run_reader_start(RUN_DEPTH_ALIVE, directories, count, NULL);
}

double others_seconds_to_next(const struct app *app)
{
    const struct other_runs *view = app->others;
    const uint64_t now = clock_nanoseconds();
    const double due = view->due > now ? clock_seconds(now, view->due) : 0;
    if (view->news || view->probes)
        return fmin(due, READ_SECONDS);
    return app_is_in_front(app, SCREEN_RUNS) || in_sight(app) ? due : -1;
}

/* Takes what has been read within `seconds`. */
static void take(struct app *app, double seconds)
{
    struct other_runs *view = app->others;
    if (view->probes && run_reader_wait(view->probes, seconds))
        take_probes(app);
    if (view->news && run_reader_wait(view->news, seconds))
        take_news(app);
    for (size_t i = 0; view->news && i < app->shared.saved_runs.count; i++)
        if (app->shared.saved_runs.entries[i].live)
            take_snapshot(app, &app->shared.saved_runs.entries[i]);
}

void others_step(struct app *app)
{
    struct other_runs *view = app->others;
    const struct run_entry *entry = in_sight(app);
    take(app, 0);
    if ((!entry && !app_is_in_front(app, SCREEN_RUNS)) || clock_nanoseconds() < view->due)
        return;
    if (!entry)
        loading_list_runs(app, false);
    if (!view->probes)
        probe(app, entry);
    if (!view->news)
        read_news(app, entry);
    take(app, SHORT_SECONDS);
    view->due = after(any_live(app) ? LIVE_SECONDS : WATCH_SECONDS);
}

/* --- at the start --- */

static void attach(struct app *app)
{
    struct error error;
    const char *directory = app->options->attach;
    struct run_entry *entry = loading_find_entry(app, directory);
    if (!entry && run_list_add_saved(&app->shared.saved_runs, directory, &error))
        entry = loading_find_entry(app, directory);
    if (entry)
        loading_open_run(app, entry, true);
    else
        app_say_error(app, &error);
}

void others_attach(struct app *app)
{
    loading_list_runs_then(app, attach);
}

static void ask_newest(struct app *app)
{
    const char *directories[GREETED];
    size_t count = 0;
    for (size_t i = app->shared.saved_runs.count; i-- > 0 && count < GREETED;)
        directories[count++] = app->shared.saved_runs.entries[i].directory;
    if (count > 0)
        app->others->greeting = run_reader_start(RUN_DEPTH_ALIVE, directories, count, NULL);
}

void others_announce(struct app *app)
{
    const uint64_t from = clock_nanoseconds();
    app->others->greets = true;
    loading_list_runs(app, false);
    while (others_announce_busy(app) && clock_seconds(from, clock_nanoseconds()) < GREET_SECONDS) {
        clock_sleep(0.0005);
        loading_step(app);
        others_announce_step(app);
    }
}

bool others_announce_busy(const struct app *app)
{
    return app->others->greets || app->others->greeting;
}

void others_announce_step(struct app *app)
{
    struct other_runs *view = app->others;
    size_t alive = 0;
    if (view->greets && !loading_is_listing(app)) {
        view->greets = false;
        ask_newest(app);
    }
    if (!view->greeting || !run_reader_done(view->greeting))
        return;
    for (size_t i = 0; i < run_reader_ready(view->greeting); i++)
        alive += run_reader_result(view->greeting, i)->alive;
    run_reader_drop(view->greeting);
    view->greeting = NULL;
    if (alive > 0 && app->shared.runs.count == 0)
        app_say(app, ROLE_STRONG,
                ngettext("Another process has a run that is on: o leads to it.",
                         "Other processes have %zu runs that are on: o leads to them.", alive),
                alive);
}

void others_free(struct other_runs *view)
{
    run_reader_drop(view->news);
    run_reader_drop(view->probes);
    run_reader_drop(view->greeting);
    *view = (struct other_runs){0};
}
