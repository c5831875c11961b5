#include "base/statistics/incomplete_beta.h"

#include <math.h>

enum { MOST_TERMS = 10000 };

/* Returns the continued fraction of I_x(a, b) (DLMF 8.17.22) by Lentz's method; it converges fast
 * for x < (a + 1) / (a + b + 2). */
static double continued_fraction(double a, double b, double x)
{
    const double tiny = 1e-300, precision = 1e-16;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double result = d;
    for (int m = 1; m <= MOST_TERMS; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        const double terms[2] = {even, odd};
        double change = 1;
        for (int i = 0; i < 2; i++) {
            d = 1 + terms[i] * d;
            c = 1 + terms[i] / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            change = c * d;
            result *= change;
        }
        if (fabs(change - 1) < precision)
            break;
    }
    return result;
}

double incomplete_beta(double a, double b, double x)
{
    if (isnan(x) || !(a > 0) || !(b > 0))
        return NAN;
    if (x <= 0 || x >= 1)
        return x >= 1;
    if (x > (a + 1) / (a + b + 2))
        return 1 - incomplete_beta(b, a, 1 - x);
    const double logarithm = lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x);
    return exp(logarithm) * continued_fraction(a, b, x) / a;
}
