/* Tests the parts of plots that need no terminal: axes, the raster, curves binned into columns, the
 * visible window and the width of text. */
#include "base/axis.h"
#include "tap.h"
#include "ui/plot/axis_marks.h"
#include "ui/plot/curves.h"
#include "ui/plot/plot.h"
#include "ui/plot/trace.h"
#include "ui/terminal/columns.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *cell(const struct plot *plot, size_t row, size_t column, enum plot_style style)
{
    static char text[5];
    return plot_cell_text(plot, row, column, style, text);
}

static void test_axis(void)
{
    struct axis linear = {0, 50, false}, decades = {0.01, 100, true};
    double ticks[AXIS_MAX_TICKS];
    char text[32];
    tap_ok(axis_position(&linear, 25) == 0.5 && axis_value(&linear, 0.5) == 25,
           "a linear axis maps a value to its position");
    tap_ok(fabs(axis_position(&decades, 1) - 0.5) < 1e-12,
           "a logarithmic axis maps a value to its position");
    tap_ok(isnan(axis_position(&decades, 0)) && isnan(axis_position(&decades, -1)),
           "zero and below have no position on a logarithmic axis");
    size_t count = axis_ticks(&linear, 6, ticks);
    tap_ok(count == 6 && ticks[0] == 0 && ticks[1] == 10 && ticks[5] == 50,
           "a linear axis has the ticks 0, 10 .. 50");
    count = axis_ticks(&decades, 5, ticks);
    tap_ok(count == 5 && fabs(ticks[0] - 0.01) < 1e-9 && fabs(ticks[4] - 100) < 1e-6,
           "a logarithmic axis has a tick per decade");
    bool within = true;
    for (int e = -12; e < 12; e++)
        for (size_t limit = 2; limit <= AXIS_MAX_TICKS; limit++)
            for (int log = 0; log < 2; log++) {
                struct axis axis = {3 * pow(10, e), 7 * pow(10, e + 3), log};
                count = axis_ticks(&axis, limit, ticks);
                within = within && count >= 1 && count <= limit;
                for (size_t i = 0; i < count && within; i++)
                    within =
                        ticks[i] >= axis.low * (1 - 1e-9) && ticks[i] <= axis.high * (1 + 1e-9);
            }
    tap_ok(within, "ticks are within the axis and the limit, at every magnitude");
    tap_ok(strcmp(axis_label(20000, text, sizeof text), "20k") == 0, "20000 reads 20k");
    tap_ok(strcmp(axis_label(1e-5, text, sizeof text), "1e-5") == 0, "1e-5 reads 1e-5");
    tap_ok(strcmp(axis_label(0.05, text, sizeof text), "0.05") == 0, "0.05 reads 0.05");
    tap_ok(axis_round_up(2.3) == 3 && axis_round_up(31) == 40 && axis_round_up(1) == 1,
           "axis_round_up returns round numbers");
    tap_ok(axis_round_up_far(2.3) == 5 && axis_round_up_far(31) == 50 &&
               axis_round_up_far(2000) == 2000 && axis_round_up_far(60) == 100,
           "axis_round_up_far returns fewer of them");
    struct axis around = axis_for_range(0.2, 2.3, false);
    tap_ok(around.low == 0 && around.high == 3, "an axis around losses begins at 0");
    around = axis_for_range(0, 5, true);
    tap_ok(around.low > 0 && around.high == 5,
           "a logarithmic axis can be made of data with a zero");
    around = axis_for_range(INFINITY, -INFINITY, false);
    tap_ok(around.high > around.low, "an axis can be made without data");
    around = axis_for_range(7, 7, false);
    tap_ok(around.low <= 7 && around.high > around.low, "an axis can be made of constant data");
}

