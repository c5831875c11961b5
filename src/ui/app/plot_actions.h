/* plot_actions.h: the keys that all plots of curves share: axes, symbols, cursor, zoom. */
#ifndef TINCA_UI_APP_PLOT_ACTIONS_H
#define TINCA_UI_APP_PLOT_ACTIONS_H

#include "ui/plot/plot.h"
#include "ui/plot/plot_window.h"
#include "ui/terminal/draw.h"
#include "ui/terminal/keys.h"

struct app;

/* Does what a key asks of the plot that `window` belongs to; returns whether it was such a key. */
bool plot_act(struct app *app, struct plot_window *window, enum action action);
/* Moves the cursor of a plot; returns whether the key was one for that. */
bool plot_move_cursor(struct plot_window *window, enum action action);
/* Puts the cursor away if the key is Esc; returns whether it did. */
bool plot_leave_cursor(struct plot_window *window, int key);
/* Draws the cursor's line over `plot`, which was drawn in `area`, where it has no curve. */
void plot_draw_cursor(struct canvas *canvas, const struct plot *plot,
                      const struct plot_window *window, struct rect area);

#endif
