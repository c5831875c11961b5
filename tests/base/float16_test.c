/* bf16 and float16: every value of 16 bits comes back, and rounding is compared with that of double
 * arithmetic at every border between two values. */
#include "base/float16.h"
#include "tap.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

struct format {
    const char *name;
    uint16_t (*from)(float value);
    float (*to)(uint16_t bits);
    uint16_t infinite; /* the bits of infinity */
};

static const struct format formats[] = {{"bf16", bf16_from_float, bf16_to_float, 0x7F80},
                                        {"float16", float16_from_float, float16_to_float, 0x7C00}};

static void test_all(const struct format *format)
{
    bool same = true, nan = true;
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        const float value = format->to((uint16_t)bits);
        if (isnan(value))
            nan &= isnan(format->to(format->from(value)));
        else
            same &= format->from(value) == bits;
    }
    tap_ok(same, "%s: every value comes back", format->name);
    tap_ok(nan, "%s: NaN stays NaN", format->name);
}

/* The border between two neighbours goes to the even one; a float32 below or above it to the nearer
 * one. */
static void test_borders(const struct format *format)
{
    bool even = true, below = true, above = true, signs = true;
    for (uint16_t bits = 0; bits + 1 < format->infinite; bits++) {
        const double low = (double)format->to(bits), high = (double)format->to(bits + 1);
        const float border = (float)((low + high) / 2);
        if ((double)border != (low + high) / 2)
            continue; /* the lowest values of bf16 have no float32 between them */
        even &= format->from(border) == (bits % 2 ? bits + 1 : bits);
        below &= format->from(nextafterf(border, 0)) == bits;
        above &= format->from(nextafterf(border, INFINITY)) == bits + 1;
        signs &= format->from(-border) == (format->from(border) | 0x8000);
    }
    tap_ok(even, "%s: ties go to the even value", format->name);
    tap_ok(below && above, "%s: others to the nearest", format->name);
    tap_ok(signs, "%s: negative values as positive ones", format->name);
}

static void test_ends(const struct format *format)
{
    const float largest = format->to((uint16_t)(format->infinite - 1));
    tap_ok(format->from(INFINITY) == format->infinite && isinf(format->to(format->infinite)),
           "%s: infinity stays", format->name);
    tap_ok(format->from(nextafterf(largest, INFINITY)) == format->infinite - 1,
           "%s: %g is the largest value", format->name, (double)largest);
    tap_ok(format->from(3.4028235e38f) == format->infinite, "%s: beyond it is infinity",
           format->name);
    tap_ok(format->from(0.0f) == 0 && format->from(-0.0f) == 0x8000, "%s: both zeros",
           format->name);
    const uint32_t narrow = 0x7F800001; /* its fraction has only bits that are cut off */
    float nan;
    memcpy(&nan, &narrow, sizeof nan);
    tap_ok(isnan(format->to(format->from(nan))), "%s: no NaN becomes infinity", format->name);
}

TEST_CASE(float16_test)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        test_all(&formats[i]);
        test_borders(&formats[i]);
        test_ends(&formats[i]);
    }
    tap_ok(bf16_from_float(1.0f) == 0x3F80 && float16_from_float(1.0f) == 0x3C00 &&
               float16_from_float(65504.0f) == 0x7BFF && float16_from_float(65519.0f) == 0x7BFF &&
               float16_from_float(65520.0f) == 0x7C00 && float16_from_float(0x1p-24f) == 1 &&
               float16_from_float(0x1p-25f) == 0,
           "known values");
    return tap_done();
}
