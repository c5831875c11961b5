/* Tests what plots compute from the values of runs: the robust y range, the strengths of smoothing,
 * the mean and the band of several runs. */
#include "tap.h"
#include "ui/plot/axis_marks.h"
#include "ui/plot/curves.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct value_range range;

/* Adds `count` values from `from` to `to`, evenly spaced, as one curve. */
static void add_ramp(double from, double to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        value_range_add(&range, from + (to - from) * (double)i / (double)(count - 1), NULL);
    value_range_end_curve(&range, NULL);
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fmax(1, fabs(b));
}

static void test_range_of_a_curve(void)
{
    struct value_bounds bounds;
    value_range_begin(&range, false, false);
    add_ramp(0, 2, 201);
    bounds = value_range_join(&range);
    tap_ok(bounds.low == 0 && bounds.high == 2, "without outliers the range holds all values");
    value_range_begin(&range, false, false);
    for (int i = 0; i < 4; i++)
        value_range_add(&range, 1e6, NULL);
    value_range_add(&range, NAN, NULL);
    value_range_add(&range, -INFINITY, NULL);
    add_ramp(0, 2, 201);
    bounds = value_range_join(&range);
    tap_ok(bounds.low == 0 && bounds.high == 2, "a few huge values do not widen it: %g..%g",
           bounds.low, bounds.high);
    range.all = true;
    value_range_add(&range, 1e6, NULL);
    add_ramp(0, 2, 201);
    tap_ok(value_range_join(&range).high == 1e6, "if all values are asked for, they do");
    value_range_begin(&range, false, false);
    for (int i = 0; i < 200; i++)
        value_range_add(&range, 2.3 * exp(-i / 20.0), NULL);
    value_range_end_curve(&range, NULL);
    tap_ok(near(value_range_join(&range).high, 2.3), "the begin of a falling loss is no outlier");
    value_range_begin(&range, false, false);
    for (int i = 0; i < 31; i++)
        value_range_add(&range, i < 27 ? 2.3 - 0.01 * i : pow(10, i - 20), NULL);
    value_range_end_curve(&range, NULL);
    tap_ok(near(value_range_join(&range).high, 2.3), "nor does a run that diverges at its end: %g",
           value_range_join(&range).high);
    value_range_begin(&range, true, false);
    value_range_add(&range, 0, NULL);
    value_range_add(&range, -3, NULL);
    add_ramp(0.1, 10, 100);
    bounds = value_range_join(&range);
    tap_ok(near(bounds.low, log(0.1)) && near(bounds.high, log(10)),
           "a logarithmic range is one of logarithms, and leaves out values at or below zero");
    const struct axis axis = value_range_axis(&range, bounds);
    tap_ok(axis.log && near(axis.low, 0.1) && near(axis.high, 10), "its axis has the values");
    value_range_begin(&range, false, false);
    tap_ok(value_range_axis(&range, value_range_join_runs(&range)).high > 0,
           "without curves there is an axis, too");
}

static void test_range_of_growing_curve(void)
{
    struct curve curve = {0};
    struct value_range linear = {0}, log_range = {0};
    float values[] = {1, 3, 100};
    curve_reset(&curve, 10, NULL);
    curve_add_all(&curve, 0, &values[0], sizeof(float), 1);
    curve_add_all(&curve, 1, &values[1], sizeof(float), 1);
    value_range_begin(&linear, false, true);
    curve_measure(&curve, &linear, NULL);
    value_range_begin(&log_range, true, true);
    curve_measure(&curve, &log_range, NULL);
    tap_ok(near(value_range_join(&linear).high, 3) &&
               near(value_range_join(&log_range).high, log(3)),
           "a curve is measured anew for another kind of axis");
    curve_add_all(&curve, 2, &values[2], sizeof(float), 1);
    value_range_begin(&log_range, true, true);
    curve_measure(&curve, &log_range, NULL);
    tap_ok(near(value_range_join(&log_range).high, log(100)), "and after a new value");
    curve_reset(&curve, 10, NULL);
    value_range_begin(&log_range, true, true);
    curve_measure(&curve, &log_range, NULL);
    tap_ok(log_range.curve_count == 0, "an empty one has no range");
    curve_free(&curve);
    value_range_free(&linear);
    value_range_free(&log_range);
}

