/* For numbers the points are sorted by x, the best first, and by y among equal ones; a point is on
 * the front if its y is better than that of every point before it, or if it equals the last one of
 * the front. Measured times have no such order: each pair is looked up. */
#include "studies/compare/pareto.h"

#include "studies/compare/compare_significance.h"

#include "base/language.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Orders by x, then y, then row. The caller has changed the signs so that low values are better. */
static int by_position(const void *a, const void *b)
{
    const struct pareto_point *p = a, *q = b;
    if (p->x != q->x)
        return p->x < q->x ? -1 : 1;
    if (p->y != q->y)
        return p->y < q->y ? -1 : 1;
    return p->row < q->row ? -1 : p->row > q->row;
}

static void change_signs(struct pareto_point *points, size_t count, bool x, bool y)
{
    for (size_t i = 0; i < count; i++) {
        points[i].x = x ? -points[i].x : points[i].x;
        points[i].y = y ? -points[i].y : points[i].y;
    }
}

size_t pareto_front(struct pareto_point *points, size_t count, bool high_x, bool high_y)
{
    size_t found = 0;
    change_signs(points, count, high_x, high_y);
    if (count > 0)
        qsort(points, count, sizeof *points, by_position);
    for (size_t i = 0; i < count; i++) {
        const struct pareto_point *last = found > 0 ? &points[found - 1] : NULL;
        if (last && !(points[i].y < last->y) && !(points[i].x == last->x && points[i].y == last->y))
            continue;
        const struct pareto_point member = points[i];
        points[i] = points[found];
        points[found++] = member;
    }
    change_signs(points, count, high_x, high_y);
    return found;
}

static bool check_direction(const struct comparison *comparison,
                            const struct compare_figure *figure, struct error *error)
{
    char name[DEVICE_NAME_SIZE + 16];
    return compare_figure_direction(figure) != FIGURE_NEITHER ||
           error_set(error, ERROR_USAGE, compare_figure_name(comparison, figure, name, sizeof name),
                     "choose figures such as parameters, ms, best_top1",
                     "a Pareto front needs to know whether more or less of it is better");
}

enum pareto_order pareto_order_numbers(double a, double b, bool high)
{
    return isnan(a) || isnan(b) ? PARETO_UNKNOWN
           : a == b             ? PARETO_EQUAL
           : (a > b) == high    ? PARETO_BETTER
                                : PARETO_WORSE;
}

bool pareto_dominates(enum pareto_order x, enum pareto_order y)
{
    return (x == PARETO_BETTER && (y == PARETO_BETTER || y == PARETO_EQUAL)) ||
           (y == PARETO_BETTER && x == PARETO_EQUAL);
}

/* Returns whether a figure is measured on a machine whose state drifts: published times are, too,
 * but order_rows knows what they may be compared with. */
static bool is_measured(const struct compare_figure *figure)
{
    return figure->kind == FIGURE_TIME || figure->kind == FIGURE_ENERGY;
}

/* Returns how the figure of row `a` stands to that of row `b`. The times of two published rows are
 * of one table of one document, measured on the machine that the column names, so that their
 * numbers decide. A published and a measured time are never comparable, and two measured ones only
 * if they took turns. */
static enum pareto_order order_rows(const struct comparison *comparison,
                                    const struct compare_figure *figure, size_t a, size_t b)
{
    static const enum pareto_order orders[] = {[COMPARE_UNRELATED] = PARETO_UNKNOWN,
                                               [COMPARE_INDISTINGUISHABLE] = PARETO_EQUAL,
                                               [COMPARE_FASTER] = PARETO_BETTER,
                                               [COMPARE_SLOWER] = PARETO_WORSE};
    if (figure->kind == FIGURE_ENERGY)
        return PARETO_UNKNOWN;
    if (figure->kind == FIGURE_TIME && (comparison->rows[a].run || comparison->rows[b].run))
        return orders[compare_rows(comparison, figure->device, a, b)];
    return pareto_order_numbers(compare_figure_value(comparison, a, figure),
                                compare_figure_value(comparison, b, figure),
                                compare_figure_direction(figure) == FIGURE_MORE);
}

/* Orders by x, the best first, and then by row. */
static int by_x(const void *a, const void *b)
{
    const struct pareto_point *p = a, *q = b;
    return p->x != q->x ? (p->x < q->x ? -1 : 1) : (p->row > q->row) - (p->row < q->row);
}

/* Does what pareto_front does, where a figure is measured: keeps the points that no other point
 * dominates, and counts the pairs of them whose order is unknown. */
static size_t measured_front(const struct comparison *comparison, struct compare_front *front,
                             struct pareto_point *points, size_t count)
{
    const bool high = compare_figure_direction(&front->x) == FIGURE_MORE;
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        bool dominated = false;
        for (size_t k = 0; k < count && !dominated; k++)
            dominated =
                k != i &&
                pareto_dominates(order_rows(comparison, &front->x, points[k].row, points[i].row),
                                 order_rows(comparison, &front->y, points[k].row, points[i].row));
        if (!dominated)
            front->rows[found++] = i;
    }
    for (size_t i = 0; i < found; i++)
        points[i] = points[front->rows[i]]; /* front->rows[i] >= i */
    for (size_t i = 0; i < found; i++)
        for (size_t k = i + 1; k < found; k++)
            front->undecided +=
                order_rows(comparison, &front->x, points[i].row, points[k].row) == PARETO_UNKNOWN ||
                order_rows(comparison, &front->y, points[i].row, points[k].row) == PARETO_UNKNOWN;
    change_signs(points, found, high, false);
    qsort(points, found, sizeof *points, by_x);
    change_signs(points, found, high, false);
    return found;
}

