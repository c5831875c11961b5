#include "ui/curve.h"

#include "base/language.h"
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

void curve_mark(const struct curve *curve, const struct axis *y, struct plot *plot, uint8_t series,
                double place, char mark)
{
    if (curve->width == 0 || plot_height(plot) == 0)
        return;
    long at = lround(place * (double)(curve->width - 1));
    while (at >= 0 && !curve->columns[at].any)
        at--;
    if (at < 0)
        return;
    long top = (long)plot_height(plot) - 1, row = dot_row(y, plot, curve->columns[at].last);
    plot_mark(plot, series, at, row < 0 ? 0 : row > top ? top : row, mark);
}

/* --- quantities --- */

const char *quantity_name(enum quantity quantity, bool adversarial)
{
    static const char *const names[QUANTITIES] = {[QUANTITY_LOSS] = N_("loss"),
                                                  [QUANTITY_DISCRIMINATOR] =
                                                      N_("discriminator loss"),
                                                  [QUANTITY_L1] = "L1",
                                                  [QUANTITY_VALIDATION] = N_("validation loss"),
                                                  [QUANTITY_ACCURACY] = N_("top-1 accuracy (%)"),
                                                  [QUANTITY_PIXELS] = N_("pixel accuracy (%)")};
    return quantity == QUANTITY_LOSS && adversarial ? _("generator loss")
                                                    : gettext(names[quantity]);
}

float quantity_of_point(const struct series_point *point, enum quantity quantity)
{
    switch (quantity) {
    case QUANTITY_LOSS:
        return point->loss;
    case QUANTITY_DISCRIMINATOR:
        return point->loss_discriminator;
    case QUANTITY_L1:
        return point->loss_l1;
    default:
        return NAN;
    }
}

float quantity_of_validation(const struct series_validation *validation, enum quantity quantity)
{
    switch (quantity) {
    case QUANTITY_VALIDATION:
        return validation->loss;
    case QUANTITY_ACCURACY:
        return validation->top1;
    case QUANTITY_PIXELS:
        return validation->pixel_accuracy;
    default:
        return NAN;
    }
}

bool quantity_is_known(const struct series *series, enum quantity quantity)
{
    if (quantity < QUANTITIES_TRAINED) /* a discriminator is there from the first iteration on */
        return series_count(series) > 0 &&
               (quantity == QUANTITY_LOSS ||
                isfinite(quantity_of_point(&series->points[0], quantity)));
    for (size_t i = 0; i < series_validation_count(series); i++)
        if (isfinite(quantity_of_validation(&series->validations[i], quantity)))
            return true;
    return false;
}

/* --- a run's curves --- */

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
    if (view->shared)
        return *view->shared;
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
    bool begun = curve_reset(&curves->rate, width, error);
    for (size_t q = 0; q < QUANTITIES_TRAINED; q++) {
        curves->smoothed_value[q] = NAN;
        begun = begun && curve_reset(&curves->raw[q], width, error) &&
                curve_reset(&curves->smoothed[q], width, error);
    }
    return begun;
}

static void gather_point(struct curves *curves, const struct series_point *point)
{
    double place = axis_place(&curves->x, point_x(point, curves->view.x));
    for (enum quantity q = 0; q < QUANTITIES_TRAINED; q++) {
        float value = quantity_of_point(point, q);
        double *smoothed = &curves->smoothed_value[q];
        *smoothed = series_smooth(*smoothed, value, curves->gathered + 1);
        curve_add(&curves->raw[q], place, value);
        curve_add(&curves->smoothed[q], place, (float)*smoothed);
    }
    curve_add(&curves->rate, place, point->learning_rate);
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
    for (; curves->gathered < count; curves->gathered++)
        gather_point(curves, &series->points[curves->gathered]);
    return true;
}

void curves_free(struct curves *curves)
{
    for (size_t q = 0; q < QUANTITIES_TRAINED; q++) {
        curve_free(&curves->raw[q]);
        curve_free(&curves->smoothed[q]);
    }
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

void validations_range(const struct series *series, enum quantity quantity, bool log, double *low,
                       double *high)
{
    for (size_t i = 0; i < series_validation_count(series); i++) {
        double value = (double)quantity_of_validation(&series->validations[i], quantity);
        if (isfinite(value) && !(log && value <= 0)) {
            *low = fmin(*low, value);
            *high = fmax(*high, value);
        }
    }
}

static long dot(double place, size_t dots)
{
    return lround(place * (double)(dots - 1));
}

void validations_draw(const struct curves *curves, const struct series *series,
                      enum quantity quantity, const struct axis *y, struct plot *plot,
                      uint8_t number, char mark)
{
    size_t count = series_validation_count(series), width = plot_width(plot);
    bool marks = count * 4 * plot_dots_across(plot->symbols) <= width, drawn = false;
    long last_x = 0, last_y = 0;
    for (int pass = 0; pass < 2; pass++, drawn = false) /* marks last: lines would go over them */
        for (size_t i = 0; i < count; i++) {
            const struct series_validation *one = &series->validations[i];
            double at = curves_place_validation(curves, one);
            double up = axis_place(y, (double)quantity_of_validation(one, quantity));
            if (!isfinite(at) || !isfinite(up)) {
                drawn = false;
                continue;
            }
            long to_x = dot(at, width), to_y = dot(fmax(-1, fmin(2, up)), plot_height(plot));
            if (pass == 0 && drawn)
                plot_line(plot, number, last_x, last_y, to_x, to_y);
            else if (pass == 1 && (marks || i + 1 == count))
                plot_mark(plot, number, to_x, to_y, mark);
            last_x = to_x;
            last_y = to_y;
            drawn = true;
        }
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
