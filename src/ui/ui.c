#include "ui/ui.h"

#include "base/memory.h"
#include "session/config/user_settings.h"
#include "ui/app/app.h"
#include "ui/model/last_form.h"
#include "ui/terminal/terminal.h"

#include <stdlib.h>
#include <string.h>

/* --- preferences --- */

void app_apply_preferences(struct app *app)
{
    const struct preferences *preferences = &app->preferences;
    app->symbols = glyphs_default_symbols(app->unicode, getenv("TERM"));
    if (app->unicode)
        glyphs_parse_symbols(preferences->symbols, &app->symbols); /* "auto" is none of them */
    app->canvas.glyphs = glyphs_for(app->unicode && app->symbols != SYMBOLS_ASCII);
    terminal_enable_mouse(preferences->mouse);
    user_settings_share_runs(preferences->shared_runs);
    theme_load(&app->theme, preferences->colours);
    app->canvas.theme = &app->theme;
}

/* The names are in the order of enum curve_x. */
static const char *const x_names[X_KINDS] = {"iteration", "epoch", "time"};

static void take_preferences(struct app *app, const struct ui_options *options)
{
    preferences_defaults(&app->preferences);
    preferences_defaults(&app->saved);
    if (options->preferences)
        app->preferences = *options->preferences;
    if (options->saved)
        app->saved = *options->saved;
    for (enum curve_x x = 0; x < X_KINDS; x++)
        if (strcmp(app->preferences.x_axis, x_names[x]) == 0)
            app->run.x = x;
    app->run.log_x = app->preferences.log_x;
    app->run.log_y = app->preferences.log_y;
}

/* Notes a choice that was changed since the start; true when it was. */
static bool note_choice(struct app *app, const char *key, const char *value)
{
    char before[16];
    if (strcmp(preferences_get(&app->preferences, key, before, sizeof before), value) == 0)
        return false;
    return preferences_set(&app->saved, key, value, NULL);
}

/* Nobody is left to be told when this fails, and nothing is lost but a convenience. */
static void remember(struct app *app)
{
    const struct run_config *before = &app->options->config;
    const bool x = note_choice(app, "x-axis", x_names[app->run.x]);
    const bool log_x = note_choice(app, "log-x", app->run.log_x ? "yes" : "no");
    const bool log_y = note_choice(app, "log-y", app->run.log_y ? "yes" : "no");
    if ((x || log_x || log_y) && app->options->broken.kind == ERROR_NONE)
        preferences_write(&app->saved, NULL);
    if (memcmp(&app->form.config, before, sizeof *before) != 0 || app->runs.count > 0)
        last_form_write(&app->form.config, NULL);
}

/* --- all of it --- */

static void prepare(struct app *app, const struct ui_options *options)
{
    app->options = options;
    app->unicode = glyphs_unicode_works();
    take_preferences(app, options);
    app_apply_preferences(app);
    app->table.sort = RUNS_NUMBER;
    form_begin(&app->form, &options->config);
    app_show(app, options->start || options->attach ? &screen_run : &screen_form);
    if (options->broken.kind != ERROR_NONE)
        app_say_error(app, &options->broken);
    else if (options->skipped.kind != ERROR_NONE)
        app_say_error(app, &options->skipped);
}

bool ui_prints_lines_only(void)
{
    return terminal_prints_lines_only();
}

bool ui_run(const struct ui_options *options, struct error *error)
{
    struct app *app = memory_new(1, sizeof *app, "the workbench", error);
    if (!app)
        return false;
    bool done = terminal_open(error);
    if (done) {
        prepare(app, options);
        done = app_run(app, error);
        if (options->remember)
            remember(app);
        terminal_close(app->gone);
    }
    setup_free(&app->setup);
    export_job_finish(&app->export);
    device_meter_stop(app->devices.meter);
    compare_view_free(&app->compare);
    sweep_view_free(&app->sweep);
    try_view_free(&app->tryit);
    advisor_view_free(&app->advisor);
    study_view_free(&app->study);
    reading_free(&app->reading);
    others_free(&app->others);
    run_list_free(&app->runs);
    run_list_free(&app->kept);
    runs_view_free(&app->table);
    curves_free(&app->run.curves);
    plot_free(&app->run.plot);
    sample_view_free(&app->run.sample);
    insight_table_free(&app->run.layers);
    insight_table_free(&app->run.gemm);
    insight_table_free(&app->run.weights);
    free(app);
    return done;
}
