/* Probabilities come from series and continued fractions, each used where it converges fast;
 * quantiles are found by inverting them. */
#include "base/statistics.h"

#include "base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TERMS = 10000 }; /* the most terms of a series or a continued fraction */
static const double precision = 1e-16;

/* Returns the continued fraction of I_x(a, b) (DLMF 8.17.22) by Lentz's method; it converges fast
 * for x < (a + 1) / (a + b + 2). */
static double continued_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
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

/* The probability is the upper regularised incomplete gamma function Q(freedom / 2, x / 2): one
 * minus a power series where the series converges fast, and else a continued fraction, which keeps
 * all digits of a small probability (DLMF 8.11.4 and 8.9.2). */

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

/* Returns the probability of at most `k` of `n` heads of a fair coin, for k < n. */
static double coin_probability(size_t k, size_t n)
{
    return incomplete_beta((double)(n - k), (double)k + 1, 0.5);
}

struct mcnemar mcnemar_test(size_t first_only, size_t second_only)
{
    const size_t discordant = first_only + second_only;
    const size_t least = first_only < second_only ? first_only : second_only;
    struct mcnemar test = {.first_only = first_only,
                           .second_only = second_only,
                           .exact = discordant < MCNEMAR_EXACT_BELOW};
    if (test.exact) {
        test.statistic = (double)least;
        test.p = 2 * least >= discordant ? 1 : fmin(1, 2 * coin_probability(least, discordant));
        return test;
    }
    const double excess = fmax(0, (double)(discordant - 2 * least) - 1);
    test.statistic = excess * excess / (double)discordant;
    test.p = chi_square_exceeds(test.statistic, 1);
    return test;
}

/* A radix sort by bytes, from the lowest to the highest. A double's bits, read as an integer, have
 * the order of the numbers once all bits of negative numbers are inverted and the sign bit of the
 * others is set. All bytes are counted in one pass. A byte in which all numbers agree is skipped:
 * three or four bytes if the numbers were floats. */

enum { BYTES = sizeof(double), VALUES = 256, BYTE_BITS = 8 };
enum { MANY = 256 }; /* fewer are sorted by qsort */
#define SIGN (UINT64_C(1) << 63)

static uint64_t key_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits & SIGN ? ~bits : bits | SIGN;
}

static double value_of(uint64_t key)
{
    double value;
    const uint64_t bits = key & SIGN ? key & ~SIGN : ~key;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static size_t byte_of(uint64_t key, size_t byte)
{
    return (size_t)(key >> (BYTE_BITS * byte)) % VALUES;
}

/* Moves the keys to `target`, sorted by one byte; occurs[v] is how often the byte has value v. */
static void pass(const uint64_t *keys, uint64_t *target, size_t count, size_t byte,
                 const size_t *occurs)
{
    size_t places[VALUES], place = 0;
    for (size_t v = 0; v < VALUES; v++) {
        places[v] = place;
        place += occurs[v];
    }
    for (size_t i = 0; i < count; i++)
        target[places[byte_of(keys[i], byte)]++] = keys[i];
}

static int by_key(const void *a, const void *b)
{
    const uint64_t one = key_of(*(const double *)a), other = key_of(*(const double *)b);
    return (one > other) - (one < other);
}

/* Sorts with room for 2 * `count` keys. */
static void sort_with_room(double *values, size_t count, uint64_t *room)
{
    size_t occurs[BYTES][VALUES] = {0};
    uint64_t *keys = room, *other = room + count;
    for (size_t i = 0; i < count; i++) {
        keys[i] = key_of(values[i]);
        for (size_t b = 0; b < BYTES; b++)
            occurs[b][byte_of(keys[i], b)]++;
    }
    for (size_t b = 0; b < BYTES; b++) {
        if (occurs[b][byte_of(keys[0], b)] == count)
            continue;
        pass(keys, other, count, b, occurs[b]);
        uint64_t *sorted = other;
        other = keys;
        keys = sorted;
    }
    for (size_t i = 0; i < count; i++)
        values[i] = value_of(keys[i]);
}

void sort_doubles(double *values, size_t count)
{
    uint64_t *room =
        count >= MANY ? memory_new(count, 2 * sizeof *room, "the statistics", NULL) : NULL;
    if (room)
        sort_with_room(values, count, room);
    else if (count > 0)
        qsort(values, count, sizeof *values, by_key);
    free(room);
}
