/* plot_actions.h: the keys that all plots of curves share: axes, symbols, cursor, zoom. */
#ifndef TINCA_UI_APP_PLOT_ACTIONS_H
#define TINCA_UI_APP_PLOT_ACTIONS_H

#include "ui/plot/plot.h"
#include "ui/terminal/draw.h"

struct app;

/* Actions that change all plots: they choose the next scale of the axes, x axis, symbols or
 * strength of smoothing, and whether the y axis shows all values. */
void plot_next_scale(struct app *app);
void plot_next_x(struct app *app);
void plot_next_symbols(struct app *app);
void plot_next_smoothing(struct app *app);
void plot_toggle_range(struct app *app);

/* The kinds of changes that an action makes to one plot. */
enum plot_change {
    PLOT_CURSOR,
    PLOT_ZOOM_IN,
    PLOT_ZOOM_OUT,
    PLOT_SHOW_ALL,
    PLOT_PAN_LEFT,
    PLOT_PAN_RIGHT
};
/* Changes a plot, or says why not. */
void plot_change(struct app *app, struct plot_window *window, enum plot_change change);
/* Moves the cursor of a plot. Returns false if the move (enum move) is none of a cursor. */
bool plot_move_cursor(struct plot_window *window, int move);
/* Handles an event of the mouse on a plot, which was drawn in `area`: a click or a drag places the
 * cursor, the wheel zooms around the pointer. Returns false if the event lies elsewhere. */
bool plot_take_mouse(struct plot_window *window, struct rect area, int event, int row, int column);
/* Hides the cursor if the key is Esc. Returns whether it did. */
bool plot_leave_cursor(struct plot_window *window, int key);
/* Draws the cursor as a vertical line over `plot`, which was drawn in `area`; the curves' cells
 * stay visible. */
void plot_draw_cursor(struct canvas *canvas, const struct plot *plot,
                      const struct plot_window *window, struct rect area);

#endif
