/* Validations are few and far between: each is joined to the one before by a line, which is cut
 * where the plot ends, so that a zoomed plot between two of them still shows how they run. */
#include "ui/plot/curves.h"

#include <math.h>

struct spot {
    double place, value; /* on the x axis 0..1, and on the y axis */
};

/* False: it has no place. */
static bool spot_of(const struct curves *curves, enum trace trace, size_t index, struct spot *spot)
{
    const struct series_validation *one = &curves->series->validations[index];
    spot->place = axis_position(&curves->x, curves_x_of_validation(curves, one));
    spot->value = (double)trace_validation_value(one, trace);
    return isfinite(spot->place) && isfinite(spot->value);
}

static bool in_sight(const struct spot *spot)
{
    return spot->place >= 0 && spot->place <= 1;
}

static struct spot cut(struct spot from, struct spot to, double place)
{
    double part = (place - from.place) / (to.place - from.place);
    return (struct spot){place, from.value + part * (to.value - from.value)};
}

/* The part of a line within the plot; false: there is none. */
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

static void widen(const struct spot *spot, bool log, double *low, double *high)
{
    if (log && spot->value <= 0)
        return;
    *low = fmin(*low, spot->value);
    *high = fmax(*high, spot->value);
}

void validations_range(const struct curves *curves, enum trace trace, bool log, double *low,
                       double *high)
{
    struct spot before = {0}, here;
    bool any = false;
    for (size_t i = 0; i < series_validation_count(curves->series); i++) {
        if (!spot_of(curves, trace, i, &here)) {
            any = false;
            continue;
        }
        if (in_sight(&here))
            widen(&here, log, low, high);
        struct spot from = before, to = here;
        if (any && cut_line(&from, &to)) {
            widen(&from, log, low, high);
            widen(&to, log, low, high);
        }
        before = here;
        any = true;
    }
}

size_t validations_nonpositive(const struct curves *curves, enum trace trace)
{
    struct spot spot;
    size_t count = 0;
    for (size_t i = 0; i < series_validation_count(curves->series); i++)
        count += spot_of(curves, trace, i, &spot) && in_sight(&spot) && spot.value <= 0;
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
                       struct plot *plot, uint8_t number)
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

static size_t count_in_sight(const struct curves *curves, enum trace trace, size_t *last)
{
    struct spot spot;
    size_t count = 0;
    for (size_t i = 0; i < series_validation_count(curves->series); i++)
        if (spot_of(curves, trace, i, &spot) && in_sight(&spot)) {
            *last = i;
            count++;
        }
    return count;
}

void validations_draw(const struct curves *curves, enum trace trace, const struct axis *y,
                      struct plot *plot, uint8_t number, char mark)
{
    struct spot spot;
    size_t last = 0, count = count_in_sight(curves, trace, &last);
    bool marks = count * 4 * plot_dots_across(plot->symbols) <= plot_width(plot);
    if (plot_height(plot) == 0)
        return;
    draw_lines(curves, trace, y, plot, number);
    for (size_t i = 0; i <= last && count > 0; i++) { /* last: lines would go over them */
        if (!spot_of(curves, trace, i, &spot) || !in_sight(&spot))
            continue;
        bool placed = !y->log || spot.value > 0;
        if (marks || i == last || !placed)
            plot_mark(plot, number, dot(spot.place, plot_width(plot)), dot_row(y, plot, spot.value),
                      placed ? mark : CURVE_NONPOSITIVE);
    }
}
