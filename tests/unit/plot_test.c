/* The plot's parts that need no terminal: axes, the raster, curves gathered into columns, text
 * measured in columns. */
#include "base/axis.h"
#include "tap.h"
#include "ui/columns.h"
#include "ui/curve.h"
#include "ui/plot.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    tap_ok(axis_place(&linear, 25) == 0.5 && axis_value(&linear, 0.5) == 25, "a linear place");
    tap_ok(fabs(axis_place(&decades, 1) - 0.5) < 1e-12, "a logarithmic place");
    tap_ok(isnan(axis_place(&decades, 0)) && isnan(axis_place(&decades, -1)),
           "zero and below have no place on a logarithmic axis");
    size_t count = axis_ticks(&linear, 6, ticks);
    tap_ok(count == 6 && ticks[0] == 0 && ticks[1] == 10 && ticks[5] == 50, "ticks 0, 10 .. 50");
    count = axis_ticks(&decades, 5, ticks);
    tap_ok(count == 5 && fabs(ticks[0] - 0.01) < 1e-9 && fabs(ticks[4] - 100) < 1e-6,
           "a tick a decade");
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
    tap_ok(within, "ticks lie within the axis and within the limit, at every magnitude");
    tap_ok(strcmp(axis_label(20000, text, sizeof text), "20k") == 0, "20000 reads 20k");
    tap_ok(strcmp(axis_label(1e-5, text, sizeof text), "1e-5") == 0, "1e-5 reads 1e-5");
    tap_ok(strcmp(axis_label(0.05, text, sizeof text), "0.05") == 0, "0.05 reads 0.05");
    tap_ok(axis_round_up(2.3) == 3 && axis_round_up(31) == 40 && axis_round_up(1) == 1,
           "round numbers above");
    struct axis around = axis_around(0.2, 2.3, false);
    tap_ok(around.low == 0 && around.high == 3, "an axis around losses begins at 0");
    around = axis_around(0, 5, true);
    tap_ok(around.low > 0 && around.high == 5, "a zero does not break a logarithmic axis");
    around = axis_around(INFINITY, -INFINITY, false);
    tap_ok(around.high > around.low, "no data make an axis all the same");
    around = axis_around(7, 7, false);
    tap_ok(around.low <= 7 && around.high > around.low, "nor does a constant break it");
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
           "with the upper right: U+2848");
    plot_dot(&plot, 2, 1, 0);
    tap_ok(strcmp(cell(&plot, 1, 0, PLOT_SOLID), "\xe2\xa2\x80") == 0 && plot.cells[3].series == 2,
           "a later series takes the cell over");
    plot_mark(&plot, 3, 5, 7, 'o');
    tap_ok(strcmp(cell(&plot, 0, 2, PLOT_SOLID), "o") == 0, "a mark fills its cell");
    plot_dot(&plot, 1, -1, 0);
    plot_dot(&plot, 1, 6, 0);
    plot_dot(&plot, 1, 0, 8);
    plot_line(&plot, 1, -1000000000, 5, 1000000000, -1000000000);
    plot_span(&plot, 1, 2, -100, -50);
    tap_ok(true, "what lies outside is clipped");
    plot_reset(&plot, 1, 2, SYMBOLS_BLOCK, NULL);
    plot_line(&plot, 1, 0, 0, 1, 1);
    tap_ok(strcmp(cell(&plot, 0, 0, PLOT_SOLID), "\xe2\x96\x9e") == 0,
           "a diagonal in quarters: U+259E");
    tap_ok(strcmp(cell(&plot, 0, 1, PLOT_SOLID), "") == 0, "an empty cell is empty");
    plot_reset(&plot, 1, 2, SYMBOLS_ASCII, NULL);
    plot_dot(&plot, 1, 0, 0);
    plot_dot(&plot, 2, 1, 1);
    tap_ok(strcmp(cell(&plot, 0, 0, PLOT_DOTTED), ".") == 0 &&
               strcmp(cell(&plot, 0, 1, PLOT_SOLID), "\"") == 0,
           "in ASCII characters tell the series apart");
    plot_free(&plot);
}

/* How many cells of a plot a series owns. */
static size_t owned(const struct plot *plot, uint8_t series)
{
    size_t count = 0;
    for (size_t i = 0; i < plot->rows * plot->columns; i++)
        count += plot->cells[i].series == series;
    return count;
}

static void test_curve(void)
{
    struct curve curve = {0};
    struct plot plot = {0};
    struct axis y = {0, 10, false};
    curve_reset(&curve, 10, NULL);
    for (int i = 0; i < 1000; i++)
        curve_add(&curve, i / 999.0, (float)(i % 10));
    tap_ok(curve.columns[5].low == 0 && curve.columns[5].high == 9,
           "a column keeps the least and the greatest of its points");
    curve_reset(&curve, 10, NULL);
    plot_reset(&plot, 1, 10, SYMBOLS_ASCII, NULL);
    curve_add(&curve, 0, 5);
    curve_add(&curve, 1.0 / 9, NAN);
    curve_add(&curve, 1, 5);
    curve_draw(&curve, &y, &plot, 1);
    tap_ok(owned(&plot, 1) == 2, "what is no number leaves a gap");
    curve_reset(&curve, 10, NULL);
    plot_reset(&plot, 1, 10, SYMBOLS_ASCII, NULL);
    curve_add(&curve, 0, 5);
    curve_add(&curve, 1, 5);
    curve_draw(&curve, &y, &plot, 1);
    tap_ok(owned(&plot, 1) == 10, "without one the points are joined");
    double low = 1e9, high = -1e9;
    curve_add(&curve, 0.5, -3);
    curve_range(&curve, true, &low, &high);
    tap_ok(low == 5 && high == 5, "a logarithmic range leaves out what is negative");
    curve_free(&curve);
    plot_free(&plot);
}

