/* Validations are far apart. A line joins each to the one before it and is cut off at the edges of
 * the plot, so a zoomed plot that lies between two validations still shows their course. */
#include "ui/plot/curves.h"

#include <math.h>

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

size_t validations_nonpositive(const struct curves *curves, enum trace trace)
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

size_t validations_outliers(const struct curves *curves, enum trace trace, const struct axis *y)
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
