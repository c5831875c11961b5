/* series_colours.h: the ten colours of curves in one plot, the same in the terminal and in exported
 * charts, on dark and on light. */
#ifndef TINCA_BASE_SERIES_COLOURS_H
#define TINCA_BASE_SERIES_COLOURS_H

#include <stdint.h>

enum { SERIES_COLOURS = 10 };

struct series_colour {
    uint8_t of256; /* its number among the 256 colours of xterm */
    uint8_t red, green, blue;
};

extern const struct series_colour series_colours[SERIES_COLOURS];

#endif
