/* The loop. Three clocks: keys are answered at once; news of the runs and curves are taken four
 * times a second; the forecast is made when the keyboard has rested for a moment. On a slow line
 * what nobody asked for is drawn only every few seconds. */
#include "ui/app/app.h"

#include "base/clock.h"
#include "base/host/host.h"
#include "base/language.h"
#include "session/values/run_snapshot.h"
#include "ui/app/background.h"
#include "ui/model/last_form.h"
#include "ui/screens/sweep/sweep_view.h"
#include "ui/terminal/terminal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const double TICK_SECONDS = 0.25, FORECAST_SECONDS = 0.12, MESSAGE_SECONDS = 6,
                    ANSWER_SECONDS = 0.05, SLOW_SECONDS = 10;

static uint64_t after(double seconds)
{
    return clock_nanoseconds() + (uint64_t)(seconds * 1e9);
}

/* --- what screens ask for --- */

const struct screen *app_screen(const struct app *app)
{
    return app->stack[app->depth - 1];
}

void app_show(struct app *app, const struct screen *screen)
{
    for (size_t i = 0; i < app->depth; i++)
        if (app->stack[i] == screen) {
            app->depth = i + 1;
            return;
        }
    if (app->depth < APP_MAX_DEPTH)
        app->stack[app->depth++] = screen;
}

void app_back(struct app *app)
{
    if (app->depth > 1)
        app->depth--;
    else if (run_list_active(&app->runs) || run_list_waiting(&app->runs) > 0 || app->sweep.on)
        ask_quit(app);
    else
        app->closing = CLOSING_QUIT;
}

void app_say(struct app *app, enum role role, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(app->message, sizeof app->message, language_text(format), arguments);
    va_end(arguments);
    if (role != ROLE_FAINT)
        log_add(&app->log, role, app->message);
    app->message_role = role;
    app->message_until = after(MESSAGE_SECONDS);
}

void app_say_error(struct app *app, const struct error *error)
{
    char text[480];
    app_say(app, ROLE_BAD, "! %s", error_format(error, text, sizeof text - 2));
}

void app_form_changed(struct app *app)
{
    app->forecast_at = after(FORECAST_SECONDS);
}

struct run_entry *app_entry(const struct app *app)
{
    const struct run_list *list = app->run.kept ? &app->kept : &app->runs;
    return app->run.entry < list->count ? &list->entries[app->run.entry] : NULL;
}

size_t app_run_count(const struct app *app)
{
    return app->runs.count + app->kept.count;
}

struct run_entry *app_run_at(const struct app *app, size_t index)
{
    if (index < app->runs.count)
        return &app->runs.entries[index];
    return &app->kept.entries[app->kept.count - 1 - (index - app->runs.count)];
}

void app_show_run(struct app *app, size_t index)
{
    struct run_entry *entry = app_run_at(app, index);
    bool kept = run_entry_is_saved(entry);
    if (kept && !entry->run) {
        reading_open(app, entry, false);
        return;
    }
    app->run.kept = kept;
    app->run.entry = kept ? (size_t)(entry - app->kept.entries) : index;
    app->run.scroll = 0;
    app->run.calm_since = 0;
    curves_invalidate(&app->run.curves); /* another run may have come to lie where one was closed */
    app->run.window = (struct plot_window){0};
    app->run.choice.open = false;
    app_show(app, &screen_run);
}

void app_show_runs(struct app *app)
{
    reading_list(app, true);
    app_show(app, &screen_runs);
}

/* A run begins: no news that has to be shown, but a line of the log. */
static void log_start(struct app *app, const struct run_entry *before)
{
    const struct run_entry *entry = run_list_active(&app->runs);
    char text[480];
    if (!entry || entry == before)
        return;
    snprintf(text, sizeof text, _("Run %zu (%s) has begun."),
             (size_t)(entry - app->runs.entries) + 1, entry->config.network);
    log_add(&app->log, ROLE_TEXT, text);
    log_set_run_directory(&app->log, run_entry_directory(entry));
}

/* The run that was just put at the end of the list: starts it, if none is on. */
static void start_last(struct app *app, bool busy)
{
    run_list_step(&app->runs);
    if (!busy)
        log_start(app, NULL);
    if (busy)
        app_say(app, ROLE_GOOD, "In the queue: it starts when the run before it has ended.");
    else
        app_show_run(app, app->runs.count - 1);
}

void app_start_resumed(struct app *app)
{
    start_last(app, run_list_active(&app->runs) != NULL);
}

