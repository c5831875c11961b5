#include "training/inspect_weights.h"

#include <math.h>

/* Sets mean and extremes, which the histogram needs. */
static size_t sum_up(struct inspection_tensor *tensor, const float *values, size_t count)
{
    double sum = 0, squares = 0;
    size_t finite = 0;
    for (size_t i = 0; i < count; i++) {
        double value = (double)values[i];
        if (!isfinite(value))
            continue;
        if (finite == 0 || value < tensor->low)
            tensor->low = value;
        if (finite == 0 || value > tensor->high)
            tensor->high = value;
        sum += value;
        squares += value * value;
        finite++;
    }
    tensor->mean = finite ? sum / (double)finite : NAN;
    tensor->norm = sqrt(squares);
    return finite;
}

/* Sums squares around the mean, so that rounding does not hide a small deviation of large values.
 */
static void spread(struct inspection_tensor *tensor, const float *values, size_t count)
{
    const double range = tensor->high - tensor->low;
    const double scale = range > 0 ? INSPECTION_BINS / range : 0;
    double squares = 0;
    size_t finite = 0;
    for (size_t i = 0; i < count; i++) {
        double value = (double)values[i];
        if (!isfinite(value))
            continue;
        size_t bin = (size_t)((value - tensor->low) * scale);
        tensor->histogram[bin < INSPECTION_BINS ? bin : INSPECTION_BINS - 1]++;
        squares += (value - tensor->mean) * (value - tensor->mean);
        finite++;
    }
    tensor->deviation = sqrt(squares / (double)finite);
}

void inspect_values(struct inspection_tensor *tensor, const float *values, size_t count)
{
    if (sum_up(tensor, values, count) > 0)
        spread(tensor, values, count);
    else
        tensor->low = tensor->high = tensor->deviation = NAN;
}

double inspect_norm(const float *values, size_t count)
{
    double squares = 0;
    if (!values)
        return NAN;
    for (size_t i = 0; i < count; i++)
        squares += (double)values[i] * (double)values[i];
    return sqrt(squares);
}

double inspect_distance(const float *values, const float *others, size_t count)
{
    double squares = 0;
    if (!values || !others)
        return NAN;
    for (size_t i = 0; i < count; i++) {
        double difference = (double)values[i] - (double)others[i];
        squares += difference * difference;
    }
    return sqrt(squares);
}
