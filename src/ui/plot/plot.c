/* Braille patterns are U+2800 plus eight bits, in a historical order: the upper three dots of the
 * left column, the upper three of the right column, then the two lowest. Quarter blocks lie
 * scattered in U+2580..U+259F. Lines follow Bresenham (IBM Systems Journal 4, 1965). */
#include "ui/plot/plot.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    uint8_t across, down;
} rasters[SYMBOLS_KINDS] = {{2, 4}, {2, 2}, {1, 2}};

size_t plot_dots_across(enum graph_symbols symbols)
{
    return rasters[symbols].across;
}

size_t plot_dots_down(enum graph_symbols symbols)
{
    return rasters[symbols].down;
}

size_t plot_width(const struct plot *plot)
{
    return plot->columns * rasters[plot->symbols].across;
}

size_t plot_height(const struct plot *plot)
{
    return plot->rows * rasters[plot->symbols].down;
}

bool plot_reset(struct plot *plot, size_t rows, size_t columns, enum graph_symbols symbols,
                struct error *error)
{
    if (!memory_grow(&plot->cells, &plot->capacity, rows * columns, sizeof *plot->cells, "a plot",
                     error))
        return false;
    if (rows * columns > 0)
        memset(plot->cells, 0, rows * columns * sizeof *plot->cells);
    plot->rows = rows;
    plot->columns = columns;
    plot->symbols = symbols;
    return true;
}

void plot_free(struct plot *plot)
{
    free(plot->cells);
    *plot = (struct plot){0};
}

/* Makes the cell of a dot one of `series` and returns it; NULL outside the plot. */
static struct plot_cell *take_cell(struct plot *plot, uint16_t series, long x, long y)
{
    if (x < 0 || y < 0 || (size_t)x >= plot_width(plot) || (size_t)y >= plot_height(plot))
        return NULL;
    size_t row = plot->rows - 1 - (size_t)y / rasters[plot->symbols].down;
    size_t column = (size_t)x / rasters[plot->symbols].across;
    struct plot_cell *cell = &plot->cells[row * plot->columns + column];
    if (cell->series != series)
        *cell = (struct plot_cell){.series = series};
    return cell;
}

void plot_dot(struct plot *plot, uint16_t series, long x, long y)
{
    struct plot_cell *cell = take_cell(plot, series, x, y);
    if (!cell)
        return;
    size_t across = rasters[plot->symbols].across, down = rasters[plot->symbols].down;
    size_t row = down - 1 - (size_t)y % down;
    cell->dots |= (uint8_t)(1u << (row * across + (size_t)x % across));
}

static long clamp(long value, long low, long high)
{
    return value < low ? low : value > high ? high : value;
}

void plot_span(struct plot *plot, uint16_t series, long x, long y_from, long y_to)
{
    long top = (long)plot_height(plot) - 1;
    if ((y_from < 0 && y_to < 0) || (y_from > top && y_to > top))
        return;
    y_from = clamp(y_from, 0, top);
    y_to = clamp(y_to, 0, top);
    for (long y = y_from < y_to ? y_from : y_to; y <= (y_from > y_to ? y_from : y_to); y++)
        plot_dot(plot, series, x, y);
}

void plot_line(struct plot *plot, uint16_t series, long x0, long y0, long x1, long y1)
{
    /* points far outside are moved nearer, which bounds the length of the loop */
    long reach = 4 * (long)(plot_width(plot) + plot_height(plot)) + 16;
    x0 = clamp(x0, -reach, reach);
    x1 = clamp(x1, -reach, reach);
    y0 = clamp(y0, -reach, reach);
    y1 = clamp(y1, -reach, reach);
    long dx = labs(x1 - x0), dy = -labs(y1 - y0);
    long step_x = x0 < x1 ? 1 : -1, step_y = y0 < y1 ? 1 : -1, slack = dx + dy;
    for (;;) {
        plot_dot(plot, series, x0, y0);
        if (x0 == x1 && y0 == y1)
            return;
        long twice = 2 * slack;
        if (twice >= dy) {
            slack += dy;
            x0 += step_x;
        }
        if (twice <= dx) {
            slack += dx;
            y0 += step_y;
        }
    }
}

