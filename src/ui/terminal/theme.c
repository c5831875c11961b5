#include "ui/terminal/theme.h"

#include <curses.h>
#include <stdlib.h>
#include <string.h>

const char *const ui_colours[] = {"default", "light", "mono", "colour-blind", NULL};

enum scheme { SCHEME_DEFAULT, SCHEME_LIGHT, SCHEME_MONO, SCHEME_COLOUR_BLIND, SCHEMES };

/* -1: the terminal's own colour. Against black, or white in the light scheme, text has a contrast
 * of 4.5 at least, lines of 3 (WCAG 2.1). `attributes` come on top, with colours or without. */
struct look {
    short fore256, back256, fore16, back16;
    attr_t attributes;
};

#define OWN -1, -1, -1, -1

/* The colour-blind scheme's series are Okabe and Ito's blue, orange, yellow and purple ("Color
 * universal design", 2008), as near as 256 colours come. */
static const struct look looks[SCHEMES][ROLES] =
    {
        [SCHEME_DEFAULT] =
            {
                [ROLE_TEXT] = {OWN, A_NORMAL},
                [ROLE_FAINT] = {245, -1, 8, -1, A_NORMAL},
                [ROLE_STRONG] = {OWN, A_BOLD},
                [ROLE_TITLE] = {231, 23, 15, 6, A_BOLD},
                [ROLE_HEADING] = {80, -1, 14, -1, A_BOLD},
                [ROLE_KEY] = {80, -1, 14, -1, A_BOLD},
                [ROLE_FOCUS] = {231, 24, 15, 6, A_BOLD},
                [ROLE_EDIT] = {231, 238, 15, 4, A_NORMAL},
                [ROLE_GOOD] = {114, -1, 10, -1, A_NORMAL},
                [ROLE_WARNING] = {221, -1, 11, -1, A_NORMAL},
                [ROLE_BAD] = {210, -1, 9, -1, A_BOLD},
                [ROLE_RAW] = {242, -1, 8, -1, A_NORMAL},
                [ROLE_SMOOTHED] = {80, -1, 14, -1, A_BOLD},
                [ROLE_VALIDATION] = {215, -1, 11, -1, A_BOLD},
                [ROLE_RATE] = {147, -1, 13, -1, A_NORMAL},
                [ROLE_GAUGE] = {73, -1, 6, -1, A_NORMAL},
                [ROLE_SERIES] = {80, -1, 14, -1, A_BOLD},
                [ROLE_SERIES + 1] = {215, -1, 11, -1, A_BOLD},
                [ROLE_SERIES + 2] = {147, -1, 13, -1, A_NORMAL},
                [ROLE_SERIES + 3] = {114, -1, 10, -1, A_NORMAL},
                [ROLE_SERIES + 4] = {210, -1, 9, -1, A_NORMAL},
                [ROLE_SERIES + 5] = {251, -1, 7, -1, A_NORMAL},
            },
        [SCHEME_LIGHT] =
            {
                [ROLE_TEXT] = {OWN, A_NORMAL},
                [ROLE_FAINT] = {242, -1, 8, -1, A_NORMAL},
                [ROLE_STRONG] = {OWN, A_BOLD},
                [ROLE_TITLE] = {231, 24, 15, 4, A_BOLD},
                [ROLE_HEADING] = {24, -1, 4, -1, A_BOLD},
                [ROLE_KEY] = {24, -1, 4, -1, A_BOLD},
                [ROLE_FOCUS] = {231, 25, 15, 4, A_BOLD},
                [ROLE_EDIT] = {16, 254, 0, 7, A_NORMAL},
                [ROLE_GOOD] = {28, -1, 2, -1, A_NORMAL},
                [ROLE_WARNING] = {130, -1, 3, -1, A_BOLD},
                [ROLE_BAD] = {160, -1, 1, -1, A_BOLD},
                [ROLE_RAW] = {246, -1, 8, -1, A_NORMAL},
                [ROLE_SMOOTHED] = {25, -1, 4, -1, A_BOLD},
                [ROLE_VALIDATION] = {130, -1, 1, -1, A_BOLD},
                [ROLE_RATE] = {91, -1, 5, -1, A_NORMAL},
                [ROLE_GAUGE] = {31, -1, 6, -1, A_NORMAL},
                [ROLE_SERIES] = {25, -1, 4, -1, A_BOLD},
                [ROLE_SERIES + 1] = {130, -1, 1, -1, A_BOLD},
                [ROLE_SERIES + 2] = {91, -1, 5, -1, A_NORMAL},
                [ROLE_SERIES + 3] = {28, -1, 2, -1, A_NORMAL},
                [ROLE_SERIES + 4] = {162, -1, 13, -1, A_NORMAL},
                [ROLE_SERIES + 5] = {240, -1, 8, -1, A_NORMAL},
            },
        [SCHEME_MONO] =
            {
                [ROLE_TEXT] = {OWN, A_NORMAL},       [ROLE_FAINT] = {OWN, A_DIM},
                [ROLE_STRONG] = {OWN, A_BOLD},       [ROLE_TITLE] = {OWN, A_REVERSE},
                [ROLE_HEADING] = {OWN, A_BOLD},      [ROLE_KEY] = {OWN, A_BOLD},
                [ROLE_FOCUS] = {OWN, A_REVERSE},     [ROLE_EDIT] = {OWN, A_UNDERLINE},
                [ROLE_GOOD] = {OWN, A_NORMAL},       [ROLE_WARNING] = {OWN, A_BOLD},
                [ROLE_BAD] = {OWN, A_BOLD},          [ROLE_RAW] = {OWN, A_DIM},
                [ROLE_SMOOTHED] = {OWN, A_BOLD},     [ROLE_VALIDATION] = {OWN, A_BOLD},
                [ROLE_RATE] = {OWN, A_NORMAL},       [ROLE_GAUGE] = {OWN, A_NORMAL},
                [ROLE_SERIES] = {OWN, A_BOLD},       [ROLE_SERIES + 1] = {OWN, A_NORMAL},
                [ROLE_SERIES + 2] = {OWN, A_NORMAL}, [ROLE_SERIES + 3] = {OWN, A_NORMAL},
                [ROLE_SERIES + 4] = {OWN, A_NORMAL}, [ROLE_SERIES + 5] = {OWN, A_NORMAL},
            },
        [SCHEME_COLOUR_BLIND] =
            {
                [ROLE_TEXT] = {OWN, A_NORMAL},
                [ROLE_FAINT] = {245, -1, 8, -1, A_NORMAL},
                [ROLE_STRONG] = {OWN, A_BOLD},
                [ROLE_TITLE] = {231, 24, 15, 4, A_BOLD},
                [ROLE_HEADING] = {117, -1, 12, -1, A_BOLD},
                [ROLE_KEY] = {117, -1, 12, -1, A_BOLD},
                [ROLE_FOCUS] = {16, 214, 0, 3, A_BOLD},
                [ROLE_EDIT] = {231, 238, 15, 4, A_NORMAL},
                [ROLE_GOOD] = {74, -1, 12, -1, A_NORMAL},
                [ROLE_WARNING] = {227, -1, 11, -1, A_NORMAL},
                [ROLE_BAD] = {208, -1, 11, -1, A_BOLD},
                [ROLE_RAW] = {242, -1, 8, -1, A_NORMAL},
                [ROLE_SMOOTHED] = {75, -1, 12, -1, A_BOLD},
                [ROLE_VALIDATION] = {214, -1, 11, -1, A_BOLD},
                [ROLE_RATE] = {175, -1, 13, -1, A_NORMAL},
                [ROLE_GAUGE] = {74, -1, 12, -1, A_NORMAL},
                [ROLE_SERIES] = {75, -1, 12, -1, A_BOLD},
                [ROLE_SERIES + 1] = {214, -1, 11, -1, A_BOLD},
                [ROLE_SERIES + 2] = {175, -1, 13, -1, A_NORMAL},
                [ROLE_SERIES + 3] = {36, -1, 10, -1, A_NORMAL},
                [ROLE_SERIES + 4] = {227, -1, 14, -1, A_NORMAL},
                [ROLE_SERIES + 5] = {251, -1, 7, -1, A_NORMAL},
            },
};

