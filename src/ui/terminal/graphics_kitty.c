/* Kitty's graphics protocol: the pixels in base64 (RFC 4648), in pieces of 4096 characters, each in
 * an APC sequence. The terminal is told not to reply (q=2) and not to move the cursor (C=1). */
#include "ui/terminal/graphics.h"

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