static void test_raster(void)
{
    struct plot plot = {0};
    tap_ok(plot_reset(&plot, 2, 3, SYMBOLS_BRAILLE, NULL) && plot_width(&plot) == 6 &&
               plot_height(&plot) == 8,
           "a cell of braille has 2x4 dots");
    plot_dot(&plot, 1, 0, 0);
    tap_ok(strcmp(cell(&plot, 1, 0, PLOT_SOLID), "\xe2\xa1\x80") == 0,
           "the lowest left dot: U+2840");
    plot_dot(&plot, 1, 1, 3);
    tap_ok(strcmp(cell(&plot, 1, 0, PLOT_SOLID), "\xe2\xa1\x88") == 0,
           "the lowest left and upper right dot: U+2848");
    plot_dot(&plot, 2, 1, 0);
    tap_ok(strcmp(cell(&plot, 1, 0, PLOT_SOLID), "\xe2\xa2\x80") == 0 && plot.cells[3].series == 2,
           "a later series takes over the cell of another one");
    plot_mark(&plot, 3, 5, 7, 'o');
    tap_ok(strcmp(cell(&plot, 0, 2, PLOT_SOLID), "o") == 0, "a mark fills its cell");
    plot_dot(&plot, 1, -1, 0);
    plot_dot(&plot, 1, 6, 0);
    plot_dot(&plot, 1, 0, 8);
    plot_line(&plot, 1, -1000000000, 5, 1000000000, -1000000000);
    plot_span(&plot, 1, 2, -100, -50);
    tap_ok(true, "lines outside the plot are clipped");
    plot_reset(&plot, 1, 2, SYMBOLS_BLOCK, NULL);
    plot_line(&plot, 1, 0, 0, 1, 1);
    tap_ok(strcmp(cell(&plot, 0, 0, PLOT_SOLID), "\xe2\x96\x9e") == 0,
           "a diagonal in quarters: U+259E");
    tap_ok(strcmp(cell(&plot, 0, 1, PLOT_SOLID), "") == 0, "the text of an empty cell is empty");
    plot_reset(&plot, 1, 2, SYMBOLS_ASCII, NULL);
    plot_dot(&plot, 1, 0, 0);
    plot_dot(&plot, 2, 1, 1);
    tap_ok(strcmp(cell(&plot, 0, 0, PLOT_DOTTED), ".") == 0 &&
               strcmp(cell(&plot, 0, 1, PLOT_SOLID), "\"") == 0,
           "in ASCII the series have different characters");
    plot_free(&plot);
}

/* Returns how many cells of a plot belong to a series. */
static size_t owned(const struct plot *plot, uint16_t series)
{
    size_t count = 0;
    for (size_t i = 0; i < plot->rows * plot->columns; i++)
        count += plot->cells[i].series == series;
    return count;
}

static void add_value(struct curve *curve, long column, float value)
{
    curve_add_all(curve, column, &value, sizeof value, 1);
}

/* Returns the range of a curve on a logarithmic axis. */
static struct value_bounds bounds_of(struct curve *curve, struct value_range *range)
{
    struct value_bounds none = {1, -1};
    value_range_begin(range, true, true);
    if (!curve_measure(curve, range, NULL))
        return none;
    const struct value_bounds bounds = value_range_join(range);
    value_range_free(range);
    return (struct value_bounds){exp(bounds.low), exp(bounds.high)};
}

static void test_curve(void)
{
    struct curve curve = {0};
    struct plot plot = {0};
    struct axis y = {0, 10, false};
    curve_reset(&curve, 10, NULL);
    for (int i = 0; i < 1000; i++)
        add_value(&curve, curve_column_at(i / 999.0, 10), (float)(i % 10));
    tap_ok(curve.columns[5].low == 0 && curve.columns[5].high == 9,
           "a column stores the smallest and largest of its values");
    curve_reset(&curve, 10, NULL);
    plot_reset(&plot, 1, 10, SYMBOLS_ASCII, NULL);
    add_value(&curve, 0, 5);
    add_value(&curve, 1, NAN);
    add_value(&curve, 9, 5);
    curve_draw(&curve, &y, &plot, 1);
    tap_ok(owned(&plot, 1) == 2, "NaN leaves a gap in a curve");
    curve_reset(&curve, 10, NULL);
    plot_reset(&plot, 1, 10, SYMBOLS_ASCII, NULL);
    add_value(&curve, 0, 5);
    add_value(&curve, 9, 5);
    curve_draw(&curve, &y, &plot, 1);
    tap_ok(owned(&plot, 1) == 10, "without a NaN the points are joined");
    struct value_range range = {0};
    add_value(&curve, 5, -3);
    const struct value_bounds bounds = bounds_of(&curve, &range);
    tap_ok(fabs(bounds.low - 5) < 1e-6 && fabs(bounds.high - 5) < 1e-6,
           "a logarithmic range leaves out negative values");
    curve_free(&curve);
    plot_free(&plot);
}

