/* The event loop. It handles keys at once, polls the runs three times a second, and lets the
 * screens and the background readers do a little work between frames. With the setting `slow`,
 * frames that no key has caused are drawn only every ten seconds. */
#include "ui/app/app.h"

#include "base/clock.h"
#include "base/host/host.h"
#include "base/language.h"
#include "base/memory.h"
#include "runs/values/run_snapshot.h"
#include "studies/sweep/sweep_process.h"
#include "ui/app/other_runs.h"
#include "ui/app/plot_actions.h"
#include "ui/app/run_actions.h"
#include "ui/app/run_loading.h"
#include "ui/shared/preferences.h"
#include "ui/terminal/terminal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double TICK_SECONDS = 1.0 / 3, EXPORT_SECONDS = 0.05, SLOW_SECONDS = 10;
static const double READ_SECONDS = 0.02;

/* --- beginning and end --- */

bool app_begin(struct app *app, const struct screen *const *screens, struct error *error)
{
    app->screens = screens;
    app->others = memory_new(1, sizeof *app->others, "the workbench", error);
    app->loading = memory_new(1, sizeof *app->loading, "the workbench", error);
    if (!app->others || !app->loading)
        return false;
    for (size_t i = 0; i < SCREEN_COUNT; i++)
        if (screens[i]->state_size > 0 &&
            !(app->states[i] = memory_new(1, screens[i]->state_size, "the workbench", error)))
            return false;
    for (size_t i = 0; i < SCREEN_COUNT; i++)
        if (screens[i]->notice)
            screens[i]->notice(app, EVENT_BEGIN, NULL);
    return true;
}

void app_end(struct app *app)
{
    export_job_finish(&app->shared.export);
    completion_close(&app->dialog.completion);
    chooser_free(&app->choosing.chooser);
    for (size_t i = 0; i < SCREEN_COUNT; i++) {
        if (app->states[i] && app->screens[i]->close)
            app->screens[i]->close(app);
        free(app->states[i]);
        app->states[i] = NULL;
    }
    sweep_job_free(&app->shared.sweep);
    if (app->loading)
        loading_free(app->loading);
    if (app->others)
        others_free(app->others);
    free(app->loading);
    free(app->others);
    disk_jobs_drop(&app->shared.disk);
    queue_list_free(&app->shared.queue);
    run_list_free(&app->shared.runs);
    run_list_free(&app->shared.saved_runs);
}

static uint64_t after(double seconds)
{
    return clock_nanoseconds() + (uint64_t)(seconds * 1e9);
}

/* --- keys --- */

static void key_to_dialog(struct app *app, int key)
{
    if (app->dialog.edit_key && app->dialog.edit_key(app, key))
        return;
    enum dialog_result result = dialog_key(&app->dialog, key);
    if (result == DIALOG_OPEN) {
        if (app->dialog.edited)
            app->dialog.edited(app);
        return;
    }
    app->dialog.open = false;
    if (result == DIALOG_ANSWERED)
        app->dialog.answer(app, app->dialog.selected);
}

/* Returns whether the key can never be part of a text and edits none. */
static bool is_function_key(int key)
{
    return (key >= UI_F1 && key <= UI_F10) || key == UI_CTRL_R;
}

/* Closes what lies over the screen for a function key, which works from everywhere. Returns whether
 * the key still has to be handled: F10 only closes, so does F9 in the menu, and a dialog stays for
 * keys that have nothing to do with it, with a message. */
static bool make_way(struct app *app, int key)
{
    const bool menu = app->menu.open, dialog = app->dialog.open;
    const bool runs = key == UI_F5 || key == UI_CTRL_R;
    chooser_free(&app->choosing.chooser);
    if (!menu && !dialog && !app->commands.chooser.open)
        return true;
    if (dialog && key != UI_F10 && !(runs && dialog_may_be_left(&app->dialog))) {
        app_refuse(app, _("Answer this first: Enter takes it, Esc leaves it."));
        return false;
    }
    app->menu.open = app->commands.chooser.open = false;
    if (dialog)
        dialog_close(&app->dialog);
    return key != UI_F10 && !(menu && key == UI_F9);
}

static void key_to_chooser(struct app *app, int key)
{
    const struct choosing *choosing = &app->choosing;
    if (choosing->take_key && choosing->take_key(app, key))
        return;
    const enum chooser_result result = chooser_key(&app->choosing.chooser, key);
    if (result == CHOOSER_OPEN)
        return;
    chooser_free(&app->choosing.chooser);
    if (result == CHOOSER_CHOSEN)
        choosing->chosen(app);
}

