#include "ui/plot/curves.h"

#include "base/language.h"

#include <math.h>

enum { CHUNK = 512 }; /* points gathered at a time */

const char *curve_x_name(enum curve_x x)
{
    static const char *const names[X_KINDS] = {N_("iteration"), N_("epoch"), N_("time")};
    return gettext(names[x]);
}

double curves_point_x(const struct series_point *point, enum curve_x x)
{
    if (x == X_ITERATION)
        return (double)point->iteration;
    return x == X_EPOCH ? (double)point->epoch : (double)point->seconds;
}

enum curve_x curves_available_x(const struct series *series, enum curve_x wanted)
{
    const size_t count = series_count(series);
    const bool known = count == 0 || !isnan(curves_point_x(&series->points[count - 1], wanted));
    return known ? wanted : X_ITERATION;
}

bool curves_extent(const struct series *series, enum curve_x x, double *first, double *last)
{
    size_t count = series_count(series);
    if (count == 0)
        return false;
    *first = curves_point_x(&series->points[0], x);
    *last = curves_point_x(&series->points[count - 1], x);
    return true;
}

/* --- gathering --- */

struct axis curves_axis(const struct series *series, const struct curve_view *view)
{
    double first = 1, last = 1;
    double end = view->x == X_ITERATION ? view->iterations : view->x == X_EPOCH ? view->epochs : 0;
    curves_extent(series, view->x, &first, &last);
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

/* The first of `count` points at or beyond a value of the x axis. */
static size_t first_from(const struct series *series, size_t count, enum curve_x x, double value)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (curves_point_x(&series->points[middle], x) < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool same_gathering(const struct curves *curves, const struct series *series,
                           const struct curve_view *view, const struct axis *x)
{
    return curves->series == series && curves->view.x == view->x &&
           curves->view.width == view->width && curves->view.traces == view->traces &&
           curves->x.low == x->low && curves->x.high == x->high && curves->x.log == x->log;
}

static bool begin_gathering(struct curves *curves, const struct series *series, size_t count,
                            const struct curve_view *view, struct error *error)
{
    if (curves->series != series)
        smoothing_clear(&curves->smoothing);
    curves->series = NULL;
    curves->count = 0;
    for (enum trace trace = 0; trace < TRACES_PER_ITERATION; trace++)
        if (!curve_reset(&curves->trace[trace], view->traces & TRACE_BIT(trace) ? view->width : 0,
                         error))
            return false;
    curves->gathered = first_from(series, count, view->x, curves->x.low);
    return true;
}

static long column_of(const struct curves *curves, size_t point)
{
    double x = curves_point_x(&curves->series->points[point], curves->view.x);
    return curve_column_at(axis_position(&curves->x, x), curves->view.width);
}

/* The end of the points from `from` on that share its column. */
static size_t end_of_column(const struct curves *curves, size_t from, size_t limit)
{
    const long column = column_of(curves, from);
    size_t low = from + 1, high = limit;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (column_of(curves, middle) == column)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Points of one column, at most CHUNK of them. */
static void gather_chunk(struct curves *curves, size_t count, struct smoothed *state)
{
    float smoothed[TRACES_SMOOTHED][CHUNK];
    const struct series_point *points = &curves->series->points[curves->gathered];
    const long column = column_of(curves, curves->gathered);
    bool smooth = curves->view.traces & (TRACE_BIT(TRACES_SMOOTHED) - 1);
    for (size_t i = 0; i < count && smooth; i++) {
        smoothing_step(state, curves->series, curves->gathered + i);
        for (enum trace trace = 0; trace < TRACES_SMOOTHED; trace++)
            smoothed[trace][i] = (float)state->values[trace];
    }
    for (enum trace trace = 0; trace < TRACES_PER_ITERATION; trace++) {
        if (!(curves->view.traces & TRACE_BIT(trace)))
            continue;
        if (trace < TRACES_SMOOTHED)
            curve_add_all(&curves->trace[trace], column, smoothed[trace], sizeof(float), count);
        else
            curve_add_all(&curves->trace[trace], column, trace_values(points, trace),
                          sizeof *points, count);
    }
    curves->gathered += count;
}

static void gather(struct curves *curves)
{
    size_t end = first_from(curves->series, curves->count, curves->view.x,
                            nextafter(curves->x.high, INFINITY));
    if (curves->gathered >= end)
        return;
    struct smoothed state =
        smoothing_state_before(&curves->smoothing, curves->series, curves->gathered);
    while (curves->gathered < end) {
        size_t limit = curves->gathered + CHUNK < end ? curves->gathered + CHUNK : end;
        gather_chunk(curves, end_of_column(curves, curves->gathered, limit) - curves->gathered,
                     &state);
    }
}

bool curves_update(struct curves *curves, const struct series *series,
                   const struct curve_view *view, struct error *error)
{
    size_t count = series_count(series);
    struct axis x = view->axis ? *view->axis : curves_axis(series, view);
    if (!same_gathering(curves, series, view, &x)) {
        curves->x = x;
        if (!begin_gathering(curves, series, count, view, error))
            return false;
    }
    curves->series = series;
    curves->view = *view;
    curves->view.axis = NULL; /* the caller's; curves->x holds what it said */
    curves->count = count;
    if (!smoothing_extend(&curves->smoothing, series, count, error)) {
        curves_invalidate(curves);
        return false;
    }
    gather(curves);
    return true;
}

void curves_free(struct curves *curves)
{
    for (enum trace trace = 0; trace < TRACES_PER_ITERATION; trace++)
        curve_free(&curves->trace[trace]);
    smoothing_free(&curves->smoothing);
    *curves = (struct curves){0};
}

void curves_invalidate(struct curves *curves)
{
    curves->series = NULL;
    curves->count = curves->gathered = 0;
    smoothing_clear(&curves->smoothing);
}

double curves_newest(const struct curves *curves, enum trace trace)
{
    if (!curves->series || curves->count == 0)
        return NAN;
    return curves_value(curves, trace, curves->count - 1);
}

/* --- places --- */

double curves_x(const struct curves *curves, uint64_t iteration, double epoch)
{
    if (curves->view.x == X_ITERATION)
        return (double)iteration;
    if (curves->view.x == X_EPOCH)
        return epoch;
    size_t at = first_from(curves->series, curves->count, X_ITERATION, (double)iteration);
    return at < curves->count ? (double)curves->series->points[at].seconds : (double)NAN;
}

double curves_x_of_validation(const struct curves *curves,
                              const struct series_validation *validation)
{
    if (curves->view.x == X_TIME)
        return (double)validation->seconds;
    return curves_x(curves, validation->iteration, (double)validation->epoch);
}

size_t curves_nearest(const struct series *series, enum curve_x x, double value)
{
    size_t count = series_count(series), at = first_from(series, count, x, value);
    if (count == 0)
        return SIZE_MAX;
    if (at == 0 || at == count)
        return at == 0 ? 0 : count - 1;
    double after = curves_point_x(&series->points[at], x) - value;
    return value - curves_point_x(&series->points[at - 1], x) < after ? at - 1 : at;
}

/* Between two points in proportion, beyond the ends as far in proportion to the end. */
double curves_convert(const struct series *series, enum curve_x from, enum curve_x to, double value)
{
    size_t count = series_count(series), at = first_from(series, count, from, value);
    if (count < 2)
        return value;
    at = at < 1 ? 1 : at > count - 1 ? count - 1 : at;
    const struct series_point *low = &series->points[at - 1], *high = &series->points[at];
    double x0 = curves_point_x(low, from), x1 = curves_point_x(high, from);
    double y0 = curves_point_x(low, to), y1 = curves_point_x(high, to);
    if (value > x1)
        return x1 > 0 ? y1 * value / x1 : y1;
    if (value < x0)
        return x0 > 0 ? y0 * value / x0 : y0;
    return x1 > x0 ? y0 + (y1 - y0) * (value - x0) / (x1 - x0) : y1;
}

/* --- values under a cursor --- */

double curves_value(const struct curves *curves, enum trace trace, size_t point)
{
    if (point >= curves->count)
        return NAN;
    if (trace >= TRACES_SMOOTHED)
        return (double)trace_point_value(&curves->series->points[point], trace);
    return smoothing_state_before(&curves->smoothing, curves->series, point + 1).values[trace];
}

double curves_validation_value(const struct curves *curves, enum trace trace, double x)
{
    const struct series *series = curves->series;
    for (size_t i = series_validation_count(series); i-- > 0;)
        if (curves_x_of_validation(curves, &series->validations[i]) <= x * (1 + 1e-9))
            return (double)trace_validation_value(&series->validations[i], trace);
    return NAN;
}
