/* plot_actions.h: the keys that all plots of curves share: axes, symbols, cursor, zoom. */
#ifndef TINCA_UI_APP_PLOT_ACTIONS_H
#define TINCA_UI_APP_PLOT_ACTIONS_H

#include "ui/plot/plot.h"
#include "ui/plot/plot_window.h"
#include "ui/terminal/draw.h"
#include "ui/terminal/keys.h"

struct app;

/* Applies an action (scale, x axis, symbols, cursor, zoom, pan) to the plot that `window` belongs
 * to. Returns false if the action is none of these. */
bool plot_act(struct app *app, struct plot_window *window, enum action action);
/* Moves the cursor of a plot. Returns false if the action does not move a cursor. */
bool plot_move_cursor(struct plot_window *window, enum action action);
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