static void start_run(struct app *app)
{
    struct error error = {0};
    bool first = app->runs.count == 0, busy = run_list_active(&app->runs) != NULL;
    if (!run_list_add(&app->runs, &app->form.config, first ? &app->options->run : NULL, &error)) {
        app_say_error(app, &error);
        return;
    }
    if (app->options->remember)
        last_form_write(&app->form.config, NULL); /* here already: who knows how this ends */
    start_last(app, busy);
}

void app_run_form(struct app *app)
{
    struct form *form = &app->form;
    if (form->editing && !form_set(form, form->edit.text))
        return;
    form->editing = false;
    form_make_forecast(form);
    if (form->problem.kind == ERROR_NONE) {
        start_run(app);
        return;
    }
    if (form->problem_field != FORM_NO_FIELD)
        form->focus = form->problem_field;
    app_say_error(app, &form->problem);
}

void app_close(struct app *app, enum run_command command)
{
    sweep_view_stop(&app->sweep);
    run_list_stop(&app->runs, command);
    app->closing = CLOSING_QUIT;
    app_say(app, ROLE_STRONG,
            command == COMMAND_STOP_AT_EPOCH
                ? N_("Finishing the epoch, then saving and quitting; q: not even that ...")
                : N_("Finishing the iteration, then saving and quitting ..."));
    app->message_until = UINT64_MAX;
}

/* --- keys --- */

static void act_everywhere(struct app *app, enum action action)
{
    switch (action) {
    case ACTION_HELP:
        app->help_scroll = 0;
        app_show(app, &screen_help);
        break;
    case ACTION_BACK:
        app_back(app);
        break;
    case ACTION_RUNS:
        app_show_runs(app);
        break;
    case ACTION_FORM:
        app_show(app, &screen_form);
        break;
    case ACTION_EXPORT:
        ask_export(app);
        break;
    case ACTION_COMPARE:
        compare_open(app);
        break;
    case ACTION_MENU:
        menu_open(app);
        break;
    case ACTION_REDRAW:
        terminal_redraw();
        break;
    default:
        break;
    }
}

static void key_to_dialog(struct app *app, int key)
{
    if (app->dialog.edit_key && app->dialog.edit_key(app, key))
        return;
    enum dialog_result result = dialog_key(&app->dialog, key);
    if (result == DIALOG_STAYS) {
        if (app->dialog.edited)
            app->dialog.edited(app);
        return;
    }
    app->dialog.open = false;
    if (result == DIALOG_ANSWERED)
        app->dialog.answer(app, app->dialog.selected);
}

static void key_to_chooser(struct app *app, int key)
{
    enum chooser_result result = chooser_key(&app->chooser, key);
    if (result == CHOOSER_OPEN)
        return;
    app->chooser.open = false;
    if (result == CHOOSER_CANCELLED)
        return;
    char chosen[FORM_TEXT];
    snprintf(chosen, sizeof chosen, "%s", chooser_choice(&app->chooser));
    size_t length = strlen(chosen);
    if (length > 0 && chosen[length - 1] == ':') /* a folder is to follow */
        form_edit(&app->form, chosen);
    else
        form_set(&app->form, chosen);
    app_form_changed(app);
}

static void take_key(struct app *app, int key)
{
    const struct screen *screen = app_screen(app);
    if (app->closing) { /* only waits now */
        if (key == 'q' && app->closing == CLOSING_QUIT)
            app_close(app, COMMAND_STOP);
        return;
    }
    if (app->dialog.open)
        key_to_dialog(app, key);
    else if (app->menu.open)
        menu_key(app, key);
    else if (app->chooser.open)
        key_to_chooser(app, key);
    else if (key == UI_ESCAPE && reading_abandon(app))
        app_say(app, ROLE_STRONG, "The run is not read any further.");
    else if (!screen->take_key || !screen->take_key(app, key)) {
        enum action action = keys_find(screen->keys, key);
        if (action)
            screen->act(app, action);
        else if (key == UI_ESCAPE && app->depth == 1)
            app_say(app, ROLE_FAINT, "q quits"); /* once too often must not lose the form */
        else
            act_everywhere(app, keys_find(&keys_everywhere, key));
    }
}

/* A click is the keys that would do the same. */
static void take_click(struct app *app)
{
    int row, column;
    terminal_click_position(&row, &column);
    const struct target *found = targets_find(&app->canvas.targets, row, column);
    if (!found)
        return;
    for (size_t i = 0; i < found->times; i++)
        take_key(app, found->key);
    for (size_t i = 0; i < found->second_times; i++)
        take_key(app, found->then);
}

