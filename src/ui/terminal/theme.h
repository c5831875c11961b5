/* theme.h: the colours and attributes of each kind of text.
 *
 * Drawing functions name a role. A colour scheme gives each role colours for terminals with 256 and
 * 16 colours, and attributes for terminals without colour. Colour alone never carries a meaning: a
 * word, a mark or the position expresses it as well.
 */
#ifndef TINCA_UI_TERMINAL_THEME_H
#define TINCA_UI_TERMINAL_THEME_H

#include <stdbool.h>
#include <stddef.h>

/* The kinds of text and curves that the schemes distinguish. */
enum role {
    ROLE_TEXT,
    ROLE_FAINT,
    ROLE_STRONG,
    ROLE_TITLE,
    ROLE_HEADING,
    ROLE_KEY,
    ROLE_FOCUS,
    ROLE_EDIT,
    ROLE_GOOD,
    ROLE_WARNING,
    ROLE_BAD,
    ROLE_RAW,
    ROLE_SMOOTHED,
    ROLE_VALIDATION,
    ROLE_RATE,
    ROLE_GAUGE,
    ROLE_SERIES, /* the first of THEME_SERIES colours for curves in one plot */
    ROLES = ROLE_SERIES + 10
};
enum { THEME_SERIES = ROLES - ROLE_SERIES };

/* The colours of the series on terminals with 16 colours; those with 256 have series_colours, which
 * colour-blind readers can tell apart. The schemes with a dark background share one set. */
enum theme_background { THEME_DARK, THEME_LIGHT, THEME_BACKGROUNDS };
struct theme_series {
    short of16[THEME_SERIES];
};
extern const struct theme_series theme_series[THEME_BACKGROUNDS];

struct theme {
    unsigned long attributes[ROLES]; /* an attr_t of ncurses, with its colour pair */
    bool colours256;                 /* there are enough colours for pictures */
    bool dark;                       /* the scheme assumes a dark background */
};

/* The names of the colour schemes, NULL-terminated. */
extern const char *const ui_colours[];

/* Fills the theme for the open terminal from a scheme's name; an unknown name means the default
 * scheme. If NO_COLOR is set and not empty, or the terminal has too few colours, it is "mono". */
void theme_load(struct theme *theme, const char *name);

/* --- glyphs ---
 *
 * the decorative characters of the screen, in UTF-8 or plain ASCII.
 *
 * In a locale that is not UTF-8, or that shows these characters two columns wide, ncurses drops
 * them silently. Therefore no other file contains them: sentences are ASCII, and decoration comes
 * from these tables.
 */

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
