/* Live runs of other processes. A background thread reads the new records of the shown run, or of
 * all live runs while the run table is in front, three times a second; frames show the snapshot
 * that the thread has published so far. On other screens, whose title counts the runs, the same
 * happens every two seconds. New runs are found by the modification time of the runs'
 * folder; resumed runs by the locks of saved runs that were stopped or interrupted. */
#include "ui/app/other_runs.h"

#include "base/clock.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "runs/history/follow.h"
#include "runs/record/resume.h"
#include "runs/values/run_snapshot.h"
#include "ui/app/app.h"
#include "ui/app/run_loading.h"
#include "ui/shared/form.h"
#include "ui/terminal/columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- words about a run of another process ---
 *
 * Texts about a run that another process computes: the line above its curves, messages about its
 * changes, and the answers to commands that it cannot take from here. The line exists in three
 * lengths; the longest that fits is drawn. */

enum { WORDINGS = 3, WORDING_SIZE = 256 };

static char *owner_briefly(const struct run_entry *entry, char *text, size_t size)
{
    if (entry->owner.process > 0)
        snprintf(text, size, _("process %ld"), entry->owner.process);
    else
        snprintf(text, size, "%s", _("another process"));
    return text;
}

char *others_owner_text(const struct run_entry *entry, char *text, size_t size)
{
    const struct run_owner *owner = &entry->owner;
    if (owner->process <= 0 || !owner->host[0])
        return owner_briefly(entry, text, size);
    snprintf(text, size, _("process %ld on %s"), owner->process, owner->host);
    return text;
}

/* --- the line above a run --- */

/* Fills in WORDINGS texts about a live run, the longest first. */
static void write_live(const struct run_entry *entry, char (*wordings)[WORDING_SIZE])
{
    char owner[192], brief[64], ago[32];
    const double silence = follow_silence(entry->run);
    const bool begun = silence >= 0 && entry->snapshot.status != RUN_PREPARING;
    others_owner_text(entry, owner, sizeof owner);
    owner_briefly(entry, brief, sizeof brief);
    text_whole_duration(silence, ago, sizeof ago);
    if (begun && entry->owner.alone) {
        snprintf(wordings[0], WORDING_SIZE,
                 _("Attached, read-only: %s, without a terminal (s stops it); newest figures %s "
                   "ago"),
                 owner, ago);
        snprintf(wordings[1], WORDING_SIZE,
                 _("Read-only: %s, no terminal (s stops it), figures %s ago"), brief, ago);
    } else if (begun) {
        snprintf(wordings[0], WORDING_SIZE, _("Attached, read-only: %s; newest figures %s ago"),
                 owner, ago);
        snprintf(wordings[1], WORDING_SIZE, _("Read-only: %s, newest figures %s ago"), brief, ago);
    } else {
        snprintf(wordings[0], WORDING_SIZE, _("Attached, read-only: %s prepares this run"), owner);
        snprintf(wordings[1], WORDING_SIZE, _("Read-only: %s prepares this run"), brief);
    }
    if (begun)
        snprintf(wordings[2], WORDING_SIZE, _("Read-only: %s, %s ago"), brief, ago);
    else
        snprintf(wordings[2], WORDING_SIZE, _("Read-only: %s"), brief);
}

static void write_interrupted(const struct run_entry *entry, char (*wordings)[WORDING_SIZE])
{
    char owner[192];
    const struct run_snapshot *end = &entry->snapshot;
    const unsigned long long from = end->checkpoint.iteration;
    others_owner_text(entry, owner, sizeof owner);
    snprintf(wordings[2], WORDING_SIZE, "%s", _("! Interrupted; r goes on"));
    if (end->checkpoint.count == 0) {
        snprintf(wordings[0], WORDING_SIZE,
                 _("! Interrupted: %s ended unexpectedly, before a checkpoint; r begins again"),
                 owner);
        snprintf(wordings[1], WORDING_SIZE, "%s",
                 _("! Interrupted before a checkpoint; r begins again"));
        return;
    }
    snprintf(wordings[0], WORDING_SIZE,
             _("! Interrupted: %s ended unexpectedly; r goes on after iteration %llu"), owner,
             from);
    snprintf(wordings[1], WORDING_SIZE, _("! Interrupted; r goes on after iteration %llu"), from);
}

