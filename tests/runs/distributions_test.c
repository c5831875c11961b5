/* Distributions and tests of base/statistics.h against SciPy 1.17: betainc, t.ppf, t.sf, norm.cdf,
 * norm.ppf, chi2.sf, binomtest and ttest_ind(equal_var=False). */
#include "base/statistics.h"
#include "runs/values/statistics.h"
#include "tap.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b) || (b == 0 && fabs(a) < 1e-15);
}

static void test_incomplete_beta(void)
{
    static const double cases[][4] = {{0.5, 0.5, 0.3, 0.36901011956554536},
                                      {2, 3, 0.4, 0.52479999999999993},
                                      {10, 0.5, 0.95, 0.31715157546554495},
                                      {50, 60, 0.45, 0.4642352914306031},
                                      {1000, 1200, 0.46, 0.69662619594403985},
                                      {0.5, 2, 1e-6, 0.0014999994999999996},
                                      {2, 3, 0, 0},
                                      {2, 3, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double found = incomplete_beta(cases[i][0], cases[i][1], cases[i][2]);
        tap_ok(near(found, cases[i][3]), "I_%g(%g, %g) is %.12g", cases[i][2], cases[i][0],
               cases[i][1], found);
    }
    tap_ok(isnan(incomplete_beta(0, 1, 0.5)) && isnan(incomplete_beta(1, 1, (double)NAN)),
           "and NaN outside its domain");
}

static void test_student_t(void)
{
    static const double quantiles[][3] = {{0.975, 1, 12.706204736174694},
                                          {0.975, 2, 4.3026527297494619},
                                          {0.975, 3, 3.1824463052837078},
                                          {0.975, 4, 2.7764451051977934},
                                          {0.975, 9, 2.2621571627982049},
                                          {0.975, 29, 2.045229642132703},
                                          {0.975, 1000, 1.9623390808264083},
                                          {0.995, 4, 4.6040948713499921},
                                          {0.9, 2.5, 1.7302509288071766},
                                          {0.025, 4, -2.7764451051977943},
                                          {0.5, 4, 0}};
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        const double found = student_t_quantile(quantiles[i][0], quantiles[i][1]);
        tap_ok(near(found, quantiles[i][2]), "the %g quantile of t with %g degrees is %.12g",
               quantiles[i][0], quantiles[i][1], found);
    }
    static const double tails[][3] = {{2.5, 4, 0.066766544811988141},
                                      {0.3, 7.3, 0.77254053617970997},
                                      {-6, 3, 0.0092727148922846659},
                                      {40, 2, 0.0006244146721847406},
                                      {1.96, 1e6, 0.049996067585269852}};
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        const double found = student_t_two_sided(tails[i][0], tails[i][1]);
        tap_ok(near(found, tails[i][2]), "|t| >= %g with %g degrees has p = %.12g", tails[i][0],
               tails[i][1], found);
    }
    tap_ok(isnan(student_t_quantile(0.975, 0)) && isnan(student_t_quantile(2, 3)) &&
               isinf(student_t_quantile(1, 3)),
           "quantiles outside their domain");
}

static void test_normal(void)
{
    static const double probabilities[][2] = {
        {-8, 6.2209605742717405e-16}, {-3, 0.0013498980316300933},
        {-1.5, 0.066807201268858071}, {0, 0.5},
        {0.7, 0.75803634777692697},   {2.5, 0.99379033467422384},
        {6, 0.9999999990134123}};
    static const double quantiles[][2] = {{1e-12, -7.0344838253011313},
                                          {0.001, -3.0902323061678132},
                                          {0.025, -1.9599639845400545},
                                          {0.3, -0.52440051270804089},
                                          {0.5, 0},
                                          {0.9, 1.2815515655446004},
                                          {0.975, 1.959963984540054},
                                          {0.999999, 4.7534243088170873}};
    for (size_t i = 0; i < sizeof probabilities / sizeof *probabilities; i++)
        tap_ok(near(normal_probability(probabilities[i][0]), probabilities[i][1]),
               "normal_probability(%g)", probabilities[i][0]);
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++)
        tap_ok(near(normal_quantile(quantiles[i][0]), quantiles[i][1]), "normal_quantile(%g)",
               quantiles[i][0]);
}

