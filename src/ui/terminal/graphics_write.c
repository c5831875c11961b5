/* Writes pictures in the three ways that terminals understand: half blocks, Kitty's protocol, and
 * sixels. */
#include "ui/terminal/graphics.h"

#include "base/memory.h"
#include "ui/terminal/halfblock.h"
#include "ui/terminal/palette.h"

#include <stdlib.h>
#include <string.h>

/* --- half blocks --- */

/* They have SGR colour sequences. A colour is sent only where it changes. */

/* Appends the colour of the upper half (`which` 38, foreground) or the lower one (48, background).
 */
static void write_colour(struct text *out, int which, const uint8_t rgb[3], bool truecolor)
{
    if (truecolor)
        text_append(out, "\033[%d;2;%d;%d;%dm", which, rgb[0], rgb[1], rgb[2]);
    else
        text_append(out, "\033[%d;5;%dm", which, colour_nearest(rgb));
}

static void write_half_blocks(struct text *out, const struct halfblock *cells, size_t columns,
                              bool truecolor)
{
    for (size_t i = 0; i < columns; i++) {
        if (i == 0 || memcmp(cells[i].upper, cells[i - 1].upper, 3) != 0)
            write_colour(out, 38, cells[i].upper, truecolor);
        if (i == 0 || memcmp(cells[i].lower, cells[i - 1].lower, 3) != 0)
            write_colour(out, 48, cells[i].lower, truecolor);
        text_append(out, "\xe2\x96\x80");
    }
    text_append(out, "\033[0m");
}

bool graphics_write_cells(struct text *out, const struct image *image, struct rect area,
                          bool truecolor, struct error *error)
{
    struct halfblocks blocks;
    if (!halfblocks_make(&blocks, image, (size_t)area.rows, (size_t)area.columns, error))
        return false;
    const int top = area.row + (area.rows - (int)blocks.rows) / 2;
    const int left = area.column + (area.columns - (int)blocks.columns) / 2;
    for (size_t row = 0; row < blocks.rows; row++) {
        text_append(out, "\033[%d;%dH", top + (int)row + 1, left + 1);
        write_half_blocks(out, blocks.cells + row * blocks.columns, blocks.columns, truecolor);
    }
    halfblocks_free(&blocks);
    return true;
}

/* --- Kitty --- */

/* Kitty's graphics protocol: the pixels in base64 (RFC 4648), in pieces of 4096 characters, each in
 * an APC sequence. The terminal is told not to reply (q=2) and not to move the cursor (C=1). */

enum { PIECE_BYTES = 3072 }; /* 4096 characters */

static void write_base64(struct text *out, const uint8_t *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char piece[PIECE_BYTES / 3 * 4];
    size_t used = 0;
    for (size_t i = 0; i < count; i += 3) {
        const unsigned second = i + 1 < count ? bytes[i + 1] : 0;
        const unsigned third = i + 2 < count ? bytes[i + 2] : 0;
        const unsigned word = (unsigned)bytes[i] << 16 | second << 8 | third;
        piece[used++] = digits[word >> 18];
        piece[used++] = digits[word >> 12 & 63];
        piece[used++] = i + 1 < count ? digits[word >> 6 & 63] : '=';
        piece[used++] = i + 2 < count ? digits[word & 63] : '=';
    }
    text_append_bytes(out, piece, used);
}

void graphics_write_kitty(struct text *out, const struct image *image, int columns, int rows)
{
    const size_t bytes = image->width * image->height * 3;
    for (size_t first = 0; first < bytes; first += PIECE_BYTES) {
        const size_t count = bytes - first < PIECE_BYTES ? bytes - first : PIECE_BYTES;
        text_append(out, "\033_G");
        if (first == 0)
            text_append(out, "a=T,f=24,s=%zu,v=%zu,c=%d,r=%d,C=1,q=2,", image->width, image->height,
                        columns, rows);
        text_append(out, "m=%d;", first + count < bytes);
        write_base64(out, image->pixels + first, count);
        text_append(out, "\033\\");
    }
}

/* --- sixels --- */

/* Sixel (DEC, VT340): the picture in bands of six rows. For each colour of a band, every column is
 * one character whose six bits say which rows have that colour; "!N" repeats a character, "$" goes
 * back to the band's left edge for the next colour, "-" to the next band. */

enum { BAND = 6 };

static void write_run(struct text *out, int bits, size_t length)
{
    const char glyph = (char)('?' + bits);
    if (length > 3)
        text_append(out, "!%zu%c", length, glyph);
    else
        text_append(out, "%.*s", (int)length, (char[]){glyph, glyph, glyph, '\0'});
}

/* Appends one colour of a band, without trailing empty columns. */
static void write_row(struct text *out, const uint8_t *bits, size_t width)
{
    while (width > 0 && bits[width - 1] == 0)
        width--;
    for (size_t x = 0, length; x < width; x += length) {
        for (length = 1; x + length < width && bits[x + length] == bits[x]; length++)
            continue;
        write_run(out, bits[x], length);
    }
}

/* Appends the band that begins at row `top`. `bits` is [colours][width]; it must be all zero and is
 * left all zero. */
static void write_band(struct text *out, const struct image *image, const struct palette *palette,
                       size_t top, uint8_t *bits)
{
    bool used[PALETTE_MAX] = {false};
    for (size_t y = top; y < top + BAND && y < image->height; y++)
        for (size_t x = 0; x < image->width; x++) {
            const uint8_t *pixel = image->pixels + (y * image->width + x) * 3;
            const uint8_t colour = palette->of_bin[palette_bin(pixel)];
            bits[colour * image->width + x] |= (uint8_t)(1 << (y - top));
            used[colour] = true;
        }
    for (size_t colour = 0; colour < palette->count; colour++) {
        if (!used[colour])
            continue;
        text_append(out, "#%zu", colour);
        write_row(out, bits + colour * image->width, image->width);
        text_append(out, "$");
        memset(bits + colour * image->width, 0, image->width);
    }
    text_append(out, "-");
}

static void write_colours(struct text *out, const struct palette *palette)
{
    for (size_t i = 0; i < palette->count; i++) {
        int percent[3];
        for (int c = 0; c < 3; c++)
            percent[c] = (palette->colours[i][c] * 100 + 127) / 255;
        text_append(out, "#%zu;2;%d;%d;%d", i, percent[0], percent[1], percent[2]);
    }
}

bool graphics_write_sixel(struct text *out, const struct image *image, struct error *error)
{
    struct palette *palette = memory_new(1, sizeof *palette, "a palette", error);
    uint8_t *bits = memory_new(PALETTE_MAX, image->width, "a sixel band", error);
    bool made = palette && bits && palette_make(palette, image, error);
    if (made) {
        text_append(out, "\033P0;1;0q\"1;1;%zu;%zu", image->width, image->height);
        write_colours(out, palette);
        for (size_t top = 0; top < image->height; top += BAND)
            write_band(out, image, palette, top, bits);
        text_append(out, "\033\\");
    }
    free(palette);
    free(bits);
    return made;
}
