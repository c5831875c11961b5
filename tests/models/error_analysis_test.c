/* Figures of each class, calibration and confidence intervals, compared with scikit-learn's and
 * SciPy's. */
#include "models/saved/error_analysis.h"
#include "models/saved/evaluate.h"
#include "runs/values/statistics.h"
#include "tap.h"

#include <math.h>

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(1, fabs(b));
}

/* scipy.stats.binomtest(part, whole).proportion_ci(method="wilson") */
static void test_wilson(void)
{
    static const struct {
        size_t part, whole;
        double low, high;
    } cases[] = {{0, 10, 0, 27.7532799863},
                 {10, 10, 72.2467200137, 100},
                 {416, 600, 65.5304603788, 72.8902205153},
                 {9901, 10000, 98.7962606019, 99.1860998778}};
    double low, high;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        statistics_wilson(cases[i].part, cases[i].whole, &low, &high);
        tap_ok(fabs(low - cases[i].low) < 1e-9 && fabs(high - cases[i].high) < 1e-9,
               "%zu of %zu: %.6f to %.6f %%", cases[i].part, cases[i].whole, low, high);
    }
    size_t inexact = 0;
    for (size_t n = 1; n <= 20000; n++) {
        statistics_wilson(0, n, &low, &high);
        inexact += low != 0 || !(high > 0) || !(high < 100);
        statistics_wilson(n, n, &low, &high);
        inexact += high != 100 || !(low > 0) || !(low < 100);
    }
    tap_ok(inexact == 0, "none and all of 1 to 20,000 have the exact ends 0 and 100: %zu have not",
           inexact);
    statistics_wilson(0, 0, &low, &high);
    tap_ok(isnan(low) && isnan(high), "no trials have no interval");
}

static void test_equal_values(void)
{
    static const double equal[] = {0.1, 0.7, 33.3, 100, 1e-3, 98.76};
    double values[50];
    struct statistics found;
    size_t inexact = 0;
    for (size_t e = 0; e < sizeof equal / sizeof *equal; e++)
        for (size_t n = 2; n <= sizeof values / sizeof *values; n++) {
            for (size_t i = 0; i < n; i++)
                values[i] = equal[e];
            statistics_compute(values, n, &found, NULL);
            inexact += found.mean != equal[e] || found.sd != 0 || found.ci95 != 0;
        }
    tap_ok(inexact == 0, "equal values have their mean and no deviation: %zu have not", inexact);
}

/* Labels 0 0 0 1 1 2 2 2, guesses 0 0 1 1 NaN 2 0 2; class 3 never occurs. */
static void test_figures(void)
{
    static const struct outcome outcomes[] = {
        {0, 0, 0, 0.9f},         {1, 0, 0, 0.95f}, {2, 0, 1, 0.5f}, {3, 1, 1, 1},
        {4, 1, OUTCOME_NONE, 0}, {5, 2, 2, 0.51f}, {6, 2, 0, 0.4f}, {7, 2, 2, 0.99f}};
    struct error_analysis analysis;
    struct error error;
    if (!error_analysis_create(&analysis, 4, &error)) {
        tap_ok(false, "an analysis: %s", error.why);
        return;
    }
    tap_ok(isnan(error_analysis_calibration(&analysis)) &&
               isnan(error_analysis_macro_f1(&analysis)),
           "without images there are no figures");
    for (size_t i = 0; i < 8; i++)
        error_analysis_add(&analysis, &outcomes[i]);
    const struct class_figures zero = error_analysis_class(&analysis, 0);
    const struct class_figures one = error_analysis_class(&analysis, 1);
    const struct class_figures three = error_analysis_class(&analysis, 3);
    tap_ok(zero.images == 3 && zero.guessed == 3 && near(zero.precision, 200.0 / 3) &&
               near(zero.recall, 200.0 / 3) && near(zero.f1, 200.0 / 3),
           "class 0");
    tap_ok(near(one.precision, 50) && near(one.recall, 50) && near(one.f1, 50),
           "an output that is NaN counts as missed");
    tap_ok(isnan(three.precision) && isnan(three.recall) && isnan(three.f1),
           "a class that does not occur has no figures");
    tap_ok(near(error_analysis_macro_f1(&analysis), (200.0 / 3 + 50 + 80) / 3),
           "and does not count in the mean of F1");
    /* bins of 1/15: {0.9}, {0.95, 0.99, 1} with one boundary at 14/15; {0.5, 0.51}; {0.4} */
    const double expected = (fabs(1 - 0.9) + fabs(3 - 2.94) + fabs(1 - 1.01) + 0.4) / 7;
    tap_ok(fabs(error_analysis_calibration(&analysis) - expected) < 1e-6,
           "calibration error %g, expected %g", error_analysis_calibration(&analysis), expected);
    error_analysis_free(&analysis);
}

/* Logits with a NaN predict no class, whatever the label is. */
static void test_ranking(void)
{
    static const struct {
        float logits[4];
        uint32_t first, of[4];
    } cases[] = {
        {{1, 3, 2, 0}, 1, {2, 0, 1, 3}},
        {{5, 5, 5, 5}, 0, {0, 1, 2, 3}},
        {{1, INFINITY, 2, INFINITY}, 1, {3, 0, 2, 1}},
        {{-INFINITY, -INFINITY, 0, 1}, 3, {2, 3, 1, 0}},
        {{NAN, 3, 2, 0}, RANKING_NONE, {RANKING_NONE, RANKING_NONE, RANKING_NONE, RANKING_NONE}},
        {{1, 3, 2, NAN}, RANKING_NONE, {RANKING_NONE, RANKING_NONE, RANKING_NONE, RANKING_NONE}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool same = ranking_first(cases[i].logits, 4) == cases[i].first;
        for (size_t c = 0; c < 4; c++)
            same = same && ranking_of(cases[i].logits, 4, c) == cases[i].of[c];
        tap_ok(same, "case %zu: the first class and the rank of each", i);
    }
    const struct class_shares shares = ranking_shares(cases[2].logits, 4);
    tap_ok(ranking_share(&shares, INFINITY) == 0.5 && ranking_share(&shares, 2) == 0,
           "infinite logits share the probability");
    struct prediction predictions[3] = {{7, 7}};
    tap_ok(!model_choose_top(cases[4].logits, 4, 3, predictions) && predictions[0].label == 7,
           "there is no most probable class of NaN");
    tap_ok(model_choose_top(cases[0].logits, 4, 3, predictions) && predictions[0].label == 1 &&
               predictions[1].label == 2 && predictions[2].label == 0,
           "the others come in the order of their logits");
}

TEST_CASE(error_analysis_test)
{
    test_wilson();
    test_equal_values();
    test_figures();
    test_ranking();
    return tap_done();
}
