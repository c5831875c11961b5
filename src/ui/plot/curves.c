/* Points are ordered along every x axis, so binary search finds the first point of the axis and the
 * end of each column; all points of one column are then binned in one call, in chunks. If the axis
 * and the view are those of the last update, binning goes on where it stopped. */
#include "ui/plot/curves.h"

#include "base/language.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

enum { CHUNK = 512 }; /* points binned at a time */

const char *curve_x_name(enum curve_x x)
{
    static const char *const names[X_KINDS] = {N_("iteration"), N_("epoch"), N_("time")};
    return gettext(names[x]);
}

static double point_x(const struct series_point *point, enum curve_x x)
{
    if (x == X_ITERATION)
        return (double)point->iteration;
    return x == X_EPOCH ? (double)point->epoch : (double)point->seconds;
}

enum curve_x curves_available_x(const struct series *series, enum curve_x wanted)
{
    const size_t count = series_count(series);
    const bool known = count == 0 || !isnan(point_x(&series->points[count - 1], wanted));
    return known ? wanted : X_ITERATION;
}

bool curves_extent(const struct series *series, enum curve_x x, double *first, double *last)
{
    size_t count = series_count(series);
    if (count == 0)
        return false;
    *first = point_x(&series->points[0], x);
    *last = point_x(&series->points[count - 1], x);
    return true;
}

/* --- binning --- */

struct axis curves_axis(const struct series *series, const struct curve_view *view)
{
    double first = 1, last = 1;
    double end = view->x == X_ITERATION ? view->iterations : view->x == X_EPOCH ? view->epochs : 0;
    curves_extent(series, view->x, &first, &last);
    first = first > 0 ? first : 1e-3;
    last = last > first ? last : first * 1.001;
    double high = view->over ? last : axis_round_up_far(last);
    if (end > 0 && high > end && last <= end)
        high = end;
    struct axis axis = {view->log_x ? first : 0, high, view->log_x};
    if (axis.high <= axis.low)
        axis.high = axis.low * 2;
    return axis;
}

