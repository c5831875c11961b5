/* The probability is the upper regularised incomplete gamma function Q(freedom / 2, x / 2): one
 * minus a power series where the series converges fast, and else a continued fraction, which keeps
 * all digits of a small probability (DLMF 8.11.4 and 8.9.2). */
#include "base/statistics/chi_square.h"

#include <math.h>

enum { MOST_TERMS = 10000 };
static const double precision = 1e-16;

/* Returns x^a e^-x / Gamma(a). */
static double factor(double a, double x)
{
    return exp(a * log(x) - x - lgamma(a));
}

/* Returns the lower function P(a, x). */
static double by_series(double a, double x)
{
    double term = 1 / a, sum = term;
    for (int n = 1; n <= MOST_TERMS && term > precision * sum; n++) {
        term *= x / (a + n);
        sum += term;
    }
    return sum * factor(a, x);
}

/* Returns the upper function Q(a, x) by Lentz's method. */
static double by_fraction(double a, double x)
{
    const double tiny = 1e-300;
    double b = x + 1 - a, c = 1 / tiny, d = 1 / b, result = d;
    for (int n = 1; n <= MOST_TERMS; n++) {
        const double numerator = -n * (n - a);
        b += 2;
        d = numerator * d + b;
        c = b + numerator / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        result *= c * d;
        if (fabs(c * d - 1) < precision)
            break;
    }
    return result * factor(a, x);
}

double chi_square_exceeds(double x, double freedom)
{
    const double a = freedom / 2, half = x / 2;
    if (isnan(x) || !(freedom > 0))
        return NAN;
    if (x <= 0 || isinf(x))
        return x <= 0;
    return half < a + 1 ? 1 - by_series(a, half) : by_fraction(a, half);
}