static void test_chi_square(void)
{
    static const double cases[][3] = {{3.84, 1, 0.050043521248705189},
                                      {0.02, 1, 0.88753708398171505},
                                      {12.5, 1, 0.00040695201744495946},
                                      {60, 1, 9.4857375710738573e-15},
                                      {5, 3, 0.17179714429673351},
                                      {20, 10, 0.029252688076961124},
                                      {2, 10, 0.99634015317265634},
                                      {150, 100, 0.00090393204235401838},
                                      {0, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double found = chi_square_exceeds(cases[i][0], cases[i][1]);
        tap_ok(near(found, cases[i][2]), "chi-square >= %g with %g degrees has p = %.12g",
               cases[i][0], cases[i][1], found);
    }
}

static void test_mcnemar(void)
{
    static const struct {
        size_t first, second;
        bool exact;
        double statistic, p;
    } cases[] = {{3, 9, true, 3, 0.14599609375},
                 {0, 5, true, 0, 0.0625},
                 {6, 0, true, 0, 0.03125},
                 {12, 12, true, 12, 1},
                 {0, 0, true, 0, 1},
                 {20, 4, true, 4, 0.001543879508972168},
                 {13, 12, false, 0, 1},
                 {15, 15, false, 0, 1},
                 {40, 70, false, 7.6454545454545455, 0.0056915552846872955},
                 {260, 200, false, 7.5673913043478258, 0.0059433745219405606}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct mcnemar test = mcnemar_test(cases[i].first, cases[i].second);
        tap_ok(test.exact == cases[i].exact && near(test.statistic, cases[i].statistic) &&
                   near(test.p, cases[i].p),
               "McNemar of %zu and %zu: %g, p = %.12g", cases[i].first, cases[i].second,
               test.statistic, test.p);
    }
}

/* Returns the group of `count` values. */
static struct welch_sample sample(const double *values, size_t count)
{
    struct statistics statistics;
    statistics_compute(values, count, &statistics, NULL);
    return (struct welch_sample){count, statistics.mean, statistics.sd};
}

static void test_welch(void)
{
    static const double a[] = {91.2, 91.5, 90.8, 91.9, 91.1}, b[] = {92.0, 92.4, 91.7, 92.9, 92.3},
                        c[] = {90, 93.5, 91}, same[] = {50, 50};
    const struct welch_sample x = sample(a, 5), y = sample(b, 5), z = sample(c, 3),
                              flat = sample(same, 2), one = sample(a, 1);
    const struct welch first = welch_test(&x, &y), second = welch_test(&x, &z);
    tap_ok(near(first.t, -3.4914862437758876) && near(first.freedom, 7.9563437926330201) &&
               near(first.p, 0.0082511121045913509),
           "Welch of two groups of five: t = %g, p = %.12g", first.t, first.p);
    tap_ok(near(second.t, -0.18912300541538635) && near(second.freedom, 2.1302066022348121) &&
               near(second.p, 0.86649744603266121),
           "Welch of groups of different sizes: t = %g, p = %.12g", second.t, second.p);
    tap_ok(isnan(welch_test(&x, &one).p), "one value has no variance to test with");
    tap_ok(welch_test(&flat, &flat).p == 1,
           "groups without variance and equal means do not differ");
    struct statistics statistics;
    statistics_compute(a, 5, &statistics, NULL);
    tap_ok(near(statistics.mean, 91.3) && near(statistics.sd, 0.41833001326704117) &&
               near(statistics.ci95, 0.51942531684178805),
           "mean, deviation and interval of five seeds as SciPy gives them");
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns a number of one of several kinds: floats, doubles of all magnitudes, few different ones.
 */
static double number_of_kind(size_t kind, uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const double part = (double)(*state >> 11) * 0x1p-53;
    return kind == 0   ? (double)(float)(0.1 + 0.01 * part)
           : kind == 1 ? (part - 0.5) * exp2((double)(*state % 2000) - 1000)
           : kind == 2 ? floor(part * 5) - 2
                       : 7;
}

static void test_sort(void)
{
    static double values[5000], expected[5000];
    static const size_t counts[] = {0, 1, 2, 3, 255, 256, 257, 5000};
    uint64_t state = 1;
    bool good = true;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (size_t kind = 0; kind < 4; kind++) {
            for (size_t i = 0; i < counts[c]; i++)
                values[i] = expected[i] = number_of_kind(kind, &state);
            qsort(expected, counts[c], sizeof *expected, by_value);
            sort_doubles(values, counts[c]);
            good &= memcmp(values, expected, counts[c] * sizeof *values) == 0;
        }
    tap_ok(good, "numbers are sorted as by qsort");
    for (size_t i = 0; i < 300; i++)
        values[i] = i % 3 ? (i % 2 ? 0.0 : -0.0) : i % 2 ? INFINITY : -INFINITY;
    values[17] = NAN;
    sort_doubles(values, 300);
    good = values[0] < -DBL_MAX && signbit(values[50]) && values[50] == 0 && isnan(values[299]) &&
           values[298] > DBL_MAX;
    bool zeros = true;
    for (size_t i = 51; i < 240; i++)
        zeros &=
            values[i] != 0 || values[i - 1] != 0 || signbit(values[i - 1]) || !signbit(values[i]);
    tap_ok(good && zeros, "-0 before 0, infinity at the ends, NaN last");
}

TEST_CASE(distributions_test)
{
    test_incomplete_beta();
    test_student_t();
    test_normal();
    test_chi_square();
    test_mcnemar();
    test_welch();
    test_sort();
    return tap_done();
}
