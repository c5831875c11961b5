/* Texts about a run that another process computes: the line above its curves, messages about its
 * changes, and the answers to commands that it cannot take from here. The line exists in three
 * lengths; the longest that fits is drawn. */
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "runs/history/follow.h"
#include "runs/record/resume.h"
#include "runs/values/run_snapshot.h"
#include "ui/app/app.h"
#include "ui/app/other_runs.h"
#include "ui/shared/setting_words.h"
#include "ui/terminal/columns.h"

#include <stdio.h>
#include <string.h>

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

void others_report_changes(struct app *app, const struct run_entry *entry,
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
