#include "runs/values/statistics.h"

#include "base/language.h"
#include "base/memory.h"
#include "base/statistics.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double upper = 0.975; /* the end of a 95 % interval */

bool statistics_compute(const double *values, size_t count, struct statistics *statistics,
                        struct error *error)
{
    *statistics = (struct statistics){NAN, NAN, NAN, NAN, NAN};
    if (count == 0)
        return true;
    double *sorted = memory_new(count, sizeof *sorted, "the statistics", error);
    if (!sorted)
        return false;
    memcpy(sorted, values, count * sizeof *sorted);
    sort_doubles(sorted, count);
    statistics->min = sorted[0];
    statistics->median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
    statistics->mean = 0;
    for (size_t i = 0; i < count; i++)
        statistics->mean += sorted[i] / (double)count;
    if (statistics->mean < sorted[0]) /* by rounding: equal values have that mean, and sd 0 */
        statistics->mean = sorted[0];
    if (statistics->mean > sorted[count - 1])
        statistics->mean = sorted[count - 1];
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        squares += (sorted[i] - statistics->mean) * (sorted[i] - statistics->mean);
    free(sorted);
    if (count > 1) {
        double freedom = (double)count - 1;
        statistics->sd = sqrt(squares / freedom);
        statistics->ci95 =
            student_t_quantile(upper, freedom) * statistics->sd / sqrt((double)count);
    }
    return true;
}

void statistics_wilson(size_t part, size_t whole, double *low, double *high)
{
    const double n = (double)whole, share = (double)part / n;
    const double z = normal_quantile(upper), z2 = z * z;
    const double centre = (share + z2 / (2 * n)) / (1 + z2 / n);
    const double half = z / (1 + z2 / n) * sqrt(share * (1 - share) / n + z2 / (4 * n * n));
    *low = whole ? 100 * fmax(centre - half, 0) : NAN;
    *high = whole ? 100 * fmin(centre + half, 1) : NAN;
    if (whole && part == 0) /* centre and half are equal but for rounding */
        *low = 0;
    if (whole && part == whole)
        *high = 100;
}

char *statistics_spread(double sd, double ci95, char *text, size_t size)
{
    if (isfinite(sd) && isfinite(ci95))
        snprintf(text, size, _(", sd %.2g, 95 %% +- %.2g"), sd, ci95);
    else
        snprintf(text, size, "%s", _(" (one value has no spread)"));
    return text;
}

char *statistics_mean(double mean, double ci95, char *text, size_t size)
{
    if (isfinite(ci95))
        snprintf(text, size, "%.4g +- %.2g", mean, ci95);
    else
        text_number(mean, 4, text, size);
    return text;
}
