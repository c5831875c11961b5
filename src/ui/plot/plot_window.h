/* plot_window.h: the visible part of a plot's x axis (zoom and pan) and its cursor. No drawing.
 *
 * Positions are stored as values of the x axis, so new points, another width or another scale do
 * not move them. plot_window_show stores what the functions for keys need from the last frame.
 */
#ifndef TINCA_UI_PLOT_PLOT_WINDOW_H
#define TINCA_UI_PLOT_PLOT_WINDOW_H

#include "base/axis.h"

#include <stdbool.h>
#include <stddef.h>

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