static void key_to_commands(struct app *app, int key)
{
    const struct action *chosen = commands_key(app, key);
    const int first = chosen ? key_first(chosen->keys) : UI_NONE;
    const struct actions *own = &app_screen(app)->actions;
    const bool is_own = chosen && actions_find(own, first) == chosen;
    if (is_own && !(app_takes_text(app) && key_is_printable(first)))
        app_press(app, first);
    else if (chosen)
        action_run(app, is_own ? own : &actions_everywhere, chosen);
}

static void dispatch_key(struct app *app, int key)
{
    const struct screen *screen = app_screen(app);
    const struct action *action = actions_find(&screen->actions, key);
    const struct action *common = actions_find(&actions_everywhere, key);
    if (detach_is_active(&app->detach))
        return;
    if (app->closing) { /* waits for the run to stop */
        if (key == 'q' && app->closing == CLOSING_QUIT)
            app_close(app, COMMAND_STOP);
        return;
    }
    if (is_function_key(key) && !make_way(app, key))
        return;
    if (app->dialog.open)
        key_to_dialog(app, key);
    else if (app->menu.open)
        menu_key(app, key);
    else if (app->commands.chooser.open)
        key_to_commands(app, key);
    else if (app->choosing.chooser.open)
        key_to_chooser(app, key);
    else if (key == UI_ESCAPE && loading_cancel(app))
        app_say(app, ROLE_STRONG, "Reading the run was cancelled.");
    else if (is_function_key(key) && !action && common)
        action_run(app, &actions_everywhere, common); /* also while a text is typed */
    else if (!screen->take_key || !screen->take_key(app, key)) {
        if (action)
            action_run(app, &screen->actions, action);
        else if (key == UI_ESCAPE && app->depth == 1)
            app_say(app, ROLE_FAINT,
                    app_takes_text(app) ? N_("F10 quits")
                                        : N_("q quits")); /* one Esc too many must not quit */
        else if (common)
            action_run(app, &actions_everywhere, common);
    }
}

void app_press(struct app *app, int key)
{
    const uint64_t said = app->message.count;
    const enum screen_id front = app->stack[app->depth - 1];
    dispatch_key(app, key);
    app_message_after_key(app, said, front);
}

/* Handles a click on a target by the keys that do the same. */
static void take_click(struct app *app)
{
    int row, column;
    terminal_click_position(&row, &column);
    const struct target *found = targets_find(&app->canvas.targets, row, column);
    if (!found)
        return;
    for (size_t i = 0; i < found->times; i++)
        app_press(app, found->key);
    for (size_t i = 0; i < found->second_times; i++)
        app_press(app, found->second_key);
}

/* Passes a paste on. Nothing of it may act as a command, so what takes no text ignores all of it.
 */
static void take_paste(struct app *app)
{
    app_press(app, UI_PASTE);
    if (app->closing || terminal_paste_outcome() == PASTE_INSERTED)
        return;
    app_say(app, ROLE_WARNING, "%s",
            terminal_paste_outcome() == PASTE_TOO_LONG
                ? _("The paste was ignored: it is too long for this line.")
                : _("The paste was ignored: nothing here takes text. / searches in lists; in the "
                    "form choose a row that holds text."));
}

static bool is_of_mouse(int key)
{
    return key == UI_CLICK || key == UI_DRAG || key == UI_WHEEL_UP || key == UI_WHEEL_DOWN;
}

/* Offers an event of the mouse to the plot in view. Returns whether the plot handled it. */
static bool plot_takes_mouse(struct app *app, int event)
{
    const struct targets *targets = &app->canvas.targets;
    int row, column;
    if (!targets->plot || app->closing)
        return false;
    terminal_click_position(&row, &column);
    return plot_take_mouse(targets->plot, targets->plot_area, event, row, column);
}

static void take_input(struct app *app, int key)
{
    enum { WHEEL_STEPS = 3 };
    if (is_of_mouse(key) && plot_takes_mouse(app, key))
        return;
    if (key == UI_CLICK)
        take_click(app);
    else if (key == UI_PASTE)
        take_paste(app);
    else if (key == UI_WHEEL_UP || key == UI_WHEEL_DOWN)
        for (int i = 0; i < WHEEL_STEPS; i++)
            app_press(app, key == UI_WHEEL_UP ? UI_UP : UI_DOWN);
    else if (!is_of_mouse(key))
        app_press(app, key);
}

