/* Sixel (DEC, VT340): the picture in bands of six rows. For each colour of a band, every column is
 * one character whose six bits say which rows have that colour; "!N" repeats a character, "$" goes
 * back to the band's left edge for the next colour, "-" to the next band. */
#include "base/memory.h"
#include "ui/terminal/graphics.h"
#include "ui/terminal/palette.h"

#include <stdlib.h>
#include <string.h>

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
