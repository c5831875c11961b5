/* curve_add_all bins values into a column; curve_draw then draws a vertical line from the smallest
 * to the largest value of each column, and joins neighbouring columns from last to first value. */
#include "ui/plot/curves.h"

#include "base/language.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
