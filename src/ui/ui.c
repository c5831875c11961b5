#include "ui/ui.h"

#include "base/memory.h"
#include "ui/app.h"
#include "ui/terminal.h"

#include <stdlib.h>
#include <string.h>

static bool check_options(const struct ui_options *options, struct error *error)
{
    enum graph_symbols symbols;
    if (options->colours && !theme_is_known(options->colours))
        return error_set(error, ERROR_USAGE, options->colours,
                         "choose default, light, mono or colour-blind",
                         "there is no colour scheme of this name");
    if (options->symbols && !glyphs_parse_symbols(options->symbols, &symbols))
        return error_set(error, ERROR_USAGE, options->symbols, "choose braille, block or ascii",
                         "there are no graph symbols of this name");
    return true;
}

static void prepare(struct app *app, const struct ui_options *options)
{
    app->options = options;
    app->unicode = glyphs_unicode_works();
    app->symbols = glyphs_default_symbols(app->unicode, getenv("TERM"));
    if (options->symbols && app->unicode)
        glyphs_parse_symbols(options->symbols, &app->symbols);
    if (!options->no_mouse)
        terminal_take_mouse();
    theme_load(&app->theme, options->colours ? options->colours : ui_colours[0]);
    app->canvas.theme = &app->theme;
    app->canvas.glyphs = glyphs_for(app->unicode && app->symbols != SYMBOLS_ASCII);
    form_begin(&app->form, &options->config);
    app_show(app, options->start ? &screen_run : &screen_form);
}

bool ui_prints_lines_only(void)
{
    return terminal_prints_lines_only();
}

bool ui_run(const struct ui_options *options, struct error *error)
{
    if (!check_options(options, error))
        return false;
    struct app *app = memory_new(1, sizeof *app, "the workbench", error);
    if (!app)
        return false;
    bool done = terminal_open(error);
    if (done) {
        prepare(app, options);
        done = app_run(app, error);
        terminal_close(app->gone);
    }
    compare_view_free(&app->compare);
    run_list_free(&app->runs);
    run_list_free(&app->kept);
    curves_free(&app->run.curves);
    plot_free(&app->run.plot);
    sample_view_free(&app->run.sample);
    free(app);
    return done;
}
