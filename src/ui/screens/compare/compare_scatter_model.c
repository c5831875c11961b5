/* A figure is kept by its name, because its device's index changes when devices come and go. */
#include "ui/screens/compare/internal.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void compare_scatter_free(struct compare_scatter *scatter)
{
    free(scatter->points);
    scatter->points = NULL;
    scatter->count = scatter->capacity = 0;
    compare_front_free(&scatter->front);
    scatter->has_front = false;
}

void compare_scatter_next_scale(struct compare_scatter *scatter)
{
    scatter->log[SCATTER_Y] ^= scatter->log[SCATTER_X];
    scatter->log[SCATTER_X] = !scatter->log[SCATTER_X];
}

/* --- figures --- */

static bool is_among(const struct compare_figure *figures, size_t count,
                     const struct compare_figure *figure)
{
    for (size_t i = 0; i < count; i++)
        if (compare_figure_equal(&figures[i], figure) && !compare_figure_is_text(figure))
            return true;
    return false;
}

/* Finds the figure of an axis: the chosen one, else the preferred one, else any with numbers. */
static bool find_figure(const struct comparison *table, const char *chosen, const char *preferred,
                        struct compare_figure *found)
{
    struct compare_figure figures[COMPARE_FIGURES];
    struct error error;
    const size_t count = compare_list_figures(table, figures);
    const char *const names[] = {chosen, preferred};
    for (size_t i = 0; i < 2; i++)
        if (names[i][0] && compare_find_figure(table, names[i], found, &error) &&
            is_among(figures, count, found))
            return true;
    for (size_t i = 0; i < count; i++)
        if (!compare_figure_is_text(&figures[i])) {
            *found = figures[i];
            return true;
        }
    return false;
}

static bool find_figures(struct compare_scatter *scatter, const struct comparison *table)
{
    static const char *const preferred[] = {"parameters", "best_top1"};
    for (size_t i = 0; i < SCATTER_AXES; i++) {
        if (!find_figure(table, scatter->names[i], preferred[i], &scatter->figures[i]))
            return false;
        compare_figure_name(table, &scatter->figures[i], scatter->names[i], SCATTER_NAME);
    }
    return true;
}

/* --- points --- */

static bool add_points(struct compare_scatter *scatter, const struct comparison *table,
                       struct error *error)
{
    scatter->count = 0;
    if (!memory_grow(&scatter->points, &scatter->capacity, table->count, sizeof *scatter->points,
                     "the scatter plot", error))
        return false;
    for (size_t row = 0; row < table->count; row++) {
        struct scatter_point point = {.row = row};
        bool known = true;
        for (size_t i = 0; i < SCATTER_AXES; i++) {
            point.at[i] = compare_figure_value(table, row, &scatter->figures[i]);
            scatter->unknown[i] += !isfinite(point.at[i]);
            known = known && isfinite(point.at[i]);
        }
        if (known)
            scatter->points[scatter->count++] = point;
    }
    return true;
}

bool compare_scatter_build(struct compare_scatter *scatter, const struct comparison *table,
                           struct error *error)
{
    compare_front_free(&scatter->front);
    scatter->has_front = false;
    memset(scatter->unknown, 0, sizeof scatter->unknown);
    scatter->usable = find_figures(scatter, table);
    if (!scatter->usable)
        return true;
    if (!add_points(scatter, table, error))
        return false;
    for (size_t i = 0; i < SCATTER_AXES; i++)
        scatter->axes[i] = scatter_axis_of(scatter->points, scatter->count, i, scatter->log[i]);
    const struct compare_figure *x = &scatter->figures[SCATTER_X];
    const struct compare_figure *y = &scatter->figures[SCATTER_Y];
    if (compare_figure_direction(x) == FIGURE_NEITHER ||
        compare_figure_direction(y) == FIGURE_NEITHER)
        return true;
    scatter->has_front = compare_find_front(table, x, y, &scatter->front, error);
    return scatter->has_front;
}

/* --- the cursor --- */

/* Returns how far the point is from another one: what it is aside counts twice. Returns INFINITY if
 * it is not in the direction. */
static double distance(const struct compare_scatter *scatter, const struct scatter_point *from,
                       const struct scatter_point *to, int across, int up)
{
    double steps[SCATTER_AXES];
    for (size_t i = 0; i < SCATTER_AXES; i++)
        steps[i] = axis_position(&scatter->axes[i], to->at[i]) -
                   axis_position(&scatter->axes[i], from->at[i]);
    const double along = steps[SCATTER_X] * across + steps[SCATTER_Y] * up;
    const double aside = fabs(across ? steps[SCATTER_Y] : steps[SCATTER_X]);
    return along > 0 ? along + 2 * aside : INFINITY;
}

size_t compare_scatter_neighbour(const struct compare_scatter *scatter, size_t row, int across,
                                 int up)
{
    const struct scatter_point *from = scatter_find(scatter->points, scatter->count, row);
    double nearest = INFINITY;
    if (!from)
        return scatter->count > 0 ? scatter->points[0].row : row;
    for (size_t i = 0; i < scatter->count; i++) {
        const double away = distance(scatter, from, &scatter->points[i], across, up);
        if (away < nearest) {
            nearest = away;
            row = scatter->points[i].row;
        }
    }
    return row;
}