/* Saves what runs, after a signal that warns of the end. */
static void save_now(struct app *app)
{
    struct run_entry *active = run_list_active(&app->shared.runs);
    sweep_process_save(&app->shared.sweep.process);
    if (active && run_send(active->run, COMMAND_SAVE, 0))
        app_say(app, ROLE_STRONG, "A signal asked for a checkpoint, which is being saved.");
}

static void take_wakes(struct app *app, unsigned wakes)
{
    if (wakes & WAKE_HANGUP)
        app->gone = true;
    if (wakes & WAKE_SAVE)
        save_now(app);
    if (wakes & WAKE_STOP && app->closing < CLOSING_SIGNAL) {
        app_close(app, COMMAND_STOP);
        app->closing = CLOSING_SIGNAL;
        app->dialog.open = app->menu.open = app->commands.chooser.open = false;
    }
    if (wakes & WAKE_INPUT)
        for (int key; (key = terminal_read_key()) != UI_NONE;)
            take_input(app, key);
}

/* --- the background --- */

/* Works between two frames: reads saved runs, and calls the screens' `work` functions
 * (measurements, for example), which continue while another screen is in front. Returns whether a
 * screen wants to be called again at once. */
static bool background_step(struct app *app)
{
    bool more = false;
    for (size_t i = 0; i < SCREEN_COUNT; i++)
        if (app->screens[i]->work && app->screens[i]->work(app))
            more = true;
    disk_jobs_step(&app->shared.disk, app, 0);
    loading_step(app);
    others_announce_step(app);
    others_step(app);
    return more;
}

/* Returns in how many seconds background_step must be called again; INFINITY: only after the next
 * key. */
static double background_seconds_to_next(const struct app *app)
{
    double seconds = INFINITY;
    for (size_t i = 0; i < SCREEN_COUNT; i++)
        if (app->screens[i]->busy)
            seconds = fmin(seconds, app->screens[i]->busy(app));
    if (disk_jobs_busy(&app->shared.disk) || loading_is_busy(app) || others_announce_busy(app))
        seconds = fmin(seconds, READ_SECONDS);
    return fmin(seconds, others_seconds_to_next(app));
}

/* --- the loop --- */

static double seconds_until(uint64_t then)
{
    uint64_t now = clock_nanoseconds();
    return then > now ? clock_seconds(now, then) : 0;
}

/* Returns how many seconds the loop may sleep if no key and no signal arrives. `frame_pending`: the
 * terminal has not taken the last frame. */
static double rest(const struct app *app, uint64_t tick, bool frame_pending)
{
    const struct run_list *runs = &app->shared.runs;
    double seconds = fmin(3600, background_seconds_to_next(app));
    if (app->options->run.cluster) /* another rank may fail */
        seconds = fmin(seconds, seconds_until(tick));
    seconds = fmin(seconds, commands_seconds(app));
    if (run_list_is_busy(runs) || run_list_waiting(runs) > 0 || frame_pending ||
        detach_is_active(&app->detach) || sweep_job_is_live(&app->shared.sweep))
        seconds = fmin(seconds, seconds_until(tick));
    if (exporting_is_active(app) || chooser_is_waiting(&app->choosing.chooser) ||
        (app->dialog.open && completion_is_waiting(&app->dialog.completion)))
        seconds = fmin(seconds, EXPORT_SECONDS);
    if (app->message.text[0] && !app->message.holds)
        seconds = fmin(seconds, seconds_until(app->message.until) + 0.001);
    return seconds;
}

/* Closes the workbench if another rank has failed: no run can be trained any more. */
static void check_ranks(struct app *app)
{
    if (app->closing >= CLOSING_SIGNAL || cluster_check(app->options->run.cluster, NULL))
        return;
    app_close(app, COMMAND_STOP);
    app->closing = CLOSING_RANKS;
    app->dialog.open = app->menu.open = app->commands.chooser.open = false;
}

/* Returns whether a message has appeared since there were `before`, or the present one has ended.
 */
static bool message_changes(struct app *app, uint64_t before)
{
    return app->message.count != before || (app->message.text[0] && !app_has_message(app));
}

