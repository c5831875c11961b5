/* draw.h: putting text on the screen. Clips to a rectangle, so that nothing is ever written where
 * the layout gave no room. Together with terminal.c and theme.c the only code that calls ncurses.
 */
#ifndef TINCA_UI_TERMINAL_DRAW_H
#define TINCA_UI_TERMINAL_DRAW_H

#include "ui/terminal/glyphs.h"
#include "ui/terminal/halfblock.h"
#include "ui/terminal/layout.h"
#include "ui/terminal/targets.h"
#include "ui/terminal/theme.h"

struct canvas {
    const struct theme *theme;
    const struct glyphs *glyphs;
    int rows, columns;
    int cursor_row, cursor_column; /* of the focused item; row -1: nothing has the focus */
    struct targets targets;        /* what a click does in this frame */
};

/* Rows and columns count from the rectangle's corner. Each returns the column after the text. */
int draw_text(struct canvas *canvas, struct rect area, int row, int column, enum role role,
              const char *text);
int draw_format(struct canvas *canvas, struct rect area, int row, int column, enum role role,
                const char *format, ...) __attribute__((format(printf, 6, 7)));
void draw_right(struct canvas *canvas, struct rect area, int row, enum role role, const char *text);
/* A paragraph from `row` on, broken at spaces; returns the row after it. */
int draw_wrapped(struct canvas *canvas, struct rect area, int row, enum role role,
                 const char *text);

void draw_fill(struct canvas *canvas, struct rect area, enum role role);
/* A box around the rectangle's edge, its inside cleared; returns the inside. */
struct rect draw_box(struct canvas *canvas, struct rect area, const char *title);

/* A bar of `fraction` (0..1) over `columns` columns. */
void draw_gauge(struct canvas *canvas, struct rect area, int row, int column, int columns,
                double fraction, enum role role);

/* Names of tabs (translated here) in one line, the selected one marked by brackets as well. A click
 * on one presses v until it is there. Returns the column after. */
int draw_tabs(struct canvas *canvas, struct rect area, const char *const *names, size_t count,
              size_t selected);

/* A picture: in 256 colours two pixels a cell (one where the locale has no half blocks), else grey
 * values as characters, from the darkest to the brightest that it holds. */
void draw_halfblocks(struct canvas *canvas, struct rect area, const struct halfblocks *blocks);

/* Puts the hardware cursor there when the frame is done (screen readers follow it). */
void draw_cursor(struct canvas *canvas, struct rect area, int row, int column);

#endif