static void write_end(const struct run_entry *entry, char (*wordings)[WORDING_SIZE])
{
    char owner[192];
    const char *status = language_text(run_entry_status(entry));
    others_owner_text(entry, owner, sizeof owner);
    snprintf(wordings[2], WORDING_SIZE, "%s", status);
    if (resume_allows(&entry->snapshot, "", NULL)) {
        snprintf(wordings[0], WORDING_SIZE, _("It is over (%s): %s has closed it, r goes on"),
                 status, owner);
        snprintf(wordings[1], WORDING_SIZE, _("It is over (%s): r goes on"), status);
    } else {
        snprintf(wordings[0], WORDING_SIZE, _("It is over (%s): %s has closed it"), status, owner);
        snprintf(wordings[1], WORDING_SIZE, _("It is over (%s)"), status);
    }
}

static enum role write_wordings(const struct run_entry *entry, char (*wordings)[WORDING_SIZE])
{
    if (entry->live) {
        write_live(entry, wordings);
        return ROLE_STRONG;
    }
    if (entry->snapshot.status == RUN_INTERRUPTED) {
        write_interrupted(entry, wordings);
        return ROLE_BAD;
    }
    write_end(entry, wordings);
    return entry->snapshot.status == RUN_FAILED ? ROLE_BAD : ROLE_GOOD;
}

bool others_draw_line(struct app *app, const struct run_entry *entry, struct rect line)
{
    char wordings[WORDINGS][WORDING_SIZE];
    size_t i = 0;
    if (!entry->run || !(entry->live || entry->followed) || rect_is_empty(line))
        return false;
    const enum role role = write_wordings(entry, wordings);
    while (i + 1 < WORDINGS && (int)columns_of(wordings[i]) > line.columns - 2)
        i++;
    draw_text(&app->canvas, line, 0, 1, role, wordings[i]);
    return true;
}

/* --- changes --- */

static void report_end(struct app *app, const struct run_entry *entry)
{
    char owner[192], text[480];
    const struct run_snapshot *end = &entry->snapshot;
    others_owner_text(entry, owner, sizeof owner);
    if (end->status == RUN_INTERRUPTED)
        app_say(app, ROLE_BAD, N_("The run is interrupted: %s ended unexpectedly. r goes on."),
                owner);
    else if (end->status == RUN_FAILED || end->status == RUN_REFUSED)
        app_say(app, ROLE_BAD, "! %s", setting_error_format(&end->error, text, sizeof text));
    else
        app_say(app, ROLE_GOOD, N_("The run is %s: %s has closed it."),
                language_text(run_entry_status(entry)), owner);
    log_set_run_directory(&app->shared.log, entry->directory);
}

/* Shows messages about what has changed in a run since the snapshot `before`. */
static void others_report_changes(struct app *app, const struct run_entry *entry,
                                  const struct run_snapshot *before)
{
    const struct run_snapshot *now = &entry->snapshot;
    char owner[192];
    app_report_findings(app, entry, before->finding_count);
    if (now->status == before->status)
        return;
    others_owner_text(entry, owner, sizeof owner);
    if (run_status_is_over(now->status))
        report_end(app, entry);
    else if (now->status == RUN_PAUSED)
        app_say(app, ROLE_STRONG, N_("The run was paused by %s."), owner);
    else if (before->status == RUN_PAUSED)
        app_say(app, ROLE_STRONG, "It continues.");
}

/* --- commands to another process's run --- */

bool others_reject_command(struct app *app, const struct run_entry *entry)
{
    char owner[192];
    if (!entry || !entry->live)
        return false;
    app_say(app, ROLE_WARNING, N_("This run can only be watched: it belongs to %s."),
            others_owner_text(entry, owner, sizeof owner));
    return true;
}

/* A thread asks the process of a run to stop it; `good` and `error` are the result. */
struct stop {
    char directory[512];
    bool good;
    struct error error;
};

static void send_stop(void *state)
{
    struct stop *stop = state;
    stop->good = run_owner_stop(stop->directory, &stop->error);
}

static void say_stop(struct app *app, void *state)
{
    const struct stop *stop = state;
    if (stop->good)
        app_say(app, ROLE_GOOD, "It stops after this iteration, and is saved.");
    else
        app_say_error(app, &stop->error);
}

static void answer_stop(struct app *app, size_t choice)
{
    struct error error;
    if (choice != 0)
        return;
    struct stop *stop = memory_new(1, sizeof *stop, "a question", &error);
    if (!stop) {
        app_say_error(app, &error);
        return;
    }
    snprintf(stop->directory, sizeof stop->directory, "%s", app->shared.subject);
    app_start_disk_job(app, send_stop, say_stop, stop);
}

