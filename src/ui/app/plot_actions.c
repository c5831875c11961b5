/* The actions that all plots share. Axes and symbols are settings of the whole workbench; cursor
 * and zoom belong to one plot (struct plot_window). */
#include "ui/app/plot_actions.h"

#include "base/language.h"
#include "ui/app/app.h"
#include "ui/plot/curves.h"
#include "ui/widgets/listing.h"

#include <math.h>

void plot_next_scale(struct app *app)
{
    static const char *const names[] = {N_("Scale: both axes linear."), N_("Scale: x logarithmic."),
                                        N_("Scale: y logarithmic."),
                                        N_("Scale: both axes logarithmic.")};
    struct axes *axes = &app->shared.axes;
    unsigned scale = ((unsigned)axes->log_x + 2 * (unsigned)axes->log_y + 1) % 4;
    axes->log_x = scale & 1;
    axes->log_y = scale & 2;
    app_say(app, ROLE_STRONG, "%s", gettext(names[scale]));
}

/* Selects the next x axis for which the shown run has values. */
void plot_next_x(struct app *app)
{
    const struct run_entry *entry = app_entry(app);
    const struct series *series = entry && entry->run ? run_series(entry->run) : NULL;
    struct axes *axes = &app->shared.axes;
    axes->previous_x = series ? curves_available_x(series, axes->x) : axes->x;
    axes->x = axes->previous_x;
    do
        axes->x = (axes->x + 1) % X_KINDS;
    while (series && curves_available_x(series, axes->x) != axes->x);
    app_notify(app, EVENT_X_AXIS, NULL);
    app_say(app, ROLE_STRONG, _("Along the x axis: %s."), curve_x_name(axes->x));
}

void plot_next_symbols(struct app *app)
{
    if (!app->unicode) {
        app_say(app, ROLE_WARNING, _("This locale shows ASCII only; set LANG=C.UTF-8 for more."));
        return;
    }
    app->symbols = (app->symbols + 1) % SYMBOLS_KINDS;
    app->canvas.glyphs = glyphs_for(app->symbols != SYMBOLS_ASCII);
    app_say(app, ROLE_STRONG, _("Symbols: %s."), ui_symbols[app->symbols]);
}

void plot_next_smoothing(struct app *app)
{
    struct axes *axes = &app->shared.axes;
    axes->smoothing = smoothing_names[axes->smoothing + 1] ? axes->smoothing + 1 : 0;
    if (axes->smoothing == 0)
        app_say(app, ROLE_STRONG, "Smoothing: as the run says.");
    else if (smoothing_strength(axes->smoothing) == 0)
        app_say(app, ROLE_STRONG, "Smoothing: 0, the losses as they are.");
    else
        app_say(app, ROLE_STRONG, "Smoothing: %s (exponential moving average).",
                smoothing_names[axes->smoothing]);
}

void plot_toggle_range(struct app *app)
{
    struct axes *axes = &app->shared.axes;
    axes->all_values = !axes->all_values;
    app_say(app, ROLE_STRONG, "%s",
            axes->all_values ? N_("The y axis shows all values.")
                             : N_("The y axis leaves out outliers; ^ and v mark them."));
}

static void toggle_cursor(struct plot_window *window)
{
    if (window->cursor_on)
        window->cursor_on = false;
    else
        plot_window_move_cursor(window, 0);
}

void plot_change(struct app *app, struct plot_window *window, enum plot_change change)
{
    if (change == PLOT_CURSOR)
        toggle_cursor(window);
    else if (change == PLOT_ZOOM_IN && !plot_window_zoom(window, true))
        app_say(app, ROLE_FAINT, _("There are too few points to zoom in."));
    else if (change != PLOT_ZOOM_IN && !window->zoomed)
        app_say(app, ROLE_FAINT, _("Everything is shown; z zooms in."));
    else if (change == PLOT_ZOOM_OUT)
        plot_window_zoom(window, false);
    else if (change == PLOT_SHOW_ALL)
        plot_window_show_all(window);
    else if (change != PLOT_ZOOM_IN)
        plot_window_pan(window, change == PLOT_PAN_LEFT ? -0.25 : 0.25);
}

bool plot_move_cursor(struct plot_window *window, int move)
{
    const long tenth = (long)window->extent.columns / 10, far = tenth > 1 ? tenth : 2;
    if (move == MOVE_UP || move == MOVE_DOWN)
        return false;
    if (move == MOVE_FIRST || move == MOVE_LAST)
        plot_window_set_cursor(window,
                               move == MOVE_FIRST ? window->extent.first : window->extent.last);
    else if (move == MOVE_LEFT || move == MOVE_RIGHT)
        plot_window_move_cursor(window, move == MOVE_LEFT ? -1 : 1);
    else
        plot_window_move_cursor(window, move_steps(move, far, 0));
    return true;
}

bool plot_take_mouse(struct plot_window *window, struct rect area, int event, int row, int column)
{
    const bool inside = row >= area.row && row < area.row + area.rows && column >= area.column &&
                        column < area.column + area.columns;
    const double last = area.columns > 1 ? area.columns - 1 : 1;
    const double place = fmin(fmax((column - area.column) / last, 0), 1);
    if (event == UI_CLICK)
        window->dragged = inside;
    if (!inside && !(event == UI_DRAG && window->dragged)) /* a drag may leave the plot */
        return false;
    if (event == UI_CLICK || event == UI_DRAG)
        plot_window_set_cursor(window, axis_value(&window->shown, place));
    else
        plot_window_zoom_at(window, place, event == UI_WHEEL_UP);
    return true;
}

bool plot_leave_cursor(struct plot_window *window, int key)
{
    if (key != UI_ESCAPE || !window->cursor_on)
        return false;
    window->cursor_on = false;
    return true;
}

void plot_draw_cursor(struct canvas *canvas, const struct plot *plot,
                      const struct plot_window *window, struct rect area)
{
    long column = plot_window_cursor_column(window);
    for (long row = 0; column >= 0 && column < (long)plot->columns && row < (long)plot->rows; row++)
        if (plot->cells[row * (long)plot->columns + column].series == 0)
            draw_text(canvas, area, (int)row, (int)column, ROLE_STRONG, canvas->glyphs->vertical);
}
