/* Finds the shortest decimal, of 6 to 9 digits, that reads back as the same float.
 *
 * Session files have millions of floats, so usual magnitudes do without printf and strtod: the
 * value times a power of ten, rounded to an integer, has the digits; that integer divided by the
 * power is correctly rounded, since both are exact as doubles, and shows whether the digits
 * suffice. */
#include "base/json/json.h"

#include "base/decimal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_LEAST = 6, DIGITS_MOST = 9, PLACES_MOST = 13 };

static const double powers[PLACES_MOST + 1] = {1e0, 1e1, 1e2, 1e3,  1e4,  1e5,  1e6,
                                               1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13};

/* Finds the decimal of a positive value. Returns false if it is too large or too small. */
static bool find_decimal(float value, struct decimal *decimal)
{
    int before = 0; /* digits before the point; 0 below 1, -1 below 0.1, ... */
    if (FLT_EVAL_METHOD != 0 || !(value >= 1e-4f && value < 1e6f))
        return false;
    for (double unit = 1; (double)value >= unit; unit *= 10)
        before++;
    for (double unit = 0.1; before <= 0 && (double)value < unit; unit /= 10)
        before--;
    for (int digits = DIGITS_LEAST; digits <= DIGITS_MOST; digits++) {
        const int places = digits - before;
        if (places < 0 || places > PLACES_MOST)
            continue;
        const double whole = nearbyint((double)value * powers[places]);
        if ((float)(whole / powers[places]) != value)
            continue;
        *decimal = (struct decimal){(uint64_t)whole, places};
        return true;
    }
    return false;
}

static double find_shortest(float value)
{
    for (int digits = DIGITS_LEAST; digits <= DIGITS_MOST; digits++) {
        char text[JSON_FLOAT_SIZE];
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        const double shortest = strtod(text, NULL);
        if ((float)shortest == value)
            return shortest;
    }
    return (double)value;
}

double json_float(float value)
{
    struct decimal decimal;
    if (!find_decimal(fabsf(value), &decimal))
        return isfinite(value) ? find_shortest(value) : (double)value;
    const double found = (double)decimal.whole / powers[decimal.places];
    return value < 0 ? -found : found;
}

_Static_assert((int)JSON_FLOAT_SIZE >= (int)DECIMAL_SIZE, "the text of a float holds a decimal");

size_t json_float_text(float value, char text[JSON_FLOAT_SIZE])
{
    struct decimal decimal;
    if (find_decimal(fabsf(value), &decimal))
        return decimal_write(decimal, value < 0, text);
    if (!isfinite(value))
        return (size_t)snprintf(text, JSON_FLOAT_SIZE, "null");
    return (size_t)snprintf(text, JSON_FLOAT_SIZE, "%.9g", find_shortest(value));
}
