/* One table holds the style of every role in every scheme. theme_load picks the scheme, reduces its
 * colours to what the terminal has, and makes the colour pairs. */
#include "ui/terminal/theme.h"

#include "base/series_colours.h"

#include <curses.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

const char *const ui_colours[] = {"default", "light", "mono", "colour-blind", NULL};

enum scheme { SCHEME_DEFAULT, SCHEME_LIGHT, SCHEME_MONO, SCHEME_COLOUR_BLIND, SCHEMES };

/* Foreground and background for 256 and 16 colours; -1 is the terminal's default colour. Against
 * black, or white in the light scheme, text has a contrast of at least 4.5 and lines of at least 3
 * (WCAG 2.1). `attributes` are set with and without colours. */
struct style {
    short fore256, back256, fore16, back16;
    attr_t attributes;
};

#define DEFAULT_COLOURS -1, -1, -1, -1

/* The 16 colours are the user's own: here they are only different ones. */
const struct theme_series theme_series[THEME_BACKGROUNDS] = {
    [THEME_DARK] = {{12, 9, 10, 14, 13, 11, 6, 3, 15, 7}},
    [THEME_LIGHT] = {{4, 1, 2, 6, 5, 3, 12, 8, 13, 9}},
};
_Static_assert((int)THEME_SERIES == (int)SERIES_COLOURS, "each role of a series has a colour");

