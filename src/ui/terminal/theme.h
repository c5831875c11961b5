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

#endif
