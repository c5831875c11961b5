#include "base/statistics/student_t.h"

#include "base/statistics/incomplete_beta.h"

#include <math.h>
#include <stdbool.h>

double student_t_two_sided(double t, double freedom)
{
    if (isinf(t))
        return 0;
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

/* Returns the t >= 0 whose two-sided probability is `tail`. The probability falls with t, so t is
 * enclosed and then halved down to the last bit of a double. */
static double invert(double tail, double freedom)
{
    double low = 0, high = 1;
    while (student_t_two_sided(high, freedom) > tail && isfinite(high))
        high *= 2;
    for (;;) {
        const double middle = low + (high - low) / 2;
        const bool is_last = middle <= low || middle >= high;
        if (is_last)
            return middle;
        if (student_t_two_sided(middle, freedom) > tail)
            low = middle;
        else
            high = middle;
    }
}

double student_t_quantile(double probability, double freedom)
{
    if (!(freedom > 0) || !(probability > 0 && probability < 1))
        return !(freedom > 0)     ? NAN
               : probability == 0 ? -INFINITY
               : probability == 1 ? INFINITY
                                  : NAN;
    if (probability == 0.5)
        return 0;
    const bool upper = probability > 0.5;
    const double t = invert(2 * (upper ? 1 - probability : probability), freedom);
    return upper ? t : -t;
}