/* The styles of the roles below ROLE_SERIES. */
static const struct style styles[SCHEMES][ROLE_SERIES] =
    {
        [SCHEME_DEFAULT] =
            {
                [ROLE_TEXT] = {DEFAULT_COLOURS, A_NORMAL},
                [ROLE_FAINT] = {245, -1, 8, -1, A_NORMAL},
                [ROLE_STRONG] = {DEFAULT_COLOURS, A_BOLD},
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
            },
        [SCHEME_LIGHT] =
            {
                [ROLE_TEXT] = {DEFAULT_COLOURS, A_NORMAL},
                [ROLE_FAINT] = {242, -1, 8, -1, A_NORMAL},
                [ROLE_STRONG] = {DEFAULT_COLOURS, A_BOLD},
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
            },
        [SCHEME_MONO] =
            {
                [ROLE_TEXT] = {DEFAULT_COLOURS, A_NORMAL},
                [ROLE_FAINT] = {DEFAULT_COLOURS, A_DIM},
                [ROLE_STRONG] = {DEFAULT_COLOURS, A_BOLD},
                [ROLE_TITLE] = {DEFAULT_COLOURS, A_REVERSE},
                [ROLE_HEADING] = {DEFAULT_COLOURS, A_BOLD},
                [ROLE_KEY] = {DEFAULT_COLOURS, A_BOLD},
                [ROLE_FOCUS] = {DEFAULT_COLOURS, A_REVERSE},
                [ROLE_EDIT] = {DEFAULT_COLOURS, A_UNDERLINE},
                [ROLE_GOOD] = {DEFAULT_COLOURS, A_NORMAL},
                [ROLE_WARNING] = {DEFAULT_COLOURS, A_BOLD},
                [ROLE_BAD] = {DEFAULT_COLOURS, A_BOLD},
                [ROLE_RAW] = {DEFAULT_COLOURS, A_DIM},
                [ROLE_SMOOTHED] = {DEFAULT_COLOURS, A_BOLD},
                [ROLE_VALIDATION] = {DEFAULT_COLOURS, A_BOLD},
                [ROLE_RATE] = {DEFAULT_COLOURS, A_NORMAL},
                [ROLE_GAUGE] = {DEFAULT_COLOURS, A_NORMAL},
            },
        [SCHEME_COLOUR_BLIND] =
            {
                [ROLE_TEXT] = {DEFAULT_COLOURS, A_NORMAL},
                [ROLE_FAINT] = {245, -1, 8, -1, A_NORMAL},
                [ROLE_STRONG] = {DEFAULT_COLOURS, A_BOLD},
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

/* Reduces 16 colours to 8: a bright colour becomes the dark one in bold; grey, which would become
 * black, becomes the default colour, dim. Returns the attributes to add. */
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

/* Returns the style of a role. Without colours, only the first series differs from the others. */
static struct style style_of(enum scheme scheme, int role)
{
    if (role < ROLE_SERIES)
        return styles[scheme][role];
    const int series = role - ROLE_SERIES;
    const attr_t attributes = series < 1 ? A_BOLD : A_NORMAL;
    if (scheme == SCHEME_MONO)
        return (struct style){DEFAULT_COLOURS, attributes};
    const struct theme_series *colours =
        &theme_series[scheme == SCHEME_LIGHT ? THEME_LIGHT : THEME_DARK];
    return (struct style){(short)series_colours[series].of256, -1, colours->of16[series], -1,
                          attributes};
}

static attr_t attributes_of(const struct style *style, short pair)
{
    short fore = style->fore256, back = style->back256;
    attr_t attributes = style->attributes;
    if (COLORS < 256) {
        fore = style->fore16;
        back = style->back16;
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
    /* ncurses sets COLORS only in start_color */
    if (scheme != SCHEME_MONO &&
        (start_color() != OK || COLORS < 8 || COLOR_PAIRS <= ROLES || use_default_colors() != OK))
        scheme = SCHEME_MONO;
    theme->colours256 = scheme != SCHEME_MONO && COLORS >= 256 && COLOR_PAIRS >= 4096;
    theme->dark = scheme != SCHEME_LIGHT;
    for (int role = 0; role < ROLES; role++) {
        const struct style style = style_of(scheme, role);
        theme->attributes[role] =
            scheme == SCHEME_MONO ? style.attributes : attributes_of(&style, (short)(role + 1));
    }
}

/* --- glyphs ---
 *
 * Two tables with the same members, in UTF-8 and in ASCII, and the choice between them. */

const char *const ui_symbols[] = {"braille", "block", "ascii", NULL};

static const struct glyphs unicode_glyphs = {
    .horizontal = "─",
    .vertical = "│",
    .top_left = "╭",
    .top_right = "╮",
    .bottom_left = "╰",
    .bottom_right = "╯",
    .tick_left = "┤",
    .tick_down = "┬",
    .corner = "╰",
    .left = "‹",
    .right = "›",
    .up = "↑",
    .down = "↓",
    .sorted = "↓",
    .cut = "…",
    .dot = "·",
    .best = "▲",
    .plus_minus = "±",
    .full = "█",
    .empty = "░",
    .eighths = {"░", "▏", "▎", "▍", "▌", "▋", "▊", "▉"},
    .levels = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
    .shades = {"▒", "░", "▓", "▚"},
    .upper_half = "▀",
};

static const struct glyphs ascii_glyphs = {
    .horizontal = "-",
    .vertical = "|",
    .top_left = "+",
    .top_right = "+",
    .bottom_left = "+",
    .bottom_right = "+",
    .tick_left = "+",
    .tick_down = "+",
    .corner = "+",
    .left = "<",
    .right = ">",
    .up = "^",
    .down = "v",
    .sorted = "*",
    .cut = "~",
    .dot = "-",
    .best = "^",
    .plus_minus = "+-",
    .full = "#",
    .empty = ".",
    .eighths = {".", ".", ".", ".", "=", "=", "=", "="},
    .levels = {"_", "_", "_", "-", "-", "-", "\"", "\""},
    .shades = {":", ".", "%", "+"},
};

const struct glyphs *glyphs_for(bool unicode)
{
    return unicode ? &unicode_glyphs : &ascii_glyphs;
}

bool glyphs_unicode_works(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0 && wcwidth(L'\u2500') == 1 &&
           wcwidth(L'\u2588') == 1 && wcwidth(L'\u28ff') == 1;
}

bool glyphs_parse_symbols(const char *name, enum graph_symbols *symbols)
{
    for (size_t i = 0; ui_symbols[i]; i++)
        if (strcmp(ui_symbols[i], name) == 0) {
            *symbols = (enum graph_symbols)i;
            return true;
        }
    return false;
}

enum graph_symbols glyphs_default_symbols(bool unicode, const char *terminal)
{
    /* the font of the Linux console has neither braille nor quarter blocks */
    if (!unicode || strcmp(terminal, "linux") == 0)
        return SYMBOLS_ASCII;
    return SYMBOLS_BRAILLE;
}