/* Returns the first of `count` points at or after a value of the x axis. */
static size_t first_from(const struct series *series, size_t count, enum curve_x x, double value)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (point_x(&series->points[middle], x) < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool same_bins(const struct curves *curves, const struct series *series,
                      const struct curve_view *view, const struct axis *x)
{
    return curves->series == series && curves->view.x == view->x &&
           curves->view.width == view->width && curves->view.traces == view->traces &&
           curves->view.smoothing == view->smoothing && curves->x.low == x->low &&
           curves->x.high == x->high && curves->x.log == x->log;
}

static bool start_bins(struct curves *curves, const struct series *series, size_t count,
                       const struct curve_view *view, struct error *error)
{
    if (curves->series != series || curves->smoothing.choice != view->smoothing)
        smoothing_clear(&curves->smoothing, view->smoothing);
    curves->series = NULL;
    curves->count = 0;
    for (enum trace trace = 0; trace < TRACES_PER_ITERATION; trace++)
        if (!curve_reset(&curves->trace[trace], view->traces & TRACE_BIT(trace) ? view->width : 0,
                         error))
            return false;
    curves->binned = first_from(series, count, view->x, curves->x.low);
    return true;
}

static long column_of(const struct curves *curves, size_t point)
{
    double x = point_x(&curves->series->points[point], curves->view.x);
    return curve_column_at(axis_position(&curves->x, x), curves->view.width);
}

/* Returns the end of the points that share the column of point `from`, at most `limit`. */
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

/* Bins the next `count` points, at most CHUNK, which lie in one column. */
static void bin_chunk(struct curves *curves, size_t count, struct smoothed *state)
{
    float smoothed[TRACES_SMOOTHED][CHUNK];
    const struct smoothing *smoothing = &curves->smoothing;
    const struct series_point *points = &curves->series->points[curves->binned];
    const long column = column_of(curves, curves->binned);
    bool smooth = curves->view.traces & (TRACE_BIT(TRACES_SMOOTHED) - 1);
    for (size_t i = 0; i < count && smooth; i++) {
        smoothing_step(smoothing, state, curves->series, curves->binned + i);
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
    curves->binned += count;
}

static void bin_points(struct curves *curves)
{
    size_t end = first_from(curves->series, curves->count, curves->view.x,
                            nextafter(curves->x.high, INFINITY));
    if (curves->binned >= end)
        return;
    struct smoothed state =
        smoothing_state_before(&curves->smoothing, curves->series, curves->binned);
    while (curves->binned < end) {
        size_t limit = curves->binned + CHUNK < end ? curves->binned + CHUNK : end;
        bin_chunk(curves, end_of_column(curves, curves->binned, limit) - curves->binned, &state);
    }
}

bool curves_update(struct curves *curves, const struct series *series,
                   const struct curve_view *view, struct error *error)
{
    size_t count = series_count(series);
    struct axis x = view->axis ? *view->axis : curves_axis(series, view);
    if (!same_bins(curves, series, view, &x)) {
        curves->x = x;
        if (!start_bins(curves, series, count, view, error))
            return false;
    }
    curves->series = series;
    curves->view = *view;
    curves->view.axis = NULL; /* it belongs to the caller; curves->x is a copy */
    curves->count = count;
    if (!smoothing_extend(&curves->smoothing, series, count, error)) {
        curves_invalidate(curves);
        return false;
    }
    bin_points(curves);
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
    curves->count = curves->binned = 0;
    smoothing_clear(&curves->smoothing, curves->smoothing.choice);
}

double curves_newest(const struct curves *curves, enum trace trace)
{
    if (!curves->series || curves->count == 0)
        return NAN;
    return curves_value(curves, trace, curves->count - 1);
}

/* --- positions --- */

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
    double after = point_x(&series->points[at], x) - value;
    return value - point_x(&series->points[at - 1], x) < after ? at - 1 : at;
}

/* Interpolates between two points; beyond the ends it scales the value of the end point. */
double curves_convert(const struct series *series, enum curve_x from, enum curve_x to, double value)
{
    size_t count = series_count(series), at = first_from(series, count, from, value);
    if (count < 2)
        return value;
    at = at < 1 ? 1 : at > count - 1 ? count - 1 : at;
    const struct series_point *low = &series->points[at - 1], *high = &series->points[at];
    double x0 = point_x(low, from), x1 = point_x(high, from);
    double y0 = point_x(low, to), y1 = point_x(high, to);
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

/* --- validations --- */

/* Validations are far apart. A line joins each to the one before it and is cut off at the edges of
 * the plot, so a zoomed plot that lies between two validations still shows their course. */

struct spot {
    double place, value; /* position on the x axis (visible: 0..1), value on the y axis */
};

/* Sets the spot of a validation. Returns false if its position or value is unknown. */
static bool spot_of(const struct curves *curves, enum trace trace, size_t index, struct spot *spot)
{
    const struct series_validation *one = &curves->series->validations[index];
    spot->place = axis_position(&curves->x, curves_x_of_validation(curves, one));
    spot->value = (double)trace_validation_value(one, trace);
    return isfinite(spot->place) && isfinite(spot->value);
}

static bool is_visible(const struct spot *spot)
{
    return spot->place >= 0 && spot->place <= 1;
}

/* Returns the point of the line at a position. */
static struct spot cut(struct spot from, struct spot to, double place)
{
    double part = (place - from.place) / (to.place - from.place);
    return (struct spot){place, from.value + part * (to.value - from.value)};
}

/* Cuts a line to its visible part. Returns false if there is none. */
static bool cut_line(struct spot *from, struct spot *to)
{
    if (to->place < 0 || from->place > 1 || to->place < from->place)
        return false;
    struct spot whole[2] = {*from, *to};
    if (from->place < 0)
        *from = cut(whole[0], whole[1], 0);
    if (to->place > 1)
        *to = cut(whole[0], whole[1], 1);
    return true;
}

bool validations_measure(const struct curves *curves, enum trace trace, struct value_range *range,
                         struct error *error)
{
    struct spot before = {0}, here;
    bool any = false;
    for (size_t i = 0; i < series_validation_count(curves->series); i++) {
        if (!spot_of(curves, trace, i, &here)) {
            any = false;
            continue;
        }
        if (is_visible(&here) && !value_range_add(range, here.value, error))
            return false;
        struct spot from = before, to = here;
        if (any && cut_line(&from, &to) &&
            (!value_range_add(range, from.value, error) ||
             !value_range_add(range, to.value, error)))
            return false;
        before = here;
        any = true;
    }
    return value_range_end_curve(range, error);
}

/* Returns how many visible validations are at or below zero, which a logarithmic axis cannot show.
 */
static size_t validations_nonpositive(const struct curves *curves, enum trace trace)
{
    struct spot spot;
    size_t count = 0;
    for (size_t i = 0; i < series_validation_count(curves->series); i++)
        count += spot_of(curves, trace, i, &spot) && is_visible(&spot) && spot.value <= 0;
    return count;
}

void validations_sample(const struct curves *curves, enum trace trace, double *values, size_t width)
{
    struct spot before = {0}, here;
    const double last = width > 0 ? (double)(width - 1) : 0;
    bool any = false;
    for (size_t i = 0; i < width; i++)
        values[i] = NAN;
    for (size_t i = 0; width > 0 && i < series_validation_count(curves->series); i++) {
        if (!spot_of(curves, trace, i, &here)) {
            any = false;
            continue;
        }
        struct spot from = any ? before : here, to = here;
        before = here;
        any = true;
        if (!cut_line(&from, &to))
            continue;
        for (long column = lround(from.place * last); column <= lround(to.place * last); column++) {
            const double at = last > 0 ? (double)column / last : 1;
            const double place = fmin(fmax(at, from.place), to.place);
            values[column] = to.place > from.place ? cut(from, to, place).value : to.value;
        }
    }
}

/* Returns -1 for a value below the axis, 1 for one above it, else 0. */
static int side_of(const struct axis *y, double value)
{
    if (value > y->high)
        return 1;
    return value < y->low ? -1 : 0;
}

/* Returns how many visible validations lie outside the y axis, not counting those. */
static size_t validations_outliers(const struct curves *curves, enum trace trace,
                                   const struct axis *y)
{
    struct spot spot;
    size_t count = 0;
    for (size_t i = 0; i < series_validation_count(curves->series); i++)
        count += spot_of(curves, trace, i, &spot) && is_visible(&spot) &&
                 side_of(y, spot.value) != 0 && (!y->log || spot.value > 0);
    return count;
}

static long dot(double place, size_t dots)
{
    return lround(place * (double)(dots - 1));
}

static long dot_row(const struct axis *y, const struct plot *plot, double value)
{
    double place = axis_position(y, value);
    return isnan(place) ? 0 : dot(fmax(-1, fmin(2, place)), plot_height(plot));
}

static void draw_lines(const struct curves *curves, enum trace trace, const struct axis *y,
                       struct plot *plot, uint16_t number)
{
    struct spot before = {0}, here;
    bool any = false;
    for (size_t i = 0; i < series_validation_count(curves->series); i++) {
        if (!spot_of(curves, trace, i, &here)) {
            any = false;
            continue;
        }
        struct spot from = before, to = here;
        bool placed = any && (!y->log || from.value > 0 || to.value > 0);
        if (placed && cut_line(&from, &to))
            plot_line(plot, number, dot(from.place, plot_width(plot)), dot_row(y, plot, from.value),
                      dot(to.place, plot_width(plot)), dot_row(y, plot, to.value));
        before = here;
        any = true;
    }
}

static size_t count_visible(const struct curves *curves, enum trace trace, size_t *last)
{
    struct spot spot;
    size_t count = 0;
    for (size_t i = 0; i < series_validation_count(curves->series); i++)
        if (spot_of(curves, trace, i, &spot) && is_visible(&spot)) {
            *last = i;
            count++;
        }
    return count;
}

void validations_draw(const struct curves *curves, enum trace trace, const struct axis *y,
                      struct plot *plot, uint16_t number, char mark)
{
    struct spot spot;
    size_t last = 0, count = count_visible(curves, trace, &last);
    bool marks = count * 4 * plot_dots_across(plot->symbols) <= plot_width(plot);
    if (plot_height(plot) == 0)
        return;
    draw_lines(curves, trace, y, plot, number);
    for (size_t i = 0; i <= last && count > 0; i++) { /* marks lie over the lines */
        if (!spot_of(curves, trace, i, &spot) || !is_visible(&spot))
            continue;
        const int side = side_of(y, spot.value);
        const long top = (long)plot_height(plot) - 1;
        if (side != 0)
            plot_mark(plot, number, dot(spot.place, plot_width(plot)), side > 0 ? top : 0,
                      side > 0 ? CURVE_ABOVE : CURVE_BELOW);
        else if (marks || i == last)
            plot_mark(plot, number, dot(spot.place, plot_width(plot)), dot_row(y, plot, spot.value),
                      mark);
    }
}

/* --- traces of either kind --- */

bool curves_measure(struct curves *curves, enum trace trace, struct value_range *range,
                    struct error *error)
{
    if (trace >= TRACES_PER_ITERATION)
        return validations_measure(curves, trace, range, error);
    return curve_measure(&curves->trace[trace], range, error);
}

size_t curves_outliers(const struct curves *curves, enum trace trace, const struct axis *y)
{
    return trace < TRACES_PER_ITERATION ? curve_count_outliers(&curves->trace[trace], y)
                                        : validations_outliers(curves, trace, y);
}

size_t curves_nonpositive(const struct curves *curves, enum trace trace)
{
    return trace < TRACES_PER_ITERATION ? curves->trace[trace].nonpositive
                                        : validations_nonpositive(curves, trace);
}

/* --- band ---
 *
 * The sums are kept in the columns of `mean`: its value times the number of runs. */

bool band_reset(struct band *band, size_t width, struct error *error)
{
    if (!curve_reset(&band->mean, width, error) || !curve_reset(&band->extent, width, error) ||
        !memory_grow(&band->runs, &band->capacity, width, sizeof *band->runs, "a plot", error) ||
        !memory_grow(&band->values, &band->value_capacity, width, sizeof *band->values, "a plot",
                     error))
        return false;
    for (size_t i = 0; i < width; i++)
        band->runs[i] = 0;
    return true;
}

void band_free(struct band *band)
{
    curve_free(&band->mean);
    curve_free(&band->extent);
    free(band->runs);
    free(band->values);
    *band = (struct band){0};
}

/* Writes the value of each column: the last one in it, else between those of the columns around
 * it, unless NaN or infinity lies between these. */
static void sample_curve(const struct curve *curve, double *values)
{
    const struct curve_column *before = NULL;
    for (size_t i = 0; i < curve->width; i++) {
        const struct curve_column *column = &curve->columns[i];
        values[i] = column->any ? (double)column->last : (double)NAN;
        if (!column->any)
            continue;
        const size_t from = before ? (size_t)(before - curve->columns) : i;
        for (size_t k = from + 1; k < i && !column->gap; k++)
            values[k] = (double)before->last + ((double)column->last - (double)before->last) *
                                                   (double)(k - from) / (double)(i - from);
        before = column;
    }
}

/* Adds a value to the mean and the extent of a column. */
static void add_value(struct band *band, size_t column, double value)
{
    struct curve_column *mean = &band->mean.columns[column];
    const double runs = (double)band->runs[column];
    const float now = (float)(runs > 0 ? ((double)mean->last * runs + value) / (runs + 1) : value);
    const float one = (float)value;
    mean->any = false; /* so that the new mean replaces the old one */
    curve_add_all(&band->mean, (long)column, &now, sizeof now, 1);
    curve_add_all(&band->extent, (long)column, &one, sizeof one, 1);
    band->runs[column]++;
}

void band_add(struct band *band, const struct curves *curves, enum trace trace)
{
    const size_t width = band->mean.width;
    if (trace < TRACES_PER_ITERATION && curves->trace[trace].width == width)
        sample_curve(&curves->trace[trace], band->values);
    else if (trace >= TRACES_PER_ITERATION)
        validations_sample(curves, trace, band->values, width);
    else
        return;
    for (size_t i = 0; i < width; i++)
        if (isfinite(band->values[i]))
            add_value(band, i, band->values[i]);
}

double band_value(const struct band *band, size_t column, size_t *runs)
{
    size_t i = column < band->mean.width ? column + 1 : band->mean.width;
    while (i > 0 && !band->mean.columns[i - 1].any)
        i--;
    *runs = i > 0 ? band->runs[i - 1] : 0;
    return i > 0 ? (double)band->mean.columns[i - 1].last : (double)NAN;
}