static void test_adversarial(void)
{
    struct series series;
    struct curves curves = {0};
    struct curve_view view = {.x = X_ITERATION,
                              .width = 50,
                              .traces = TRACE_BIT(TRACE_DISCRIMINATOR),
                              .iterations = 100,
                              .epochs = 1,
                              .over = true};
    series_create(&series, 100, 3, NULL);
    for (uint64_t i = 1; i <= 100; i++) {
        struct series_point point = {.iteration = i,
                                     .epoch = (float)i / 100,
                                     .loss = 30,
                                     .loss_discriminator = 0.5f,
                                     .loss_l1 = 0.25f,
                                     .loss_labels = NAN,
                                     .loss_teacher = NAN};
        series_add(&series, &point);
    }
    for (int i = 1; i <= 3; i++) {
        struct series_validation one = {
            .loss = i == 2 ? 0.1f : 0.3f, .top1 = NAN, .pixel_accuracy = 40};
        series_add_validation(&series, &one);
    }
    curves_update(&curves, &series, &view, NULL);
    tap_ok(fabs(curves_newest(&curves, TRACE_DISCRIMINATOR) - 0.5) < 1e-6 &&
               fabs(curves_newest(&curves, TRACE_L1) - 0.25) < 1e-6,
           "each of the three losses of adversarial training has a curve");
    tap_ok(series_best(&series) == 1, "without classes the best epoch has the lowest loss");
    tap_ok(trace_has_values(&series, TRACE_PIXELS) && !trace_has_values(&series, TRACE_TOP1),
           "adversarial training has a pixel accuracy, not a top-1 accuracy");
    struct plot plot = {0};
    struct axis y = {0, 1, false};
    char text[5];
    plot_reset(&plot, 4, 25, SYMBOLS_BRAILLE, NULL);
    curve_draw(&curves.trace[TRACE_DISCRIMINATOR], &y, &plot, 1);
    curve_mark(&curves.trace[TRACE_DISCRIMINATOR], &y, &plot, 1, 0.5, 'D');
    bool found = false;
    for (size_t row = 0; row < 4; row++)
        found = found || plot_cell_text(&plot, row, 12, PLOT_SOLID, text)[0] == 'D';
    tap_ok(found, "a letter on the curve distinguishes it from others without colour");
    plot_free(&plot);
    curves_free(&curves);
    series_free(&series);
}

static void test_curves(void)
{
    struct series series;
    struct curves curves = {0};
    struct curve_view view = {.x = X_ITERATION,
                              .width = 40,
                              .traces = TRACE_BIT(TRACE_SMOOTHED),
                              .iterations = 1000,
                              .epochs = 10};
    series_create(&series, 1000, 10, NULL);
    for (uint64_t i = 1; i <= 130; i++) {
        struct series_point point = {.iteration = i,
                                     .epoch = (float)i / 100,
                                     .loss = 1,
                                     .loss_discriminator = NAN,
                                     .loss_l1 = NAN,
                                     .loss_labels = NAN,
                                     .loss_teacher = NAN,
                                     .seconds = 1};
        series_add(&series, &point);
        if (i == 60)
            curves_update(&curves, &series, &view, NULL);
    }
    tap_ok(curves.binned == 60 && curves.x.high == 100, "the x axis ends at a round number");
    curves_update(&curves, &series, &view, NULL);
    tap_ok(curves.binned == 130 && curves.x.high == 200, "the x axis grows in steps");
    tap_ok(fabs(curves_newest(&curves, TRACE_SMOOTHED) - 1) < 1e-9, "the mean of ones is one");
    tap_ok(fabs(axis_position(&curves.x, curves_x(&curves, 100, 1)) - 0.5) < 1e-9,
           "an iteration is converted to its x value");
    view.x = X_EPOCH;
    view.over = true;
    curves_update(&curves, &series, &view, NULL);
    tap_ok(fabs(curves.x.high - 1.3) < 1e-6, "the axis of a finished run ends with its last point");
    tap_ok(series_best(&series) == SIZE_MAX, "without validations there is no best epoch");
    for (int i = 1; i <= 3; i++) {
        struct series_validation one = {.iteration = (uint64_t)i * 100,
                                        .epoch = (float)i,
                                        .loss = 1,
                                        .top1 = i == 2 ? 90 : 50,
                                        .pixel_accuracy = NAN};
        series_add_validation(&series, &one);
    }
    tap_ok(series_best(&series) == 1, "the best epoch has the best accuracy");
    tap_ok(series_smooth(NAN, 3, 1) == 3 && series_smooth(2, NAN, 5) == 2,
           "smoothing starts at the first loss and skips NaN");
    tap_ok(!trace_has_values(&series, TRACE_PIXELS) && trace_has_values(&series, TRACE_TOP1),
           "traces without values are not offered");
    struct axis shared = {0, 400, false};
    view.x = X_ITERATION;
    view.axis = &shared;
    curves_update(&curves, &series, &view, NULL);
    tap_ok(curves.x.high == 400 && curves.binned == 130 &&
               curves.trace[TRACE_SMOOTHED].columns[13].any &&
               !curves.trace[TRACE_SMOOTHED].columns[14].any,
           "on a shared axis each run has the columns of its own length");
    curves_free(&curves);
    series_free(&series);
}

