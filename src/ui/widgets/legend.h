/* legend.h: the legend of a plot: a title and samples of the curves with a text each, in as many
 * lines as the area has. */
#ifndef TINCA_UI_WIDGETS_LEGEND_H
#define TINCA_UI_WIDGETS_LEGEND_H

#include "ui/terminal/draw.h"

#include <stddef.h>

enum { LEGEND_ITEMS = 24 };

struct legend { /* starts as {0} */
    char title[96];
    struct legend_item {
        enum role role;  /* role of the sample */
        char sample[24]; /* "": only the text */
        char text[96];
    } items[LEGEND_ITEMS];
    size_t count;
};

/* Adds an item whose text is made by printf. Beyond LEGEND_ITEMS nothing is added. */
void legend_add(struct legend *legend, enum role role, const char *sample, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Returns how many lines of `columns` columns the first `count` items fill. */
int legend_lines(const struct legend *legend, size_t count, int columns);

/* Draws the items that fit, and the number of those that do not ("+3"). */
void legend_draw(const struct legend *legend, struct canvas *canvas, struct rect area);

#endif