static void test_range_of_runs(void)
{
    struct value_bounds bounds;
    value_range_begin(&range, false, false);
    add_ramp(0.1, 2, 100);
    add_ramp(0.1, 1e7, 100);
    bounds = value_range_join_runs(&range);
    tap_ok(near(bounds.low, 0.1) && near(bounds.high, 2),
           "of two runs the one that diverges does not widen the range: %g..%g", bounds.low,
           bounds.high);
    add_ramp(0.3, 3, 100);
    add_ramp(1e5, 1e6, 100);
    bounds = value_range_join_runs(&range);
    tap_ok(near(bounds.low, 0.1) && near(bounds.high, 3),
           "of four runs two that diverge do not: %g..%g", bounds.low, bounds.high);
    range.all = true;
    tap_ok(near(value_range_join_runs(&range).high, 1e7), "unless all values are asked for");
    value_range_begin(&range, false, false);
    add_ramp(99.83, 99.83, 2);
    add_ramp(99.5, 99.53, 2);
    bounds = value_range_join_runs(&range);
    tap_ok(near(bounds.low, 99.5) && near(bounds.high, 99.83),
           "two runs that lie apart are both within the range: %g..%g", bounds.low, bounds.high);
    value_range_begin(&range, false, false);
    add_ramp(99.83, 99.83, 2);
    add_ramp(99.2, 99.9, 100);
    bounds = value_range_join_runs(&range);
    tap_ok(near(bounds.low, 99.2) && near(bounds.high, 99.9),
           "a run with one value does not make another one an outlier: %g..%g", bounds.low,
           bounds.high);
}

/* Makes the losses 1, 2, 3 .. of a run, `factor` times. */
static bool make_series(struct series *series, size_t count, float factor)
{
    if (!series_create(series, count, 10, NULL))
        return false;
    for (size_t i = 1; i <= count; i++) {
        struct series_point point = {.iteration = i,
                                     .epoch = (float)i / 100,
                                     .loss = factor * (float)i,
                                     .loss_caffe = factor * (float)i,
                                     .loss_mean = 7,
                                     .loss_discriminator = NAN,
                                     .loss_l1 = NAN,
                                     .loss_labels = NAN,
                                     .loss_teacher = NAN,
                                     .learning_rate = 0.1f,
                                     .ms_per_image = 1,
                                     .seconds = (float)i};
        series_add(series, &point);
    }
    return true;
}

static size_t choice_of(const char *name)
{
    size_t choice = 0;
    while (smoothing_names[choice] && strcmp(smoothing_names[choice], name) != 0)
        choice++;
    return choice;
}

/* Computes TensorBoard's average of the losses up to `last` directly. */
static double average(const struct series *series, double strength, size_t last)
{
    double sum = 0, weights = 0;
    for (size_t i = 0; i <= last; i++) {
        sum += pow(strength, (double)(last - i)) * (double)series->points[i].loss;
        weights += pow(strength, (double)(last - i));
    }
    return sum / weights;
}

static void test_smoothing(void)
{
    struct series series;
    struct curves curves = {0};
    struct curve_view view = {.width = 100,
                              .traces = TRACE_BIT(TRACE_SMOOTHED),
                              .iterations = 5000,
                              .epochs = 50,
                              .smoothing = choice_of("0.97")};
    char text[40];
    if (!make_series(&series, 5000, 1))
        return;
    series_set_smoothing(&series, 20, true);
    curves_update(&curves, &series, &view, NULL);
    tap_ok(near(curves_value(&curves, TRACE_SMOOTHED, 0), 1),
           "the bias towards the start is removed: the first average is the first value");
    tap_ok(near(curves_value(&curves, TRACE_SMOOTHED, 10), average(&series, 0.97, 10)) &&
               near(curves_value(&curves, TRACE_SMOOTHED, 3000), average(&series, 0.97, 3000)),
           "0.97 is the average that TensorBoard computes");
    struct axis part = {2990, 3010, false};
    view.axis = &part;
    curves_update(&curves, &series, &view, NULL);
    const size_t column = (size_t)curve_column_at(axis_position(&part, 3001), 100);
    tap_ok(near((double)curves.trace[TRACE_SMOOTHED].columns[column].last,
                (double)(float)average(&series, 0.97, 3000)),
           "a zoomed curve has the same values");
    view.smoothing = choice_of("0");
    curves_update(&curves, &series, &view, NULL);
    tap_ok(curves_value(&curves, TRACE_SMOOTHED, 3000) == 3001, "0 leaves the values as they are");
    view.smoothing = 0;
    curves_update(&curves, &series, &view, NULL);
    tap_ok(curves_value(&curves, TRACE_SMOOTHED, 3000) == 7, "auto is what the run says");
    tap_ok(strcmp(smoothing_words(0, &series, text, sizeof text), "mean of 20") == 0 &&
               strcmp(smoothing_words(choice_of("0.9"), &series, text, sizeof text), "EMA 0.9") ==
                   0,
           "the legend says how");
    curves_free(&curves);
    series_free(&series);
}

