/* The run in sight, or in the list of runs all that are on, are read four times a second; a long
 * journal is read in pieces between two frames. The list also learns of runs that begin: from the
 * folder's time of change, and from the locks of those that had been interrupted or stopped. */
#include "ui/others.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/language.h"
#include "session/follow.h"
#include "session/run_directory.h"
#include "ui/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const double LIVE_SECONDS = 0.25, WATCH_SECONDS = 1, OWNER_SECONDS = 1, SETTLE_SECONDS = 2,
                    GREET_SECONDS = 0.05,
                    READ_SECONDS = 0.008; /* at a time: keys must not wait for longer */
enum { PROBES = 64, GREETED = 200 };

static uint64_t after(double seconds)
{
    return clock_nanoseconds() + (uint64_t)(seconds * 1e9);
}

/* --- one run --- */

/* A comparison borrows the runs that it shows. */
static void leave_comparison(struct app *app)
{
    size_t depth = 0;
    compare_view_clear(&app->compare);
    for (size_t i = 0; i < app->depth; i++)
        if (app->stack[i] != &screen_compare)
            app->stack[depth++] = app->stack[i];
    app->depth = depth;
}

/* Its process has gone on from an earlier iteration, or another one has it now. */
static void open_anew(struct app *app, struct run_entry *entry)
{
    leave_comparison(app);
    if (entry == app_entry(app))
        curves_forget(&app->run.curves);
    run_entry_close(entry);
    entry->peeked = entry->refused = false;
    run_entry_peek(entry);
    run_entry_open(entry);
}

static void ask_owner(struct run_entry *entry)
{
    if (entry->owner_due > clock_nanoseconds())
        return;
    run_owner_find(entry->directory, &entry->owner);
    entry->owner_due = after(OWNER_SECONDS);
}

/* True: there is more to be read. */
static bool follow(struct app *app, struct run_entry *entry)
{
    const struct run_snapshot before = entry->snapshot;
    ask_owner(entry);
    if (!run_entry_open(entry)) {
        entry->live = false;
        return false;
    }
    const enum follow_news news = follow_step(entry->run);
    if (news == FOLLOW_AFRESH)
        open_anew(app, entry);
    if (!entry->run)
        return false;
    run_snapshot(entry->run, &entry->snapshot);
    entry->live = !run_status_is_over(entry->snapshot.status);
    app->table.stale = app->table.stale || news != FOLLOW_SAME;
    if (entry->followed && entry == app_entry(app) && app_screen(app) == &screen_run)
        others_tell(app, entry, &before);
    const bool more = news == FOLLOW_MORE || news == FOLLOW_AFRESH;
    entry->followed = entry->followed || !more;
    return more;
}

/* One that was stopped or interrupted may have been resumed elsewhere. */
static bool may_be_on_again(const struct run_entry *entry)
{
    return run_entry_is_kept(entry) && !entry->live && entry->peeked &&
           entry->snapshot.status != RUN_DONE;
}

static void take_probes(struct app *app)
{
    struct others_view *view = &app->others;
    for (size_t i = 0; i < run_reader_ready(view->probes); i++) {
        const struct run_read *read = run_reader_result(view->probes, i);
        struct run_entry *entry = read->alive ? reading_entry(app, read->directory) : NULL;
        if (!entry || !may_be_on_again(entry))
            continue;
        app->table.stale = true;
        open_anew(app, entry);
    }
    run_reader_drop(view->probes);
    view->probes = NULL;
}

/* What is not known at once is taken in the next time. */
static void probe(struct app *app, const char *const *directories, size_t count)
{
    struct others_view *view = &app->others;
    if (!view->probes && count > 0)
        view->probes = run_reader_start(RUN_DEPTH_ALIVE, directories, count, NULL);
    if (view->probes && run_reader_wait(view->probes, READ_SECONDS))
        take_probes(app);
}

/* --- those in sight --- */

/* The kept run that the run screen shows, or NULL. */
static struct run_entry *in_sight(const struct app *app)
{
    struct run_entry *entry = app_screen(app) == &screen_run ? app_entry(app) : NULL;
    return entry && run_entry_is_kept(entry) ? entry : NULL;
}

static bool any_live(const struct app *app)
{
    const struct run_entry *entry = in_sight(app);
    if (app_screen(app) == &screen_run)
        return entry && entry->live;
    for (size_t i = 0; i < app->kept.count; i++)
        if (app->kept.entries[i].live)
            return true;
    return false;
}

