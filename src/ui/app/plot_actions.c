/* What the keys do that all plots share: the axes, the symbols, the cursor and the stretch that is
 * shown are the same on every screen. */
#include "base/language.h"
#include "ui/app/app.h"

static struct plot_window *window_of(struct app *app)
{
    return app_screen(app) == &screen_compare ? &app->compare.window : &app->run.window;
}

static void next_scale(struct app *app)
{
    static const char *const names[] = {N_("Scale: both axes linear."), N_("Scale: x logarithmic."),
                                        N_("Scale: y logarithmic."),
                                        N_("Scale: both axes logarithmic.")};
    struct run_view *view = &app->run;
    unsigned scale = ((unsigned)view->log_x + 2 * (unsigned)view->log_y + 1) % 4;
    view->log_x = scale & 1;
    view->log_y = scale & 2;
    app_say(app, ROLE_STRONG, "%s", gettext(names[scale]));
}

/* The same stretch of a run, in other words; also what the last frame knew, since the next key may
 * come before the next frame. */
static void convert(struct plot_window *window, const struct series *series, enum curve_x from,
                    enum curve_x to)
{
    double *values[] = {&window->low,         &window->high,           &window->cursor,
                        &window->shown.low,   &window->shown.high,     &window->extent.first,
                        &window->extent.last, &window->extent.all.low, &window->extent.all.high};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        *values[i] = curves_convert(series, from, to, *values[i]);
}

static void next_x(struct app *app)
{
    const struct run_entry *entry = app_entry(app);
    const struct series *series = entry && entry->run ? run_series(entry->run) : NULL;
    const enum curve_x before = series ? curves_available_x(series, app->run.x) : app->run.x;
    app->run.x = before;
    do
        app->run.x = (app->run.x + 1) % X_KINDS;
    while (series && curves_available_x(series, app->run.x) != app->run.x);
    if (series)
        convert(&app->run.window, series, before, app->run.x);
    app->compare.window = (struct plot_window){0}; /* each run would have another stretch */
    app_say(app, ROLE_STRONG, _("Along the x axis: %s."), curve_x_name(app->run.x));
}

static void next_symbols(struct app *app)
{
    if (!app->unicode) {
        app_say(app, ROLE_WARNING, _("This locale shows ASCII only; set LANG=C.UTF-8 for more."));
        return;
    }
    app->symbols = (app->symbols + 1) % SYMBOLS_KINDS;
    app->canvas.glyphs = glyphs_for(app->symbols != SYMBOLS_ASCII);
    app_say(app, ROLE_STRONG, _("Symbols: %s."), ui_symbols[app->symbols]);
}

static void toggle_cursor(struct app *app)
{
    struct plot_window *window = window_of(app);
    if (window->cursor_on)
        window->cursor_on = false;
    else
        plot_window_move_cursor(window, 0);
}

static void zoom_in(struct app *app)
{
    if (!plot_window_zoom(window_of(app), true))
        app_say(app, ROLE_FAINT, _("There are too few points to look closer."));
}

static void zoom_out(struct app *app)
{
    if (!plot_window_zoom(window_of(app), false))
        app_say(app, ROLE_FAINT, _("Everything is in sight; z looks closer."));
}

static void zoom_all(struct app *app)
{
    plot_window_show_all(window_of(app));
}

static void pan(struct app *app, double part)
{
    struct plot_window *window = window_of(app);
    if (!window->zoomed)
        app_say(app, ROLE_FAINT, _("Everything is in sight; z looks closer."));
    else
        plot_window_pan(window, part);
}

static void pan_left(struct app *app)
{
    pan(app, -0.25);
}

static void pan_right(struct app *app)
{
    pan(app, 0.25);
}

bool plot_act(struct app *app, enum action action)
{
    static const struct {
        enum action action;
        void (*act)(struct app *app);
    } acts[] = {
        {ACTION_SCALE, next_scale},     {ACTION_X, next_x},          {ACTION_SYMBOLS, next_symbols},
        {ACTION_CURSOR, toggle_cursor}, {ACTION_ZOOM_IN, zoom_in},   {ACTION_ZOOM_OUT, zoom_out},
        {ACTION_ZOOM_ALL, zoom_all},    {ACTION_PAN_LEFT, pan_left}, {ACTION_PAN_RIGHT, pan_right}};
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        if (acts[i].action == action) {
            acts[i].act(app);
            return true;
        }
    return false;
}

bool plot_move_cursor(struct plot_window *window, enum action action)
{
    long tenth = (long)window->extent.columns / 10, far = tenth > 1 ? tenth : 2;
    const struct {
        enum action action;
        long columns;
    } moves[] = {
        {ACTION_LEFT, -1}, {ACTION_RIGHT, 1}, {ACTION_PAGE_UP, -far}, {ACTION_PAGE_DOWN, far}};
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (moves[i].action == action) {
            plot_window_move_cursor(window, moves[i].columns);
            return true;
        }
    if (action != ACTION_FIRST && action != ACTION_LAST)
        return false;
    plot_window_set_cursor(window,
                           action == ACTION_FIRST ? window->extent.first : window->extent.last);
    return true;
}

bool plot_leave_cursor(struct plot_window *window, int key)
{
    if (key != UI_ESCAPE || !window->cursor_on)
        return false;
    window->cursor_on = false;
    return true;
}

void plot_draw_cursor(struct app *app, const struct plot_window *window, struct rect area)
{
    const struct plot *plot = &app->run.plot;
    long column = plot_window_cursor_column(window);
    for (long row = 0; column >= 0 && column < (long)plot->columns && row < (long)plot->rows; row++)
        if (plot->cells[row * (long)plot->columns + column].series == 0)
            draw_text(&app->canvas, area, (int)row, (int)column, ROLE_STRONG,
                      app->canvas.glyphs->vertical);
}
