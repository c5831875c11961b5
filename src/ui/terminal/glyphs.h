/* glyphs.h: the characters that drawing uses besides letters, in UTF-8 or plain ASCII.
 *
 * In a locale that is not UTF-8 (or whose characters are two columns wide) ncurses drops such
 * characters silently, so they never appear in other files: sentences are ASCII, and decoration
 * comes from here.
 */
#ifndef TINCA_UI_TERMINAL_GLYPHS_H
#define TINCA_UI_TERMINAL_GLYPHS_H

#include <stdbool.h>
#include <stddef.h>

enum graph_symbols { SYMBOLS_BRAILLE, SYMBOLS_BLOCK, SYMBOLS_ASCII, SYMBOLS_KINDS };

struct glyphs {
    const char *horizontal, *vertical;
    const char *top_left, *top_right, *bottom_left, *bottom_right;
    const char *tick_left, *tick_down, *corner; /* of a plot's axes */
    const char *left, *right, *up, *down;       /* that there is more */
    const char *sorted;                         /* the column that sorts a table */
    const char *dot;                            /* between things in one line */
    const char *best;                           /* the best epoch */
    const char *full, *empty;                   /* of a gauge */
    const char *eighths[8];                     /* of a gauge's last cell; [0] is empty */
    const char *levels[8];                      /* of a sparkline, lowest first */
    const char *shades[4];                      /* kinds of areas, told apart without colour */
    const char *upper_half;                     /* two pixels of a picture; NULL: one a cell */
};

/* `unicode`: the locale shows UTF-8 in single columns. */
const struct glyphs *glyphs_for(bool unicode);

/* Whether the locale in force shows the characters above. */
bool glyphs_unicode_works(void);

/* The names of enum graph_symbols, NULL-terminated. */
extern const char *const ui_symbols[];

/* The symbols by name, or the best that this locale and terminal can show. */
bool glyphs_parse_symbols(const char *name, enum graph_symbols *symbols);
enum graph_symbols glyphs_default_symbols(bool unicode, const char *terminal);

#endif
