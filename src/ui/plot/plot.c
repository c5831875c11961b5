/* Braille patterns are U+2800 plus eight bits, in a historical order: the upper three dots of the
 * left column, the upper three of the right column, then the two lowest. Quarter blocks lie
 * scattered in U+2580..U+259F. Lines follow Bresenham (IBM Systems Journal 4, 1965). */
#include "ui/plot/plot.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    uint8_t across, down;
} rasters[SYMBOLS_KINDS] = {{2, 4}, {2, 2}, {1, 2}};

size_t plot_dots_across(enum graph_symbols symbols)
{
    return rasters[symbols].across;
}

size_t plot_dots_down(enum graph_symbols symbols)
{
    return rasters[symbols].down;
}

size_t plot_width(const struct plot *plot)
{
    return plot->columns * rasters[plot->symbols].across;
}

size_t plot_height(const struct plot *plot)
{
    return plot->rows * rasters[plot->symbols].down;
}

bool plot_reset(struct plot *plot, size_t rows, size_t columns, enum graph_symbols symbols,
                struct error *error)
{
    if (!memory_grow(&plot->cells, &plot->capacity, rows * columns, sizeof *plot->cells, "a plot",
                     error))
        return false;
    if (rows * columns > 0)
        memset(plot->cells, 0, rows * columns * sizeof *plot->cells);
    plot->rows = rows;
    plot->columns = columns;
    plot->symbols = symbols;
    return true;
}

void plot_free(struct plot *plot)
{
    free(plot->cells);
    *plot = (struct plot){0};
}

/* Makes the cell of a dot one of `series` and returns it; NULL outside the plot. */
static struct plot_cell *take_cell(struct plot *plot, uint16_t series, long x, long y)
{
    if (x < 0 || y < 0 || (size_t)x >= plot_width(plot) || (size_t)y >= plot_height(plot))
        return NULL;
    size_t row = plot->rows - 1 - (size_t)y / rasters[plot->symbols].down;
    size_t column = (size_t)x / rasters[plot->symbols].across;
    struct plot_cell *cell = &plot->cells[row * plot->columns + column];
    if (cell->series != series)
        *cell = (struct plot_cell){.series = series};
    return cell;
}

void plot_dot(struct plot *plot, uint16_t series, long x, long y)
{
    struct plot_cell *cell = take_cell(plot, series, x, y);
    if (!cell)
        return;
    size_t across = rasters[plot->symbols].across, down = rasters[plot->symbols].down;
    size_t row = down - 1 - (size_t)y % down;
    cell->dots |= (uint8_t)(1u << (row * across + (size_t)x % across));
}

static long clamp(long value, long low, long high)
{
    return value < low ? low : value > high ? high : value;
}

void plot_span(struct plot *plot, uint16_t series, long x, long y_from, long y_to)
{
    long top = (long)plot_height(plot) - 1;
    if ((y_from < 0 && y_to < 0) || (y_from > top && y_to > top))
        return;
    y_from = clamp(y_from, 0, top);
    y_to = clamp(y_to, 0, top);
    for (long y = y_from < y_to ? y_from : y_to; y <= (y_from > y_to ? y_from : y_to); y++)
        plot_dot(plot, series, x, y);
}

void plot_line(struct plot *plot, uint16_t series, long x0, long y0, long x1, long y1)
{
    /* points far outside are moved nearer, which bounds the length of the loop */
    long reach = 4 * (long)(plot_width(plot) + plot_height(plot)) + 16;
    x0 = clamp(x0, -reach, reach);
    x1 = clamp(x1, -reach, reach);
    y0 = clamp(y0, -reach, reach);
    y1 = clamp(y1, -reach, reach);
    long dx = labs(x1 - x0), dy = -labs(y1 - y0);
    long step_x = x0 < x1 ? 1 : -1, step_y = y0 < y1 ? 1 : -1, slack = dx + dy;
    for (;;) {
        plot_dot(plot, series, x0, y0);
        if (x0 == x1 && y0 == y1)
            return;
        long twice = 2 * slack;
        if (twice >= dy) {
            slack += dy;
            x0 += step_x;
        }
        if (twice <= dx) {
            slack += dx;
            y0 += step_y;
        }
    }
}

void plot_mark(struct plot *plot, uint16_t series, long x, long y, char mark)
{
    struct plot_cell *cell = take_cell(plot, series, x, y);
    if (cell)
        cell->mark = mark;
}

static char *put_utf8(unsigned code, char *text)
{
    text[0] = (char)(0xe0 | code >> 12);
    text[1] = (char)(0x80 | (code >> 6 & 0x3f));
    text[2] = (char)(0x80 | (code & 0x3f));
    text[3] = '\0';
    return text;
}

static char *braille_text(uint8_t dots, char *text)
{
    static const uint8_t bits[8] = {0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80};
    unsigned pattern = 0;
    for (size_t i = 0; i < 8; i++)
        if (dots & 1u << i)
            pattern |= bits[i];
    return put_utf8(0x2800 + pattern, text);
}

static char *block_text(uint8_t dots, char *text)
{
    /* bits: 1 upper left, 2 upper right, 4 lower left, 8 lower right */
    static const uint16_t blocks[16] = {' ',    0x2598, 0x259d, 0x2580, 0x2596, 0x258c,
                                        0x259e, 0x259b, 0x2597, 0x259a, 0x2590, 0x259c,
                                        0x2584, 0x2599, 0x259f, 0x2588};
    return put_utf8(blocks[dots & 15], text);
}

static char *ascii_text(uint8_t dots, enum plot_style style, char *text)
{
    /* bits: 1 upper half, 2 lower half */
    static const char characters[2][4] = {{' ', '\'', '.', ':'}, {' ', '"', '_', '#'}};
    text[0] = characters[style][dots & 3];
    text[1] = '\0';
    return text;
}

char *plot_cell_text(const struct plot *plot, size_t row, size_t column, enum plot_style style,
                     char *text)
{
    const struct plot_cell *cell = &plot->cells[row * plot->columns + column];
    text[0] = cell->mark;
    text[1] = '\0';
    if (cell->mark || !cell->dots)
        return text;
    if (plot->symbols == SYMBOLS_BRAILLE)
        return braille_text(cell->dots, text);
    if (plot->symbols == SYMBOLS_BLOCK)
        return block_text(cell->dots, text);
    return ascii_text(cell->dots, style, text);
}
