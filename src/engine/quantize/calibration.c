/* Histograms count magnitudes, also of signed values, since one limit clips both sides. Zeros are
 * counted apart: every grid has zero, so that they cost nothing at any limit, and after a relu half
 * of the values may be zero. */
#include "engine/quantize/calibration.h"

#include <float.h>
#include <math.h>
#include <string.h>

const char *const calibration_method_names[CALIBRATION_METHODS + 1] = {
    [CALIBRATION_MINMAX] = "minmax",
    [CALIBRATION_PERCENTILE] = "percentile",
    [CALIBRATION_ENTROPY] = "entropy",
    [CALIBRATION_MSE] = "mse"};

static const double inside_share =
    0.9999;                /* the share of magnitudes within the limit of percentile */
enum { MSE_LIMITS = 100 }; /* limits that are tried, evenly from 0 to the largest */

/* --- ranges --- */

void sample_range_add(struct sample_range *range, const float *values, size_t count)
{
    float low = range->low > range->high ? FLT_MAX : range->low;
    float high = range->low > range->high ? -FLT_MAX : range->high;
    for (size_t i = 0; i < count; i++) {
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    if (low <= high)
        *range = (struct sample_range){low, high};
}

struct sample_range sample_range_join(struct sample_range a, struct sample_range b)
{
    if (a.low > a.high)
        return b;
    if (b.low > b.high)
        return a;
    return (struct sample_range){fminf(a.low, b.low), fmaxf(a.high, b.high)};
}

struct quantization quantization_of_range(struct sample_range range)
{
    const float low = fminf(range.low > range.high ? 0 : range.low, 0);
    const float high = fmaxf(range.low > range.high ? 0 : range.high, 0);
    const float scale = (high - low) / QUANTIZED_MAX;
    if (!(scale >= FLT_MIN) || !(scale <= FLT_MAX)) /* all values are 0: any grid has it */
        return (struct quantization){1.0f / QUANTIZED_MAX, 0};
    const float zero_point = -rintf(low / scale);
    return (struct quantization){scale, (int)fminf(zero_point, QUANTIZED_MAX)};
}

/* --- the histogram --- */

static double largest_of(const struct calibration_histogram *histogram)
{
    const struct sample_range range = histogram->range;
    return range.low > range.high ? 0 : fmax(fabs((double)range.low), fabs((double)range.high));
}

void calibration_begin(struct calibration_histogram *histogram, struct sample_range range)
{
    memset(histogram, 0, sizeof *histogram);
    histogram->range = range;
}

void calibration_add(struct calibration_histogram *histogram, const float *values, size_t count)
{
    const double largest = largest_of(histogram);
    const double factor = largest > 0 ? CALIBRATION_BINS / largest : 0;
    for (size_t i = 0; i < count; i++) {
        const double position = fabs((double)values[i]) * factor;
        if (!(position <= CALIBRATION_BINS)) /* NaN */
            continue;
        if (values[i] == 0) {
            histogram->zeros++;
            continue;
        }
        const size_t bin = (size_t)position;
        histogram->counts[bin < CALIBRATION_BINS ? bin : CALIBRATION_BINS - 1]++;
        histogram->total++;
    }
}

/* --- the methods. They return the limit in bins --- */

static double limit_of_percentile(const struct calibration_histogram *histogram)
{
    const double wanted = inside_share * (histogram->total + histogram->zeros);
    double below = histogram->zeros;
    for (size_t i = 0; i < CALIBRATION_BINS; i++) {
        const double here = histogram->counts[i];
        if (here > 0 && below + here >= wanted)
            return (double)i + (wanted - below) / here;
        below += here;
    }
    return CALIBRATION_BINS;
}

/* Returns the divergence of the first `bins` bins, divided among `levels` levels, from the same
 * bins with all larger magnitudes counted in the last one. */
static double divergence(const double *counts, double total, size_t bins, size_t levels,
                         double inside)
{
    double sum = 0;
    for (size_t level = 0; level < levels; level++) {
        const size_t begin = level * bins / levels, end = (level + 1) * bins / levels;
        double merged = 0, used = 0;
        for (size_t i = begin; i < end; i++) {
            merged += counts[i];
            used += counts[i] > 0;
        }
        for (size_t i = begin; i < end; i++) {
            const double p = (counts[i] + (i + 1 == bins ? total - inside : 0)) / total;
            const double q = counts[i] > 0 ? merged / used / inside : 0;
            if (p > 0 && q == 0)
                return INFINITY;
            sum += p > 0 ? p * log(p / q) : 0;
        }
    }
    return sum;
}

/* Sets the range that is covered with a limit. */
static void clip(const struct calibration_histogram *histogram, double limit, double *low,
                 double *high)
{
    *low = fmax(fmin((double)histogram->range.low, 0), -limit);
    *high = fmin(fmax((double)histogram->range.high, 0), limit);
}

/* Returns the number of levels on the longer side of the range. */
static size_t count_levels(const struct calibration_histogram *histogram, double limit)
{
    double low, high;
    clip(histogram, limit, &low, &high);
    return (size_t)rint((QUANTIZED_MAX + 1) * fmax(-low, high) / (high - low));
}

static double limit_of_entropy(const struct calibration_histogram *histogram)
{
    const double bin = largest_of(histogram) / CALIBRATION_BINS;
    double inside = 0, least = INFINITY, limit = CALIBRATION_BINS;
    for (size_t i = 0; i < CALIBRATION_BINS; i++) {
        inside += histogram->counts[i];
        const size_t levels = inside > 0 ? count_levels(histogram, (double)(i + 1) * bin) : 0;
        if (inside == 0 || i + 1 < levels)
            continue;
        const double found = divergence(histogram->counts, histogram->total, i + 1, levels, inside);
        if (found < least) {
            least = found;
            limit = (double)(i + 1);
        }
    }
    return limit;
}

/* Returns the sum of the squared errors with `limit`, of values at the middles of the bins. A value
 * that is neither clipped nor 0 has the mean squared error of rounding, step^2 / 12. */
static double squared_error(const struct calibration_histogram *histogram, double limit)
{
    const double bin = largest_of(histogram) / CALIBRATION_BINS, clipped = limit * bin;
    double low, high, sum = 0;
    clip(histogram, clipped, &low, &high);
    const double step = (high - low) / QUANTIZED_MAX;
    for (size_t i = 0; i < CALIBRATION_BINS; i++) {
        const double beyond = fmax(((double)i + 0.5) * bin - clipped, 0);
        sum += histogram->counts[i] * (beyond > 0 ? beyond * beyond : step * step / 12);
    }
    return sum;
}

static double limit_of_mse(const struct calibration_histogram *histogram)
{
    double least = INFINITY, limit = CALIBRATION_BINS;
    for (size_t i = 1; i <= MSE_LIMITS; i++) {
        const double tried = (double)(CALIBRATION_BINS * i) / MSE_LIMITS;
        const double error = squared_error(histogram, tried);
        if (error < least) {
            least = error;
            limit = tried;
        }
    }
    return limit;
}

double calibration_limit(const struct calibration_histogram *histogram,
                         enum calibration_method method)
{
    double bins = CALIBRATION_BINS;
    if (method == CALIBRATION_PERCENTILE)
        bins = limit_of_percentile(histogram);
    else if (method == CALIBRATION_ENTROPY)
        bins = limit_of_entropy(histogram);
    else if (method == CALIBRATION_MSE)
        bins = limit_of_mse(histogram);
    return bins * largest_of(histogram) / CALIBRATION_BINS;
}

struct sample_range calibration_range(const struct calibration_histogram *histogram,
                                      enum calibration_method method)
{
    const float limit = (float)calibration_limit(histogram, method);
    const struct sample_range range = histogram->range;
    if (range.low > range.high)
        return range;
    return (struct sample_range){fmaxf(fminf(range.low, 0), -limit),
                                 fminf(fmaxf(range.high, 0), limit)};
}
