/* curve_add_all bins values into a column; curve_draw then draws a vertical line from the smallest
 * to the largest value of each column, and joins neighbouring columns from last to first value. */
#include "ui/plot/curves.h"

#include "base/language.h"
#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- value range ---
 *
 * The quantiles are 5 % and 95 %, as TensorBoard's. Values beyond them still count if they lie
 * within REACH times the distance of the two, since the begin of a loss curve is no outlier. A run
 * that diverges has more huge values than that: what is BEYOND times as large as the first value
 * and the middle half of the others is left out as well. Runs are compared by the medians of their
 * lower and upper ends; of an even number the median nearer to the others' values counts, so of two
 * runs the one that diverged is left out. */

static const double QUANTILE = 0.05, REACH = 2, REACH_OF_RUNS = 3, BEYOND = 10;
static const double DECADES = 12; /* as many as a logarithmic axis shows */
static const struct value_bounds nothing = {DBL_MAX, -DBL_MAX};

void value_range_begin(struct value_range *range, bool log, bool all)
{
    range->log = log;
    range->all = all;
    range->count = range->curve_count = 0;
}

void value_range_free(struct value_range *range)
{
    free(range->values);
    free(range->curves);
    *range = (struct value_range){0};
}

bool value_range_add(struct value_range *range, double value, struct error *error)
{
    if (!isfinite(value) || (range->log && value <= 0))
        return true;
    if (!memory_grow(&range->values, &range->capacity, range->count + 1, sizeof *range->values,
                     "a plot", error))
        return false;
    range->values[range->count++] = range->log ? log(value) : value;
    return true;
}