void plot_mark(struct plot *plot, uint16_t series, long x, long y, char mark)
{
    struct plot_cell *cell = take_cell(plot, series, x, y);
    if (cell)
        cell->mark = mark;
}

static char *put_utf8(unsigned code, char *text)
{
    text[0] = (char)(0xe0 | code >> 12);
    text[1] = (char)(0x80 | (code >> 6 & 0x3f));
    text[2] = (char)(0x80 | (code & 0x3f));
    text[3] = '\0';
    return text;
}

static char *braille_text(uint8_t dots, char *text)
{
    static const uint8_t bits[8] = {0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80};
    unsigned pattern = 0;
    for (size_t i = 0; i < 8; i++)
        if (dots & 1u << i)
            pattern |= bits[i];
    return put_utf8(0x2800 + pattern, text);
}

static char *block_text(uint8_t dots, char *text)
{
    /* bits: 1 upper left, 2 upper right, 4 lower left, 8 lower right */
    static const uint16_t blocks[16] = {' ',    0x2598, 0x259d, 0x2580, 0x2596, 0x258c,
                                        0x259e, 0x259b, 0x2597, 0x259a, 0x2590, 0x259c,
                                        0x2584, 0x2599, 0x259f, 0x2588};
    return put_utf8(blocks[dots & 15], text);
}

static char *ascii_text(uint8_t dots, enum plot_style style, char *text)
{
    /* bits: 1 upper half, 2 lower half */
    static const char characters[2][4] = {{' ', '\'', '.', ':'}, {' ', '"', '_', '#'}};
    text[0] = characters[style][dots & 3];
    text[1] = '\0';
    return text;
}

char *plot_cell_text(const struct plot *plot, size_t row, size_t column, enum plot_style style,
                     char *text)
{
    const struct plot_cell *cell = &plot->cells[row * plot->columns + column];
    text[0] = cell->mark;
    text[1] = '\0';
    if (cell->mark || !cell->dots)
        return text;
    if (plot->symbols == SYMBOLS_BRAILLE)
        return braille_text(cell->dots, text);
    if (plot->symbols == SYMBOLS_BLOCK)
        return block_text(cell->dots, text);
    return ascii_text(cell->dots, style, text);
}

/* --- plot window ---
 *
 * Zooming and panning compute with positions on the axis of the last frame (0 at its left end, 1 at
 * its right), which treats linear and logarithmic axes alike. A window that follows new points
 * shifts by at least an eighth of its width: between two shifts a new point changes only its own
 * cells, so little is sent to the terminal. */

static const double SHIFT_LEAST = 0.125, SHIFT_MOST = 0.5;
enum {
    LEAST_POINTS = 8,   /* visible at the deepest zoom */
    SHIFT_INTERVAL = 8, /* frames at least: a shift sends the whole plot */
};

static double limit(double value, double low, double high)
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
        double step = newest - 1 + limit(newest - 1, SHIFT_LEAST, SHIFT_MOST);
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
    part = limit(part, fmin(left, 0), fmax(right, 0));
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
    window->cursor = limit(x, window->extent.first, window->extent.last);
    double place = axis_position(&window->shown, window->cursor);
    if (isfinite(place) && !is_visible(window, window->cursor))
        plot_window_pan(window, place - 0.5);
}

void plot_window_move_cursor(struct plot_window *window, long columns)
{
    double steps = window->extent.columns > 1 ? (double)(window->extent.columns - 1) : 1;
    if (!window->cursor_on || !isfinite(axis_position(&window->shown, window->cursor))) {
        double newest = has_points(window) ? axis_position(&window->shown, window->extent.last) : 1;
        plot_window_set_cursor(window, axis_value(&window->shown, limit(newest, 0, 1)));
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
