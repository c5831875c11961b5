#include "base/statistics/normal.h"

#include <math.h>

double normal_probability(double z)
{
    return 0.5 * erfc(-z * M_SQRT1_2);
}

/* Returns a start within 5e-4 of the quantile of a probability below one half (Abramowitz & Stegun
 * 26.2.23). */
static double estimate(double probability)
{
    const double t = sqrt(-2 * log(probability));
    return (2.515517 + t * (0.802853 + t * 0.010328)) /
               (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) -
           t;
}

double normal_quantile(double probability)
{
    if (!(probability > 0 && probability < 1))
        return probability == 0 ? -INFINITY : probability == 1 ? INFINITY : NAN;
    if (probability == 0.5)
        return 0;
    if (probability > 0.5)
        return -normal_quantile(1 - probability);
    double z = estimate(probability);
    for (int i = 0; i < 3; i++) { /* Halley's method, which triples the digits */
        const double density = exp(-z * z / 2) / sqrt(2 * M_PI);
        const double step = (normal_probability(z) - probability) / density;
        z -= step / (1 + z * step / 2);
    }
    return z;
}