/* Moves the rows that have both figures to `points`. Returns their number. */
static size_t gather(const struct comparison *comparison, struct compare_front *front,
                     struct pareto_point *points)
{
    size_t count = 0;
    for (size_t row = 0; row < comparison->count; row++) {
        const struct pareto_point point = {compare_figure_value(comparison, row, &front->x),
                                           compare_figure_value(comparison, row, &front->y), row};
        if (isfinite(point.x) && isfinite(point.y))
            points[count++] = point;
        else
            front->unknown++;
    }
    return count;
}

bool compare_find_front(const struct comparison *comparison, const struct compare_figure *x,
                        const struct compare_figure *y, struct compare_front *front,
                        struct error *error)
{
    *front = (struct compare_front){.x = *x, .y = *y};
    if (!check_direction(comparison, x, error) || !check_direction(comparison, y, error))
        return false;
    struct pareto_point *points =
        memory_new(comparison->count, sizeof *points, "the Pareto front", error);
    front->rows = memory_new(comparison->count, sizeof *front->rows, "the Pareto front", error);
    const bool found = points && front->rows;
    const size_t count = found ? gather(comparison, front, points) : 0;
    if (found)
        front->count = is_measured(x) || is_measured(y)
                           ? measured_front(comparison, front, points, count)
                           : pareto_front(points, count, compare_figure_direction(x) == FIGURE_MORE,
                                          compare_figure_direction(y) == FIGURE_MORE);
    for (size_t i = 0; i < front->count; i++)
        front->rows[i] = points[i].row;
    free(points);
    if (!found)
        compare_front_free(front);
    return found;
}

bool compare_front_has(const struct compare_front *front, size_t row)
{
    for (size_t i = 0; i < front->count; i++)
        if (front->rows[i] == row)
            return true;
    return false;
}

void compare_front_free(struct compare_front *front)
{
    free(front->rows);
    *front = (struct compare_front){0};
}

bool compare_parse_front(const struct comparison *comparison, const char *names,
                         struct compare_figure *x, struct compare_figure *y, struct error *error)
{
    char first[128], second[128];
    const char *comma = strchr(names, ',');
    if (!comma || strchr(comma + 1, ',') || (size_t)(comma - names) >= sizeof first ||
        strlen(comma + 1) >= sizeof second)
        return error_set(error, ERROR_USAGE, names, "name two figures, such as parameters,top1",
                         "a Pareto front has two figures with a comma between them");
    snprintf(first, sizeof first, "%.*s", (int)(comma - names), names);
    snprintf(second, sizeof second, "%s", comma + 1);
    return compare_find_figure(comparison, first, x, error) &&
           compare_find_figure(comparison, second, y, error);
}

void compare_write_front(const struct comparison *comparison, const struct compare_front *front,
                         struct text *text)
{
    char x[DEVICE_NAME_SIZE + 16], y[DEVICE_NAME_SIZE + 16];
    text_append(text, _("Pareto front of %s and %s:"),
                compare_figure_name(comparison, &front->x, x, sizeof x),
                compare_figure_name(comparison, &front->y, y, sizeof y));
    for (size_t i = 0; i < front->count; i++)
        text_append(text, "%s %zu", i > 0 ? "," : "", front->rows[i] + 1);
    if (front->count == 0)
        text_append(text, " %s", _("no row has both figures"));
    else if (front->unknown > 0)
        text_append(
            text,
            ngettext(" (%zu row lacks a figure)", " (%zu rows lack a figure)", front->unknown),
            front->unknown);
    text_append(text, "\n");
    if (front->undecided > 0)
        text_append(text,
                    ngettext("%zu pair of them is not comparable: measured at different times; "
                             "none of its rows dominates the other\n",
                             "%zu pairs of them are not comparable: measured at different times; "
                             "none of their rows dominates the other\n",
                             front->undecided),
                    front->undecided);
}

bool compare_front_to_json(const struct comparison *comparison, const struct compare_front *front,
                           struct json *object)
{
    char x[DEVICE_NAME_SIZE + 16], y[DEVICE_NAME_SIZE + 16];
    struct json *pareto = json_add_object(object, "pareto");
    bool added =
        json_add_string(pareto, "x", compare_figure_name(comparison, &front->x, x, sizeof x)) &&
        json_add_string(pareto, "y", compare_figure_name(comparison, &front->y, y, sizeof y)) &&
        json_add_count(pareto, "unknown", front->unknown) &&
        json_add_count(pareto, "not_comparable", front->undecided);
    struct json *rows = json_add_array(pareto, "front");
    for (size_t i = 0; i < front->count; i++) {
        const struct compare_row *row = &comparison->rows[front->rows[i]];
        struct json *member = json_add_object(rows, NULL);
        added = added && json_add_count(member, "row", front->rows[i] + 1) &&
                json_add_string(member, "run", row->name) &&
                json_add_string(member, "network", row->network) &&
                json_add_number(member, "x",
                                compare_figure_value(comparison, front->rows[i], &front->x)) &&
                json_add_number(member, "y",
                                compare_figure_value(comparison, front->rows[i], &front->y));
    }
    return added && rows;
}
