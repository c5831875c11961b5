/* The front is drawn as a line of dots, the points over it as characters: a point has one cell,
 * since marks of several digits would run into each other. The first row is drawn last, so that it
 * is on top, and the selected one after it. */
#include "ui/plot/scatter.h"

#include "base/language.h"
#include "ui/plot/axis_marks.h"
#include "ui/terminal/keys.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

enum { FRONT_SERIES = 1 };

struct place {
    int row, column;
};

struct axis scatter_axis_of(const struct scatter_point *points, size_t count,
                            enum scatter_axis axis, bool log)
{
    double low = DBL_MAX, high = -DBL_MAX;
    for (size_t i = 0; i < count; i++) {
        low = fmin(low, points[i].at[axis]);
        high = fmax(high, points[i].at[axis]);
    }
    if (low == high) { /* equal values stand in the middle of a readable range */
        const double margin = low == 0 ? 1 : fabs(low) / 20;
        low -= margin;
        high += margin;
    }
    return axis_for_range(low, high, log && low > 0);
}

const struct scatter_point *scatter_find(const struct scatter_point *points, size_t count,
                                         size_t row)
{
    for (size_t i = 0; i < count; i++)
        if (points[i].row == row)
            return &points[i];
    return NULL;
}

bool scatter_is_on_front(const struct scatter *scatter, size_t row)
{
    for (size_t i = 0; i < scatter->front_count; i++)
        if (scatter->front[i] == row)
            return true;
    return false;
}

/* Returns where a point lies in a plot of this size. */
static struct place place_of(const struct scatter *scatter, const struct scatter_point *point,
                             int rows, int columns)
{
    const double x = axis_position(&scatter->axes[SCATTER_X], point->at[SCATTER_X]);
    const double y = axis_position(&scatter->axes[SCATTER_Y], point->at[SCATTER_Y]);
    return (struct place){(int)lround((1 - y) * (rows - 1)), (int)lround(x * (columns - 1))};
}

static void add_front(const struct scatter *scatter, struct plot *plot)
{
    const int width = (int)plot_width(plot), height = (int)plot_height(plot);
    struct place last = {0, 0};
    for (size_t i = 0; i < scatter->front_count; i++) {
        const struct place place =
            place_of(scatter, scatter_find(scatter->points, scatter->count, scatter->front[i]),
                     height, width);
        if (i > 0)
            plot_line(plot, FRONT_SERIES, last.column, height - 1 - last.row, place.column,
                      height - 1 - place.row);
        last = place;
    }
}

static void draw_point(const struct scatter *scatter, struct canvas *canvas, struct rect area,
                       const struct scatter_point *point)
{
    const bool selected = point->row == scatter->selected;
    const struct place place = place_of(scatter, point, area.rows, area.columns);
    const struct rect cell = {area.row + place.row, area.column + place.column, 1, 1};
    const char mark[] = {scatter->mark(point->row), '\0'};
    const enum role role = selected ? ROLE_FOCUS
                           : scatter_is_on_front(scatter, point->row)
                               ? ROLE_STRONG
                               : scatter->role(scatter->context, point->row);
    draw_text(canvas, area, place.row, place.column, role, mark);
    if (scatter->rows == 0)
        targets_add_row(&canvas->targets, cell, point->row, scatter->selected);
    else
        targets_add(&canvas->targets, cell, selected ? UI_ENTER : UI_TAB,
                    selected ? 1
                             : (point->row + scatter->rows - scatter->selected) % scatter->rows);
    if (selected)
        draw_cursor(canvas, area, place.row, place.column);
}

static void draw_points(const struct scatter *scatter, struct canvas *canvas, struct rect area)
{
    for (size_t i = scatter->count; i-- > 0;) /* the first row on top */
        draw_point(scatter, canvas, area, &scatter->points[i]);
    const struct scatter_point *selected =
        scatter_find(scatter->points, scatter->count, scatter->selected);
    if (selected)
        draw_point(scatter, canvas, area, selected);
}

bool scatter_draw(const struct scatter *scatter, struct plot *plot, enum graph_symbols symbols,
                  struct canvas *canvas, struct rect area, struct error *error)
{
    static const enum role roles[] = {ROLE_TEXT, ROLE_SMOOTHED};
    static const enum plot_style styles[] = {PLOT_DOTTED, PLOT_DOTTED};
    const struct plot_layout layout = layout_plot(area, true);
    const struct axis *x = &scatter->axes[SCATTER_X];
    char name[160];
    if (rect_is_empty(layout.plot))
        return true;
    if (!plot_reset(plot, (size_t)layout.plot.rows, (size_t)layout.plot.columns, symbols, error))
        return false;
    add_front(scatter, plot);
    draw_sentence(canvas, layout.legend, 0, 0, ROLE_HEADING, scatter->legend);
    plot_axes_draw_y(canvas, layout.labels, &scatter->axes[SCATTER_Y]);
    plot_draw(canvas, layout.plot, plot, roles, styles);
    snprintf(name, sizeof name, x->log ? _("%s, log") : "%s", scatter->x_name);
    plot_axes_draw_named_x(canvas, layout.axis, x, name, layout.labels.columns > 0);
    draw_points(scatter, canvas, layout.plot);
    return true;
}
