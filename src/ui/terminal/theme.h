/* theme.h: what each kind of text looks like.
 *
 * Drawing names roles; a scheme gives each role colours for 256 and 16 colours, and attributes
 * that carry it where there are none. No meaning rests on colour alone: what a role says is also
 * said by a word, a mark or a place.
 */
#ifndef TINCA_UI_TERMINAL_THEME_H
#define TINCA_UI_TERMINAL_THEME_H

#include <stdbool.h>
#include <stddef.h>

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
    ROLE_SERIES, /* the first of THEME_SERIES for curves side by side */
    ROLES = ROLE_SERIES + 6
};
enum { THEME_SERIES = ROLES - ROLE_SERIES };

struct theme {
    unsigned long attributes[ROLES]; /* ncurses' attr_t with its colour pair */
    bool colours256;                 /* pictures can be shown in colours */
    bool dark;                       /* light letters on a dark ground, as far as is known */
};

/* The names of the colour schemes, NULL-terminated. */
extern const char *const ui_colours[];

/* Fills the theme for the terminal that is open. With NO_COLOR set (and not empty) every scheme is
 * "mono". */
void theme_load(struct theme *theme, const char *name);

#endif