static int by_value(const void *a, const void *b)
{
    const double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static double quantile(const double *sorted, size_t count, double part)
{
    const double place = part * (double)(count - 1);
    const size_t at = (size_t)place;
    const double rest = place - (double)at;
    return at + 1 < count ? sorted[at] + rest * (sorted[at + 1] - sorted[at]) : sorted[at];
}

/* Returns the largest magnitude that a value of the present curve, which is sorted, may have. A
 * logarithmic axis shows all magnitudes; and a curve that is mostly zero has none to compare with.
 */
static double most_of_curve(const struct value_range *range, double begin)
{
    const double lower = fabs(quantile(range->values, range->count, 0.25)),
                 upper = fabs(quantile(range->values, range->count, 0.75));
    const double usual = fmax(begin, fmax(lower, upper));
    return range->log || usual == 0 ? INFINITY : BEYOND * usual;
}

/* Returns the part of a logarithmic range that an axis can show: the end where the curve begins, so
 * that a run that diverges over more decades shows where it leaves its usual values. */
static struct value_bounds limit_decades(struct value_bounds bounds, double begin)
{
    const double most = DECADES * log(10);
    if (bounds.high - bounds.low <= most)
        return bounds;
    if (begin - bounds.low < bounds.high - begin)
        bounds.high = bounds.low + most;
    else
        bounds.low = bounds.high - most;
    return bounds;
}

/* Returns the range of the present curve. Sorts its values. */
static struct value_bounds bounds_of_curve(struct value_range *range)
{
    double *values = range->values;
    size_t first = 0, last = range->count - 1;
    if (range->count == 0)
        return nothing;
    const double begin = values[0];
    qsort(values, range->count, sizeof *values, by_value);
    const double low = quantile(values, range->count, QUANTILE),
                 high = quantile(values, range->count, 1 - QUANTILE);
    const double reach = REACH * (high - low), most = most_of_curve(range, fabs(begin));
    while (!range->all && (values[first] < low - reach || values[first] < -most))
        first++;
    while (!range->all && (values[last] > high + reach || values[last] > most))
        last--;
    const struct value_bounds bounds = {values[first], values[last]};
    return range->log ? limit_decades(bounds, begin) : bounds;
}

struct value_bounds value_range_take_bounds(struct value_range *range)
{
    const struct value_bounds bounds = bounds_of_curve(range);
    range->count = 0;
    return bounds;
}

/* Adds a curve by its bounds. Returns false with an error if out of memory. */
static bool value_range_add_bounds(struct value_range *range, struct value_bounds bounds,
                                   struct error *error)
{
    if (!memory_grow(&range->curves, &range->curve_capacity, range->curve_count + 1,
                     sizeof *range->curves, "a plot", error))
        return false;
    if (bounds.low <= bounds.high)
        range->curves[range->curve_count++] = bounds;
    return true;
}

bool value_range_end_curve(struct value_range *range, struct error *error)
{
    return value_range_add_bounds(range, value_range_take_bounds(range), error);
}

static struct value_bounds join(struct value_bounds a, struct value_bounds b)
{
    return (struct value_bounds){fmin(a.low, b.low), fmax(a.high, b.high)};
}

struct value_bounds value_range_join(const struct value_range *range)
{
    struct value_bounds bounds = nothing;
    for (size_t i = 0; i < range->curve_count; i++)
        bounds = join(bounds, range->curves[i]);
    return bounds;
}

static int by_low(const void *a, const void *b)
{
    const struct value_bounds *one = a, *other = b;
    return (one->low > other->low) - (one->low < other->low);
}

static int by_high(const void *a, const void *b)
{
    const struct value_bounds *one = a, *other = b;
    return (one->high > other->high) - (one->high < other->high);
}

/* Returns how far from the median ends the values of a run may lie. Runs that happen to end close
 * together must not make the others outliers, so values of the same magnitude are none. */
static double reach_of_runs(bool log_axis, double low, double high)
{
    const double least = log_axis ? log(2) : fabs(high) / 2;
    return REACH_OF_RUNS * fmax(fabs(high - low), least);
}

struct value_bounds value_range_join_runs(struct value_range *range)
{
    const size_t count = range->curve_count;
    struct value_bounds bounds = nothing;
    if (range->all || count < 2)
        return value_range_join(range);
    qsort(range->curves, count, sizeof *range->curves, by_low);
    const double low = range->curves[count / 2].low;
    qsort(range->curves, count, sizeof *range->curves, by_high);
    const double high = range->curves[(count - 1) / 2].high;
    const double reach = reach_of_runs(range->log, low, high);
    for (size_t i = 0; i < count; i++) {
        struct value_bounds near = range->curves[i];
        near.low = near.low < low - reach ? low : near.low;
        near.high = near.high > high + reach ? high : near.high;
        bounds = near.low <= near.high ? join(bounds, near) : bounds;
    }
    return bounds;
}

struct axis value_range_axis(const struct value_range *range, struct value_bounds bounds)
{
    if (bounds.low > bounds.high)
        return axis_for_range(INFINITY, -INFINITY, range->log);
    if (range->log)
        return axis_for_range(exp(bounds.low), exp(bounds.high), true);
    return axis_for_range(bounds.low, bounds.high, false);
}

bool curve_reset(struct curve *curve, size_t width, struct error *error)
{
    if (!memory_grow(&curve->columns, &curve->capacity, width, sizeof *curve->columns, "a curve",
                     error))
        return false;
    if (width > 0)
        memset(curve->columns, 0, width * sizeof *curve->columns);
    curve->width = width;
    curve->nonpositive = 0;
    curve->gap = curve->measured.valid = false;
    return true;
}

void curve_free(struct curve *curve)
{
    free(curve->columns);
    *curve = (struct curve){0};
}

long curve_column_at(double place, size_t width)
{
    if (!(place >= 0 && place <= 1) || width == 0)
        return -1;
    return (long)(place * (double)(width - 1) + 0.5);
}

/* The column is updated in a local copy, which stays in registers: that matters for a million
 * points. */
void curve_add_all(struct curve *curve, long column, const float *values, size_t stride,
                   size_t count)
{
    struct curve_column to = {.any = false};
    const char *at = (const char *)values;
    size_t nonpositive = 0;
    bool gap = curve->gap;
    if (column >= 0 && curve->columns[column].any)
        to = curve->columns[column];
    for (size_t i = 0; i < count; i++, at += stride) {
        const float value = *(const float *)(const void *)at;
        if (!isfinite(value) || column < 0) {
            gap = gap || !isfinite(value);
            continue;
        }
        if (!to.any)
            to = (struct curve_column){value, value, value, value, INFINITY, true, gap};
        to.low = value < to.low ? value : to.low;
        to.high = value > to.high ? value : to.high;
        to.positive = value > 0 && value < to.positive ? value : to.positive;
        nonpositive += value <= 0;
        to.last = value;
        gap = false;
    }
    curve->gap = gap;
    curve->nonpositive += nonpositive;
    if (to.any) {
        curve->columns[column] = to;
        curve->measured.valid = false;
    }
}

/* Adds the smallest and the largest value of each column. */
static bool add_extremes(const struct curve *curve, struct value_range *range, struct error *error)
{
    for (size_t i = 0; i < curve->width; i++) {
        const struct curve_column *column = &curve->columns[i];
        if (!column->any)
            continue;
        if (!value_range_add(range, (double)(range->log ? column->positive : column->low), error) ||
            !value_range_add(range, (double)column->high, error))
            return false;
    }
    return true;
}

bool curve_measure(struct curve *curve, struct value_range *range, struct error *error)
{
    struct curve_bounds *measured = &curve->measured;
    if (!measured->valid || measured->log != range->log || measured->all != range->all) {
        if (!add_extremes(curve, range, error))
            return false;
        *measured =
            (struct curve_bounds){true, range->log, range->all, value_range_take_bounds(range)};
    }
    return value_range_add_bounds(range, measured->bounds, error);
}

/* Returns the dot row of a value, the lowest for values that a logarithmic axis cannot show. */
static long dot_row(const struct axis *y, const struct plot *plot, double value)
{
    double place = axis_position(y, value);
    if (isnan(place))
        return 0;
    return lround(fmax(-4, fmin(5, place)) * (double)(plot_height(plot) - 1));
}

/* Returns whether the axis can show the value. */
static bool has_place(const struct axis *y, float value)
{
    return !y->log || value > 0;
}

void curve_draw(const struct curve *curve, const struct axis *y, struct plot *plot, uint16_t series)
{
    const struct curve_column *before = NULL;
    if (plot_height(plot) == 0)
        return;
    for (size_t i = 0; i < curve->width; i++) {
        const struct curve_column *column = &curve->columns[i];
        if (!column->any)
            continue;
        /* a line to the foot shows where the curve drops out of a logarithmic axis; between two
         * columns at the foot it would suggest values */
        bool joined =
            before && !column->gap && (has_place(y, before->last) || has_place(y, column->first));
        if (joined)
            plot_line(plot, series, before - curve->columns, dot_row(y, plot, (double)before->last),
                      (long)i, dot_row(y, plot, (double)column->first));
        if (has_place(y, column->high))
            plot_span(plot, series, (long)i,
                      dot_row(y, plot, (double)(y->log ? column->positive : column->low)),
                      dot_row(y, plot, (double)column->high));
        before = column;
    }
}

/* Returns whether the column has values above the axis. */
static bool is_above(const struct curve_column *column, const struct axis *y)
{
    return column->any && (double)column->high > y->high;
}

/* Returns whether the column has values below the axis that the axis could show. */
static bool is_below(const struct curve_column *column, const struct axis *y)
{
    return column->any && (double)(y->log ? column->positive : column->low) < y->low;
}

size_t curve_count_outliers(const struct curve *curve, const struct axis *y)
{
    size_t count = 0;
    for (size_t i = 0; i < curve->width; i++)
        count += is_above(&curve->columns[i], y) || is_below(&curve->columns[i], y);
    return count;
}

void curve_mark_outliers(const struct curve *curve, const struct axis *y, struct plot *plot,
                         uint16_t series)
{
    for (size_t i = 0; i < curve->width; i++) {
        const struct curve_column *column = &curve->columns[i];
        if (is_above(column, y))
            plot_mark(plot, series, (long)i, (long)plot_height(plot) - 1, CURVE_ABOVE);
        if (is_below(column, y))
            plot_mark(plot, series, (long)i, 0, CURVE_BELOW);
    }
}

void curve_mark_nonpositive(const struct curve *curve, const struct axis *y, struct plot *plot,
                            uint16_t series)
{
    for (size_t i = 0; i < curve->width && y->log && curve->nonpositive > 0; i++)
        if (curve->columns[i].any && curve->columns[i].low <= 0)
            plot_mark(plot, series, (long)i, 0, CURVE_BELOW);
}

void curve_mark(const struct curve *curve, const struct axis *y, struct plot *plot, uint16_t series,
                double place, char mark)
{
    if (curve->width == 0 || plot_height(plot) == 0)
        return;
    long at = lround(place * (double)(curve->width - 1));
    while (at >= 0 && !curve->columns[at].any)
        at--;
    if (at < 0 || !has_place(y, curve->columns[at].last))
        return;
    long top = (long)plot_height(plot) - 1;
    long row = dot_row(y, plot, (double)curve->columns[at].last);
    plot_mark(plot, series, at, row < 0 ? 0 : row > top ? top : row, mark);
}
