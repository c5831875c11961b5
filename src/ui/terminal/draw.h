/* draw.h: draws text and simple shapes on the screen.
 *
 * Every function clips to a rectangle, so that nothing is written outside the place that the layout
 * gave. Rows and columns count from the rectangle's upper left corner.
 */
#ifndef TINCA_UI_TERMINAL_DRAW_H
#define TINCA_UI_TERMINAL_DRAW_H

#include "base/error.h"
#include "data/images/image.h"
#include "ui/terminal/layout.h"
#include "ui/terminal/theme.h"

#include <stddef.h>
#include <stdint.h>

/* --- half blocks ---
 *
 * A picture in character cells of two pixels each. A cell shows the glyph U+2580 (upper half
 * block): the foreground colour is the upper pixel, the background colour the lower one. */

struct halfblock {
    uint8_t upper[3], lower[3]; /* RGB */
};

struct halfblocks {
    size_t rows, columns;
    struct halfblock *cells; /* [rows][columns] */
};

/* Scales the picture to the largest size that keeps its shape within rows x columns cells (at least
 * 1x1); a cell counts as twice as high as wide. Grey pictures become RGB. Returns false with an
 * error if out of memory. */
bool halfblocks_make(struct halfblocks *blocks, const struct image *image, size_t rows,
                     size_t columns, struct error *error);

/* Frees the cells and leaves `*blocks` {0}. */
void halfblocks_free(struct halfblocks *blocks);

/* Returns the nearest of xterm's fixed colours: the 6x6x6 cube (16..231) or the greys (232..255).
 */
uint8_t colour_nearest(const uint8_t rgb[3]);

/* --- targets --- */

/* The places of a frame that a click acts on.
 *
 * While a frame is drawn, each clickable place is recorded with the keys that have the same effect
 * and how often they would be pressed. The loop turns a click into these keys. Hence everything the
 * mouse can do is on the keyboard too, and screens only handle keys. */

struct target {
    struct rect area; /* in screen coordinates */
    int key;          /* pressed `times` times */
    size_t times;
    int second_key; /* then pressed `second_times` times */
    size_t second_times;
};

enum { TARGETS_MAX = 4096 }; /* enough for the cells of a large grid and everything around it */

struct plot_window;

struct targets {
    struct target list[TARGETS_MAX];
    size_t count;
    struct plot_window *plot; /* takes the mouse within `plot_area` (plot_take_mouse); NULL: none */
    struct rect plot_area;
};

/* Removes all places, at the start of a frame. */
void targets_clear(struct targets *targets);

/* Adds a place. It covers the places added before it. Beyond TARGETS_MAX nothing is added. */
void targets_add(struct targets *targets, struct rect area, int key, size_t times);

/* Adds row `row` of a list. A click moves the selection there with Up or Down; a click on the row
 * that is selected already presses Enter. */
void targets_add_row(struct targets *targets, struct rect area, size_t row, size_t selected);

/* Adds row `row` of a list in which a click moves the selection and presses Enter. */
void targets_add_choice(struct targets *targets, struct rect area, size_t row, size_t selected);

/* Adds column `column` of a list whose items stand side by side: the same with Left and Right. */
void targets_add_column(struct targets *targets, struct rect area, size_t column, size_t selected);

struct target_cell {
    size_t row, column;
};

/* Adds a cell of a grid: the same with all four arrow keys. */
void targets_add_cell(struct targets *targets, struct rect area, struct target_cell cell,
                      struct target_cell selected);

/* Returns the topmost place at a screen position, or NULL. */
const struct target *targets_find(const struct targets *targets, int row, int column);

/* The state of the frame that is being drawn. */
struct canvas {
    const struct theme *theme;
    const struct glyphs *glyphs;
    int rows, columns;             /* the terminal's size */
    int cursor_row, cursor_column; /* the focused item; row -1: no item has the focus */
    struct targets targets;        /* what a click does in this frame */
};

/* Draws a text in one line. At the edge of the area it is cut, but not within a number, for which
 * glyphs->cut stands instead. Returns the column after it. */
int draw_text(struct canvas *canvas, struct rect area, int row, int column, enum role role,
              const char *text);

/* Draws a name; one that is too long loses its middle (columns_fit_middle). Returns the column
 * after it. */
int draw_fitted_name(struct canvas *canvas, struct rect area, int row, int column, enum role role,
                     const char *name);

/* Draws a value so that it never reads as another one (columns_fit_value). Returns the column after
 * it. */
int draw_fitted_value(struct canvas *canvas, struct rect area, int row, int column, enum role role,
                      const char *value);

/* Draws a sentence in one line; glyphs->cut stands for the words that do not fit. Returns the
 * column after it. */
int draw_sentence(struct canvas *canvas, struct rect area, int row, int column, enum role role,
                  const char *text);

/* Draws a text made by printf. Returns the column after it. */
int draw_format(struct canvas *canvas, struct rect area, int row, int column, enum role role,
                const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Draws a text flush with the right edge, as draw_fitted_value does if it is too long. */
void draw_right(struct canvas *canvas, struct rect area, int row, enum role role, const char *text);

/* Draws marks at the right edge: that there is more above or below the rows of the area. */
void draw_scroll_marks(struct canvas *canvas, struct rect area, bool above, bool below);

/* Draws a paragraph from `row` on, broken at spaces; glyphs->cut stands for the words that do not
 * fit into the area. Returns the row after it. */
int draw_wrapped(struct canvas *canvas, struct rect area, int row, enum role role,
                 const char *text);

/* Fills the rectangle with spaces. */
void draw_fill(struct canvas *canvas, struct rect area, enum role role);

/* Draws a box along the rectangle's edge and clears its inside, one column on either side, and the
 * rest of each word or number that the box cuts. Returns the inside. */
struct rect draw_box(struct canvas *canvas, struct rect area, const char *title);

/* Draws a bar that is filled to `fraction` (0..1) over `columns` columns. */
void draw_gauge(struct canvas *canvas, struct rect area, int row, int column, int columns,
                double fraction, enum role role);

/* Draws the names of tabs in one line and translates them. The selected name stands in brackets.
 * Where not all names fit, those around the selected one are drawn whole, and a mark at either end
 * stands for the others. A click on a tab or on a mark acts as the key v, pressed until that tab is
 * selected. Returns the column after the last tab. */
int draw_tabs(struct canvas *canvas, struct rect area, const char *const *names, size_t count,
              size_t selected);

/* Draws a picture. With 256 colours a cell shows two pixels, or one where the locale has no half
 * blocks. Otherwise characters show grey values, stretched to the picture's own range. */
void draw_halfblocks(struct canvas *canvas, struct rect area, const struct halfblocks *blocks);

/* Sets where the hardware cursor stands once the frame is complete (screen readers follow it). */
void draw_cursor(struct canvas *canvas, struct rect area, int row, int column);

#endif
