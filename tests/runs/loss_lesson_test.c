/* Compares the arithmetic of Caffe's mean with a separate computation: each float32 operation in
 * long double, rounded once. */
#include "runs/findings/loss_lesson.h"

#include "tap.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LENGTH = 200 };

/* Losses of one-class data: large at first, then tiny, then 0. */
static float loss_at(size_t i)
{
    if (i < 6)
        return 6.9077554f / (float)(i + 1);
    return i < 90 ? 1e-3f / (float)(i * i) : 0;
}

static float loss_that_stays(size_t i)
{
    return 2.3025851f + 0.01f * (float)(i % 7);
}

/* --- the separate computation --- */

struct oracle {
    float before, leaving, first, second, after; /* the same as in struct loss_step */
    long double rounding[LESSON_OPERATIONS];
};

static float rounded(long double value, long double *rounding)
{
    volatile float result = (float)value;
    *rounding = (long double)result - value;
    return result;
}

/* Does Caffe's UpdateSmoothedLoss for the loss of index `i`. */
static struct oracle step_of(const float *losses, size_t i, size_t window, float mean)
{
    struct oracle step = {.before = mean};
    long double *rounding = step.rounding;
    if (i < window) {
        step.first = rounded((long double)mean * (long double)i, &rounding[0]);
        step.second = rounded((long double)step.first + (long double)losses[i], &rounding[1]);
        step.after = rounded((long double)step.second / (long double)(i + 1), &rounding[2]);
    } else {
        step.leaving = losses[i - window];
        step.first = rounded((long double)losses[i] - (long double)step.leaving, &rounding[0]);
        step.second = rounded((long double)step.first / (long double)window, &rounding[1]);
        step.after = rounded((long double)mean + (long double)step.second, &rounding[2]);
    }
    return step;
}

static double exact_of(const float *losses, size_t i, size_t window)
{
    const size_t held = i < window ? i + 1 : window;
    long double sum = 0;
    for (size_t k = i + 1 - held; k <= i; k++)
        sum += (long double)losses[k];
    return (double)(sum / (long double)held);
}

/* Returns the distance to the next float32, from the exponent. */
static double ulp_of(float value)
{
    int exponent;
    frexpf(value, &exponent);
    return ldexp(1, exponent - 24);
}

/* --- a recorded run --- */

struct record {
    struct series series;
    float losses[LENGTH];
    struct oracle steps[LENGTH];
};

static void add(struct record *record, size_t i, float caffe, double exact)
{
    const struct series_point point = {.iteration = i + 1,
                                       .loss = record->losses[i],
                                       .loss_caffe = caffe,
                                       .loss_mean = (float)exact};
    series_add(&record->series, &point);
}

static void make(struct record *record, size_t window, float (*loss)(size_t i), size_t count)
{
    float mean = 0;
    *record = (struct record){0};
    series_create(&record->series, LENGTH, 1, NULL);
    for (size_t i = 0; i < count; i++) {
        record->losses[i] = loss(i);
        record->steps[i] = step_of(record->losses, i, window, mean);
        mean = record->steps[i].after;
        add(record, i, mean, exact_of(record->losses, i, window));
    }
}

