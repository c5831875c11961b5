/* Ticks follow Heckbert ("Nice numbers for graph labels", Graphics Gems, 1990): the step between
 * them is the smallest of 1, 2, 5 times a power of ten that gives few enough ticks. Positions are
 * relative, 0 to 1 along the axis, so this file knows nothing of columns or pixels. */
#include "base/axis.h"

#include <math.h>
#include <stdio.h>

static const double LOG_SPAN = 1e12; /* more decades than this are unreadable on any screen */

double axis_position(const struct axis *axis, double value)
{
    if (axis->log)
        return value > 0 ? log(value / axis->low) / log(axis->high / axis->low) : NAN;
    return (value - axis->low) / (axis->high - axis->low);
}

double axis_value(const struct axis *axis, double place)
{
    if (axis->log)
        return axis->low * pow(axis->high / axis->low, place);
    return axis->low + place * (axis->high - axis->low);
}

static size_t linear_ticks(const struct axis *axis, size_t limit, double *ticks)
{
    double span = axis->high - axis->low;
    double power = pow(10, floor(log10(span / (double)limit)));
    static const double steps[] = {1, 2, 5, 10, 20};
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
        double step = steps[s] * power;
        double first = ceil(axis->low / step - 1e-9), last = floor(axis->high / step + 1e-9);
        if (last - first + 1 > (double)limit)
            continue;
        const size_t count = last < first ? 0 : (size_t)(last - first) + 1;
        for (size_t i = 0; i < count; i++) {
            const double tick = (first + (double)i) * step;
            ticks[i] = tick == 0 ? 0 : tick; /* avoids -0 */
        }
        return count;
    }
    return 0;
}

/* Writes the values factor * 10^k within the axis, for every `every`-th k, to `ticks`. Returns
 * their number, or limit + 1 if there are more than `limit`. */
static size_t log_series(const struct axis *axis, size_t limit, const double *factors,
                         size_t factor_count, int every, double *ticks)
{
    int first = (int)floor(log10(axis->low) + 1e-9), last = (int)ceil(log10(axis->high) - 1e-9);
    size_t count = 0;
    for (int k = first; k <= last; k++) {
        if (((k % every) + every) % every)
            continue;
        for (size_t f = 0; f < factor_count; f++) {
            double value = factors[f] * pow(10, k);
            if (value < axis->low * (1 - 1e-9) || value > axis->high * (1 + 1e-9))
                continue;
            if (count == limit)
                return limit + 1;
            ticks[count++] = value;
        }
    }
    return count;
}

static size_t log_ticks(const struct axis *axis, size_t limit, double *ticks)
{
    static const double factors[] = {1, 2, 5};
    size_t count = log_series(axis, limit, factors, 3, 1, ticks);
    for (int every = 1; count > limit; every++)
        count = log_series(axis, limit, factors, 1, every, ticks);
    return count;
}

size_t axis_ticks(const struct axis *axis, size_t limit, double *ticks)
{
    limit = limit > AXIS_MAX_TICKS ? AXIS_MAX_TICKS : limit;
    if (limit < 1 || !(axis->high > axis->low) || !isfinite(axis->high - axis->low))
        return 0;
    return axis->log ? log_ticks(axis, limit, ticks) : linear_ticks(axis, limit, ticks);
}

char *axis_label(double value, char *text, size_t size)
{
    double magnitude = fabs(value);
    if (magnitude != 0 && (magnitude < 0.9995e-3 || magnitude >= 9.9995e8)) {
        int exponent = (int)floor(log10(magnitude) + 1e-9);
        snprintf(text, size, "%.3ge%d", value / pow(10, exponent), exponent);
    } else if (magnitude >= 9.9995e5)
        snprintf(text, size, "%.4gM", value / 1e6);
    else if (magnitude >= 9.9995e3)
        snprintf(text, size, "%.4gk", value / 1e3);
    else
        snprintf(text, size, "%.4g", value);
    return text;
}

static const double round_steps[] = {1, 1.5, 2, 3, 4, 5, 6, 8, 10};
enum { ROUND_STEPS = sizeof round_steps / sizeof *round_steps };

double axis_round_up(double value)
{
    double power = pow(10, floor(log10(value)));
    for (size_t i = 0; i < ROUND_STEPS; i++)
        if (round_steps[i] * power >= value * (1 - 1e-12))
            return round_steps[i] * power;
    return 10 * power;
}

double axis_round_up_far(double value)
{
    const double power = pow(10, floor(log10(value))), part = value / power * (1 - 1e-12);
    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

static double round_down(double value)
{
    double power = pow(10, floor(log10(value)));
    for (size_t i = ROUND_STEPS; i-- > 0;)
        if (round_steps[i] * power <= value * (1 + 1e-12))
            return round_steps[i] * power;
    return power;
}

static struct axis around_log(double low, double high)
{
    if (!(high > 0))
        return (struct axis){0.1, 1, true};
    if (!(low > 0) || low < high / LOG_SPAN)
        low = high / LOG_SPAN;
    struct axis axis = {round_down(low), axis_round_up(high), true};
    if (axis.high < axis.low * 1.4)
        axis.high = axis_round_up(axis.high * 1.5);
    return axis;
}

struct axis axis_for_range(double low, double high, bool log)
{
    if (!isfinite(low) || !isfinite(high) || high < low)
        return (struct axis){log ? 0.1 : 0, 1, log};
    if (log)
        return around_log(low, high);
    if (low >= 0 && low <= high / 2)
        return (struct axis){0, high > 0 ? axis_round_up(high) : 1, false};
    /* far from zero: multiples of half the span's power of ten */
    double span = high - low > fabs(high) * 1e-6 ? high - low : fabs(high) * 1e-6 + 1e-30;
    double step = pow(10, floor(log10(span))) / 2;
    struct axis axis = {floor(low / step) * step, ceil(high / step) * step, false};
    if (!(axis.high > axis.low))
        axis.high = axis.low + step;
    return axis;
}
