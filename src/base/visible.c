#include "base/visible.h"

#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* --- characters --- */

bool visible_code_point(uint32_t code_point)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {{0x0000, 0x001f},      {0x007f, 0x009f}, /* controls */
                  {0x061c, 0x061c},                        /* Arabic letter mark */
                  {0x180e, 0x180e},      {0x200b, 0x200f}, /* zero width, left-to-right and back */
                  {0x2028, 0x202e}, /* line ends, bidirectional embedding and override */
                  {0x2060, 0x206f}, /* word joiner, bidirectional isolates */
                  {0xd800, 0xdfff},      {0xfeff, 0xfeff}, /* surrogates, byte order mark */
                  {0xfff9, 0xfffb},      {0xfffe, 0xffff},
                  {0xe0000, 0xe0fff}, /* annotation, tags */
                  {0x110000, UINT32_MAX}};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (code_point >= hidden[i].first && code_point <= hidden[i].last)
            return false;
    return true;
}

size_t visible_decode_utf8(const char *bytes, uint32_t *code_point)
{
    const unsigned char *text = (const unsigned char *)bytes;
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t length = text[0] < 0x80   ? 1
                          : text[0] < 0xc2 ? 0
                          : text[0] < 0xe0 ? 2
                          : text[0] < 0xf0 ? 3
                          : text[0] < 0xf5 ? 4
                                           : 0;
    *code_point = length < 2 ? text[0] : text[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        *code_point = *code_point << 6 | (text[i] & 0x3f);
    }
    const bool surrogate = *code_point >= 0xd800 && *code_point <= 0xdfff;
    const bool valid = length > 0 && *code_point >= smallest[length] && *code_point <= 0x10ffff;
    return valid && !surrogate ? length : 0;
}

static size_t decode_in_locale(const char *text, uint32_t *code_point)
{
    wchar_t wide = 0;
    mbstate_t state = {0};
    const size_t length = mbrtowc(&wide, text, strlen(text), &state);
    *code_point = (uint32_t)wide;
    return length > strlen(text) ? 0 : length;
}

/* In the C locale nothing is said of bytes above 127: they are UTF-8 nearly everywhere. */
static bool locale_is_utf8(void)
{
    const char *set = nl_langinfo(CODESET);
    return strcmp(set, "UTF-8") == 0 || strcmp(set, "ANSI_X3.4-1968") == 0 ||
           strcmp(set, "US-ASCII") == 0;
}

size_t visible_character(const char *text, bool *visible)
{
    uint32_t code_point;
    const size_t length = locale_is_utf8() ? visible_decode_utf8(text, &code_point)
                                           : decode_in_locale(text, &code_point);
    *visible = length > 0 && visible_code_point(code_point);
    return length > 0 ? length : text[0] != '\0';
}

/* --- texts --- */

char *text_make_visible(char *text)
{
    char *out = text;
    for (const char *c = text; *c;) {
        bool visible;
        const size_t length = visible_character(c, &visible);
        if (visible)
            memmove(out, c, length);
        else
            *out = '?';
        out += visible ? length : 1;
        c += length;
    }
    *out = '\0';
    return text;
}

void visible_append(struct text *text, const char *line)
{
    while (*line) {
        bool visible;
        const size_t length = visible_character(line, &visible);
        text_append_bytes(text, visible ? line : "?", visible ? length : 1);
        line += length;
    }
}

/* --- printf --- */

/* One conversion of a format: "%-*.3zu". */
struct conversion {
    char letter, length[3]; /* as in "zu", "llu" */
    char print[32];         /* the whole of it, with numbers for its stars */
    int precision;          /* -1: none */
};

/* A width or a precision; -1: neither a number nor a star stands there. */
static int take_number(const char **format, va_list *arguments)
{
    int value = -1;
    if (**format == '*') {
        ++*format;
        return va_arg(*arguments, int);
    }
    for (; **format >= '0' && **format <= '9'; ++*format)
        value = (value < 0 ? 0 : value % 100000) * 10 + (**format - '0');
    return value;
}

/* `format` stands behind a '%', and afterwards behind the conversion. */
static struct conversion take_conversion(const char **format, va_list *arguments)
{
    struct conversion c = {.precision = -1};
    char flags[8], width[16] = "", precision[16] = "";
    const size_t flag_count = strspn(*format, "-+ #0");
    snprintf(flags, sizeof flags, "%.*s", (int)flag_count, *format);
    *format += flag_count;
    const int wide = take_number(format, arguments); /* a negative star is a flag and a width */
    if (wide >= 0 || wide < -1)
        snprintf(width, sizeof width, "%d", wide);
    if (**format == '.') {
        ++*format;
        const int digits = take_number(format, arguments);
        c.precision = digits < 0 ? 0 : digits;
    }
    for (size_t i = 0; i < 2 && **format && strchr("hlzjtL", **format); i++)
        c.length[i] = *(*format)++;
    c.letter = **format;
    *format += c.letter != '\0';
    if (c.precision >= 0 && c.letter != 's')
        snprintf(precision, sizeof precision, ".%d", c.precision);
    snprintf(c.print, sizeof c.print, "%%%.5s%.9s%.9s%.2s%c", flags, width, precision, c.length,
             c.letter);
    return c;
}

static void append_string(struct text *text, const struct conversion *c, visible_appender *append,
                          const char *string)
{
    struct text cut = {0}, shown = {0};
    text_append_bytes(&cut, string,
                      c->precision < 0 ? strlen(string) : strnlen(string, (size_t)c->precision));
    if (cut.data)
        append(&shown, cut.data);
    text->failed |= cut.failed || shown.failed;
    text_append(text, c->print, shown.data ? shown.data : "");
    text_free(&cut);
    text_free(&shown);
}

static void append_integer(struct text *text, const struct conversion *c, va_list *arguments)
{
    if (strcmp(c->length, "ll") == 0)
        text_append(text, c->print, va_arg(*arguments, long long));
    else if (strcmp(c->length, "l") == 0)
        text_append(text, c->print, va_arg(*arguments, long));
    else if (strcmp(c->length, "z") == 0)
        text_append(text, c->print, va_arg(*arguments, size_t));
    else if (strcmp(c->length, "j") == 0)
        text_append(text, c->print, va_arg(*arguments, intmax_t));
    else if (strcmp(c->length, "t") == 0)
        text_append(text, c->print, va_arg(*arguments, ptrdiff_t));
    else
        text_append(text, c->print, va_arg(*arguments, int));
}

static void append_conversion(struct text *text, const struct conversion *c,
                              visible_appender *append, va_list *arguments)
{
    if (c->letter == 's')
        append_string(text, c, append, va_arg(*arguments, const char *));
    else if (c->letter == '%')
        text_append(text, "%%");
    else if (c->letter && strchr("diouxXc", c->letter))
        append_integer(text, c, arguments);
    else if (c->length[0] == 'L')
        text_append(text, c->print, va_arg(*arguments, long double));
    else
        text_append(text, c->print, va_arg(*arguments, double));
}

void visible_append_arguments(struct text *text, visible_appender *append, const char *format,
                              va_list arguments)
{
    va_list rest;
    va_copy(rest, arguments);
    while (*format) {
        const size_t plain = strcspn(format, "%");
        text_append_bytes(text, format, plain);
        format += plain;
        if (!*format)
            break;
        format++;
        const struct conversion c = take_conversion(&format, &rest);
        append_conversion(text, &c, append, &rest);
    }
    va_end(rest);
}

void visible_append_format(struct text *text, visible_appender *append, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    visible_append_arguments(text, append, format, arguments);
    va_end(arguments);
}
