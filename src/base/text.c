/* The growing string doubles its memory when it is full (memory_grow). Parsers reject what strtod
 * and strtoull accept silently: leading blanks, signs, and text after the number. */
#include "base/text.h"

#include "base/memory.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>

/* Makes room for `extra` bytes and a NUL. */
static bool reserve(struct text *text, size_t extra)
{
    if (text->failed)
        return false;
    text->failed =
        !memory_grow(&text->data, &text->capacity, text->length + extra + 1, 1, "a text", NULL);
    return !text->failed;
}

void text_append_bytes(struct text *text, const char *bytes, size_t count)
{
    if (!reserve(text, count))
        return;
    memcpy(text->data + text->length, bytes, count);
    text->length += count;
    text->data[text->length] = '\0';
}

void text_append(struct text *text, const char *format, ...)
{
    va_list arguments, copy;
    va_start(arguments, format);
    va_copy(copy, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length >= 0 && reserve(text, (size_t)length)) {
        vsnprintf(text->data + text->length, (size_t)length + 1, format, copy);
        text->length += (size_t)length;
    }
    va_end(copy);
    va_end(arguments);
}

void text_drain(struct text *text, FILE *stream)
{
    if (!stream || text->length == 0)
        return;
    fwrite(text->data, 1, text->length, stream);
    text->length = 0;
    text->data[0] = '\0';
}

void text_free(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}

char *text_count(uint64_t value, char *out, size_t size)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, value);
    size_t used = 0;
    for (int i = 0; i < length && used + 1 < size; i++) {
        if (i && (length - i) % 3 == 0 && used + 2 < size)
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}

/* Writes a value with the largest unit that leaves at least 1, with three significant digits. */
static char *scaled(double value, double base, const char *const *units, size_t count, char *out,
                    size_t size)
{
    size_t unit = 0;
    while (fabs(value) >= base && unit + 1 < count) {
        value /= base;
        unit++;
    }
    int decimals = unit == 0 ? 0 : fabs(value) < 10 ? 2 : fabs(value) < 100 ? 1 : 0;
    snprintf(out, size, "%.*f%s", decimals, value, units[unit]);
    return out;
}

char *text_bytes(uint64_t bytes, char *out, size_t size)
{
    static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB"};
    return scaled((double)bytes, 1024, units, 5, out, size);
}

char *text_si(double value, char *out, size_t size)
{
    static const char *const units[] = {"", " k", " M", " G", " T", " P"};
    return scaled(value, 1000, units, 6, out, size);
}

char *text_number(double value, int digits, char *out, size_t size)
{
    if (isfinite(value))
        snprintf(out, size, "%.*g", digits, value);
    else
        snprintf(out, size, "%s", isnan(value) ? "NaN" : value > 0 ? "inf" : "-inf");
    return out;
}

/* Writes a duration with tenths below `tenths` seconds. It is rounded before the unit is chosen, so
 * that 59.7 s are 1:00 min, not 60 s. */
static char *write_duration(double seconds, double tenths, char *out, size_t size)
{
    const double tenth = round(10 * seconds) / 10;
    const long whole = seconds >= 0 && seconds <= 1e9 ? lround(seconds) : -1;
    if (whole < 0)
        snprintf(out, size, "-");
    else if (tenth < tenths)
        snprintf(out, size, "%.1f s", tenth);
    else if (whole < 60)
        snprintf(out, size, "%ld s", whole);
    else if (whole < 3600)
        snprintf(out, size, "%ld:%02ld min", whole / 60, whole % 60);
    else
        snprintf(out, size, "%ld:%02ld:%02ld h", whole / 3600, whole / 60 % 60, whole % 60);
    return out;
}

char *text_duration(double seconds, char *out, size_t size)
{
    return write_duration(seconds, 10, out, size);
}

char *text_whole_duration(double seconds, char *out, size_t size)
{
    return write_duration(seconds, 0, out, size);
}

size_t text_columns(const char *text)
{
    wchar_t wide[1024];
    size_t length = mbstowcs(wide, text, sizeof wide / sizeof *wide);
    int columns = length < sizeof wide / sizeof *wide ? wcswidth(wide, length) : -1;
    return columns >= 0 ? (size_t)columns : strlen(text);
}

bool text_to_uint64(const char *text, uint64_t *value)
{
    if (!isdigit((unsigned char)text[0])) /* strtoull would accept "-1" and " 1" */
        return false;
    char *end;
    errno = 0;
    unsigned long long parsed = strtoull(text, &end, 10);
    if (errno || *end)
        return false;
    *value = parsed;
    return true;
}

bool text_to_size(const char *text, size_t *value)
{
    uint64_t parsed;
    if (!text_to_uint64(text, &parsed) || parsed > SIZE_MAX)
        return false;
    *value = (size_t)parsed;
    return true;
}

bool text_to_double(const char *text, double *value)
{
    if (!text[0] || isspace((unsigned char)text[0]))
        return false;
    char *end;
    errno = 0;
    double parsed = strtod(text, &end);
    if (*end || !isfinite(parsed) || (errno == ERANGE && parsed != 0 && fabs(parsed) > 1))
        return false;
    *value = parsed;
    return true;
}

/* Returns the factor of a unit such as "", "K", "MiB" or "GB"; 0 if it is not a unit. */
static double unit_of(const char *text)
{
    static const char letters[] = "KMGT";
    double binary = 1024, decimal = 1000;
    if (!text[0] || strcasecmp(text, "B") == 0)
        return 1;
    for (size_t i = 0; letters[i]; i++, binary *= 1024, decimal *= 1000) {
        if (toupper((unsigned char)text[0]) != letters[i])
            continue;
        if (strcasecmp(text + 1, "B") == 0)
            return decimal;
        return !text[1] || strcasecmp(text + 1, "i") == 0 || strcasecmp(text + 1, "iB") == 0
                   ? binary
                   : 0;
    }
    return 0;
}

bool text_to_seconds(const char *text, double *value)
{
    static const struct {
        char unit;
        double seconds;
    } units[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}};
    const size_t count = sizeof units / sizeof *units;
    double sum = 0, number;
    size_t unit = 0;
    if (text_to_double(text, value))
        return *value >= 0;
    while (text[0]) {
        char digits[32];
        const size_t length = strspn(text, "0123456789.");
        if (length == 0 || length >= sizeof digits)
            return false;
        memcpy(digits, text, length);
        digits[length] = '\0';
        while (unit < count && units[unit].unit != text[length])
            unit++;
        if (unit == count || !text_to_double(digits, &number))
            return false;
        sum += number * units[unit++].seconds;
        text += length + 1;
    }
    *value = sum;
    return unit > 0;
}

bool text_to_bytes(const char *text, uint64_t *value)
{
    char number[32];
    double parsed;
    const size_t length = strspn(text, "0123456789.");
    if (length == 0 || length >= sizeof number)
        return false;
    memcpy(number, text, length);
    number[length] = '\0';
    const char *unit = text + length;
    const double factor = unit_of(unit + strspn(unit, " "));
    if (!text_to_double(number, &parsed) || factor == 0 || parsed * factor >= 0x1p63)
        return false;
    *value = (uint64_t)(parsed * factor);
    return true;
}