static void test_band(void)
{
    struct series runs[2];
    struct curves curves[2] = {{.count = 0}, {.count = 0}};
    struct band band = {.capacity = 0};
    struct axis x = {0, 100, false};
    struct curve_view view = {.width = 101, .traces = TRACE_BIT(TRACE_CAFFE), .axis = &x};
    size_t over;
    if (!make_series(&runs[0], 100, 1) || !make_series(&runs[1], 50, 3))
        return;
    for (int i = 0; i < 2; i++) {
        struct series_validation first = {.iteration = 10, .loss = 1},
                                 last = {.iteration = 30, .loss = i ? 5 : 3};
        series_add_validation(&runs[i], &first);
        series_add_validation(&runs[i], &last);
        curves_update(&curves[i], &runs[i], &view, NULL);
    }
    tap_ok(band_reset(&band, 101, NULL), "a band is made");
    band_add(&band, &curves[0], TRACE_CAFFE);
    band_add(&band, &curves[1], TRACE_CAFFE);
    tap_ok(near(band_value(&band, 20, &over), 40) && over == 2,
           "the mean is over the values at the same x");
    tap_ok(band.extent.columns[20].low == 20 && band.extent.columns[20].high == 60,
           "the band reaches from the minimum to the maximum");
    tap_ok(near(band_value(&band, 80, &over), 80) && over == 1,
           "after its end a run does not contribute");
    tap_ok(isnan(band_value(&band, 0, &over)) && over == 0, "before the first point there is none");
    band_reset(&band, 101, NULL);
    band_add(&band, &curves[0], TRACE_VALIDATION);
    band_add(&band, &curves[1], TRACE_VALIDATION);
    tap_ok(near(band_value(&band, 20, &over), 2.5) && over == 2 && !band.mean.columns[9].any &&
               !band.mean.columns[31].any,
           "between two validations the values are interpolated");
    double values[2] = {0, 7};
    x.high = 31;
    curves_update(&curves[1], &runs[1], &view, NULL);
    validations_sample(&curves[1], TRACE_VALIDATION, values, 1);
    tap_ok(near(values[0], 5) && values[1] == 7, "a plot of one dot has one value: the last one");
    for (int i = 0; i < 2; i++) {
        curves_free(&curves[i]);
        series_free(&runs[i]);
    }
    band_free(&band);
}

/* Makes a run whose learning rate at iteration i is rate(i). */
static void add_rates(struct series *series, size_t count, double rate(size_t i))
{
    series_create(series, count, 1, NULL);
    for (size_t i = 1; i <= count; i++)
        series_add(series, &(struct series_point){.iteration = i, .learning_rate = (float)rate(i)});
}

static double rate_of_steps(size_t i)
{
    return i < 50 ? 0.1 : i < 80 ? 0.01 : 0.02;
}

/* A linear warm-up, then a polynomial decay to zero. */
static double smooth_rate(size_t i)
{
    return i <= 20 ? 0.005 * (double)i : 0.1 * pow(1 - (double)(i - 20) / 80, 2);
}

static void test_marks(void)
{
    struct series steps, smooth;
    struct curve_marks marks = {.scanned = 0};
    add_rates(&steps, 100, rate_of_steps);
    add_rates(&smooth, 100, smooth_rate);
    tap_ok(curve_marks_update(&marks, &steps, NULL) && marks.rate_count == 2 &&
               steps.points[marks.rates[0]].iteration == 50 &&
               steps.points[marks.rates[1]].iteration == 80,
           "jumps of the learning rate are marked, up and down");
    tap_ok(curve_marks_update(&marks, &steps, NULL) && marks.rate_count == 2,
           "and not found twice");
    tap_ok(curve_marks_update(&marks, &smooth, NULL) && marks.rate_count == 0,
           "a schedule that changes it smoothly has none: %zu", marks.rate_count);
    for (uint64_t i = 1; i <= SERIES_RESUMES + 1; i++)
        series_add_resume(&steps, i);
    tap_ok(series_resume_count(&steps) == SERIES_RESUMES && steps.resumes[3] == 4,
           "a series keeps the resumes, up to its limit");
    curve_marks_free(&marks);
    series_free(&steps);
    series_free(&smooth);
}

TEST_CASE(plot_values_test)
{
    test_marks();
    test_range_of_a_curve();
    test_range_of_growing_curve();
    test_range_of_runs();
    test_smoothing();
    test_band();
    value_range_free(&range);
    return tap_done();
}
