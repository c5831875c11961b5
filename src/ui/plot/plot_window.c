/* Zooming and panning compute with positions on the axis of the last frame (0 at its left end, 1 at
 * its right), which treats linear and logarithmic axes alike. A window that follows new points
 * shifts by at least an eighth of its width: between two shifts a new point changes only its own
 * cells, so little is sent to the terminal. */
#include "ui/plot/plot_window.h"

#include <math.h>

static const double SHIFT_LEAST = 0.125, SHIFT_MOST = 0.5;
enum {
    LEAST_POINTS = 8,   /* visible at the deepest zoom */
    SHIFT_INTERVAL = 8, /* frames at least: a shift sends the whole plot */
};

static double clamp(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

static bool has_points(const struct plot_window *window)
{
    return window->extent.points > 0 && window->extent.first <= window->extent.last;
}

static bool is_visible(const struct plot_window *window, double x)
{
    double place = axis_position(&window->shown, x);
    return place >= -1e-9 && place <= 1 + 1e-9;
}

/* Shows the part between two positions on the current axis. */
static void show_places(struct plot_window *window, double from, double to)
{
    const struct axis *all = &window->extent.all, now = window->shown;
    window->low = fmax(all->low, axis_value(&now, from));
    window->high = fmin(all->high, axis_value(&now, to));
    window->zoomed = window->low > all->low || window->high < all->high;
    window->shown = window->zoomed ? (struct axis){window->low, window->high, all->log} : *all;
    window->follow = window->zoomed && window->extent.live && has_points(window) &&
                     is_visible(window, window->extent.last);
}

/* Limits the window to the axis of this frame, which may differ from the last one: the run has
 * grown, or the axis has become logarithmic. */
static void fit(struct plot_window *window)
{
    const struct axis *all = &window->extent.all;
    window->low = fmax(window->low, all->low);
    window->zoomed = window->zoomed && window->high > window->low &&
                     (window->low > all->low || window->high < all->high);
    window->shown = window->zoomed ? (struct axis){window->low, window->high, all->log} : *all;
}

struct axis plot_window_show(struct plot_window *window, const struct plot_extent *extent)
{
    window->extent = *extent;
    fit(window);
    double newest = has_points(window) ? axis_position(&window->shown, extent->last) : 0;
    window->frames_since_shift++;
    if (window->zoomed && window->follow && newest > 1 &&
        window->frames_since_shift >= SHIFT_INTERVAL) {
        /* the faster points arrive, the more space is left for them */
        double step = newest - 1 + clamp(newest - 1, SHIFT_LEAST, SHIFT_MOST);
        window->low = axis_value(&window->shown, step);
        window->high = axis_value(&window->shown, 1 + step); /* space for points to come */
        window->frames_since_shift = 0;
        fit(window);
    }
    return window->shown;
}

/* Returns the position that zooming does not move. */
static double anchor(const struct plot_window *window)
{
    if (window->cursor_on && is_visible(window, window->cursor))
        return axis_position(&window->shown, window->cursor);
    if (window->extent.live && has_points(window) && is_visible(window, window->extent.last))
        return axis_position(&window->shown, window->extent.last);
    return 0.5;
}

bool plot_window_zoom(struct plot_window *window, bool in)
{
    return plot_window_zoom_at(window, anchor(window), in);
}

bool plot_window_zoom_at(struct plot_window *window, double around, bool in)
{
    const double factor = in ? 0.5 : 2;
    double from = around - around * factor, to = around + (1 - around) * factor;
    if (!in && !window->zoomed)
        return false;
    if (in) {
        double span = axis_value(&window->shown, to) - axis_value(&window->shown, from);
        double between = has_points(window) ? (window->extent.last - window->extent.first) /
                                                  (double)window->extent.points
                                            : INFINITY;
        if (!(span > between * LEAST_POINTS))
            return false;
    }
    show_places(window, from, to);
    return true;
}

bool plot_window_pan(struct plot_window *window, double part)
{
    if (!window->zoomed)
        return false;
    double left = axis_position(&window->shown, window->extent.all.low);
    double right = axis_position(&window->shown, window->extent.all.high) - 1;
    part = clamp(part, fmin(left, 0), fmax(right, 0));
    if (fabs(part) < 1e-9)
        return false;
    show_places(window, part, 1 + part);
    return true;
}

void plot_window_show_all(struct plot_window *window)
{
    window->zoomed = window->follow = false;
    window->shown = window->extent.all;
}

void plot_window_set_cursor(struct plot_window *window, double x)
{
    if (!has_points(window) || isnan(x))
        return;
    window->cursor_on = true;
    window->cursor = clamp(x, window->extent.first, window->extent.last);
    double place = axis_position(&window->shown, window->cursor);
    if (isfinite(place) && !is_visible(window, window->cursor))
        plot_window_pan(window, place - 0.5);
}

void plot_window_move_cursor(struct plot_window *window, long columns)
{
    double steps = window->extent.columns > 1 ? (double)(window->extent.columns - 1) : 1;
    if (!window->cursor_on || !isfinite(axis_position(&window->shown, window->cursor))) {
        double newest = has_points(window) ? axis_position(&window->shown, window->extent.last) : 1;
        plot_window_set_cursor(window, axis_value(&window->shown, clamp(newest, 0, 1)));
        return;
    }
    double column = round(axis_position(&window->shown, window->cursor) * steps) + (double)columns;
    plot_window_set_cursor(window, axis_value(&window->shown, column / steps));
}

long plot_window_cursor_column(const struct plot_window *window)
{
    if (!window->cursor_on || window->extent.columns == 0 || !is_visible(window, window->cursor))
        return -1;
    return lround(axis_position(&window->shown, window->cursor) *
                  (double)(window->extent.columns - 1));
}