static void test_adversarial(void)
{
    struct series series;
    struct curves curves = {0};
    struct curve_view view = {X_ITERATION, false, false, 50, 100, 1, true, NULL};
    series_create(&series, 100, 3, NULL);
    for (uint64_t i = 1; i <= 100; i++) {
        struct series_point point = {.iteration = i,
                                     .epoch = (float)i / 100,
                                     .loss = 30,
                                     .loss_discriminator = 0.5f,
                                     .loss_l1 = 0.25f};
        series_add(&series, &point);
    }
    for (int i = 1; i <= 3; i++) {
        struct series_validation one = {
            .loss = i == 2 ? 0.1f : 0.3f, .top1 = NAN, .pixel_accuracy = 40};
        series_add_validation(&series, &one);
    }
    curves_update(&curves, &series, &view, NULL);
    tap_ok(fabs(curves.smoothed_value[QUANTITY_DISCRIMINATOR] - 0.5) < 1e-6 &&
               fabs(curves.smoothed_value[QUANTITY_L1] - 0.25) < 1e-6,
           "each of the losses has a curve");
    tap_ok(series_best(&series) == 1, "without classes the best epoch has the least loss");
    tap_ok(quantity_is_known(&series, QUANTITY_PIXELS) &&
               !quantity_is_known(&series, QUANTITY_ACCURACY),
           "pixels are right there, not classes");
    struct plot plot = {0};
    struct axis y = {0, 1, false};
    char text[5];
    plot_reset(&plot, 4, 25, SYMBOLS_BRAILLE, NULL);
    curve_draw(&curves.smoothed[QUANTITY_DISCRIMINATOR], &y, &plot, 1);
    curve_mark(&curves.smoothed[QUANTITY_DISCRIMINATOR], &y, &plot, 1, 0.5, 'D');
    bool found = false;
    for (size_t row = 0; row < 4; row++)
        found = found || plot_cell_text(&plot, row, 12, PLOT_SOLID, text)[0] == 'D';
    tap_ok(found, "a letter on the curve tells it from others without colour");
    plot_free(&plot);
    curves_free(&curves);
    series_free(&series);
}

static void test_curves(void)
{
    struct series series;
    struct curves curves = {0};
    struct curve_view view = {X_ITERATION, false, false, 40, 1000, 10, false, NULL};
    series_create(&series, 1000, 10, NULL);
    for (uint64_t i = 1; i <= 130; i++) {
        struct series_point point = {.iteration = i,
                                     .epoch = (float)i / 100,
                                     .loss = 1,
                                     .loss_discriminator = NAN,
                                     .loss_l1 = NAN,
                                     .seconds = 1};
        series_add(&series, &point);
        if (i == 60)
            curves_update(&curves, &series, &view, NULL);
    }
    tap_ok(curves.gathered == 60 && curves.x.high == 60, "the x axis ends at a round number");
    curves_update(&curves, &series, &view, NULL);
    tap_ok(curves.gathered == 130 && curves.x.high == 150, "and grows in steps");
    tap_ok(fabs(curves.smoothed_value[QUANTITY_LOSS] - 1) < 1e-9, "the mean of ones is one");
    tap_ok(fabs(curves_place(&curves, 75, 0.75) - 0.5) < 1e-9, "an iteration finds its place");
    view.x = X_EPOCH;
    view.over = true;
    curves_update(&curves, &series, &view, NULL);
    tap_ok(fabs(curves.x.high - 1.3) < 1e-6, "a finished run's axis ends where it ended");
    tap_ok(series_best(&series) == SIZE_MAX, "no validation, no best epoch");
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
           "smoothing starts at the first loss and passes over what is no number");
    tap_ok(!quantity_is_known(&series, QUANTITY_PIXELS) &&
               quantity_is_known(&series, QUANTITY_ACCURACY),
           "what a run has no values of is not offered");
    struct axis shared = {0, 400, false};
    view.x = X_ITERATION;
    view.shared = &shared;
    curves_update(&curves, &series, &view, NULL);
    tap_ok(curves.x.high == 400 && curves.gathered == 130 &&
               curves.smoothed[QUANTITY_LOSS].columns[13].any &&
               !curves.smoothed[QUANTITY_LOSS].columns[14].any,
           "on an axis that runs share each keeps its own length");
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
    tap_ok(columns_lines("", 10) == 1 && columns_lines("a b c", 1) == 3, "lines are counted");
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
           "half a wide character is not shown");
    columns_fit("\xff"
                "a\xe9",
                9, text, sizeof text);
    tap_ok(strcmp(text, "?a?") == 0, "broken bytes become question marks");
    tap_ok(columns_before("e\xcc\x81", 3) == 0 && columns_after("e\xcc\x81x", 0) == 3,
           "a combining mark moves with its letter");
}

int main(void)
{
    test_axis();
    test_raster();
    test_curve();
    test_curves();
    test_adversarial();
    test_columns();
    return tap_done();
}