static void take_input(struct app *app, int key)
{
    enum { WHEEL_STEPS = 3 };
    if (key == UI_CLICK)
        take_click(app);
    else if (key == UI_WHEEL_UP || key == UI_WHEEL_DOWN)
        for (int i = 0; i < WHEEL_STEPS; i++)
            take_key(app, key == UI_WHEEL_UP ? UI_UP : UI_DOWN);
    else
        take_key(app, key);
}

/* --- news --- */

/* All that are new; the last one is shown. */
void app_tell_findings(struct app *app, const struct run_entry *entry, size_t known)
{
    for (size_t i = known; i < entry->snapshot.finding_count; i++) {
        struct finding finding;
        run_finding(entry->run, i, &finding);
        app_say(app, ROLE_BAD, "! %s: %s", gettext(finding_kind_words(finding.kind)), finding.text);
        log_set_run_directory(&app->log, run_entry_directory(entry));
    }
}

/* What the disk does not take, and when it does again. */
static void tell_trouble(struct app *app, const struct run_entry *entry, const struct error *before)
{
    const struct error *now = &entry->snapshot.error;
    if (run_status_is_over(entry->snapshot.status) ||
        (now->kind == before->kind && strcmp(now->why, before->why) == 0))
        return;
    if (now->kind != ERROR_NONE)
        app_say_error(app, now);
    else if (before->kind == ERROR_SYSTEM)
        app_say(app, ROLE_GOOD, "It can be written again: nothing is lost.");
    log_set_run_directory(&app->log, run_entry_directory(entry));
}

static void take_news_of_sweep(struct app *app)
{
    char counts[200];
    if (sweep_view_step(&app->sweep, &app->runs) && !app->closing)
        app_say(app, ROLE_GOOD, _("The sweep is over: %s."),
                sweep_counts_text(&app->sweep.sweep, counts, sizeof counts));
}

static void take_news_of_runs(struct app *app)
{
    const struct run_entry *on = run_list_active(&app->runs);
    size_t index = on ? (size_t)(on - app->runs.entries) : 0;
    size_t findings = on ? on->snapshot.finding_count : 0;
    const struct error trouble = on ? on->snapshot.error : (struct error){0};
    size_t before_waiting = run_list_waiting(&app->runs);
    size_t ended = run_list_step(&app->runs);
    if (on && !app->closing) {
        app_tell_findings(app, &app->runs.entries[index], findings);
        tell_trouble(app, &app->runs.entries[index], &trouble);
    }
    if (app->closing || ended == app->runs.count)
        return;
    setup_look_again(&app->setup);
    const struct run_entry *entry = &app->runs.entries[ended];
    bool failed = entry->snapshot.status == RUN_FAILED || entry->snapshot.status == RUN_REFUSED;
    bool in_sight = app_screen(app) == &screen_run && !app->run.kept && app->run.entry == ended;
    if (failed && in_sight) { /* the screen shows why */
        char text[480];
        log_add(&app->log, ROLE_BAD, error_format(&entry->snapshot.error, text, sizeof text));
    } else if (failed || entry->snapshot.error.kind != ERROR_NONE)
        app_say_error(app, &entry->snapshot.error);
    else
        app_say(app, ROLE_GOOD,
                before_waiting ? N_("Run %zu (%s) is %s. The next one starts.")
                               : N_("Run %zu (%s) is %s."),
                ended + 1, entry->config.network, language_text(run_entry_status(entry)));
    log_set_run_directory(&app->log, run_entry_directory(entry));
    log_start(app, on);
}

static void take_news(struct app *app)
{
    take_news_of_runs(app);
    take_news_of_sweep(app);
}

static void take_wakes(struct app *app, unsigned wakes)
{
    if (wakes & WAKE_HANGUP)
        app->gone = true;
    if (wakes & WAKE_STOP && app->closing != CLOSING_SIGNAL) {
        app_close(app, COMMAND_STOP);
        app->closing = CLOSING_SIGNAL;
        app->dialog.open = app->menu.open = false;
    }
    if (wakes & WAKE_INPUT)
        for (int key; (key = terminal_read_key()) != UI_NONE;)
            take_input(app, key);
}

/* --- the loop --- */

static double seconds_until(uint64_t then)
{
    uint64_t now = clock_nanoseconds();
    return then > now ? clock_seconds(now, then) : 0;
}