static bool find_scheme(const char *name, enum scheme *scheme)
{
    for (size_t i = 0; ui_colours[i]; i++)
        if (strcmp(ui_colours[i], name) == 0) {
            *scheme = (enum scheme)i;
            return true;
        }
    return false;
}

/* Eight colours: a bright one is its dark one in bold; grey, which would be black, is dim. */
static attr_t reduce_to_8(short *fore, short *back)
{
    attr_t added = 0;
    if (*fore == 8) {
        *fore = -1;
        added = A_DIM;
    } else if (*fore > 8) {
        *fore = (short)(*fore - 8);
        added = A_BOLD;
    }
    *back = (short)(*back > 7 ? *back - 8 : *back);
    return added;
}

static attr_t attributes_of(const struct look *look, short pair)
{
    short fore = look->fore256, back = look->back256;
    attr_t attributes = look->attributes;
    if (COLORS < 256) {
        fore = look->fore16;
        back = look->back16;
    }
    if (COLORS < 16)
        attributes |= reduce_to_8(&fore, &back);
    if (fore == -1 && back == -1)
        return attributes;
    init_pair(pair, fore, back);
    return attributes | COLOR_PAIR(pair);
}

void theme_load(struct theme *theme, const char *name)
{
    enum scheme scheme = SCHEME_DEFAULT;
    const char *no_color = getenv("NO_COLOR");
    find_scheme(name, &scheme);
    if ((no_color && no_color[0]) || !has_colors())
        scheme = SCHEME_MONO;
    /* how many colours there are is only known after start_color */
    if (scheme != SCHEME_MONO &&
        (start_color() != OK || COLORS < 8 || COLOR_PAIRS <= ROLES || use_default_colors() != OK))
        scheme = SCHEME_MONO;
    theme->colours256 = scheme != SCHEME_MONO && COLORS >= 256 && COLOR_PAIRS >= 4096;
    theme->dark = scheme != SCHEME_LIGHT;
    for (int role = 0; role < ROLES; role++)
        theme->attributes[role] = scheme == SCHEME_MONO
                                      ? looks[scheme][role].attributes
                                      : attributes_of(&looks[scheme][role], (short)(role + 1));
}
