#include "base/statistics/welch.h"

#include "base/statistics/student_t.h"

#include <math.h>

struct welch welch_test(const struct welch_sample *a, const struct welch_sample *b)
{
    if (a->count < 2 || b->count < 2 || isnan(a->sd) || isnan(b->sd))
        return (struct welch){NAN, NAN, NAN};
    const double x = a->sd * a->sd / (double)a->count, y = b->sd * b->sd / (double)b->count;
    const double difference = a->mean - b->mean;
    if (x + y == 0)
        return (struct welch){difference == 0 ? 0 : copysign(INFINITY, difference),
                              (double)(a->count + b->count - 2), difference == 0};
    const double freedom =
        (x + y) * (x + y) / (x * x / (double)(a->count - 1) + y * y / (double)(b->count - 1));
    const double t = difference / sqrt(x + y);
    return (struct welch){t, freedom, student_t_two_sided(t, freedom)};
}