/* Returns the best of validations with these losses and accuracies. */
static size_t best_of(const float *losses, const float *top1, size_t count)
{
    struct series series;
    series_create(&series, 100, count, NULL);
    for (size_t i = 0; i < count; i++) {
        struct series_validation one = {.loss = losses[i], .top1 = top1[i], .pixel_accuracy = NAN};
        series_add_validation(&series, &one);
    }
    const size_t best = series_best(&series);
    series_free(&series);
    return best;
}

static void test_best(void)
{
    const float losses[] = {NAN, 2, 1, 1}, none[] = {NAN, NAN, NAN, NAN};
    const float top1[] = {60, 50, 60, 55};
    tap_ok(best_of(losses, top1, 4) == 0,
           "the first of the best accuracies is the best, whatever its loss, as its model is");
    tap_ok(best_of(losses, none, 4) == 2, "without classes a loss that is NaN is never the best");
    tap_ok(best_of(none, none, 4) == SIZE_MAX, "and alone leaves none");
}

/* --- logarithmic axes, zoom, values --- */

static size_t marks_in_row(const struct plot *plot, size_t row, char mark)
{
    size_t count = 0;
    for (size_t column = 0; column < plot->columns; column++)
        count += plot->cells[row * plot->columns + column].mark == mark;
    return count;
}

static void test_unplaced(void)
{
    struct curve curve = {0};
    struct plot plot = {0};
    struct axis log = {0.01, 10, true}, linear = {-1, 10, false};
    struct value_range range = {0};
    curve_reset(&curve, 10, NULL);
    plot_reset(&plot, 4, 10, SYMBOLS_ASCII, NULL);
    static const float values[10] = {5, 1, 0.1f, 0, -1e-8f, -2, 0.1f, 1, 2, 3};
    for (int i = 0; i < 10; i++)
        add_value(&curve, i, values[i]);
    add_value(&curve, 2, -7);
    tap_ok(curve.nonpositive == 4, "values at or below zero are counted");
    const struct value_bounds bounds = bounds_of(&curve, &range);
    tap_ok(fabs(bounds.low - 0.1) < 1e-6 && fabs(bounds.high - 5) < 1e-6,
           "a logarithmic range begins at the smallest positive value");
    curve_draw(&curve, &log, &plot, 1);
    curve_mark_nonpositive(&curve, &log, &plot, 1);
    tap_ok(marks_in_row(&plot, 3, CURVE_BELOW) == 4,
           "columns with values at or below zero are marked at the foot");
    tap_ok(plot.cells[3 * 10 + 4].mark == CURVE_BELOW && plot.cells[3 * 10 + 7].mark == 0,
           "only those columns are marked");
    tap_ok(plot.cells[2 * 10 + 2].series == 1,
           "a column with both kinds of values shows the positive ones as well");
    plot_reset(&plot, 4, 10, SYMBOLS_ASCII, NULL);
    curve_mark_nonpositive(&curve, &linear, &plot, 1);
    tap_ok(owned(&plot, 1) == 0, "a linear axis needs no marks at the foot");
    curve_reset(&curve, 10, NULL);
    tap_ok(curve.nonpositive == 0, "curve_reset clears the count");
    curve_free(&curve);
    plot_free(&plot);
}

/* Makes a falling loss with a spike at one iteration, and a Caffe mean that ends negative. */
static void fill(struct series *series, uint64_t iterations)
{
    series_create(series, iterations, 10, NULL);
    for (uint64_t i = 1; i <= iterations; i++) {
        double t = (double)i / (double)iterations;
        struct series_point point = {.iteration = i,
                                     .epoch = (float)(10 * t),
                                     .loss = i == iterations / 2 ? 9 : (float)(2 - t),
                                     .loss_caffe = i > iterations / 2 ? -1e-8f : 1,
                                     .loss_mean = 1,
                                     .loss_discriminator = NAN,
                                     .loss_l1 = NAN,
                                     .loss_labels = NAN,
                                     .loss_teacher = NAN,
                                     .learning_rate = 0.1f,
                                     .ms_per_image = 1,
                                     .seconds = (float)(20 * t)};
        series_add(series, &point);
    }
}

