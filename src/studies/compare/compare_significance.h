/* compare_significance.h: does the best top-1 accuracy of two rows differ? A difference counts only
 * when a test shows it, at the level of 5 %:
 *
 *   two runs             McNemar's test, if both have stored which images of the same validation
 *                        set they classified correctly (models/saved/correct_images.h)
 *   two groups of seeds  Welch's t-test of the accuracies of their runs
 *
 * The times of two runs on a device are compared only if they were taken in turns, by the rule of
 * models/measure/turns.h.
 *
 * Anything else is not tested, and a reason says why. The p values are not corrected for the number
 * of pairs. Thread-safe. */
#ifndef TINCA_STUDIES_COMPARE_COMPARE_SIGNIFICANCE_H
#define TINCA_STUDIES_COMPARE_COMPARE_SIGNIFICANCE_H

#include "studies/compare/compare.h"

enum compare_test_kind {
    TEST_NONE,
    TEST_MCNEMAR_EXACT,
    TEST_MCNEMAR_CHI_SQUARE,
    TEST_WELCH,
    TEST_TURNS
};

struct compare_test {
    enum compare_test_kind kind;
    bool differs;         /* the test shows a difference: p < COMPARE_LEVEL */
    double statistic;     /* exact: the smaller count of images that one alone has right; else
                             chi-square or t */
    double freedom;       /* degrees of freedom; NaN: the statistic has none */
    double p;             /* two-sided */
    size_t first, second; /* n: the images, twice, the seeds of each group, or twice the blocks */
    size_t alone[2];      /* McNemar: images that the first or the second alone has right */
    double ratio;       /* of times, the first one's to the second one's; NaN: unknown, or no times
                           are tested */
    struct turns turns; /* of times; blocks 0: they were not taken in turns */
    char reason[360];   /* TEST_NONE: why, translated */
};
#define COMPARE_LEVEL 0.05

/* Tests the best top-1 accuracies of two rows. */
struct compare_test compare_test_rows(const struct comparison *comparison, size_t a, size_t b);

/* Tests the times of two rows on a device. Without a verdict `ratio` is that of the turns or, if
 * they were measured at different times, of the times of the table. */
struct compare_test compare_test_times(const struct comparison *comparison, size_t device, size_t a,
                                       size_t b);

/* Returns whether the present models of two rows took turns on a device. */
bool compare_took_turns(const struct comparison *comparison, size_t device, size_t a, size_t b);

/* Returns what turns show of the times of two rows on a device, as compare_test_times does. Times
 * are unrelated if they were not taken in turns, or if too few blocks are undisturbed. */
enum compare_relation {
    COMPARE_UNRELATED,
    COMPARE_INDISTINGUISHABLE,
    COMPARE_FASTER, /* row `a` takes less time */
    COMPARE_SLOWER
};
enum compare_relation compare_rows(const struct comparison *comparison, size_t device, size_t a,
                                   size_t b);

/* Writes test, statistic, p and n, or that and why there is no test, translated. Returns `text`. */
char *compare_test_text(const struct compare_test *test, char *text, size_t size);

/* Adds {"figure": `figure`, "test", "differs", "statistic", ...} to `object`, or "test": null and
 * "reason". Returns false if memory runs out. */
bool compare_test_to_json(const struct compare_test *test, const char *figure, struct json *object);

#endif
