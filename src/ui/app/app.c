/* The workbench's stack of screens, its messages, its lists of runs and its preferences. app_runs.c
 * starts and polls runs; loop.c is the event loop. */
#include "ui/app/app.h"

#include "base/clock.h"
#include "base/language.h"
#include "runs/settings/user_settings.h"
#include "ui/shared/form.h"
#include "ui/terminal/terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const double MESSAGE_SECONDS = 6;
static const double SHORT_SECONDS = 0.008; /* waits for a fast disk, to show its answer at once */

/* --- screens --- */

void *app_state(const struct app *app, enum screen_id id)
{
    return app->states[id];
}

const struct screen *app_screen(const struct app *app)
{
    return app->screens[app->stack[app->depth - 1]];
}

bool app_is_in_front(const struct app *app, enum screen_id id)
{
    return app->stack[app->depth - 1] == id;
}

void app_show(struct app *app, enum screen_id id)
{
    size_t place = 0;
    while (place < app->depth && app->stack[place] != id)
        place++;
    chooser_free(&app->choosing.chooser);
    app->stack[place] = id;
    app->depth = place + 1;
    if (app->screens[id]->open)
        app->screens[id]->open(app);
}

void app_go(struct app *app, enum screen_id id)
{
    if (app->screens[id]->go)
        app->screens[id]->go(app);
    else
        app_show(app, id);
}

void app_leave(struct app *app, enum screen_id id)
{
    size_t depth = 0;
    chooser_free(&app->choosing.chooser);
    for (size_t i = 0; i < app->depth; i++)
        if (app->stack[i] != id)
            app->stack[depth++] = app->stack[i];
    app->depth = depth;
    if (depth == 0) /* not by app_show: `open` could change the lists of runs, which are in use */
        app->stack[app->depth++] = SCREEN_RUNS;
}

bool app_is_covered(const struct app *app)
{
    const struct screen *screen = app_screen(app);
    return app->dialog.open || app->menu.open || app->commands.chooser.open ||
           app->choosing.chooser.open || (screen->over && screen->over(app));
}

bool app_takes_text(const struct app *app)
{
    return app_is_in_front(app, SCREEN_SETUP) && !app_is_covered(app) &&
           form_takes_text(&app->shared.form);
}

bool app_offers_screen(const struct app *app, enum screen_id id)
{
    const struct screen *screen = app->screens[id];
    return !screen->reachable || screen->reachable(app);
}

struct chooser *app_choose(struct app *app, void (*chosen)(struct app *app))
{
    chooser_free(&app->choosing.chooser);
    app->choosing = (struct choosing){.chosen = chosen};
    return &app->choosing.chooser;
}

void app_notify(struct app *app, enum screen_event event, struct run_entry *entry)
{
    for (size_t i = 0; i < SCREEN_COUNT; i++)
        if (app->screens[i]->notice)
            app->screens[i]->notice(app, event, entry);
}

/* --- messages --- */

static void say(struct app *app, enum role role, const char *format, va_list arguments)
{
    struct message *message = &app->message;
    const uint64_t count = message->count + 1;
    *message = (struct message){.role = role, .count = count};
    vsnprintf(message->text, sizeof message->text, language_text(format), arguments);
    message->until = clock_nanoseconds() + (uint64_t)(MESSAGE_SECONDS * 1e9);
}

void app_say(struct app *app, enum role role, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(app, role, format, arguments);
    va_end(arguments);
    if (role != ROLE_FAINT)
        log_add(&app->shared.log, role, app->message.text);
}

void app_refuse(struct app *app, const char *why)
{
    app_say(app, ROLE_FAINT, "%s", why);
    app->message.role = ROLE_WARNING;
}

void app_say_while(struct app *app, bool (*holds)(const struct app *app), enum role role,
                   const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(app, role, format, arguments);
    va_end(arguments);
    app->message.holds = holds;
}

bool app_has_message(struct app *app)
{
    struct message *message = &app->message;
    if (message->holds ? !message->holds(app) : clock_nanoseconds() >= message->until)
        message->text[0] = '\0';
    return message->text[0] != '\0';
}

void app_message_after_key(struct app *app, uint64_t count, enum screen_id front)
{
    struct message *message = &app->message;
    const bool refuses =
        message->role == ROLE_WARNING || message->role == ROLE_BAD || message->role == ROLE_FAINT;
    if (message->count != count)
        message->answers_key = true;
    else if (message->answers_key && !message->holds &&
             (refuses || (message->role != ROLE_GOOD && !app_is_in_front(app, front))))
        message->text[0] = '\0';
}

void app_say_error(struct app *app, const struct error *error)
{
    char text[480];
    app_say(app, ROLE_BAD, "! %s", setting_error_format(error, text, sizeof text - 2));
}

/* --- runs of both lists --- */

struct run_entry *app_entry(const struct app *app)
{
    const struct run_list *list =
        app->shared.shown_is_saved ? &app->shared.saved_runs : &app->shared.runs;
    return app->shared.shown < list->count ? &list->entries[app->shared.shown] : NULL;
}

struct run_entry *app_run_in_front(const struct app *app)
{
    return app_is_in_front(app, SCREEN_RUN) ? app_entry(app) : NULL;
}

size_t app_run_count(const struct app *app)
{
    return app->shared.runs.count + app->shared.queue.runs.count + app->shared.saved_runs.count;
}

struct run_entry *app_run_at(const struct app *app, size_t index)
{
    const struct run_list *own = &app->shared.runs, *queued = &app->shared.queue.runs;
    const struct run_list *saved = &app->shared.saved_runs;
    if (index < own->count)
        return &own->entries[index];
    index -= own->count;
    if (index < queued->count)
        return &queued->entries[index];
    return &saved->entries[saved->count - 1 - (index - queued->count)];
}

void app_drop_entry(struct app *app, struct run_entry *entry)
{
    bool kept = run_entry_is_saved(entry);
    struct run_list *list = kept ? &app->shared.saved_runs : &app->shared.runs;
    size_t place = (size_t)(entry - list->entries);
    app_notify(app, EVENT_RUN_REMOVED, entry);
    if (entry == app_entry(app))
        app->shared.shown = SIZE_MAX;
    run_list_drop(list, place);
    if (app->shared.shown_is_saved == kept && app->shared.shown != SIZE_MAX &&
        app->shared.shown > place)
        app->shared.shown--;
    app->shared.runs_changed = true;
}

/* --- work of the disk --- */

void app_start_disk_job(struct app *app, void (*work)(void *state),
                        void (*done)(struct app *app, void *state), void *state)
{
    struct error error;
    if (disk_jobs_start(&app->shared.disk, work, done, state, &error))
        disk_jobs_step(&app->shared.disk, app, SHORT_SECONDS);
    else
        app_say_error(app, &error);
}

/* --- preferences --- */

void app_apply_preferences(struct app *app)
{
    const struct preferences *preferences = &app->shared.preferences;
    app->symbols = glyphs_default_symbols(app->unicode, getenv("TERM"));
    if (app->unicode)
        glyphs_parse_symbols(preferences->symbols, &app->symbols); /* "auto" changes nothing */
    app->canvas.glyphs = glyphs_for(app->unicode && app->symbols != SYMBOLS_ASCII);
    terminal_enable_mouse(preferences->mouse);
    user_settings_set_shared_runs(preferences->shared_runs);
    theme_load(&app->theme, preferences->colours);
    app->canvas.theme = &app->theme;
}
