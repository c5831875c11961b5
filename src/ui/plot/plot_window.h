/* plot_window.h: which part of the x axis a plot shows, and where its cursor stands. No drawing.
 *
 * Everything is kept as values of the x axis, so that new points, another width and another scale
 * move nothing. What keys need to know of the last frame is noted by plot_window_show.
 */
#ifndef TINCA_UI_PLOT_PLOT_WINDOW_H
#define TINCA_UI_PLOT_PLOT_WINDOW_H

#include "base/axis.h"

#include <stdbool.h>
#include <stddef.h>

/* What there is to be seen. */
struct plot_extent {
    struct axis all;    /* the axis that holds everything */
    double first, last; /* where there are points; first > last: there are none */
    size_t points;
    size_t columns; /* of the plot, in cells: the cursor's steps */
    bool live;      /* more points will come */
};

struct plot_window { /* starts as {0} */
    bool zoomed, cursor_on;
    bool follow; /* zoomed where the newest points are: they stay in sight */
    double low, high;
    double cursor;
    unsigned rested;           /* frames since it followed */
    struct plot_extent extent; /* of the last frame */
    struct axis shown;
};

/* The axis to draw; to be called for each frame. */
struct axis plot_window_show(struct plot_window *window, const struct plot_extent *extent);

/* Half (in) or twice (out) as much of the axis, around the cursor, else the newest points of a live
 * run, else the middle. False: there is nothing closer, or nothing more. */
bool plot_window_zoom(struct plot_window *window, bool in);
/* By a part of what is in sight, to the left when negative. False: nothing is there. */
bool plot_window_pan(struct plot_window *window, double part);
void plot_window_show_all(struct plot_window *window);

/* Puts the cursor to a value (within the points), and into sight. */
void plot_window_set_cursor(struct plot_window *window, double x);
/* By columns; the first time where the newest points in sight are. */
void plot_window_move_cursor(struct plot_window *window, long columns);
/* The cursor's column, -1: not in sight. */
long plot_window_cursor_column(const struct plot_window *window);

#endif
