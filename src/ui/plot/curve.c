#include "ui/plot/curve.h"

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
    curve->gap = false;
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

/* A copy is widened: it stays in registers, which matters for a million points. */
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
    if (to.any)
        curve->columns[column] = to;
}

void curve_add(struct curve *curve, long column, float value)
{
    curve_add_all(curve, column, &value, sizeof value, 1);
}

void curve_range(const struct curve *curve, bool log, double *low, double *high)
{
    for (size_t i = 0; i < curve->width; i++) {
        const struct curve_column *column = &curve->columns[i];
        if (!column->any || (log && column->high <= 0))
            continue;
        *low = fmin(*low, (double)(log ? column->positive : column->low));
        *high = fmax(*high, (double)column->high);
    }
}

/* The dot row of a value. What has no place on a log axis lies on the lowest row. */
static long dot_row(const struct axis *y, const struct plot *plot, double value)
{
    double place = axis_position(y, value);
    if (isnan(place))
        return 0;
    return lround(fmax(-4, fmin(5, place)) * (double)(plot_height(plot) - 1));
}

static bool has_place(const struct axis *y, float value)
{
    return !y->log || value > 0;
}

void curve_draw(const struct curve *curve, const struct axis *y, struct plot *plot, uint8_t series)
{
    const struct curve_column *before = NULL;
    if (plot_height(plot) == 0)
        return;
    for (size_t i = 0; i < curve->width; i++) {
        const struct curve_column *column = &curve->columns[i];
        if (!column->any)
            continue;
        /* a line to the foot shows where a curve leaves a log axis; along the foot it would lie */
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

void curve_mark_nonpositive(const struct curve *curve, const struct axis *y, struct plot *plot,
                            uint8_t series)
{
    for (size_t i = 0; i < curve->width && y->log && curve->nonpositive > 0; i++)
        if (curve->columns[i].any && curve->columns[i].low <= 0)
            plot_mark(plot, series, (long)i, 0, CURVE_NONPOSITIVE);
}

void curve_mark(const struct curve *curve, const struct axis *y, struct plot *plot, uint8_t series,
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
