/* What is said of a run that another process has. */
#include "base/language.h"
#include "base/text.h"
#include "session/follow.h"
#include "session/resume.h"
#include "ui/app.h"
#include "ui/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WORDINGS = 3, WORDING_SIZE = 256 };

char *others_owner(const struct run_entry *entry, char *text, size_t size)
{
    const struct run_owner *owner = &entry->owner;
    if (owner->process <= 0)
        snprintf(text, size, "%s", _("another process"));
    else if (owner->host[0])
        snprintf(text, size, _("process %ld on %s"), owner->process, owner->host);
    else
        snprintf(text, size, _("process %ld"), owner->process);
    return text;
}

/* --- the line above a run --- */

/* Each says it in fewer words than the one before. */
static void word_live(const struct run_entry *entry, char (*wordings)[WORDING_SIZE])
{
    char owner[192], ago[32];
    const double silence = follow_silence(entry->run);
    others_owner(entry, owner, sizeof owner);
    if (silence < 60) /* whole seconds: tenths would only flicker */
        snprintf(ago, sizeof ago, "%.0f s", floor(silence));
    else
        text_duration(silence, ago, sizeof ago);
    if (silence < 0 || entry->snapshot.status == RUN_PREPARING) {
        snprintf(wordings[0], WORDING_SIZE, _("Attached, read-only: %s prepares this run"), owner);
        snprintf(wordings[1], WORDING_SIZE, _("Read-only: process %ld prepares it"),
                 entry->owner.process);
    } else if (entry->owner.alone) {
        snprintf(wordings[0], WORDING_SIZE,
                 _("Attached, read-only: %s has this run, without a terminal (s stops it); newest "
                   "figures %s ago"),
                 owner, ago);
        snprintf(wordings[1], WORDING_SIZE,
                 _("Read-only: process %ld, no terminal (s stops it), figures %s ago"),
                 entry->owner.process, ago);
    } else {
        snprintf(wordings[0], WORDING_SIZE,
                 _("Attached, read-only: %s has this run; newest figures %s ago"), owner, ago);
        snprintf(wordings[1], WORDING_SIZE, _("Read-only: process %ld, newest figures %s ago"),
                 entry->owner.process, ago);
    }
    snprintf(wordings[2], WORDING_SIZE, _("Read-only: process %ld"), entry->owner.process);
}

static void word_end(const struct run_entry *entry, char (*wordings)[WORDING_SIZE])
{
    char owner[192];
    const struct run_snapshot *end = &entry->snapshot;
    const char *status = language_text(run_entry_status(entry));
    others_owner(entry, owner, sizeof owner);
    if (end->status == RUN_INTERRUPTED) {
        snprintf(wordings[0], WORDING_SIZE,
                 _("! Interrupted: %s is gone without a word; r goes on after iteration %llu"),
                 owner, (unsigned long long)end->checkpoint_iteration);
        snprintf(wordings[1], WORDING_SIZE, _("! Interrupted at %llu; r goes on after %llu"),
                 (unsigned long long)end->iteration, (unsigned long long)end->checkpoint_iteration);
        snprintf(wordings[2], WORDING_SIZE, _("! Interrupted; r goes on"));
    } else if (resume_allows(end, "", NULL)) {
        snprintf(wordings[0], WORDING_SIZE, _("It is over: %s. %s has let go: r goes on with it"),
                 status, owner);
        snprintf(wordings[1], WORDING_SIZE, _("It is over: %s; r goes on with it"), status);
        snprintf(wordings[2], WORDING_SIZE, "%s", status);
    } else {
        snprintf(wordings[0], WORDING_SIZE, _("It is over: %s. %s has let go"), status, owner);
        snprintf(wordings[1], WORDING_SIZE, _("It is over: %s"), status);
        snprintf(wordings[2], WORDING_SIZE, "%s", status);
    }
}

bool others_draw(struct app *app, const struct run_entry *entry, struct rect line)
{
    char wordings[WORDINGS][WORDING_SIZE];
    size_t i = 0;
    if (!entry->run || !(entry->live || entry->followed) || rect_is_empty(line))
        return false;
    if (entry->live)
        word_live(entry, wordings);
    else
        word_end(entry, wordings);
    while (i + 1 < WORDINGS && (int)columns_of(wordings[i]) > line.columns - 2)
        i++;
    draw_text(&app->canvas, line, 0, 1,
              entry->live                                 ? ROLE_STRONG
              : entry->snapshot.status == RUN_INTERRUPTED ? ROLE_BAD
                                                          : ROLE_GOOD,
              wordings[i]);
    return true;
}

/* --- news --- */

static void tell_end(struct app *app, const struct run_entry *entry)
{
    char owner[192], text[480];
    const struct run_snapshot *end = &entry->snapshot;
    others_owner(entry, owner, sizeof owner);
    if (end->status == RUN_INTERRUPTED)
        app_say(app, ROLE_BAD, N_("The run is interrupted: %s is gone without a word. r goes on."),
                owner);
    else if (end->status == RUN_FAILED || end->status == RUN_REFUSED)
        app_say(app, ROLE_BAD, "! %s", error_format(&end->error, text, sizeof text));
    else
        app_say(app, ROLE_GOOD, N_("The run is %s: %s has let go of it."),
                language_text(run_entry_status(entry)), owner);
    log_concerns(&app->log, entry->directory);
}

void others_tell(struct app *app, const struct run_entry *entry, const struct run_snapshot *before)
{
    const struct run_snapshot *now = &entry->snapshot;
    char owner[192];
    app_tell_findings(app, entry, before->finding_count);
    if (now->status == before->status)
        return;
    others_owner(entry, owner, sizeof owner);
    if (run_status_is_over(now->status))
        tell_end(app, entry);
    else if (now->status == RUN_PAUSED)
        app_say(app, ROLE_STRONG, N_("The run was paused by %s."), owner);
    else if (before->status == RUN_PAUSED)
        app_say(app, ROLE_STRONG, "It goes on.");
}

/* --- what cannot be done from here --- */

bool others_refuse(struct app *app, const struct run_entry *entry)
{
    char owner[192];
    if (!entry || !entry->live)
        return false;
    app_say(app, ROLE_WARNING, N_("Only watched here: the run belongs to %s."),
            others_owner(entry, owner, sizeof owner));
    return true;
}

static void answer_stop(struct app *app, size_t choice)
{
    struct error error;
    if (choice != 0)
        return;
    if (run_owner_stop(app->table.subject, &error))
        app_say(app, ROLE_GOOD, "It stops after this iteration, and is saved.");
    else
        app_say_error(app, &error);
}

bool others_ask_stop(struct app *app, const struct run_entry *entry)
{
    char owner[192];
    if (!entry || !entry->live)
        return false;
    others_owner(entry, owner, sizeof owner);
    if (!entry->owner.alone) {
        app_say(app, ROLE_WARNING,
                N_("The run belongs to %s, which has a terminal: stop it there."), owner);
        return true;
    }
    struct dialog *dialog = dialog_begin(app, _("Stop the run?"), answer_stop);
    snprintf(app->table.subject, sizeof app->table.subject, "%s", entry->directory);
    snprintf(
        dialog->text, sizeof dialog->text,
        _("It is computed without a terminal, by %s, which would finish the iteration, save and "
          "end. Runs that wait there would not be started."),
        owner);
    dialog_offer(dialog, 's', 'y', _("stop it, and save"));
    dialog_offer(dialog, 'c', 'n', _("carry on"));
    return true;
}
