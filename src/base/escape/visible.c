/* visible_append_format interprets printf's format itself: it splits it into conversions, and calls
 * the C library for each of them. For %s it first escapes the string, cut to its precision. */
#include "base/escape/visible.h"

#include "base/character.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

void visible_append(struct text *text, const char *line)
{
    const char *start = line; /* the first visible character that is not appended yet */
    while (*line) {
        bool visible;
        const size_t length = character_length(line, &visible);
        if (!visible) {
            if (line > start)
                text_append_bytes(text, start, (size_t)(line - start));
            text_append_bytes(text, "?", 1);
            start = line + length;
        }
        line += length;
    }
    if (line > start)
        text_append_bytes(text, start, (size_t)(line - start));
}

/* --- printf --- */

/* One conversion of a format: "%-*.3zu". */
struct conversion {
    char letter, length[3]; /* 'u' and "z" of "%zu" */
    char print[32];         /* the whole conversion, with numbers instead of stars */
    int width;              /* negative: to the left; 0: none */
    int precision;          /* negative: none */
};

/* Reads a width or a precision, digits or a star, into *value. Returns false and leaves *value
 * unchanged if there is neither. */
static bool take_number(const char **format, va_list *arguments, int *value)
{
    if (**format == '*') {
        ++*format;
        *value = va_arg(*arguments, int);
        return true;
    }
    if (**format < '0' || **format > '9')
        return false;
    for (*value = 0; **format >= '0' && **format <= '9'; ++*format)
        *value = *value % 100000 * 10 + (**format - '0');
    return true;
}

/* Writes the conversion into c->print, for the C library. A string needs none. */
static void print_conversion(struct conversion *c, const char *flags, size_t flag_count)
{
    char width[16] = "", precision[16] = "";
    if (c->letter == 's')
        return;
    if (c->width) /* negative for a star: the flag '-' and a width */
        snprintf(width, sizeof width, "%d", c->width);
    if (c->precision >= 0)
        snprintf(precision, sizeof precision, ".%d", c->precision);
    snprintf(c->print, sizeof c->print, "%%%.*s%.9s%.9s%.2s%c",
             (int)(flag_count < 5 ? flag_count : 5), flags, width, precision, c->length, c->letter);
}

/* Reads a conversion. *format is after its '%', and is moved to its end. */
static struct conversion take_conversion(const char **format, va_list *arguments)
{
    struct conversion c = {.precision = -1};
    const char *flags = *format;
    const size_t flag_count = strspn(flags, "-+ #0");
    *format += flag_count;
    take_number(format, arguments, &c.width);
    if (**format == '.') {
        ++*format;
        c.precision = 0;
        take_number(format, arguments, &c.precision); /* negative for a star: no precision */
    }
    for (size_t i = 0; i < 2 && **format && strchr("hlzjtL", **format); i++)
        c.length[i] = *(*format)++;
    c.letter = **format;
    *format += c.letter != '\0';
    if (c.letter == 's' && c.width > 0 && memchr(flags, '-', flag_count))
        c.width = -c.width;
    print_conversion(&c, flags, flag_count);
    return c;
}

static void append_blanks(struct text *text, size_t count)
{
    static const char blanks[] = "                                ";
    for (size_t part; count > 0; count -= part) {
        part = count < sizeof blanks - 1 ? count : sizeof blanks - 1;
        text_append_bytes(text, blanks, part);
    }
}

static void append_string(struct text *text, const struct conversion *c, visible_appender *append,
                          const char *string)
{
    struct text cut = {0}, shown = {0};
    if (c->precision >= 0) {
        text_append_bytes(&cut, string, strnlen(string, (size_t)c->precision));
        string = cut.data ? cut.data : "";
    }
    append(&shown, string);
    text->failed |= cut.failed || shown.failed;
    const size_t width = (size_t)(c->width < 0 ? -(long)c->width : c->width);
    const size_t padding = width > shown.length ? width - shown.length : 0;
    append_blanks(text, c->width > 0 ? padding : 0);
    if (shown.data)
        text_append_bytes(text, shown.data, shown.length);
    append_blanks(text, c->width < 0 ? padding : 0);
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