static struct curve_view whole(enum curve_x x, uint64_t iterations, unsigned traces)
{
    return (struct curve_view){.x = x,
                               .width = 160,
                               .traces = traces,
                               .iterations = (double)iterations,
                               .epochs = 10,
                               .over = true};
}

static void test_zoomed_gathering(void)
{
    enum { ITERATIONS = 100000 };
    struct series series;
    struct curves curves = {0};
    struct curve_view view =
        whole(X_ITERATION, ITERATIONS, TRACE_BIT(TRACE_RAW) | TRACE_BIT(TRACE_SMOOTHED));
    fill(&series, ITERATIONS);
    curves_update(&curves, &series, &view, NULL);
    size_t needle = (size_t)curve_column_at(0.5, 160);
    tap_ok(curves.trace[TRACE_RAW].columns[needle].high == 9,
           "one iteration of hundreds in a column is not lost");
    tap_ok(curves.trace[TRACE_CAFFE].width == 0, "curves that are not shown are not binned");
    double newest = curves_newest(&curves, TRACE_SMOOTHED);
    struct axis part = {49960, 50040, false};
    view.axis = &part;
    curves_update(&curves, &series, &view, NULL);
    const struct curve *raw = &curves.trace[TRACE_RAW];
    size_t with = 0;
    for (size_t i = 0; i < raw->width; i++)
        with += raw->columns[i].any;
    tap_ok(with == 81 && raw->columns[curve_column_at(0.5, 160)].low == 9,
           "in a zoomed plot each iteration has its own column");
    tap_ok(curves_newest(&curves, TRACE_SMOOTHED) == newest,
           "the newest smoothed value does not depend on the visible part");
    double state = NAN;
    for (size_t i = 0; i < 50000; i++)
        state = series_smooth(state, series.points[i].loss, i + 1);
    tap_ok(curves_value(&curves, TRACE_SMOOTHED, 49999) == state,
           "a smoothed value in the middle equals that of the whole run");
    size_t column = (size_t)curve_column_at(axis_position(&part, 50000), 160);
    tap_ok(curves.trace[TRACE_SMOOTHED].columns[column].last == (float)state,
           "the zoomed curve has the same smoothed values");
    struct series averaged = series;
    series_set_smoothing(&averaged, 20, true);
    curves_update(&curves, &averaged, &view, NULL);
    tap_ok(curves_value(&curves, TRACE_SMOOTHED, 49999) == 1 &&
               curves_newest(&curves, TRACE_SMOOTHED) == 1,
           "with --average-loss 20 the smoothed loss is the running mean in the points");
    curves_update(&curves, &series, &view, NULL);
    view.axis = NULL;
    view.traces = TRACE_BIT(TRACE_CAFFE);
    curves_update(&curves, &series, &view, NULL);
    tap_ok(curves.trace[TRACE_CAFFE].nonpositive == ITERATIONS / 2, "a negative mean is counted");
    curves_free(&curves);
    series_free(&series);
}

static void test_cursor_values(void)
{
    struct series series;
    struct curves curves = {0};
    struct curve_view view = whole(X_EPOCH, 1000, TRACE_BIT(TRACE_RAW));
    fill(&series, 1000);
    for (int i = 1; i <= 2; i++) {
        struct series_validation one = {
            .iteration = (uint64_t)i * 100, .epoch = (float)i, .loss = (float)i, .seconds = 2};
        series_add_validation(&series, &one);
    }
    curves_update(&curves, &series, &view, NULL);
    size_t at = curves_nearest(&series, X_EPOCH, 2.504);
    tap_ok(series.points[at].iteration == 250, "the nearest point is found by epoch");
    tap_ok(series.points[curves_nearest(&series, X_TIME, 5.011)].iteration == 251 &&
               curves_nearest(&series, X_ITERATION, -5) == 0 &&
               curves_nearest(&series, X_ITERATION, 1e9) == 999,
           "the nearest point is found by time and at both ends");
    tap_ok(curves_value(&curves, TRACE_RAW, at) == (double)1.75f &&
               curves_value(&curves, TRACE_RATE, at) == (double)0.1f,
           "a point has values of all traces, also of those not drawn");
    tap_ok(isnan(curves_value(&curves, TRACE_RAW, 1000)),
           "beyond the last point there is no value");
    tap_ok(curves_validation_value(&curves, TRACE_VALIDATION, 1.99) == 1 &&
               curves_validation_value(&curves, TRACE_VALIDATION, 2) == 2 &&
               isnan(curves_validation_value(&curves, TRACE_VALIDATION, 0.5)),
           "the validation value is that of the last validation before the cursor");
    tap_ok(fabs(curves_convert(&series, X_EPOCH, X_ITERATION, 2.5) - 250) < 1e-3 &&
               fabs(curves_convert(&series, X_ITERATION, X_TIME, 500) - 10) < 1e-4 &&
               fabs(curves_convert(&series, X_TIME, X_ITERATION, 40) - 2000) < 1e-3,
           "a value of one x axis is converted to another");
    curves_free(&curves);
    series_free(&series);
}

