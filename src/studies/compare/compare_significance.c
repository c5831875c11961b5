/* Chooses the test for two rows, applies it (base/statistics.h), and describes the result. */
#include "studies/compare/compare_significance.h"

#include "base/language.h"
#include "base/statistics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct compare_test not_tested(const char *reason)
{
    struct compare_test test = {.statistic = NAN, .freedom = NAN, .p = NAN, .ratio = NAN};
    snprintf(test.reason, sizeof test.reason, "%s", reason[0] ? gettext(reason) : "");
    return test;
}

static struct compare_test test_groups(const struct compare_row *a, const struct compare_row *b)
{
    const struct statistics *x = &a->seeds.figures[FIGURE_BEST_TOP1];
    const struct statistics *y = &b->seeds.figures[FIGURE_BEST_TOP1];
    const struct welch_sample first = {a->seeds.counts[FIGURE_BEST_TOP1], x->mean, x->sd};
    const struct welch_sample second = {b->seeds.counts[FIGURE_BEST_TOP1], y->mean, y->sd};
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
                                 .second = second.count,
                                 .ratio = NAN};
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
    struct compare_test test = {
        .freedom = NAN, .first = x->images, .second = x->images, .ratio = NAN};
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

static bool find_turns(const struct comparison *comparison, size_t device, size_t a, size_t b,
                       struct turns *turns)
{
    const struct compare_row *x = &comparison->rows[a], *y = &comparison->rows[b];
    return a != b && x->run && y->run && (x->ms.turns_count > 0 || y->ms.turns_count > 0) &&
           measurements_find_turns(&x->ms, run_facts(x->run)->id, &y->ms, run_facts(y->run)->id,
                                   comparison->devices[device], turns);
}

bool compare_took_turns(const struct comparison *comparison, size_t device, size_t a, size_t b)
{
    struct turns turns;
    return find_turns(comparison, device, a, b, &turns);
}

enum compare_relation compare_rows(const struct comparison *comparison, size_t device, size_t a,
                                   size_t b)
{
    static const enum compare_relation relations[] = {
        [TURNS_NONE] = COMPARE_UNRELATED,
        [TURNS_ALIKE] = COMPARE_INDISTINGUISHABLE,
        [TURNS_FIRST_FASTER] = COMPARE_FASTER,
        [TURNS_SECOND_FASTER] = COMPARE_SLOWER,
    };
    struct turns turns;
    return find_turns(comparison, device, a, b, &turns) ? relations[turns_test(&turns).verdict]
                                                        : COMPARE_UNRELATED;
}

/* Returns the result of turns. */
static struct compare_test test_turns(const struct turns *turns)
{
    const struct turns_test found = turns_test(turns);
    struct compare_test test = {.kind = found.verdict == TURNS_NONE ? TEST_NONE : TEST_TURNS,
                                .differs = found.verdict == TURNS_FIRST_FASTER ||
                                           found.verdict == TURNS_SECOND_FASTER,
                                .statistic = found.t,
                                .freedom = found.freedom,
                                .p = found.p,
                                .first = turns->blocks - turns->marked,
                                .second = turns->blocks - turns->marked,
                                .ratio = found.ratio,
                                .turns = *turns};
    if (test.kind == TEST_NONE)
        turns_text(turns, test.reason, sizeof test.reason);
    return test;
}

/* Writes that times were not taken in turns and, if they differ, in which precisions. */
static void say_different_times(const struct measurement *x, const struct measurement *y,
                                char *text, size_t size)
{
    const char *first = compare_precision(x), *second = compare_precision(y);
    if (strcmp(first, second) == 0)
        snprintf(text, size, "%s", turns_missing_text());
    else
        snprintf(text, size, _("%s; computed in %s and %s"), turns_missing_text(), first, second);
}

/* Returns what is known of times that were not taken in turns: their ratio, if they are alike. */
static struct compare_test test_different_times(const struct measurement *x,
                                                const struct measurement *y)
{
    struct compare_test test;
    if (!x || !y)
        return not_tested(N_("one of them was not measured"));
    if (!measured_on_same(&x->on, &y->on))
        return not_tested(N_("they were measured on different machines or with different threads"));
    test = not_tested("");
    test.ratio = x->ms_per_image.mean / y->ms_per_image.mean;
    say_different_times(x, y, test.reason, sizeof test.reason);
    return test;
}

struct compare_test compare_test_times(const struct comparison *comparison, size_t device, size_t a,
                                       size_t b)
{
    const struct compare_row *x = &comparison->rows[a], *y = &comparison->rows[b];
    struct turns turns;
    if (!x->run || !y->run)
        return not_tested(N_("published times have neither turns nor intervals"));
    if (find_turns(comparison, device, a, b, &turns))
        return test_turns(&turns);
    return test_different_times(compare_time(comparison, a, device),
                                compare_time(comparison, b, device));
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
    case TEST_TURNS:
        turns_text(&test->turns, text, size);
        break;
    default:
        snprintf(text, size, _("not tested: %s"), test->reason);
        break;
    }
    return text;
}

/* Adds what turns have besides the test: the interval of the ratio, their blocks, device and times.
 */
static bool add_turns(const struct compare_test *test, struct json *object)
{
    const struct turns_test found = turns_test(&test->turns);
    struct json *interval = json_add_array(object, "ratio_interval");
    struct json *turns = json_add_object(object, "turns");
    return json_add_number(interval, NULL, found.low) &&
           json_add_number(interval, NULL, found.high) &&
           json_add_number(object, "margin", TURNS_MARGIN) && turns_to_json(turns, &test->turns);
}

bool compare_test_to_json(const struct compare_test *test, const char *figure, struct json *object)
{
    const bool welch = test->kind == TEST_WELCH, turns = test->turns.blocks > 0;
    static const char *const names[] = {[TEST_MCNEMAR_EXACT] = "mcnemar-exact",
                                        [TEST_MCNEMAR_CHI_SQUARE] = "mcnemar-chi-square",
                                        [TEST_WELCH] = "welch",
                                        [TEST_TURNS] = "turns"};
    if (!json_add_string(object, "figure", figure) ||
        (isfinite(test->ratio) && !json_add_number(object, "ratio", test->ratio)) ||
        (turns && !add_turns(test, object)))
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
    if (welch || turns)
        return added;
    struct json *alone = json_add_array(object, "right_alone");
    return added && json_add_count(alone, NULL, test->alone[0]) &&
           json_add_count(alone, NULL, test->alone[1]);
}
