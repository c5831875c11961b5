/* Writes numbers digit by digit, from the last digit on. For six digits of a double, it multiplies
 * the value by a power of ten and rounds the product to an integer. The product may be wrong in its
 * last bit, so printf decides where the fraction is near a half, and for magnitudes that have an
 * exponent. */
#include "base/decimal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIX = 6, SIX_DIGITS = 1000000 };

size_t decimal_write(struct decimal decimal, bool negative, char text[DECIMAL_SIZE])
{
    char reversed[DECIMAL_SIZE];
    size_t count = 0, length = 0;
    while (decimal.places > 0 && decimal.whole % 10 == 0) {
        decimal.whole /= 10;
        decimal.places--;
    }
    for (int place = 0; decimal.whole > 0 || place <= decimal.places; place++) {
        if (place == decimal.places && place > 0)
            reversed[count++] = '.';
        reversed[count++] = (char)('0' + decimal.whole % 10);
        decimal.whole /= 10;
    }
    if (negative)
        text[length++] = '-';
    while (count > 0)
        text[length++] = reversed[--count];
    text[length] = '\0';
    return length;
}

size_t decimal_write_count(uint64_t count, char text[DECIMAL_SIZE])
{
    char digits[DECIMAL_SIZE];
    size_t at = DECIMAL_SIZE;
    digits[--at] = '\0';
    do
        digits[--at] = (char)('0' + count % 10);
    while (count /= 10);
    memcpy(text, digits + at, DECIMAL_SIZE - at);
    return DECIMAL_SIZE - at - 1;
}

/* Finds the six digits of a value of at least 1e-4. Returns false if the product is too close to a
 * half to round it safely, or has more digits. */
static bool find_six(double value, struct decimal *decimal)
{
    static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10};
    int places = 0;
    while (places < 10 && value * powers[places] < SIX_DIGITS / 10)
        places++;
    const double scaled = value * powers[places], whole = floor(scaled);
    const double rest = scaled - whole;
    if (!(scaled >= SIX_DIGITS / 10 && scaled < SIX_DIGITS - 1) || fabs(rest - 0.5) < 1e-6)
        return false;
    *decimal = (struct decimal){(uint64_t)whole + (rest > 0.5), places};
    return true;
}

size_t decimal_write_six(double value, char text[DECIMAL_SIZE])
{
    struct decimal decimal;
    if (FLT_EVAL_METHOD == 0 && fabs(value) >= 1e-4 && fabs(value) < SIX_DIGITS &&
        find_six(fabs(value), &decimal))
        return decimal_write(decimal, value < 0, text);
    return (size_t)snprintf(text, DECIMAL_SIZE, "%.*g", SIX, value);
}