/* Shows epochs 4 to 6 of a run with validations at epochs 1 and 9. */
static void test_zoomed_validations(void)
{
    struct series series;
    struct curves curves = {0};
    struct plot plot = {0};
    struct axis part = {4, 6, false}, y = {0, 10, false};
    struct curve_view view = whole(X_EPOCH, 1000, TRACE_BIT(TRACE_VALIDATION));
    struct value_range range = {0};
    fill(&series, 1000);
    for (int i = 1; i <= 9; i += 8) {
        struct series_validation one = {.epoch = (float)i, .loss = (float)i};
        series_add_validation(&series, &one);
    }
    view.axis = &part;
    curves_update(&curves, &series, &view, NULL);
    validations_measure(&curves, TRACE_VALIDATION, &range, NULL);
    const struct value_bounds bounds = value_range_join(&range);
    value_range_free(&range);
    tap_ok(fabs(bounds.low - 4) < 1e-6 && fabs(bounds.high - 6) < 1e-6,
           "between two validations the y axis includes the visible part of the line");
    plot_reset(&plot, 10, 20, SYMBOLS_ASCII, NULL);
    validations_draw(&curves, TRACE_VALIDATION, &y, &plot, 1, 'o');
    tap_ok(plot.cells[5 * 20].series == 1 && plot.cells[4 * 20 + 19].series == 1,
           "between two validations the line crosses the plot at the right height");
    plot_free(&plot);
    curves_free(&curves);
    series_free(&series);
}

/* Measures a loss that grows, or falls, by five decades an iteration. */
static struct axis axis_of_decades(bool grows)
{
    struct value_range range = {0};
    value_range_begin(&range, true, false);
    for (int i = 0; i < 8; i++)
        value_range_add(&range, pow(10, grows ? 5 * i : -5 * i), NULL);
    const struct value_bounds bounds = value_range_take_bounds(&range);
    const struct axis axis = value_range_axis(&range, bounds);
    value_range_free(&range);
    return axis;
}

static void test_decades(void)
{
    const struct axis grows = axis_of_decades(true), falls = axis_of_decades(false);
    tap_ok(grows.low <= 1 && grows.high >= 1e11 && grows.high <= 1e13,
           "a logarithmic axis has the begin of a loss that explodes: %g to %g", grows.low,
           grows.high);
    tap_ok(falls.high >= 1 && falls.low >= 1e-13, "and of one that vanishes: %g to %g", falls.low,
           falls.high);
}

