/* Texts and straight lines on a chart.
 *
 * Messages have the locale's character set, and run names may contain any bytes, but Cairo fails on
 * text that is not valid UTF-8. Therefore every text is converted first. */
#include "exchange/export/internal.h"

#include "base/character.h"

#include <math.h>
#include <string.h>
#include <wchar.h>

const struct canvas_colour sheet_ink = {32, 36, 42}, sheet_grey = {96, 102, 110};
const struct canvas_font sheet_label = {.colour = {32, 36, 42}, .size = SHEET_TEXT},
                         sheet_secondary_label = {.colour = {96, 102, 110}, .size = SHEET_TEXT};

/* --- UTF-8 --- */

static void append_utf8(struct text *text, uint32_t code)
{
    char bytes[4];
    size_t count = 1;
    if (code < 0x80)
        bytes[0] = (char)code;
    else if (code < 0x800) {
        bytes[0] = (char)(0xc0 | code >> 6);
        count = 2;
    } else if (code < 0x10000) {
        bytes[0] = (char)(0xe0 | code >> 12);
        count = 3;
    } else {
        bytes[0] = (char)(0xf0 | code >> 18);
        count = 4;
    }
    for (size_t i = 1; i < count; i++)
        bytes[i] = (char)(0x80 | (code >> 6 * (count - 1 - i) & 0x3f));
    text_append_bytes(text, bytes, count);
}

/* Returns the length in bytes of the character at `from` and sets *code to its Unicode number.
 * Bytes that are not UTF-8 are read in the locale's character set (glibc's wchar_t is Unicode); a
 * byte that is invalid there, too, becomes a question mark. */
static size_t decode(const char *from, uint32_t *code)
{
    wchar_t wide;
    mbstate_t state = {0};
    size_t length = character_decode_utf8(from, code);
    if (length == 0) {
        length = mbrtowc(&wide, from, strlen(from), &state);
        *code = (uint32_t)wide;
        if (length == 0 || length > strlen(from)) {
            length = 1;
            *code = '?';
        }
    }
    if (!character_is_visible(*code))
        *code = '?';
    return length;
}

void sheet_append_utf8(struct text *out, const char *text)
{
    text_append_bytes(out, "", 0); /* an empty text is "", not NULL */
    for (uint32_t code; *text;) {
        text += decode(text, &code);
        append_utf8(out, code);
    }
}

/* Returns `text` as UTF-8, or "" if memory runs out. The caller frees `buffer`. */
static const char *to_utf8(const char *text, struct text *buffer)
{
    sheet_append_utf8(buffer, text);
    return buffer->failed ? "" : buffer->data;
}

/* --- drawing --- */

void sheet_line(const struct sheet *sheet, struct canvas_point from, struct canvas_point to,
                double width, struct canvas_colour colour)
{
    const struct canvas_point points[2] = {from, to};
    sheet->draw->line(sheet->canvas, points, 2,
                      &(struct canvas_pen){.colour = colour, .width = width});
}

double sheet_text_width(const struct sheet *sheet, const char *text, const struct canvas_font *font)
{
    struct text buffer = {0};
    const double width = sheet->draw->text_width(sheet->canvas, to_utf8(text, &buffer), font);
    text_free(&buffer);
    return width;
}

/* Returns the length of `text` in `font`, whose size is first reduced until it fits into `limit`.
 */
static double fit(const struct sheet *sheet, const char *text, double limit,
                  struct canvas_font *font)
{
    const double width = sheet->draw->text_width(sheet->canvas, text, font);
    if (width <= limit || !(limit > 0))
        return width;
    font->size *= limit / width;
    return limit;
}

static void draw_text(const struct sheet *sheet, struct canvas_point at, double align, double limit,
                      const char *text, struct canvas_font font, bool upwards)
{
    struct text buffer = {0};
    const char *utf8 = to_utf8(text, &buffer);
    const double before = align * fit(sheet, utf8, limit, &font);
    sheet->draw->text(sheet->canvas, upwards ? at.x : at.x - before, upwards ? at.y + before : at.y,
                      utf8, &font, upwards);
    text_free(&buffer);
}

void sheet_text(const struct sheet *sheet, double x, double y, double align, double limit,
                const char *text, const struct canvas_font *font)
{
    draw_text(sheet, (struct canvas_point){x, y}, align, limit, text, *font, false);
}

void sheet_text_upwards(const struct sheet *sheet, double x, double y, double align, double limit,
                        const char *text, const struct canvas_font *font)
{
    draw_text(sheet, (struct canvas_point){x, y}, align, limit, text, *font, true);
}
