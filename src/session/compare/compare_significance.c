/* Chooses the test for two rows, applies it (base/statistics), and describes the result. */
#include "session/compare/compare_significance.h"

#include "base/language.h"
#include "base/statistics/mcnemar.h"
#include "base/statistics/welch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct compare_test not_tested(const char *reason)
{
    struct compare_test test = {.statistic = NAN, .freedom = NAN, .p = NAN};
    snprintf(test.reason, sizeof test.reason, "%s", gettext(reason));
    return test;
}

static struct compare_test test_groups(const struct compare_row *a, const struct compare_row *b)
{
    const struct statistics *x = &a->seeds.figures[SEED_BEST_TOP1];
    const struct statistics *y = &b->seeds.figures[SEED_BEST_TOP1];
    const struct welch_sample first = {a->seeds.counts[SEED_BEST_TOP1], x->mean, x->sd};
    const struct welch_sample second = {b->seeds.counts[SEED_BEST_TOP1], y->mean, y->sd};
    if (strcmp(a->data, b->data) != 0)
        return not_tested(N_("their validation sets differ"));
    if (first.count < 2 || second.count < 2)
        return not_tested(N_("a group has an accuracy of fewer than two seeds"));
    const struct welch welch = welch_test(&first, &second);
    return (struct compare_test){.kind = TEST_WELCH,
                                 .differs = welch.p < COMPARE_LEVEL,
                                 .statistic = welch.t,
                                 .freedom = welch.freedom,
                                 .p = welch.p,
                                 .first = first.count,
                                 .second = second.count};
}

static struct compare_test test_runs(const struct compare_row *a, const struct compare_row *b)
{
    const struct correct_images *x = &a->correct, *y = &b->correct;
    if (strcmp(a->accuracy, "validation") != 0 || strcmp(b->accuracy, "validation") != 0)
        return not_tested(N_("one of them has no validation"));
    if (!x->best.bits || !y->best.bits)
        return not_tested(N_("one of them has not stored which images it classified correctly"));
    if (x->data != y->data || x->images != y->images)
        return not_tested(N_("their validation sets differ"));
    struct compare_test test = {.freedom = NAN, .first = x->images, .second = x->images};
    correct_images_count(&x->best, &y->best, x->images, &test.alone[0], &test.alone[1]);
    const struct mcnemar found = mcnemar_test(test.alone[0], test.alone[1]);
    test.kind = found.exact ? TEST_MCNEMAR_EXACT : TEST_MCNEMAR_CHI_SQUARE;
    test.statistic = found.statistic;
    test.freedom = found.exact ? (double)NAN : 1;
    test.p = found.p;
    test.differs = found.p < COMPARE_LEVEL;
    return test;
}

struct compare_test compare_test_rows(const struct comparison *comparison, size_t a, size_t b)
{
    const struct compare_row *x = &comparison->rows[a], *y = &comparison->rows[b];
    const bool first = x->seeds.runs > 0, second = y->seeds.runs > 0;
    if (!x->run || !y->run)
        return not_tested(N_("published figures have neither images nor seeds"));
    if (isnan(x->figures.best_top1) || isnan(y->figures.best_top1))
        return not_tested(N_("one of them has no accuracy"));
    if (first != second)
        return not_tested(N_("one is a single run, the other a group of seeds"));
    return first ? test_groups(x, y) : test_runs(x, y);
}

struct compare_test compare_test_measurements(const struct measurement *a,
                                              const struct measurement *b)
{
    if (!measurements_are_comparable(a, b))
        return not_tested(N_("they were measured on different machines or with different threads"));
    const struct welch welch = measurements_test(a, b);
    if (isnan(welch.p))
        return not_tested(N_("a measurement has fewer than two times"));
    return (struct compare_test){.kind = TEST_WELCH_TIMES,
                                 .differs = welch.p < COMPARE_LEVEL,
                                 .statistic = welch.t,
                                 .freedom = welch.freedom,
                                 .p = welch.p,
                                 .first = a->images,
                                 .second = b->images};
}

struct compare_test compare_test_times(const struct comparison *comparison, size_t device, size_t a,
                                       size_t b)
{
    const struct measurement *x = compare_time(comparison, a, device);
    const struct measurement *y = compare_time(comparison, b, device);
    if (!comparison->rows[a].run || !comparison->rows[b].run)
        return not_tested(N_("published figures have neither images nor seeds"));
    if (!x || !y)
        return not_tested(N_("one of them was not measured"));
    return compare_test_measurements(x, y);
}

char *compare_test_text(const struct compare_test *test, char *text, size_t size)
{
    switch (test->kind) {
    case TEST_MCNEMAR_EXACT:
        snprintf(text, size,
                 _("McNemar's test, exact binomial: %zu and %zu of %zu images right alone, p = "
                   "%.3g"),
                 test->alone[0], test->alone[1], test->first, test->p);
        break;
    case TEST_MCNEMAR_CHI_SQUARE:
        snprintf(text, size,
                 _("McNemar's test, chi-square with continuity correction: %zu and %zu of %zu "
                   "images right alone, chi-square = %.4g, p = %.3g"),
                 test->alone[0], test->alone[1], test->first, test->statistic, test->p);
        break;
    case TEST_WELCH:
        snprintf(text, size,
                 _("Welch's t-test: n = %zu and %zu seeds, t = %.4g with %.3g degrees of freedom, "
                   "p = %.3g"),
                 test->first, test->second, test->statistic, test->freedom, test->p);
        break;
    case TEST_WELCH_TIMES:
        snprintf(text, size,
                 _("Welch's t-test: n = %zu and %zu times, t = %.4g with %.4g degrees of freedom, "
                   "p = %.3g"),
                 test->first, test->second, test->statistic, test->freedom, test->p);
        break;
    default:
        snprintf(text, size, _("not tested: %s"), test->reason);
        break;
    }
    return text;
}

bool compare_test_to_json(const struct compare_test *test, const char *figure, struct json *object)
{
    const bool welch = test->kind == TEST_WELCH || test->kind == TEST_WELCH_TIMES;
    static const char *const names[] = {[TEST_MCNEMAR_EXACT] = "mcnemar-exact",
                                        [TEST_MCNEMAR_CHI_SQUARE] = "mcnemar-chi-square",
                                        [TEST_WELCH] = "welch",
                                        [TEST_WELCH_TIMES] = "welch"};
    if (!json_add_string(object, "figure", figure))
        return false;
    if (test->kind == TEST_NONE)
        return json_add_null(object, "test") && json_add_string(object, "reason", test->reason);
    bool added = json_add_string(object, "test", names[test->kind]) &&
                 json_add_bool(object, "differs", test->differs) &&
                 json_add_number(object, "level", COMPARE_LEVEL) &&
                 json_add_number(object, "statistic", test->statistic) &&
                 json_add_number(object, "degrees_of_freedom", test->freedom) &&
                 json_add_number(object, "p", test->p);
    struct json *n = json_add_array(object, "n");
    added = added && json_add_count(n, NULL, test->first) &&
            (!welch || json_add_count(n, NULL, test->second));
    if (welch)
        return added;
    struct json *alone = json_add_array(object, "right_alone");
    return added && json_add_count(alone, NULL, test->alone[0]) &&
           json_add_count(alone, NULL, test->alone[1]);
}