/* Hands the runs over to background processes, if the user has asked for it. */
static void step_detach(struct app *app)
{
    struct error error;
    if (!detach_step(&app->detach, &app->shared.runs, &app->shared.sweep, &error))
        app_say_error(app, &error);
    app->shared.runs_changed |= app->detach.state != DETACH_NO;
    if (app->detach.state == DETACH_DONE)
        app->closing = CLOSING_QUIT;
}

/* Goes to the screen of the letter that was typed in the list of commands, once no second one can
 * follow. Returns whether the list was closed. */
static bool step_commands(struct app *app)
{
    if (commands_seconds(app) > 0)
        return false;
    if (commands_place(app) != SCREEN_COUNT)
        app_press(app, UI_ENTER);
    app->commands.chooser.open = false;
    return true;
}

static void loop(struct app *app)
{
    uint64_t tick = after(TICK_SECONDS), frame = 0;
    bool frame_pending = false; /* the terminal has not taken the last frame: draw another one */
    bool busy = false;          /* a screen wants to continue its work at once */
    while (!app->gone && !(app->closing && !run_list_is_busy(&app->shared.runs))) {
        unsigned wakes = terminal_wait(busy ? 0 : rest(app, tick, frame_pending));
        uint64_t message = app->message.count;
        bool was_busy = busy;
        take_wakes(app, wakes);
        const bool gone_on = step_commands(app);
        exporting_poll(app);
        dialog_step(&app->dialog);
        chooser_step(&app->choosing.chooser);
        busy = background_step(app) && !app->closing;
        if (clock_nanoseconds() >= tick) {
            check_ranks(app);
            app_poll_runs(app);
            step_detach(app);
            tick = after(TICK_SECONDS);
        }
        bool was_pending = frame_pending;
        frame_pending = !app->gone && !terminal_is_writable();
        bool asked =
            wakes || gone_on || was_pending || was_busy != busy || message_changes(app, message);
        if (app->gone || frame_pending ||
            (app->shared.preferences.slow && !asked && clock_nanoseconds() < frame))
            continue;
        frame_draw(app);
        frame = after(SLOW_SECONDS);
    }
}

/* Gives the terminal up. If it lives, its user reads there what goes on. */
static void leave_terminal(struct app *app)
{
    char words[400] = "";
    const struct run_entry *active = run_list_active(&app->shared.runs);
    if (active)
        snprintf(words, sizeof words,
                 _("tinca: the terminal has hung up; run %s goes on without it, and tinca attach "
                   "shows it\n"),
                 run_facts(active->run)->id);
    terminal_leave(words);
}

/* Computes the active and the waiting runs to their ends after the terminal was closed, at a low
 * priority, because the machine may have other users. */
static void finish_without_terminal(struct app *app)
{
    host_yield_processor();
    while (run_list_is_busy(&app->shared.runs) || run_list_waiting(&app->shared.runs) > 0 ||
           app->shared.sweep.on) {
        struct run_entry *active = run_list_active(&app->shared.runs);
        const unsigned wakes = terminal_wait(0);
        if (wakes & WAKE_SAVE)
            save_now(app);
        if (active && active->snapshot.status == RUN_PAUSED) /* no user can end the pause */
            run_send(active->run, COMMAND_GO_ON, 0);
        if (wakes & WAKE_STOP) {
            sweep_job_stop_now(&app->shared.sweep);
            run_list_stop(&app->shared.runs, COMMAND_STOP);
            app->closing = CLOSING_SIGNAL;
        }
        if (active)
            run_wait(active->run, 0.5);
        else
            clock_sleep(TICK_SECONDS);
        run_list_step(&app->shared.runs);
        sweep_job_resume(&app->shared.sweep);
        sweep_job_step(&app->shared.sweep, &app->shared.runs);
    }
}

bool app_run(struct app *app, struct error *error)
{
    host_prefer_low_latency();
    frame_draw(app);
    app_form_changed(app);
    if (app->options->start) {
        app_run_form(app);
        frame_draw(app);
    }
    if (app->options->attach)
        others_attach(app);
    else if (!app->message.text[0])
        others_announce(app);
    loop(app);
    if (app->gone) {
        leave_terminal(app);
        finish_without_terminal(app);
    }
    if (app->closing == CLOSING_RANKS && !cluster_check(app->options->run.cluster, error))
        return false;
    if (app->closing == CLOSING_SIGNAL)
        return error_set(error, ERROR_INTERRUPTED, "the workbench", NULL,
                         "a signal asked to stop; the runs were saved");
    return true;
}
