/* legend.h: the key to a plot's curves: a title and samples with their words, in one line or, where
 * there is room, in several. */
#ifndef TINCA_UI_WIDGETS_LEGEND_H
#define TINCA_UI_WIDGETS_LEGEND_H

#include "ui/terminal/draw.h"

#include <stddef.h>

enum { LEGEND_ITEMS = 24 };

struct legend { /* starts as {0} */
    char title[64];
    struct legend_item {
        enum role role;
        char sample[24]; /* "" : words alone */
        char words[96];
    } items[LEGEND_ITEMS];
    size_t count;
};

void legend_add(struct legend *legend, enum role role, const char *sample, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* How many lines of so many columns its first `count` items fill. */
int legend_lines(const struct legend *legend, size_t count, int columns);

/* What has no room is left out; the last words say how many that are. */
void legend_draw(const struct legend *legend, struct canvas *canvas, struct rect area);

#endif