static bool near(double a, double b)
{
    return a == b || fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static bool same_step(const struct loss_lesson *lesson, const struct oracle *oracle, size_t i,
                      size_t window)
{
    const struct loss_step *step = &lesson->step;
    bool same = step->before == oracle->before && step->leaving == oracle->leaving &&
                step->first == oracle->first && step->second == oracle->second &&
                step->after == oracle->after && lesson->caffe == oracle->after &&
                lesson->is_record && step->filling == (i < window) &&
                step->held == (i < window ? i + 1 : window);
    for (int k = 0; k < LESSON_OPERATIONS; k++)
        same = same && fabs(lesson->rounding[k] - (double)oracle->rounding[k]) <=
                           1e-6 * fabs((double)oracle->rounding[k]) + 1e-18;
    return same;
}

/* Checks every iteration of a run, while the window fills and when it is full. */
static void test_window(size_t window)
{
    static struct record record;
    struct loss_walk walk = {0};
    struct loss_lesson lesson;
    size_t steps = 0, means = 0, units = 0;
    float largest = 0;
    make(&record, window, loss_at, LENGTH);
    for (size_t i = 0; i < LENGTH; i++) {
        loss_walk_to(&walk, &record.series, window, i + 1, &lesson, NULL);
        const double exact = exact_of(record.losses, i, window);
        largest = fmaxf(largest, record.losses[i]);
        steps += same_step(&lesson, &record.steps[i], i, window);
        means += near(lesson.exact, exact) &&
                 near(lesson.residue, (double)record.steps[i].after - lesson.exact);
        units += lesson.largest == largest && lesson.ulp == ulp_of(largest) &&
                 lesson.largest_at == 1 && lesson.iteration == i + 1;
    }
    tap_ok(steps == LENGTH, "window %zu: every value and its rounding (%zu of %d)", window, steps,
           LENGTH);
    tap_ok(means == LENGTH, "  exact mean and residue");
    tap_ok(units == LENGTH, "  the unit in the last place of the largest loss");
    if (window < LENGTH / 2)
        tap_ok(lesson.loss == 0 && lesson.exact == 0 && lesson.residue == (double)lesson.caffe &&
                   lesson.residue != 0,
               "  at the end the loss is 0 and the mean is only residue (%g)", lesson.residue);
    series_free(&record.series);
}

/* The residue is the sum of the effects of all rounding errors on the mean. */
static void test_sum(void)
{
    static struct record record;
    struct loss_walk walk = {0};
    struct loss_lesson lesson;
    double sum = 0, worst = 0;
    uint64_t worst_at = 0;
    make(&record, 1, loss_at, LENGTH);
    for (size_t i = 0; i < LENGTH; i++) {
        loss_walk_to(&walk, &record.series, 1, i + 1, &lesson, NULL);
        sum += lesson.step_rounding;
        if (fabs(lesson.step_rounding) > fabs(worst)) {
            worst = lesson.step_rounding;
            worst_at = i + 1;
        }
    }
    tap_ok(lesson.residue != 0 && fabs(sum - lesson.residue) < 1e-15,
           "the residue (%g) is the sum of all rounding errors (%g)", lesson.residue, sum);
    tap_ok(lesson.worst_rounding == worst && lesson.worst_at == worst_at,
           "the largest of them is that of iteration %llu", (unsigned long long)worst_at);
    series_free(&record.series);
}

static void test_first(void)
{
    static struct record record;
    struct loss_walk walk = {0};
    struct loss_lesson lesson;
    char text[1200];
    make(&record, 40, loss_at, 1);
    tap_ok(loss_walk_to(&walk, &record.series, 40, 1, &lesson, NULL) && lesson.step.filling &&
               lesson.step.before == 0 && lesson.caffe == record.losses[0] && lesson.residue == 0,
           "the first iteration: the mean is the loss");
    tap_ok(strstr(loss_lesson_conclude(&lesson, text, sizeof text), "are the same"),
           "  and nothing was lost by rounding");
    tap_ok(loss_lesson_choose(&record.series) == 1, "  it is the iteration to explain");
    series_free(&record.series);
}

/* --- walking --- */

static void test_walk(void)
{
    static struct record record;
    struct loss_walk walk = {0}, fresh = {0};
    struct loss_lesson lesson, other;
    make(&record, 40, loss_at, LENGTH);
    loss_walk_to(&walk, &record.series, 40, 150, &lesson, NULL);
    loss_walk_to(&walk, &record.series, 40, 60, &lesson, NULL);
    loss_walk_to(&fresh, &record.series, 40, 60, &other, NULL);
    tap_ok(lesson.caffe == other.caffe && lesson.exact == other.exact &&
               lesson.worst_at == other.worst_at,
           "a walk back is a walk from the start");
    loss_walk_to(&walk, &record.series, 1, 60, &lesson, NULL);
    tap_ok(lesson.window == 1 && lesson.step.held == 1, "another window begins anew");
    loss_walk_to(&walk, &record.series, 0, 60, &other, NULL);
    tap_ok(other.window == 1 && other.exact == lesson.exact, "a window of 0 counts as 1");
    series_free(&record.series);
}

/* The run becomes longer during the walk, as a run in progress or a resumed run does. */
static void test_growth(void)
{
    static struct record record, whole;
    struct loss_walk walk = {0}, fresh = {0};
    struct loss_lesson lesson, other;
    struct error error;
    make(&record, 40, loss_at, 70);
    make(&whole, 40, loss_at, LENGTH);
    loss_walk_to(&walk, &record.series, 40, 70, &lesson, NULL);
    tap_ok(!loss_walk_to(&walk, &record.series, 40, 71, &lesson, &error),
           "an iteration in the future does not exist");
    for (size_t i = 70; i < LENGTH; i++) {
        record.losses[i] = whole.losses[i];
        add(&record, i, whole.steps[i].after, exact_of(whole.losses, i, 40));
    }
    loss_walk_to(&walk, &record.series, 40, LENGTH, &lesson, NULL);
    loss_walk_to(&fresh, &whole.series, 40, LENGTH, &other, NULL);
    tap_ok(lesson.caffe == other.caffe && lesson.residue == other.residue &&
               lesson.worst_rounding == other.worst_rounding && lesson.is_record,
           "a resumed run has the arithmetic of an undisturbed one");
    series_free(&record.series);
    series_free(&whole.series);
}

static void test_refusals(void)
{
    static struct record record;
    struct series empty = {0}, sparse;
    struct loss_walk walk = {0};
    struct loss_lesson lesson;
    struct error error;
    make(&record, 1, loss_at, 10);
    tap_ok(!loss_walk_to(&walk, &record.series, 1, 11, &lesson, &error) &&
               error.kind == ERROR_USAGE && strstr(error.why, "1 to 10"),
           "an iteration behind the last: %s", error.why);
    tap_ok(!loss_walk_to(&walk, &record.series, 1, 0, &lesson, &error) && error.kind == ERROR_USAGE,
           "there is no iteration before the first");
    tap_ok(!loss_walk_to(&walk, &empty, 1, 1, &lesson, &error) && strstr(error.why, "no iteration"),
           "a run that has just begun: %s", error.why);
    tap_ok(loss_lesson_choose(&empty) == 0 && loss_lesson_next_negative(&empty, 0) == 0,
           "  has none to explain");
    series_create(&sparse, 100, 1, NULL);
    for (uint64_t i = 1; i <= 100; i += 20)
        series_add(&sparse, &(struct series_point){.iteration = i, .loss = 1, .loss_caffe = 1});
    tap_ok(!loss_walk_to(&walk, &sparse, 1, 41, &lesson, &error) &&
               strstr(error.why, "has 5 of the first 81"),
           "a record with gaps: %s", error.why);
    series_free(&sparse);
    series_free(&record.series);
}

/* --- which iteration --- */

static void set_caffe(struct series *series, size_t i, float caffe)
{
    series->points[i].loss_caffe = caffe;
}

static void test_choice(void)
{
    static struct record record;
    make(&record, 1, loss_that_stays, 50);
    tap_ok(loss_lesson_choose(&record.series) == 50, "without a wrong mean the last is chosen");
    set_caffe(&record.series, 30, 3 * record.losses[30]);
    tap_ok(loss_lesson_choose(&record.series) == 31,
           "a mean that is mostly residue is chosen first");
    for (size_t i = 40; i < 43; i++)
        set_caffe(&record.series, i, -1e-8f);
    set_caffe(&record.series, 45, -1e-8f);
    tap_ok(loss_lesson_choose(&record.series) == 41, "a negative mean before all others");
    tap_ok(loss_lesson_next_negative(&record.series, 41) == 46, "the next fall below zero");
    tap_ok(loss_lesson_next_negative(&record.series, 46) == 41, "  and round to the first");
    series_free(&record.series);
}

/* --- text --- */

static bool concludes(float caffe, double exact, const char *words)
{
    char text[1200];
    const struct loss_lesson lesson = {.caffe = caffe,
                                       .exact = exact,
                                       .residue = (double)caffe - exact,
                                       .largest = 2.3f,
                                       .largest_at = 1,
                                       .worst_rounding = 1e-8,
                                       .worst_at = 3};
    return strstr(loss_lesson_conclude(&lesson, text, sizeof text), words);
}

static void test_words(void)
{
    static struct record record;
    struct loss_walk walk = {0};
    struct loss_lesson lesson;
    struct lesson_line lines[LESSON_LINES_MAX];
    size_t exact = 0, read_back = 0, values = 0;
    tap_ok(concludes(-4.5e-8f, 0, "below zero, although no loss was"),
           "a negative mean is explained");
    tap_ok(concludes(4.5e-8f, 0, "this time above zero"), "a positive mean that is wrong");
    tap_ok(concludes(1.5f, 1.5, "are the same"), "a mean without residue");
    tap_ok(concludes(1.5f, 1.4999999, "is hidden"), "a residue that large losses hide");
    tap_ok(concludes(NAN, 1, "not finite") && concludes(1, NAN, "not finite"),
           "a loss that is not finite");
    make(&record, 1, loss_at, LENGTH);
    loss_walk_to(&walk, &record.series, 1, LENGTH, &lesson, NULL);
    const size_t count = loss_lesson_lines(&lesson, lines);
    for (size_t i = 0; i < count; i++) {
        float value, bits;
        exact += strcmp(lines[i].rounding, "exact") == 0;
        if (!lines[i].bits[0])
            continue;
        values++;
        read_back += sscanf(lines[i].value, "%g", &value) == 1 &&
                     sscanf(lines[i].bits, "%g", &bits) == 1 && value == bits;
    }
    tap_ok(values > 6 && read_back == values, "decimals and bits are the same numbers (%zu)",
           values);
    tap_ok(exact == 3, "three operations on zeros are exact");
    series_free(&record.series);
}

/* A log has six digits: the arithmetic continues from these, and says so. */
static void test_log(void)
{
    static struct record record;
    struct loss_walk walk = {0};
    struct loss_lesson lesson;
    char text[32];
    make(&record, 1, loss_at, 20);
    for (size_t i = 0; i < 20; i++) {
        snprintf(text, sizeof text, "%g", (double)record.series.points[i].loss);
        sscanf(text, "%g", &record.series.points[i].loss);
        snprintf(text, sizeof text, "%g", (double)record.series.points[i].loss_caffe);
        sscanf(text, "%g", &record.series.points[i].loss_caffe);
    }
    loss_walk_to(&walk, &record.series, 1, 8, &lesson, NULL);
    tap_ok(!lesson.is_record && lesson.caffe == record.series.points[7].loss_caffe &&
               lesson.step.before == record.series.points[6].loss_caffe,
           "six digits of a log: the printed value counts");
    for (size_t i = 0; i < 20; i++)
        record.series.points[i].loss_caffe = NAN;
    walk = (struct loss_walk){0};
    loss_walk_to(&walk, &record.series, 1, 8, &lesson, NULL);
    tap_ok(lesson.caffe == lesson.step.after, "a run without Caffe's mean: the computed mean");
    series_free(&record.series);
}

TEST_CASE(loss_lesson_test)
{
    test_window(1);
    test_window(2);
    test_window(40);
    test_window(LENGTH);
    test_sum();
    test_first();
    test_walk();
    test_growth();
    test_refusals();
    test_choice();
    test_words();
    test_log();
    return tap_done();
}
