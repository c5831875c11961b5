/* The axes form one array: the shown ones first, then those that are left out. Each has one value
 * per row. On an axis of names the value is the number of the name in alphabetical order, so that
 * brushes treat names and numbers alike. */
#include "ui/screens/compare/internal.h"

#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 512 };
#define LOG_FROM 50.0 /* an axis whose values span this factor is logarithmic */

static void free_values(struct parallel_axis *axis)
{
    free(axis->values);
    free(axis->levels);
    axis->values = axis->levels = NULL;
    axis->level_count = 0;
}

void compare_parallel_free(struct compare_parallel *parallel)
{
    for (size_t i = 0; i < parallel->count; i++)
        free_values(&parallel->axes[i]);
    parallel->rows = 0;
}

/* --- values --- */

static int ascending(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;
    return p < q ? -1 : p > q;
}

static void find_levels(struct parallel_axis *axis, size_t rows)
{
    size_t known = 0, count = 0;
    for (size_t row = 0; row < rows; row++)
        if (isfinite(axis->values[row]))
            axis->levels[known++] = axis->values[row];
    if (known > 0)
        qsort(axis->levels, known, sizeof *axis->levels, ascending);
    for (size_t i = 0; i < known; i++)
        if (count == 0 || axis->levels[i] > axis->levels[count - 1])
            axis->levels[count++] = axis->levels[i];
    axis->level_count = count;
    const double low = count > 0 ? axis->levels[0] : NAN;
    const double high = count > 0 ? axis->levels[count - 1] : NAN;
    const bool log = !compare_figure_is_text(&axis->figure) && low > 0 && high / low >= LOG_FROM;
    axis->scale = (struct axis){low, high, log};
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Numbers the names of all rows in alphabetical order. `order` holds `rows` pointers. */
static void number_names(struct parallel_axis *axis, char (*names)[NAME], char **order, size_t rows)
{
    size_t known = 0, count = 0;
    for (size_t row = 0; row < rows; row++)
        if (names[row][0])
            order[known++] = names[row];
    if (known > 0)
        qsort(order, known, sizeof *order, by_name);
    for (size_t i = 0; i < known; i++)
        if (count == 0 || strcmp(order[i], order[count - 1]) != 0)
            order[count++] = order[i];
    for (size_t row = 0; row < rows; row++) {
        char *name = names[row];
        char **found =
            name[0] && count > 0 ? bsearch(&name, order, count, sizeof *order, by_name) : NULL;
        axis->values[row] = found ? (double)(found - order) : (double)NAN;
    }
}

static bool fill_names(struct parallel_axis *axis, const struct comparison *table,
                       struct error *error)
{
    char(*names)[NAME] = memory_new(table->count, sizeof *names, "the axes", error);
    char **order = memory_new(table->count, sizeof *order, "the axes", error);
    const bool filled = names && order;
    for (size_t row = 0; filled && row < table->count; row++)
        if (!compare_figure_text(table, row, &axis->figure, names[row], NAME)[0] &&
            table->rows[row].run)
            snprintf(names[row], NAME, "%s", "-"); /* an empty setting is a value, too */
    if (filled)
        number_names(axis, names, order, table->count);
    free(names);
    free(order);
    return filled;
}

static bool fill_axis(struct parallel_axis *axis, const struct comparison *table,
                      struct error *error)
{
    free_values(axis);
    axis->values = memory_new(table->count, sizeof *axis->values, "the axes", error);
    axis->levels = memory_new(table->count, sizeof *axis->levels, "the axes", error);
    if (!axis->values || !axis->levels)
        return false;
    if (compare_figure_is_text(&axis->figure)) {
        if (!fill_names(axis, table, error))
            return false;
    } else {
        for (size_t row = 0; row < table->count; row++)
            axis->values[row] = compare_figure_value(table, row, &axis->figure);
    }
    find_levels(axis, table->count);
    return true;
}

/* --- the order of the axes --- */

/* Puts the shown axes before those that are left out, each group in its order. */
static void sort_shown_first(struct compare_parallel *parallel)
{
    size_t place = 0;
    for (size_t i = 0; i < parallel->count; i++) {
        const struct parallel_axis axis = parallel->axes[i];
        if (axis.left_out)
            continue;
        memmove(&parallel->axes[place + 1], &parallel->axes[place],
                (i - place) * sizeof *parallel->axes);
        parallel->axes[place++] = axis;
    }
    parallel->shown = place;
    if (parallel->selected >= place)
        parallel->selected = place > 0 ? place - 1 : 0;
}

static bool is_result(const struct compare_figure *figure)
{
    return figure->kind == FIGURE_LOSS || figure->kind == FIGURE_BEST_VALIDATION_LOSS ||
           figure->kind == FIGURE_BEST_TOP1;
}

/* Returns whether the figure is a time that a run can have, as opposed to a published row alone. */
static bool is_time_of_runs(const struct comparison *table, const struct compare_figure *figure)
{
    return figure->kind == FIGURE_TIME && !compare_device_is_published(table, figure->device);
}

/* Returns whether a new axis is shown at first: one that distinguishes runs. */
static bool is_worth_showing(const struct comparison *table, const struct parallel_axis *axis)
{
    const bool setting = axis->figure.kind == FIGURE_SETTING || axis->figure.kind == FIGURE_NETWORK;
    const bool chosen = setting || is_result(&axis->figure) ||
                        is_time_of_runs(table, &axis->figure) ||
                        axis->figure.kind == FIGURE_PARAMETERS;
    return chosen && axis->level_count > 1;
}

static size_t find_axis(const struct compare_parallel *parallel, const char *name)
{
    size_t at = 0;
    while (at < parallel->count && strcmp(parallel->axes[at].name, name) != 0)
        at++;
    return at;
}

/* Removes the axes whose figure the table no longer has. */
static void drop_axes(struct compare_parallel *parallel, const struct compare_figure *figures,
                      size_t count, const struct comparison *table)
{
    char name[PARALLEL_NAME];
    size_t kept = 0;
    for (size_t i = 0; i < parallel->count; i++) {
        bool found = false;
        for (size_t j = 0; j < count && !found; j++)
            found = strcmp(compare_figure_name(table, &figures[j], name, sizeof name),
                           parallel->axes[i].name) == 0;
        if (found)
            parallel->axes[kept++] = parallel->axes[i];
        else
            free_values(&parallel->axes[i]);
    }
    parallel->count = kept;
}

bool compare_parallel_build(struct compare_parallel *parallel, const struct comparison *table,
                            struct error *error)
{
    struct compare_figure figures[COMPARE_FIGURES];
    const size_t count = compare_list_figures(table, figures);
    drop_axes(parallel, figures, count, table);
    for (size_t i = 0; i < count; i++) {
        char name[PARALLEL_NAME];
        compare_figure_name(table, &figures[i], name, sizeof name);
        const size_t at = find_axis(parallel, name);
        struct parallel_axis *axis = &parallel->axes[at];
        const bool new = at == parallel->count;
        if (new) {
            *axis = (struct parallel_axis){0};
            snprintf(axis->name, sizeof axis->name, "%s", name);
            parallel->count++;
        }
        axis->figure = figures[i];
        if (!fill_axis(axis, table, error))
            return false;
        axis->left_out = new ? !is_worth_showing(table, axis) : axis->left_out;
    }
    parallel->rows = table->count;
    sort_shown_first(parallel);
    return true;
}

void compare_parallel_move(struct compare_parallel *parallel, bool right)
{
    const size_t at = parallel->selected, to = right ? at + 1 : at - 1;
    if ((!right && at == 0) || to >= parallel->shown)
        return;
    const struct parallel_axis axis = parallel->axes[at];
    parallel->axes[at] = parallel->axes[to];
    parallel->axes[to] = axis;
    parallel->selected = to;
}

void compare_parallel_leave_out(struct compare_parallel *parallel)
{
    if (parallel->shown < 2)
        return;
    compare_parallel_clear_brush(parallel, false); /* a filter that nobody sees would mislead */
    parallel->axes[parallel->selected].left_out = true;
    sort_shown_first(parallel);
}

void compare_parallel_show(struct compare_parallel *parallel, const char *name)
{
    const size_t at = find_axis(parallel, name);
    if (at < parallel->shown || at == parallel->count)
        return;
    parallel->axes[at].left_out = false;
    sort_shown_first(parallel);
    parallel->selected = parallel->shown - 1;
    compare_parallel_move(parallel, false);
}

/* --- positions --- */

double compare_parallel_place(const struct parallel_axis *axis, double value)
{
    if (isnan(value))
        return NAN;
    return axis->level_count < 2 ? 0.5 : axis_position(&axis->scale, value);
}

double compare_parallel_position(const struct compare_parallel *parallel, size_t axis, size_t row)
{
    return compare_parallel_place(&parallel->axes[axis], parallel->axes[axis].values[row]);
}

int compare_parallel_step(const struct compare_parallel *parallel, size_t row)
{
    if (parallel->shown == 0)
        return PARALLEL_UNKNOWN;
    const double position = compare_parallel_position(parallel, parallel->shown - 1, row);
    if (!isfinite(position))
        return PARALLEL_UNKNOWN;
    const int step = (int)(position * PARALLEL_STEPS);
    return step < 0 ? 0 : step < PARALLEL_STEPS ? step : PARALLEL_STEPS - 1;
}

/* --- brushes --- */

bool compare_parallel_passes(const struct compare_parallel *parallel, size_t row)
{
    for (size_t i = 0; i < parallel->shown; i++) {
        const struct parallel_axis *axis = &parallel->axes[i];
        if (axis->brushed && !(axis->values[row] >= axis->low && axis->values[row] <= axis->high))
            return false;
    }
    return true;
}

size_t compare_parallel_count(const struct compare_parallel *parallel)
{
    size_t count = 0;
    for (size_t row = 0; row < parallel->rows; row++)
        count += compare_parallel_passes(parallel, row);
    return count;
}

/* Returns the level after `value` (before it, if not `up`), or `value` if there is none. */
static double next_level(const struct parallel_axis *axis, double value, bool up)
{
    double found = value;
    for (size_t i = 0; i < axis->level_count; i++) {
        if (!up && axis->levels[i] < value)
            found = axis->levels[i];
        if (up && axis->levels[i] > value)
            return axis->levels[i];
    }
    return found;
}

void compare_parallel_brush(struct compare_parallel *parallel, bool lower, bool up)
{
    struct parallel_axis *axis = &parallel->axes[parallel->selected];
    if (parallel->shown == 0 || axis->level_count == 0)
        return;
    const double least = axis->levels[0], most = axis->levels[axis->level_count - 1];
    if (!axis->brushed) {
        axis->low = least;
        axis->high = most;
    }
    double *end = lower ? &axis->low : &axis->high;
    *end = next_level(axis, *end, up);
    if (axis->low > axis->high) /* the end that moved stops at the other one */
        *end = lower ? axis->high : axis->low;
    axis->brushed = axis->low > least || axis->high < most;
}

void compare_parallel_clear_brush(struct compare_parallel *parallel, bool all)
{
    for (size_t i = 0; i < parallel->count; i++)
        if (all || i == parallel->selected)
            parallel->axes[i].brushed = false;
}
