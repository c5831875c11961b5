/* Two tables with the same members, in UTF-8 and in ASCII, and the choice between them. */
#include "ui/terminal/glyphs.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

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