bool others_ask_stop(struct app *app, const struct run_entry *entry)
{
    char owner[192];
    if (!entry || !entry->live)
        return false;
    others_owner_text(entry, owner, sizeof owner);
    if (!entry->owner.alone) {
        app_say(app, ROLE_WARNING,
                N_("The run belongs to %s, which has a terminal: stop it there."), owner);
        return true;
    }
    struct dialog *dialog = dialog_begin(app, _("Stop the run?"), answer_stop);
    snprintf(app->shared.subject, sizeof app->shared.subject, "%s", entry->directory);
    snprintf(
        dialog->text, sizeof dialog->text,
        _("It is computed without a terminal, by %s, which would finish the iteration, save and "
          "end. Runs that wait there would not be started."),
        owner);
    dialog_offer(dialog, 's', 'y', _("stop it, and save"));
    dialog_offer(dialog, 'c', 'n', _("carry on"));
    return true;
}

static const double LIVE_SECONDS = 1.0 / 3, WATCH_SECONDS = 1, COUNT_SECONDS = 2;
static const double ANNOUNCE_SECONDS = 0.05;
static const double READ_SECONDS = 0.02; /* between two checks whether the reader is done */
static const double SHORT_SECONDS =
    0.008; /* waits for a fast disk, to show the data in this frame */
enum { PROBES = 64, NEWEST = 16, ANNOUNCED_RUNS = 200 };

static uint64_t after(double seconds)
{
    return clock_nanoseconds() + (uint64_t)(seconds * 1e9);
}

/* --- one run --- */

/* Replaces the entry's curves after its process has continued from an earlier iteration, or another
 * process has resumed the run. */
static void take_reopened(struct app *app, struct run_entry *entry, struct run_read *read)
{
    app_notify(app, EVENT_RUN_REPLACED, entry);
    entry->followed = entry->reopen_due = false;
    run_entry_update(entry, read);
}

/* Copies the snapshot that the reader has published into the entry. */
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

static void take_updates(struct app *app)
{
    struct other_runs *others = app->others;
    for (size_t i = 0; i < run_reader_ready(others->updates); i++) {
        struct run_read *read = run_reader_result(others->updates, i);
        struct run_entry *entry = loading_find_entry(app, read->directory);
        if (!entry)
            continue;
        entry->owner = read->owner;
        memcpy(entry->models, read->saved, sizeof entry->models);
        entry->disk_bytes = read->disk_bytes;
        if (read->opened)
            take_reopened(app, entry, read);
        else if (entry->run != read->run) /* the entry's curves were unloaded meanwhile */
            continue;
        if (!entry->run)
            entry->live = false;
        take_snapshot(app, entry);
        entry->followed = entry->run != NULL;
    }
    run_reader_drop(others->updates);
    others->updates = NULL;
}

/* Returns whether another process may have resumed the run: it was stopped or interrupted. */
static bool may_be_active_again(const struct run_entry *entry)
{
    return run_entry_is_saved(entry) && !entry->live && entry->outline_known &&
           entry->snapshot.status != RUN_DONE;
}

static void take_probes(struct app *app)
{
    struct other_runs *others = app->others;
    for (size_t i = 0; i < run_reader_ready(others->probes); i++) {
        const struct run_read *read = run_reader_result(others->probes, i);
        struct run_entry *entry = loading_find_entry(app, read->directory);
        if (entry && !entry->outline_known)
            entry->announced = read->alive;
        else if (entry && read->alive && may_be_active_again(entry))
            entry->live = entry->reopen_due = true;
    }
    run_reader_drop(others->probes);
    others->probes = NULL;
}

/* --- the runs that are shown --- */

/* Returns the saved run that the run screen shows, or NULL. */
static struct run_entry *shown_saved_run(const struct app *app)
{
    struct run_entry *entry = app_run_in_front(app);
    return entry && run_entry_is_saved(entry) ? entry : NULL;
}

static bool any_live(const struct app *app)
{
    const struct run_entry *entry = shown_saved_run(app);
    if (app_is_in_front(app, SCREEN_RUN))
        return entry && entry->live;
    for (size_t i = 0; i < app->shared.saved_runs.count; i++)
        if (app->shared.saved_runs.entries[i].live)
            return true;
    return false;
}

/* Starts to read the new records of one live run (`only`) or, if it is NULL, of all of them. */
static void read_updates(struct app *app, const struct run_entry *only)
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
    if (live > 0) /* if no thread can be started, the next poll tries again */
        app->others->updates =
            run_reader_start_open(RUN_DEPTH_UPDATE, directories, runs, live, NULL);
    free(directories);
    free(runs);
}

/* Starts to check whether `only`, or the next PROBES of the ended runs, are active again, and which
 * of the newest ones are on that are not read yet. */