static void test_window(void)
{
    struct plot_window window = {0};
    struct plot_extent extent = {{0, 1000, false}, 1, 1000, 1000, 101, false};
    struct axis shown = plot_window_show(&window, &extent);
    tap_ok(shown.low == 0 && shown.high == 1000 && !window.zoomed,
           "at first the whole axis is shown");
    tap_ok(!plot_window_zoom(&window, false) && !plot_window_pan(&window, 0.5),
           "the whole axis can be neither panned nor zoomed out");
    plot_window_move_cursor(&window, 0);
    tap_ok(window.cursor_on && window.cursor == 1000, "the cursor starts at the newest point");
    plot_window_move_cursor(&window, -25);
    tap_ok(window.cursor == 750 && plot_window_cursor_column(&window) == 75,
           "the cursor moves by columns");
    plot_window_zoom(&window, true);
    shown = plot_window_show(&window, &extent);
    tap_ok(shown.low == 375 && shown.high == 875 && plot_window_cursor_column(&window) == 75,
           "zooming in halves the axis around the cursor");
    plot_window_set_cursor(&window, 2);
    tap_ok(window.shown.low == 0 && window.shown.high == 500,
           "a cursor outside the window moves the window");
    plot_window_pan(&window, 0.25);
    tap_ok(window.shown.low == 125 && window.shown.high == 625,
           "panning moves the window by a quarter");
    plot_window_pan(&window, 9);
    tap_ok(window.shown.low == 500 && window.shown.high == 1000, "panning stops at the end");
    bool deeper = true;
    for (int i = 0; i < 40 && deeper; i++)
        deeper = plot_window_zoom(&window, true);
    tap_ok(!deeper && window.shown.high - window.shown.low >= 4, "zooming ends at a few points");
    plot_window_show_all(&window);
    shown = plot_window_show(&window, &extent);
    tap_ok(shown.low == 0 && shown.high == 1000, "zooming out leads back to the whole axis");
    extent.all = (struct axis){1, 1000, true};
    window = (struct plot_window){0};
    plot_window_show(&window, &extent);
    plot_window_zoom(&window, true);
    tap_ok(fabs(window.shown.low - pow(10, 0.75)) < 1e-9 &&
               fabs(window.shown.high - pow(10, 2.25)) < 1e-9,
           "zooming halves the decades of a logarithmic axis");
}

static void test_following(void)
{
    struct plot_window window = {0};
    struct plot_extent extent = {{0, 1000, false}, 1, 900, 900, 100, true};
    plot_window_show(&window, &extent);
    plot_window_zoom(&window, true);
    tap_ok(window.follow && window.shown.low <= 900 && window.shown.high >= 900,
           "a live run is zoomed around its newest points");
    size_t steps = 0;
    bool in_sight = true;
    for (double last = 901; last < 3000; last++) {
        struct axis before = window.shown;
        extent.last = last;
        extent.points++;
        extent.all.high = axis_round_up(last);
        struct axis shown = plot_window_show(&window, &extent);
        steps += shown.low != before.low;
        in_sight = in_sight && shown.low <= last && shown.high >= last;
    }
    tap_ok(in_sight && window.follow, "the window follows the newest points");
    tap_ok(steps > 10 && steps < 60, "the window follows in few steps (%zu for 2099 points)",
           steps);
    plot_window_pan(&window, -1);
    double low = window.shown.low;
    extent.last = 3500;
    extent.all.high = 4000;
    tap_ok(!window.follow && plot_window_show(&window, &extent).low == low,
           "a window panned to older points does not follow");
}

static void test_choice(void)
{
    struct series series;
    struct trace_choice choice = {0};
    enum trace items[TRACES];
    fill(&series, 100);
    unsigned loss = TRACE_BIT(TRACE_SMOOTHED) | TRACE_BIT(TRACE_RAW);
    tap_ok(trace_choice_shown(&choice, &series) == loss,
           "at first the smoothed and the raw loss are shown");
    trace_list_open(&choice, &series, loss);
    trace_list_key(&choice, &series, 'C');
    trace_list_key(&choice, &series, 'S');
    tap_ok(trace_choice_shown(&choice, &series) == (TRACE_BIT(TRACE_CAFFE) | TRACE_BIT(TRACE_RAW)),
           "letters switch curves on and off");
    trace_list_key(&choice, &series, 'o');
    trace_list_key(&choice, &series, 'o');
    struct series_validation one = {
        .iteration = 50, .loss = 1, .top1 = 50, .top5 = 90, .pixel_accuracy = NAN};
    series_add_validation(&series, &one);
    tap_ok(trace_choice_shown(&choice, &series) & TRACE_BIT(TRACE_VALIDATION),
           "a trace that is switched on appears when it gets values");
    size_t count = trace_list_items(&series, items);
    bool letters = true;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            letters = letters && trace_letter(items[i], false) != trace_letter(items[j], false);
    tap_ok(letters && count == 9, "each of the %zu curves has a different letter", count);
    size_t pictures = 0;
    do
        trace_choice_next(&choice, &series);
    while (!choice.custom && choice.curve_set != 0 && ++pictures < 20);
    tap_ok(choice.curve_set == 0 && !choice.custom,
           "the predefined sets repeat and replace the user's choice");
    series_free(&series);
}

