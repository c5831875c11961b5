/* plot.h: a picture of curves in character cells.
 *
 * The raster has dots: 2x4 in a cell with braille, 2x2 with quarter blocks, 1x2 with ASCII. One
 * series owns a cell: a later one that comes to a cell clears it and takes it over, so that no cell
 * ever mixes two colours; draw what matters most last. Knows neither ncurses nor runs.
 */
#ifndef TINCA_UI_PLOT_PLOT_H
#define TINCA_UI_PLOT_PLOT_H

#include "base/error.h"
#include "ui/terminal/glyphs.h"

#include <stddef.h>
#include <stdint.h>

struct plot_cell {
    uint8_t series; /* 0: empty */
    uint8_t dots;   /* bit row * dots_across + column */
    char mark;      /* a whole-cell character instead, or 0 */
};

struct plot {
    size_t rows, columns; /* in cells */
    enum graph_symbols symbols;
    struct plot_cell *cells;
    size_t capacity;
};

/* How a series looks where only characters can tell it from others (ASCII). */
enum plot_style { PLOT_DOTTED, PLOT_SOLID };

/* Empties the picture and sets its size. Starts as {0}. */
bool plot_reset(struct plot *plot, size_t rows, size_t columns, enum graph_symbols symbols,
                struct error *error);
void plot_free(struct plot *plot);

/* The raster's size, in dots. */
size_t plot_width(const struct plot *plot);
size_t plot_height(const struct plot *plot);
size_t plot_dots_across(enum graph_symbols symbols); /* of one cell */
size_t plot_dots_down(enum graph_symbols symbols);

/* Coordinates in dots, (0, 0) at the bottom left; what lies outside is clipped. `series` >= 1. */
void plot_dot(struct plot *plot, uint8_t series, long x, long y);
void plot_span(struct plot *plot, uint8_t series, long x, long y_from, long y_to);
void plot_line(struct plot *plot, uint8_t series, long x0, long y0, long x1, long y1);
/* A whole cell's character, at the cell that holds the dot. */
void plot_mark(struct plot *plot, uint8_t series, long x, long y, char mark);

/* The text of a cell: "" when empty, else one character. `text` holds 5 bytes. Row 0 is the top. */
char *plot_cell_text(const struct plot *plot, size_t row, size_t column, enum plot_style style,
                     char *text);

#endif
