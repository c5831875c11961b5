/* calibration.h: the range of an output that its 256 levels cover, from a sample of its values.
 *
 * First the least and the largest value are found, then a histogram of the magnitudes is filled.
 * The methods choose a limit of the magnitudes, beyond which values are clipped:
 *
 *   minmax      the largest magnitude: nothing is clipped
 *   percentile  99.99 % of the magnitudes, zeros among them, are at most the limit
 *   entropy     the least Kullback-Leibler divergence of the quantized histogram from the original
 *               one, as in TensorRT (Migacz 2017)
 *   mse         the least mean squared error of rounding and clipping together
 *
 * The range is that of the observed values within the limit, and always includes 0.
 */
#ifndef TINCA_ENGINE_QUANTIZE_CALIBRATION_H
#define TINCA_ENGINE_QUANTIZE_CALIBRATION_H

#include "engine/graph/quantization.h"

#include <stddef.h>

enum calibration_method {
    CALIBRATION_MINMAX,
    CALIBRATION_PERCENTILE,
    CALIBRATION_ENTROPY,
    CALIBRATION_MSE,
    CALIBRATION_METHODS
};

/* The names of the methods, then NULL. */
extern const char *const calibration_method_names[CALIBRATION_METHODS + 1];

enum { CALIBRATION_BINS = 2048 };

struct sample_range {
    float low, high; /* low > high: no value was seen */
};

/* An empty range. */
#define SAMPLE_RANGE_NONE ((struct sample_range){1, -1})

/* Extends the range by values; those that are NaN are left out. */
void sample_range_add(struct sample_range *range, const float *values, size_t count);

/* Returns the range of two ranges together. */
struct sample_range sample_range_join(struct sample_range a, struct sample_range b);

struct calibration_histogram {
    struct sample_range range;              /* of all values */
    double counts[CALIBRATION_BINS], total; /* of magnitudes above 0, up to the largest one */
    double zeros;
};

/* Begins a histogram of values in this range. */
void calibration_begin(struct calibration_histogram *histogram, struct sample_range range);

/* Counts values. */
void calibration_add(struct calibration_histogram *histogram, const float *values, size_t count);

/* Returns the limit of the magnitudes that the method chooses. */
double calibration_limit(const struct calibration_histogram *histogram,
                         enum calibration_method method);

/* Returns the observed range within that limit, with 0. */
struct sample_range calibration_range(const struct calibration_histogram *histogram,
                                      enum calibration_method method);

/* Returns the grid whose 256 levels cover the range and 0. */
struct quantization quantization_of_range(struct sample_range range);

#endif
