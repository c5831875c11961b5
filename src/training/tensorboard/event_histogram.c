/* The buckets have equal widths between the least and the greatest finite value. */
#include "training/tensorboard/event_message.h"

#include <math.h>

enum { BUCKETS = 64 };

/* Sets count, extremes and sums of the finite values. */
static void sum_up(Tb__Histogram *histogram, const float *values, size_t count)
{
    double low = INFINITY, high = -INFINITY, sum = 0, squares = 0;
    size_t finite = 0;
    for (size_t i = 0; i < count; i++) {
        const double value = (double)values[i];
        if (!isfinite(value))
            continue;
        low = value < low ? value : low;
        high = value > high ? value : high;
        sum += value;
        squares += value * value;
        finite++;
    }
    histogram->has_min = histogram->has_max = histogram->has_num = true;
    histogram->has_sum = histogram->has_sum_squares = true;
    histogram->min = low;
    histogram->max = high;
    histogram->num = (double)finite;
    histogram->sum = sum;
    histogram->sum_squares = squares;
}

void event_log_add_histogram(struct event_log *log, struct event_time time, const char *tag,
                             const float *values, size_t count)
{
    double limits[BUCKETS], buckets[BUCKETS] = {0};
    Tb__SummaryValue value = TB__SUMMARY_VALUE__INIT;
    Tb__Histogram histogram = TB__HISTOGRAM__INIT;
    sum_up(&histogram, values, count);
    if (!(histogram.num > 0))
        return;
    const double low = histogram.min, width = histogram.max - low;
    const size_t used = width > 0 ? BUCKETS : 1;
    for (size_t i = 0; i < used; i++)
        limits[i] = i + 1 < used ? low + width * (double)(i + 1) / (double)used : histogram.max;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            continue;
        const size_t at = width > 0 ? (size_t)(((double)values[i] - low) / width * BUCKETS) : 0;
        buckets[at < used ? at : used - 1]++;
    }
    histogram.bucket_limit = limits;
    histogram.bucket = buckets;
    histogram.n_bucket_limit = histogram.n_bucket = used;
    value.tag = (char *)tag;
    value.histo = &histogram;
    event_message_add_value(log, time, &value);
}
