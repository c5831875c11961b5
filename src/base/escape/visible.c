#include "base/escape/visible.h"

#include "base/character.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

void visible_append(struct text *text, const char *line)
{
    while (*line) {
        bool visible;
        const size_t length = character_length(line, &visible);
        text_append_bytes(text, visible ? line : "?", visible ? length : 1);
        line += length;
    }
}

/* --- printf --- */

/* One conversion of a format: "%-*.3zu". */
struct conversion {
    char letter, length[3]; /* as in "zu", "llu" */
    char print[32];         /* the whole of it, with numbers for its stars */
    int precision;          /* below 0: none */
};

/* Reads a width or a precision, digits or a star, into *value. Returns false when there is neither;
 * *value then stays. */
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

/* `format` stands behind a '%', and afterwards behind the conversion. */
static struct conversion take_conversion(const char **format, va_list *arguments)
{
    struct conversion c = {.precision = -1};
    char flags[8], width[16] = "", precision[16] = "";
    const size_t flag_count = strspn(*format, "-+ #0");
    snprintf(flags, sizeof flags, "%.*s", (int)flag_count, *format);
    *format += flag_count;
    int wide;
    if (take_number(format, arguments, &wide)) /* a negative star is the flag '-' and a width */
        snprintf(width, sizeof width, "%d", wide);
    if (**format == '.') {
        ++*format;
        c.precision = 0;
        take_number(format, arguments, &c.precision); /* a negative star: as if it were omitted */
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