/* True: there is more to be read at once. */
static bool follow_all(struct app *app)
{
    struct others_view *view = &app->others;
    const uint64_t from = clock_nanoseconds();
    bool more = false;
    for (size_t i = 0; i < app->kept.count; i++) {
        view->turn = (view->turn + 1) % app->kept.count;
        struct run_entry *entry = &app->kept.entries[view->turn];
        if (entry->live)
            more |= follow(app, entry);
        if (clock_seconds(from, clock_nanoseconds()) > READ_SECONDS)
            return more || i + 1 < app->kept.count;
    }
    return more;
}

static void probe_some(struct app *app)
{
    struct others_view *view = &app->others;
    const char *directories[PROBES];
    size_t count = 0;
    for (size_t i = 0; !view->probes && i < PROBES && i < app->kept.count; i++) {
        view->probe = (view->probe + 1) % app->kept.count;
        const struct run_entry *entry = &app->kept.entries[view->probe];
        if (may_be_on_again(entry))
            directories[count++] = entry->directory;
    }
    probe(app, directories, count);
}

static void watch_folder(struct app *app)
{
    struct others_view *view = &app->others;
    struct stat status;
    char *home = run_directory_home(NULL);
    const bool known = home && stat(home, &status) == 0;
    free(home);
    if (known && (status.st_mtim.tv_sec != view->folder_changed.tv_sec ||
                  status.st_mtim.tv_nsec != view->folder_changed.tv_nsec)) {
        view->folder_changed = status.st_mtim;
        view->folder_settles = after(SETTLE_SECONDS);
    }
    if (clock_nanoseconds() < view->folder_settles)
        run_list_find_kept(&app->kept, &app->runs, NULL);
}

double others_rest(const struct app *app)
{
    const uint64_t now = clock_nanoseconds();
    if (app_screen(app) != &screen_runs && !in_sight(app))
        return -1;
    return app->others.due > now ? clock_seconds(now, app->others.due) : 0;
}

void others_step(struct app *app)
{
    struct others_view *view = &app->others;
    struct run_entry *entry = in_sight(app);
    bool more = false;
    if (others_rest(app) != 0)
        return;
    if (entry && entry->live)
        more = follow(app, entry);
    else if (entry) {
        const char *directory = entry->directory;
        probe(app, &directory, may_be_on_again(entry));
    } else {
        watch_folder(app);
        more = follow_all(app);
        probe_some(app);
    }
    view->due = more ? 0 : after(any_live(app) ? LIVE_SECONDS : WATCH_SECONDS);
}

/* --- at the start --- */

static bool is_same_folder(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* The place among the kept runs; a run that lies elsewhere is put behind them. */
static bool place_of(struct app *app, const char *directory, size_t *place, struct error *error)
{
    struct run_list *kept = &app->kept;
    if (!run_list_find_kept(kept, &app->runs, error))
        return false;
    for (*place = 0; *place < kept->count; ++*place)
        if (strcmp(file_base_name(kept->entries[*place].directory), file_base_name(directory)) ==
                0 &&
            is_same_folder(kept->entries[*place].directory, directory))
            return true;
    return run_list_keep(kept, directory, error);
}

void others_attach(struct app *app, const char *directory)
{
    struct error error;
    size_t place;
    if (!place_of(app, directory, &place, &error)) {
        app_say_error(app, &error);
        return;
    }
    reading_open(app, &app->kept.entries[place], true);
}

void others_greet(struct app *app)
{
    char **ids = NULL, *directories[GREETED];
    char *home = run_directory_home(NULL);
    size_t count = 0, asked = 0;
    if (home && run_directory_list(&ids, &count, NULL))
        for (size_t i = count > GREETED ? count - GREETED : 0; i < count; i++)
            if ((directories[asked] = file_join(home, ids[i])))
                asked++;
    if (asked > 0)
        app->others.greeting =
            run_reader_start(RUN_DEPTH_ALIVE, (const char *const *)directories, asked, NULL);
    for (size_t i = 0; i < asked; i++)
        free(directories[i]);
    for (size_t i = 0; i < count; i++)
        free(ids[i]);
    free(ids);
    free(home);
    if (app->others.greeting && run_reader_wait(app->others.greeting, GREET_SECONDS))
        others_greet_step(app);
}

void others_greet_step(struct app *app)
{
    struct run_reader *reader = app->others.greeting;
    size_t alive = 0;
    if (!reader || !run_reader_done(reader))
        return;
    for (size_t i = 0; i < run_reader_ready(reader); i++)
        alive += run_reader_result(reader, i)->alive;
    run_reader_drop(reader);
    app->others.greeting = NULL;
    if (alive > 0 && app->runs.count == 0)
        app_say(app, ROLE_STRONG,
                ngettext("Another process has a run that is on: o leads to it.",
                         "Other processes have %zu runs that are on: o leads to them.", alive),
                alive);
}

void others_free(struct others_view *view)
{
    run_reader_drop(view->probes);
    run_reader_drop(view->greeting);
    *view = (struct others_view){0};
}