/* Returns the processor time of an update in milliseconds. */
static double cost_of(struct curves *curves, const struct series *series,
                      const struct curve_view *view)
{
    clock_t from = clock();
    curves_update(curves, series, view, NULL);
    return 1e3 * (double)(clock() - from) / CLOCKS_PER_SEC;
}

/* Measures a frame: a million points binned again, a part of them, and only new ones. */
static void test_cost(void)
{
    enum { ITERATIONS = 1000000 };
    struct series series;
    struct curves curves = {0};
    struct curve_view view = whole(X_ITERATION, ITERATIONS,
                                   TRACE_BIT(TRACE_RAW) | TRACE_BIT(TRACE_SMOOTHED) |
                                       TRACE_BIT(TRACE_CAFFE) | TRACE_BIT(TRACE_MEAN));
    struct axis part = {400000, 500000, false};
    fill(&series, ITERATIONS);
    double first = cost_of(&curves, &series, &view);
    view.log_x = true;
    double afresh = cost_of(&curves, &series, &view);
    view.axis = &part;
    double tenth = cost_of(&curves, &series, &view);
    double again = cost_of(&curves, &series, &view);
    tap_note("10^6 points: first %.1f ms, another axis %.1f ms, a tenth %.1f ms, no news %.3f ms",
             first, afresh, tenth, again);
    tap_ok(curves.binned == 500000, "only the points up to the end of the axis are binned");
    curves_free(&curves);
    series_free(&series);
}

static void test_columns(void)
{
    char text[64];
    const char *rest = columns_wrap("one two three", 8, text, sizeof text);
    tap_ok(strcmp(text, "one two") == 0 && strcmp(rest, "three") == 0, "lines break at spaces");
    rest = columns_wrap("abcdefgh", 3, text, sizeof text);
    tap_ok(strcmp(text, "abc") == 0 && strcmp(rest, "defgh") == 0, "a long word is cut");
    tap_ok(columns_lines("", 10) == 1 && columns_lines("a b c", 1) == 3,
           "columns_lines counts the lines");
    columns_fit("a\033[31mb", 20, text, sizeof text);
    tap_ok(strcmp(text, "a?[31mb") == 0, "control characters cannot reach the terminal");
    if (!setlocale(LC_CTYPE, "C.UTF-8")) {
        tap_skip("no UTF-8 locale");
        return;
    }
    tap_ok(columns_of("\xe9\xad\x9a") == 2 && columns_of("e\xcc\x81") == 1,
           "a wide character takes two columns, a combining one none");
    tap_ok(columns_fit("a\xe9\xad\x9a"
                       "b",
                       2, text, sizeof text) == 1 &&
               strcmp(text, "a") == 0,
           "a wide character is not cut in half");
    columns_fit("\xff"
                "a\xe9",
                9, text, sizeof text);
    tap_ok(strcmp(text, "?a?") == 0, "invalid bytes become question marks");
    tap_ok(columns_before("e\xcc\x81", 3) == 0 && columns_after("e\xcc\x81x", 0) == 3,
           "a combining mark moves with its letter");
}

static bool is_axis(struct axis axis, double low, double high)
{
    return axis.low == low && axis.high == high;
}

static void test_hold(void)
{
    struct axis_hold hold = {.until = 0};
    const struct axis wide = {0, 1, false}, narrow = {0, 0.5, false}, high = {0, 2, false};
    tap_ok(is_axis(axis_hold_take(&hold, wide, 1), 0, 1), "the first axis is as it is wanted");
    tap_ok(is_axis(axis_hold_take(&hold, narrow, 1), 0, 1), "a narrower one waits");
    tap_ok(is_axis(axis_hold_take(&hold, high, 1), 0, 2), "values beyond it do not");
    tap_ok(is_axis(axis_hold_take(&hold, narrow, 2), 0, 0.5), "nor do other curves");
    hold.until = 1;
    axis_hold_take(&hold, wide, 2);
    hold.until = 1;
    tap_ok(is_axis(axis_hold_take(&hold, narrow, 2), 0, 0.5) && hold.until > 1,
           "after its time a narrower one is taken, and held in turn");
}

TEST_CASE(plot_test)
{
    test_axis();
    test_raster();
    test_curve();
    test_best();
    test_curves();
    test_adversarial();
    test_unplaced();
    test_zoomed_gathering();
    test_cursor_values();
    test_zoomed_validations();
    test_decades();
    test_window();
    test_following();
    test_choice();
    test_cost();
    test_columns();
    test_hold();
    return tap_done();
}
