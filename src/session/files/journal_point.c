/* Parses the line of an iteration without building a JSON tree, which takes a tenth of the time.
 *
 * Only lines that look exactly as put_point (journal.c) writes them are accepted: the members in
 * that order, without spaces, each number at most 15 digits long. All others are left to the JSON
 * parser, so that both give the same values. A decimal of at most 15 digits is an integer below
 * 2^53 times a power of ten; if that power is at most 10^22, both are exact as doubles and one
 * multiplication or division gives the correctly rounded value (Clinger 1990), which strtod gives,
 * too. */
#include "session/files/journal.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { DIGITS = 15, POWERS = 22 };

static const double powers[POWERS + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                          1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                          1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* What is left of a line. */
struct rest {
    const char *at, *end;
};

static bool skip(struct rest *rest, const char *text, size_t length)
{
    if ((size_t)(rest->end - rest->at) < length || memcmp(rest->at, text, length) != 0)
        return false;
    rest->at += length;
    return true;
}

static bool is_digit(const struct rest *rest)
{
    return rest->at < rest->end && *rest->at >= '0' && *rest->at <= '9';
}

/* Reads digits into *value, and returns how many there were. */
static int read_digits(struct rest *rest, uint64_t *value)
{
    const char *from = rest->at;
    while (is_digit(rest) && rest->at - from <= DIGITS)
        *value = 10 * *value + (uint64_t)(*rest->at++ - '0');
    return (int)(rest->at - from);
}

/* Reads the integer part of a number, which has no leading zero. */
static int read_integer(struct rest *rest, uint64_t *value)
{
    const char *from = rest->at;
    const int digits = read_digits(rest, value);
    return digits > 1 && *from == '0' ? 0 : digits;
}

static bool read_exponent(struct rest *rest, int *exponent)
{
    uint64_t value = 0;
    *exponent = 0;
    if (!skip(rest, "e", 1))
        return true;
    const bool negative = skip(rest, "-", 1);
    if (!negative)
        skip(rest, "+", 1);
    const int digits = read_digits(rest, &value);
    *exponent = negative ? -(int)value : (int)value;
    return digits >= 1 && digits <= 3;
}

/* Reads a number, or null as NaN. */
static bool read_float(struct rest *rest, float *result)
{
    uint64_t value = 0;
    int exponent;
    if (skip(rest, "null", 4)) {
        *result = NAN;
        return true;
    }
    const bool negative = skip(rest, "-", 1);
    int digits = read_integer(rest, &value), fraction = 0;
    if (digits == 0)
        return false;
    if (skip(rest, ".", 1) && (fraction = read_digits(rest, &value)) == 0)
        return false;
    if (digits + fraction > DIGITS || !read_exponent(rest, &exponent))
        return false;
    exponent -= fraction;
    if (exponent < -POWERS || exponent > POWERS)
        return false;
    const double whole = negative ? -(double)value : (double)value;
    *result = (float)(exponent < 0 ? whole / powers[-exponent] : whole * powers[exponent]);
    return true;
}

static bool read_count(struct rest *rest, uint64_t *count)
{
    *count = 0;
    const int digits = read_integer(rest, count);
    return digits > 0 && digits <= DIGITS;
}

#define SKIP(rest, text) skip(rest, text, sizeof(text) - 1)

bool journal_parse_point(const char *line, size_t length, struct series_point *point)
{
    struct rest rest = {line, line + length};
    point->gpu_memory_bytes = 0;
    point->loss_discriminator = point->loss_l1 = point->loss_labels = point->loss_teacher = NAN;
    return FLT_EVAL_METHOD == 0 && SKIP(&rest, "{\"iteration\":") &&
           read_count(&rest, &point->iteration) && point->iteration > 0 &&
           SKIP(&rest, ",\"epoch\":") && read_float(&rest, &point->epoch) &&
           SKIP(&rest, ",\"loss\":") && read_float(&rest, &point->loss) &&
           SKIP(&rest, ",\"loss_caffe\":") && read_float(&rest, &point->loss_caffe) &&
           SKIP(&rest, ",\"loss_mean\":") && read_float(&rest, &point->loss_mean) &&
           (!SKIP(&rest, ",\"loss_discriminator\":") ||
            read_float(&rest, &point->loss_discriminator)) &&
           (!SKIP(&rest, ",\"loss_l1\":") || read_float(&rest, &point->loss_l1)) &&
           (!SKIP(&rest, ",\"loss_labels\":") || read_float(&rest, &point->loss_labels)) &&
           (!SKIP(&rest, ",\"loss_teacher\":") || read_float(&rest, &point->loss_teacher)) &&
           SKIP(&rest, ",\"lr\":") && read_float(&rest, &point->learning_rate) &&
           SKIP(&rest, ",\"ms_per_image\":") && read_float(&rest, &point->ms_per_image) &&
           SKIP(&rest, ",\"seconds\":") && read_float(&rest, &point->seconds) &&
           SKIP(&rest, ",\"memory_bytes\":") && read_count(&rest, &point->memory_bytes) &&
           (!SKIP(&rest, ",\"gpu_memory_bytes\":") ||
            read_count(&rest, &point->gpu_memory_bytes)) &&
           SKIP(&rest, "}") && rest.at == rest.end;
}
