/* The workbench's stack of screens, its messages and its preferences. app_runs.c starts and polls
 * runs; loop.c is the event loop. */
#include "ui/app/app.h"

#include "base/clock.h"
#include "base/language.h"
#include "base/memory.h"
#include "session/config/user_settings.h"
#include "ui/app/other_runs.h"
#include "ui/app/questions.h"
#include "ui/app/run_loading.h"
#include "ui/shared/setting_words.h"
#include "ui/terminal/terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const double MESSAGE_SECONDS = 6;

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
        if (screens[i]->begin)
            screens[i]->begin(app);
    return true;
}

void app_end(struct app *app)
{
    export_job_finish(&app->shared.export);
    completion_close(&app->dialog.completion);
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
    for (size_t i = 0; i < app->depth; i++)
        if (app->stack[i] != id)
            app->stack[depth++] = app->stack[i];
    app->depth = depth;
    if (depth == 0) /* not by app_show: `open` could change the lists of runs, which are in use */
        app->stack[app->depth++] = SCREEN_RUNS;
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

bool app_is_typing(const struct app *app)
{
    const struct screen *screen = app_screen(app);
    return screen->typing && screen->typing(app);
}

bool app_takes_text(const struct app *app)
{
    const struct screen *screen = app_screen(app);
    return screen->takes_text && screen->takes_text(app);
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