static bool is_setting_up(const struct app *app)
{
    return app_screen(app) == &screen_form || app_screen(app) == &screen_pictures;
}

/* How long nothing needs to be done unless a key or a signal comes. */
static double rest(const struct app *app, uint64_t tick, bool owed)
{
    double seconds = 3600, soon;
    if (run_list_active(&app->runs) || run_list_waiting(&app->runs) > 0 || owed ||
        sweep_view_is_live(&app->sweep))
        seconds = seconds_until(tick);
    if (background_busy(app, &soon))
        seconds = fmin(seconds, soon);
    if (others_rest(app) >= 0)
        seconds = fmin(seconds, others_rest(app));
    if (app->form.forecast_stale)
        seconds = fmin(seconds, seconds_until(app->forecast_at));
    if (is_setting_up(app) && setup_waits(&app->setup))
        seconds = fmin(seconds, ANSWER_SECONDS);
    if (app_screen(app) == &screen_devices)
        seconds = fmin(seconds, seconds_until(tick));
    if (export_is_on(app))
        seconds = fmin(seconds, 0.05);
    if (app->message[0] && app->message_until != UINT64_MAX)
        seconds = fmin(seconds, seconds_until(app->message_until) + 0.001);
    return seconds;
}

/* Whether a message has come, or has stood for long enough. */
static bool message_changes(const struct app *app, uint64_t before)
{
    return app->message_until != before ||
           (app->message[0] && clock_nanoseconds() >= app->message_until);
}

static void loop(struct app *app)
{
    uint64_t tick = after(TICK_SECONDS), frame = 0;
    bool owed = false; /* a frame that the terminal did not take yet */
    bool busy = false; /* a screen has more to do */
    while (!app->gone && !(app->closing && !run_list_active(&app->runs))) {
        unsigned wakes = terminal_wait(busy ? 0 : rest(app, tick, owed));
        uint64_t message = app->message_until;
        bool was_busy = busy, stale = app->form.forecast_stale;
        take_wakes(app, wakes);
        export_tell(app);
        if (app->devices.meter)
            device_meter_enable(app->devices.meter, app_screen(app) == &screen_devices);
        busy = !app->closing && app_screen(app)->work && app_screen(app)->work(app);
        background_step(app);
        others_step(app);
        if (clock_nanoseconds() >= tick) {
            take_news(app);
            tick = after(TICK_SECONDS);
        }
        if (app->form.forecast_stale && clock_nanoseconds() >= app->forecast_at)
            form_make_forecast(&app->form);
        bool owing = owed;
        owed = !app->gone && !terminal_is_writable();
        bool asked = wakes || owing || was_busy != busy || stale != app->form.forecast_stale ||
                     message_changes(app, message);
        if (app->gone || owed || (app->preferences.slow && !asked && clock_nanoseconds() < frame))
            continue;
        frame_draw(app);
        frame = after(SLOW_SECONDS);
    }
}

/* The terminal is gone: the runs carry on to their ends, those that wait too. Nobody watches them,
 * so whoever uses the machine goes first. */
static void carry_on_alone(struct app *app)
{
    host_yield_processor();
    while (run_list_active(&app->runs) || run_list_waiting(&app->runs) > 0 || app->sweep.on) {
        struct run_entry *active = run_list_active(&app->runs);
        bool stop = terminal_wait(0) & WAKE_STOP;
        if (active && active->snapshot.status == RUN_PAUSED) /* nobody is left to end the pause */
            run_send(active->run, COMMAND_GO_ON, 0);
        if (stop) {
            sweep_view_stop(&app->sweep);
            run_list_stop(&app->runs, COMMAND_STOP);
            app->closing = CLOSING_SIGNAL;
        }
        if (active)
            run_wait(active->run, 0.5);
        run_list_step(&app->runs);
        app->sweep.paused = false;
        sweep_view_step(&app->sweep, &app->runs);
    }
}

bool app_run(struct app *app, struct error *error)
{
    frame_draw(app);
    app_form_changed(app);
    if (app->options->start) {
        app_run_form(app);
        frame_draw(app);
    }
    if (app->options->attach)
        others_attach(app);
    else if (!app->message[0])
        others_greet(app);
    loop(app);
    if (app->gone)
        carry_on_alone(app);
    if (app->closing == CLOSING_SIGNAL)
        return error_set(error, ERROR_INTERRUPTED, "the workbench", NULL,
                         "a signal asked to stop; the runs were saved");
    return true;
}
