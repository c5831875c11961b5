/* plot.h: a raster of dots in character cells, for curves.
 *
 * A cell has 2x4 dots with braille, 2x2 with quarter blocks and 1x2 with ASCII. A cell belongs to
 * one series: a series that draws into the cell of another one clears it and takes it over, so no
 * cell mixes two colours. Draw the most important series last. This module knows nothing of
 * ncurses or runs.
 */
#ifndef TINCA_UI_PLOT_PLOT_H
#define TINCA_UI_PLOT_PLOT_H

#include "base/axis.h"
#include "base/error.h"
#include "ui/terminal/theme.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plot_cell {
    uint16_t series; /* 0: empty */
    uint8_t dots;    /* a set of bits: row * columns of dots + column */
    char mark;       /* a character that replaces the dots, or 0 */
};

struct plot {
    size_t rows, columns; /* in cells */
    enum graph_symbols symbols;
    struct plot_cell *cells; /* [rows][columns] */
    size_t capacity;
};

/* The characters of a series in ASCII, where they alone distinguish it from others. */
enum plot_style { PLOT_DOTTED, PLOT_SOLID };

/* Empties the plot (which starts as {0}) and sets its size. Returns false with an error if out of
 * memory. */
bool plot_reset(struct plot *plot, size_t rows, size_t columns, enum graph_symbols symbols,
                struct error *error);

/* Frees the cells and leaves `*plot` {0}. */
void plot_free(struct plot *plot);

/* Returns the raster's width in dots. */
size_t plot_width(const struct plot *plot);

/* Returns the raster's height in dots. */
size_t plot_height(const struct plot *plot);

/* Returns how many dots a cell has across. */
size_t plot_dots_across(enum graph_symbols symbols);

/* Returns how many dots a cell has down. */
size_t plot_dots_down(enum graph_symbols symbols);

/* The drawing functions take coordinates in dots, with (0, 0) at the bottom left, and clip what
 * lies outside. `series` is at least 1. */

/* Draws one dot. */
void plot_dot(struct plot *plot, uint16_t series, long x, long y);

/* Draws a vertical line. */
void plot_span(struct plot *plot, uint16_t series, long x, long y_from, long y_to);

/* Draws a straight line. */
void plot_line(struct plot *plot, uint16_t series, long x0, long y0, long x1, long y1);

/* Replaces the cell that contains the dot by a character. */
void plot_mark(struct plot *plot, uint16_t series, long x, long y, char mark);

/* Writes a cell as one UTF-8 character, "" if it is empty; row 0 is the top. `text` has at least 5
 * bytes. Returns `text`. */
char *plot_cell_text(const struct plot *plot, size_t row, size_t column, enum plot_style style,
                     char *text);

/* --- plot window ---
 *
 * the visible part of a plot's x axis (zoom and pan) and its cursor. No drawing.
 *
 * Positions are stored as values of the x axis, so new points, another width or another scale do
 * not move them. plot_window_show stores what the functions for keys need from the last frame.
 */

/* The range that a plot can show in a frame. */
struct plot_extent {
    struct axis all;    /* the axis without zoom */
    double first, last; /* x values of the first and the last point; first > last: no points */
    size_t points;
    size_t columns; /* the plot's width in cells: the steps of the cursor */
    bool live;      /* more points will come */
};

struct plot_window { /* starts as {0} */
    bool zoomed, cursor_on;
    bool follow;      /* zoomed in on the newest points: the window moves along with them */
    bool dragged;     /* the mouse moves the cursor */
    double low, high; /* the visible part, if zoomed */
    double cursor;    /* its x value, if cursor_on */
    unsigned frames_since_shift; /* frames since the window last moved to follow new points */
    struct plot_extent extent;   /* extent of the last frame */
    struct axis shown;           /* the axis of the last frame */
};

/* Starts a frame. Returns the axis to draw. */
struct axis plot_window_show(struct plot_window *window, const struct plot_extent *extent);

/* Shows half (in) or twice (out) as much of the axis. The fixed point is the cursor, else the
 * newest point of a live run, else the middle. Returns false at the limits of zooming. */
bool plot_window_zoom(struct plot_window *window, bool in);

/* Does the same around a position on the shown axis, 0 to 1. */
bool plot_window_zoom_at(struct plot_window *window, double place, bool in);

/* Moves the window by a fraction of its width, to the left if negative. Returns false if nothing
 * lies there. */
bool plot_window_pan(struct plot_window *window, double part);

/* Shows the whole axis. */
void plot_window_show_all(struct plot_window *window);

/* Sets the cursor to a value, limited to the range of the points, and makes it visible. */
void plot_window_set_cursor(struct plot_window *window, double x);

/* Moves the cursor by columns. The first call places it at the newest visible point. */
void plot_window_move_cursor(struct plot_window *window, long columns);

/* Returns the cursor's column, or -1 if it is not visible. */
long plot_window_cursor_column(const struct plot_window *window);

#endif
