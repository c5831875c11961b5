/* Opens and closes the workbench: takes over the preferences, starts the event loop (ui/app), and
 * saves at the end what the user has changed, the form and the axes of the plots. */
#include "ui/ui.h"

#include "base/language.h"
#include "base/memory.h"
#include "ui/app/app.h"
#include "ui/launched_terminal.h"
#include "ui/shared/preferences.h"
#include "ui/terminal/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCREEN(identifier, table) extern const struct screen table;
#include "ui/app/screens.inc"
#undef SCREEN

const struct screen *const screens[SCREEN_COUNT] = {
#define SCREEN(identifier, table) [SCREEN_##identifier] = &(table),
#include "ui/app/screens.inc"
#undef SCREEN
};

/* --- preferences --- */

/* Values of the preference x-axis, by enum curve_x. */
static const char *const x_names[X_KINDS] = {"iteration", "epoch", "time"};

static void take_preferences(struct app *app, const struct ui_options *options)
{
    preferences_defaults(&app->shared.preferences);
    preferences_defaults(&app->shared.saved_preferences);
    if (options->preferences)
        app->shared.preferences = *options->preferences;
    if (options->saved)
        app->shared.saved_preferences = *options->saved;
    for (enum curve_x x = 0; x < X_KINDS; x++)
        if (strcmp(app->shared.preferences.x_axis, x_names[x]) == 0)
            app->shared.axes.x = x;
    app->shared.axes.log_x = app->shared.preferences.log_x;
    app->shared.axes.log_y = app->shared.preferences.log_y;
    app->shared.axes.all_values = app->shared.preferences.all_values;
    for (size_t i = 0; smoothing_names[i]; i++)
        if (strcmp(app->shared.preferences.smoothing, smoothing_names[i]) == 0)
            app->shared.axes.smoothing = i;
}

/* Stores a preference that was changed since the start. Returns whether it was changed. */
static bool update_preference(struct app *app, const char *key, const char *value)
{
    char before[16];
    if (strcmp(preferences_get(&app->shared.preferences, key, before, sizeof before), value) == 0)
        return false;
    return preferences_set(&app->shared.saved_preferences, key, value, NULL);
}

/* Saves the axes and the form. Failures are ignored: no message would be seen now, and the saved
 * values are only a convenience. */
static void save_choices(struct app *app)
{
    const struct run_config *before = &app->options->config;
    const struct axes *axes = &app->shared.axes;
    bool changed = update_preference(app, "x-axis", x_names[axes->x]);
    changed |= update_preference(app, "log-x", axes->log_x ? "yes" : "no");
    changed |= update_preference(app, "log-y", axes->log_y ? "yes" : "no");
    changed |= update_preference(app, "smoothing", smoothing_names[axes->smoothing]);
    changed |= update_preference(app, "all-values", axes->all_values ? "yes" : "no");
    if (changed && app->options->broken.kind == ERROR_NONE)
        preferences_write(&app->shared.saved_preferences, NULL);
    if (memcmp(&app->shared.form.config, before, sizeof *before) != 0 || app->shared.runs.count > 0)
        last_form_write(&app->shared.form.config, NULL);
}

/* --- the workbench --- */

static void prepare(struct app *app, const struct ui_options *options)
{
    app->options = options;
    app->unicode = glyphs_unicode_works();
    take_preferences(app, options);
    app_apply_preferences(app);
    app->shared.runs.cluster = options->run.cluster;
    form_begin(&app->shared.form, &options->config);
    app->shared.form.ranks = cluster_ranks(options->run.cluster);
    app_show(app, options->start || options->attach ? SCREEN_RUN : SCREEN_SETUP);
    if (options->broken.kind != ERROR_NONE)
        app_say_error(app, &options->broken);
    else if (options->skipped.kind != ERROR_NONE)
        app_say_error(app, &options->skipped);
    else if (options->run.cluster)
        app_say(app, ROLE_STRONG, _("%zu ranks train each run that you start here; R shows them."),
                cluster_ranks(options->run.cluster));
}

/* Opens the terminal: that of the launcher, if there is one. */
static bool open_terminal(const struct ui_options *options, struct error *error)
{
    return (!options->launched || launched_terminal_enter(options->launched, error)) &&
           terminal_open(error);
}

/* Lets the guard of the launcher's terminal know how it is restored now. */
static void guard_terminal(const struct ui_options *options)
{
    const char *bytes;
    const size_t length = terminal_restore_bytes(&bytes);
    if (options->launched)
        launched_terminal_guard(options->launched, bytes, length);
}

bool ui_prints_lines_only(void)
{
    return terminal_prints_lines_only();
}

bool ui_run(const struct ui_options *options, struct error *error)
{
    char text[640];
    struct app *app = memory_new(1, sizeof *app, "the workbench", error);
    if (!app)
        return false;
    bool done = app_begin(app, screens, error) && open_terminal(options, error);
    if (done) {
        prepare(app, options);
        guard_terminal(options);
        done = app_run(app, error);
        if (options->remember)
            save_choices(app);
        const bool restored = terminal_close(app->gone);
        if (options->launched)
            options->launched->lost = !restored;
        if (app->detach.state == DETACH_DONE && !app->gone)
            fputs(detach_text(&app->detach, text, sizeof text), stdout);
    }
    app_end(app);
    free(app);
    return done;
}