static void probe(struct app *app, const struct run_entry *only)
{
    struct other_runs *others = app->others;
    const char *directories[NEWEST + PROBES];
    const size_t saved = app->shared.saved_runs.count;
    size_t count = 0;
    if (only && may_be_active_again(only))
        directories[count++] = only->directory;
    for (size_t i = 0; !only && i < NEWEST && i < saved; i++)
        if (!app->shared.saved_runs.entries[saved - 1 - i].outline_known)
            directories[count++] = app->shared.saved_runs.entries[saved - 1 - i].directory;
    for (size_t i = 0; !only && i < PROBES && i < app->shared.saved_runs.count; i++) {
        others->probe = (others->probe + 1) % app->shared.saved_runs.count;
        const struct run_entry *entry = &app->shared.saved_runs.entries[others->probe];
        if (may_be_active_again(entry))
            directories[count++] = entry->directory;
    }
    if (count > 0)
        others->probes = run_reader_start(RUN_DEPTH_ALIVE, directories, count, NULL);
}

double others_seconds_to_next(const struct app *app)
{
    const struct other_runs *others = app->others;
    const uint64_t now = clock_nanoseconds();
    const double due = others->due > now ? clock_seconds(now, others->due) : 0;
    if (others->updates || others->probes)
        return fmin(due, READ_SECONDS);
    return due;
}

/* Waits at most `seconds` for each reader and takes over its results. */
static void take_results(struct app *app, double seconds)
{
    struct other_runs *others = app->others;
    if (others->probes && run_reader_wait(others->probes, seconds))
        take_probes(app);
    if (others->updates && run_reader_wait(others->updates, seconds))
        take_updates(app);
    for (size_t i = 0; others->updates && i < app->shared.saved_runs.count; i++)
        if (app->shared.saved_runs.entries[i].live)
            take_snapshot(app, &app->shared.saved_runs.entries[i]);
}

void others_step(struct app *app)
{
    struct other_runs *others = app->others;
    const struct run_entry *entry = shown_saved_run(app);
    const bool elsewhere = !entry && !app_is_in_front(app, SCREEN_RUNS);
    take_results(app, 0);
    if (others->elsewhere && !elsewhere) /* runs came into sight */
        others->due = 0;
    else if (elsewhere && others->due == 0) /* the first frame waits for nothing */
        others->due = after(COUNT_SECONDS);
    others->elsewhere = elsewhere;
    if (clock_nanoseconds() < others->due)
        return;
    if (!entry)
        loading_list_runs(app, false);
    if (!others->probes)
        probe(app, entry);
    if (!others->updates)
        read_updates(app, entry);
    take_results(app, SHORT_SECONDS);
    others->due = after(elsewhere ? COUNT_SECONDS : any_live(app) ? LIVE_SECONDS : WATCH_SECONDS);
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

static void count_newest(struct app *app)
{
    const char *directories[ANNOUNCED_RUNS];
    size_t count = 0;
    for (size_t i = app->shared.saved_runs.count; i-- > 0 && count < ANNOUNCED_RUNS;)
        directories[count++] = app->shared.saved_runs.entries[i].directory;
    if (count > 0)
        app->others->announcing = run_reader_start(RUN_DEPTH_ALIVE, directories, count, NULL);
}

void others_announce(struct app *app)
{
    const uint64_t from = clock_nanoseconds();
    app->others->announces = true;
    loading_list_runs(app, false);
    while (others_announce_busy(app) &&
           clock_seconds(from, clock_nanoseconds()) < ANNOUNCE_SECONDS) {
        clock_sleep(0.0005);
        loading_step(app);
        others_announce_step(app);
    }
}

bool others_announce_busy(const struct app *app)
{
    return app->others->announces || app->others->announcing;
}

void others_announce_step(struct app *app)
{
    struct other_runs *others = app->others;
    size_t alive = 0;
    if (others->announces && !loading_is_listing(app)) {
        others->announces = false;
        count_newest(app);
    }
    if (!others->announcing || !run_reader_done(others->announcing))
        return;
    for (size_t i = 0; i < run_reader_ready(others->announcing); i++) {
        const struct run_read *read = run_reader_result(others->announcing, i);
        struct run_entry *entry = read->alive ? loading_find_entry(app, read->directory) : NULL;
        alive += read->alive;
        if (entry)
            entry->announced = true;
    }
    run_reader_drop(others->announcing);
    others->announcing = NULL;
    if (alive == 0 || app->shared.runs.count > 0)
        return;
    app_say(app, ROLE_STRONG,
            ngettext("Another process has a run that is on: o leads to it.",
                     "Other processes have %zu runs that are on: o leads to them.", alive),
            alive);
    app->message.answers_key = true; /* it goes with the first screen, like an answer */
}

void others_free(struct other_runs *others)
{
    run_reader_drop(others->updates);
    run_reader_drop(others->probes);
    run_reader_drop(others->announcing);
    *others = (struct other_runs){0};
}
