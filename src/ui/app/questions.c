/* The questions of the workbench: how to stop the active run, and what becomes of the runs when the
 * user quits. */
#include "ui/app/questions.h"

#include "base/language.h"
#include "ui/app/app.h"

#include <stdio.h>

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
