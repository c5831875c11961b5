/* glyphs.h: the decorative characters of the screen, in UTF-8 or plain ASCII.
 *
 * In a locale that is not UTF-8, or that shows these characters two columns wide, ncurses drops
 * them silently. Therefore no other file contains them: sentences are ASCII, and decoration comes
 * from these tables.
 */
#ifndef TINCA_UI_TERMINAL_GLYPHS_H
#define TINCA_UI_TERMINAL_GLYPHS_H

#include <stdbool.h>
#include <stddef.h>

/* The characters that curves are drawn with. */
enum graph_symbols { SYMBOLS_BRAILLE, SYMBOLS_BLOCK, SYMBOLS_ASCII, SYMBOLS_KINDS };

struct glyphs {
    const char *horizontal, *vertical; /* lines of boxes, rules and axes */
    const char *top_left, *top_right, *bottom_left, *bottom_right; /* corners of a box */
    const char *tick_left, *tick_down, *corner;                    /* the axes of a plot */
    const char *left, *right, *up, *down; /* marks that there is more in that direction */
    const char *sorted;                   /* marks the column that a table is sorted by */
    const char *cut;                      /* stands for what was left out of a name or value */
    const char *dot;                      /* separates items in one line */
    const char *best;                     /* marks the best epoch */
    const char *plus_minus;               /* between a mean and its standard deviation */
    const char *full, *empty;             /* cells of a gauge */
    const char *eighths[8];               /* a gauge's last cell by eighths filled; [0] is empty */
    const char *levels[8];                /* a sparkline's cell, lowest first */
    const char *shades[4];                /* fill patterns that differ without colour */
    const char *upper_half;               /* two pixels in a cell; NULL: a cell shows one */
};

/* Returns the table in UTF-8 (see glyphs_unicode_works) or in ASCII. */
const struct glyphs *glyphs_for(bool unicode);

/* Returns whether the current locale shows the UTF-8 characters, each in one column. */
bool glyphs_unicode_works(void);

/* The names of enum graph_symbols, NULL-terminated. */
extern const char *const ui_symbols[];

/* Sets `*symbols` from a name. Returns false if the name is unknown. */
bool glyphs_parse_symbols(const char *name, enum graph_symbols *symbols);

/* Returns the best symbols that the locale and the terminal type `terminal` ($TERM) can show. */
enum graph_symbols glyphs_default_symbols(bool unicode, const char *terminal);

#endif
