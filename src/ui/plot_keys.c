/* What the keys do that all plots share: the axes and the symbols are the same on every screen. */
#include "ui/app.h"

#include "base/language.h"

static void next_scale(struct app *app)
{
    static const char *const names[] = {N_("both axes linear"), N_("x logarithmic"),
                                        N_("y logarithmic"), N_("both axes logarithmic")};
    struct run_view *view = &app->run;
    unsigned scale = ((unsigned)view->log_x + 2 * (unsigned)view->log_y + 1) % 4;
    view->log_x = scale & 1;
    view->log_y = scale & 2;
    app_say(app, ROLE_STRONG, "Scale: %s.", gettext(names[scale]));
}

static void next_x(struct app *app)
{
    app->run.x = (app->run.x + 1) % X_KINDS;
    app_say(app, ROLE_STRONG, "Along the x axis: %s.", curve_x_name(app->run.x));
}

static void next_symbols(struct app *app)
{
    if (!app->unicode) {
        app_say(app, ROLE_WARNING, "This locale shows ASCII only; set LANG=C.UTF-8 for more.");
        return;
    }
    app->symbols = (app->symbols + 1) % SYMBOLS_KINDS;
    app->canvas.glyphs = glyphs_for(app->symbols != SYMBOLS_ASCII);
    app_say(app, ROLE_STRONG, "Symbols: %s.", ui_symbols[app->symbols]);
}

bool plot_act(struct app *app, enum action action)
{
    static const struct {
        enum action action;
        void (*act)(struct app *app);
    } acts[] = {{ACTION_SCALE, next_scale}, {ACTION_X, next_x}, {ACTION_SYMBOLS, next_symbols}};
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        if (acts[i].action == action) {
            acts[i].act(app);
            return true;
        }
    return false;
}
