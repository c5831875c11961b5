#include "ui/curve.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- one curve --- */

bool curve_reset(struct curve *curve, size_t width, struct error *error)
{
    if (!memory_grow(&curve->columns, &curve->capacity, width, sizeof *curve->columns, "a curve",
                     error))
        return false;
    if (width > 0)
        memset(curve->columns, 0, width * sizeof *curve->columns);
    curve->width = width;
    curve->gap = false;
    return true;
}

void curve_free(struct curve *curve)
{
    free(curve->columns);
    *curve = (struct curve){0};
}

void curve_add(struct curve *curve, double place, float value)
{
    if (!isfinite(value)) {
        curve->gap = true;
        return;
    }
    if (!(place >= 0 && place <= 1) || curve->width == 0)
        return;
    struct curve_column *column =
        &curve->columns[(size_t)lround(place * (double)(curve->width - 1))];
    if (!column->any)
        *column = (struct curve_column){value, value, value, value, true, curve->gap};
    column->low = fminf(column->low, value);
    column->high = fmaxf(column->high, value);
    column->last = value;
    curve->gap = false;
}

void curve_range(const struct curve *curve, bool log, double *low, double *high)
{
    for (size_t i = 0; i < curve->width; i++) {
        const struct curve_column *column = &curve->columns[i];
        if (!column->any || (log && column->high <= 0))
            continue;
        /* below zero there is no log: what is known to be positive stands in */
        double least = log && column->low <= 0 ? column->high : column->low;
        *low = fmin(*low, least);
        *high = fmax(*high, column->high);
    }
}

/* The dot row of a value. On a log axis what is zero or below lies on the lowest row. */
static long dot_row(const struct axis *y, const struct plot *plot, double value)
{
    double place = axis_place(y, value);
    if (isnan(place))
        return 0;
    return lround(fmax(-4, fmin(5, place)) * (double)(plot_height(plot) - 1));
}

void curve_draw(const struct curve *curve, const struct axis *y, struct plot *plot, uint8_t series)
{
    if (plot_height(plot) == 0)
        return;
    const struct curve_column *before = NULL;
    for (size_t i = 0; i < curve->width; i++) {
        const struct curve_column *column = &curve->columns[i];
        if (!column->any)
            continue;
        if (before && !column->gap)
            plot_line(plot, series, before - curve->columns, dot_row(y, plot, before->last),
                      (long)i, dot_row(y, plot, column->first));
        plot_span(plot, series, (long)i, dot_row(y, plot, column->low),
                  dot_row(y, plot, column->high));
        before = column;
    }
}

/* --- a run's curves --- */

const char *curve_x_name(enum curve_x x)
{
    static const char *const names[X_KINDS] = {"iteration", "epoch", "time"};
    return names[x];
}

static double point_x(const struct series_point *point, enum curve_x x)
{
    if (x == X_ITERATION)
        return (double)point->iteration;
    return x == X_EPOCH ? (double)point->epoch : (double)point->seconds;
}

/* The axis on which everything up to `last` has a place; it ends at round numbers, or where the run
 * ends. */
static struct axis choose_axis(const struct series *series, size_t count,
                               const struct curve_view *view)
{
    double first = count ? point_x(&series->points[0], view->x) : 1;
    double last = count ? point_x(&series->points[count - 1], view->x) : 1;
    double end = view->x == X_ITERATION ? view->iterations : view->x == X_EPOCH ? view->epochs : 0;
    first = first > 0 ? first : 1e-3;
    last = last > first ? last : first * 1.001;
    double high = view->over ? last : axis_round_up(last);
    if (end > 0 && high > end && last <= end)
        high = end;
    struct axis axis = {view->log_x ? first : 0, high, view->log_x};
    if (axis.high <= axis.low)
        axis.high = axis.low * 2;
    return axis;
}

static bool same_gathering(const struct curves *curves, const struct series *series,
                           const struct curve_view *view, const struct axis *x)
{
    return curves->series == series && curves->view.x == view->x &&
           curves->view.width == view->width && curves->x.low == x->low &&
           curves->x.high == x->high && curves->x.log == x->log;
}

static bool begin_gathering(struct curves *curves, size_t width, struct error *error)
{
    curves->gathered = 0;
    curves->smoothed_value = NAN;
    return curve_reset(&curves->loss, width, error) &&
           curve_reset(&curves->smoothed, width, error) && curve_reset(&curves->rate, width, error);
}

bool curves_update(struct curves *curves, const struct series *series,
                   const struct curve_view *view, struct error *error)
{
    size_t count = series_count(series);
    struct axis x = choose_axis(series, count, view);
    if (!same_gathering(curves, series, view, &x)) {
        curves->series = NULL;
        if (!begin_gathering(curves, view->width, error))
            return false;
    }
    curves->series = series;
    curves->view = *view;
    curves->x = x;
    for (; curves->gathered < count; curves->gathered++) {
        const struct series_point *point = &series->points[curves->gathered];
        double place = axis_place(&x, point_x(point, view->x));
        curves->smoothed_value =
            series_smooth(curves->smoothed_value, point->loss, curves->gathered + 1);
        curve_add(&curves->loss, place, point->loss);
        curve_add(&curves->smoothed, place, (float)curves->smoothed_value);
        curve_add(&curves->rate, place, point->learning_rate);
    }
    return true;
}

void curves_free(struct curves *curves)
{
    curve_free(&curves->loss);
    curve_free(&curves->smoothed);
    curve_free(&curves->rate);
    *curves = (struct curves){0};
}

/* The first point at or after an iteration. */
static const struct series_point *find_point(const struct curves *curves, uint64_t iteration)
{
    size_t low = 0, high = curves->gathered;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (curves->series->points[middle].iteration < iteration)
            low = middle + 1;
        else
            high = middle;
    }
    return low < curves->gathered ? &curves->series->points[low] : NULL;
}

double curves_place(const struct curves *curves, uint64_t iteration, double epoch)
{
    if (curves->view.x == X_ITERATION)
        return axis_place(&curves->x, (double)iteration);
    if (curves->view.x == X_EPOCH)
        return axis_place(&curves->x, epoch);
    const struct series_point *point = find_point(curves, iteration);
    return point ? axis_place(&curves->x, (double)point->seconds) : NAN;
}

double curves_place_validation(const struct curves *curves,
                               const struct series_validation *validation)
{
    if (curves->view.x == X_TIME)
        return axis_place(&curves->x, (double)validation->seconds);
    return curves_place(curves, validation->iteration, (double)validation->epoch);
}
