#include "ui/screens/compare/compare_model.h"

#include "base/clock.h"
#include "base/language.h"
#include "session/measure/compare_files.h"
#include "session/values/run_snapshot.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FIXED_COLUMNS = 8, MAX_FIELDS = 64 };

/* What compare_sort calls the columns before the devices'; "" cannot be sorted by. */
static const char *const sort_names[FIXED_COLUMNS] = {"",    "network", "top1", "parameters",
                                                      "e_p", "flops",   "size", "memory"};

void compare_model_clear(struct compare_model *view)
{
    compare_free(&view->table);
    for (size_t i = 0; i < COMPARE_RUNS; i++) {
        curves_free(&view->curves[i]);
        compare_files_free(&view->files[i]);
    }
    view->count = view->selected = view->top = view->left = view->scroll = view->next = 0;
    view->left_out = view->gathering = false;
    view->window = (struct plot_window){0};
    view->in_sight = NULL;
    run_reader_drop(view->reader);
    view->reader = NULL;
}

void compare_model_free(struct compare_model *view)
{
    compare_model_clear(view);
    plot_free(&view->plot);
    *view = (struct compare_model){0};
}

bool compare_model_add(struct compare_model *view, const struct run *run,
                       struct compare_files *files)
{
    for (size_t i = 0; i < view->count; i++)
        if (view->runs[i] == run)
            return false;
    if (view->count == COMPARE_RUNS) {
        view->left_out = true;
        return false;
    }
    view->files[view->count] = *files;
    *files = (struct compare_files){0};
    view->runs[view->count++] = run;
    return true;
}

/* --- the table --- */

static const char *sort_key(const struct compare_model *view)
{
    if (view->sort < FIXED_COLUMNS)
        return sort_names[view->sort];
    return view->table.devices[view->sort - FIXED_COLUMNS];
}

bool compare_model_build(struct compare_model *view, struct error *error)
{
    bool made = true;
    compare_free(&view->table);
    view->built = clock_nanoseconds();
    for (size_t i = 0; made && i < view->count; i++)
        made = compare_add(&view->table, view->runs[i], &view->files[i], error);
    made = made && (!view->published || compare_add_published(&view->table, error));
    if (made)
        compare_complete(&view->table);
    if (view->sort >= compare_columns(&view->table)) /* its device went with the published rows */
        view->sort = 0;
    if (view->selected >= view->table.count)
        view->selected = view->table.count > 0 ? view->table.count - 1 : 0;
    return made && (view->sort == 0 || compare_sort(&view->table, sort_key(view), error));
}

const char *compare_model_sort_name(const struct compare_model *view)
{
    return view->sort == 0 ? _("as chosen") : sort_key(view);
}

const char *compare_model_next_sort(struct compare_model *view, struct error *error)
{
    view->sort = (view->sort + 1) % compare_columns(&view->table);
    return compare_model_build(view, error) ? compare_model_sort_name(view) : NULL;
}

size_t compare_model_run_of_row(const struct compare_model *view, size_t row)
{
    for (size_t i = 0; i < view->count; i++)
        if (view->table.rows[row].run == view->runs[i])
            return i;
    return COMPARE_RUNS;
}

size_t compare_model_row_of_run(const struct compare_model *view, size_t run)
{
    size_t row = 0;
    while (row < view->table.count && view->table.rows[row].run != view->runs[run])
        row++;
    return row;
}

char compare_model_row_mark(size_t row)
{
    return row < 9 ? (char)('1' + row) : row < 35 ? (char)('a' + row - 9) : '+';
}

/* --- what tells the runs apart --- */

static bool differs(const struct compare_model *view, const char *key)
{
    char first[512], other[512];
    for (size_t i = 0; i < view->count; i++) {
        config_get(run_config(view->runs[i]), key, i == 0 ? first : other, sizeof first);
        if (i > 0 && strcmp(first, other) != 0)
            return true;
    }
    return false;
}

size_t compare_model_differences(const struct compare_model *view,
                                 const struct config_field **fields)
{
    size_t count = 0;
    for (size_t i = 0; i < config_field_count && count < MAX_FIELDS; i++)
        if (differs(view, config_fields[i].key))
            fields[count++] = &config_fields[i];
    return count;
}

/* The network as the studies print it says these already. */
static bool is_in_name(const struct config_field *field)
{
    static const char *const keys[] = {"network", "technique", "groups", "width-rate",
                                       "block-rate"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(field->key, keys[i]) == 0)
            return true;
    return false;
}

char *compare_model_label(const struct compare_model *view, size_t run, char *text, size_t size)
{
    const struct config_field *fields[MAX_FIELDS];
    size_t count = compare_model_differences(view, fields);
    size_t used = (size_t)snprintf(text, size, "%s", run_facts(view->runs[run])->network);
    char value[512];
    for (size_t i = 0; i < count && used < size; i++) {
        if (is_in_name(fields[i]))
            continue;
        config_get(run_config(view->runs[run]), fields[i]->key, value, sizeof value);
        used += (size_t)snprintf(text + used, size - used, ", %s %s", fields[i]->key,
                                 value[0] ? value : _("none"));
    }
    return text;
}

/* --- curves --- */

bool compare_model_has_values(const struct compare_model *view, enum trace trace)
{
    for (size_t i = 0; i < view->count; i++)
        if (trace_has_values(run_series(view->runs[i]), trace))
            return true;
    return false;
}

void compare_model_next_trace(struct compare_model *view)
{
    static const enum trace order[] = {
        TRACE_SMOOTHED, TRACE_DISCRIMINATOR, TRACE_L1,   TRACE_VALIDATION, TRACE_TOP1, TRACE_TOP5,
        TRACE_PIXELS,   TRACE_CAFFE,         TRACE_MEAN, TRACE_MS,         TRACE_RATE};
    const size_t count = sizeof order / sizeof *order;
    size_t at = 0;
    while (at < count && order[at] != view->trace)
        at++;
    for (size_t tried = 0; tried < count; tried++) {
        view->trace = order[++at % count];
        if (compare_model_has_values(view, view->trace))
            return;
    }
}

static bool all_over(const struct compare_model *view)
{
    struct run_snapshot snapshot;
    for (size_t i = 0; i < view->count; i++) {
        run_snapshot(view->runs[i], &snapshot);
        if (!run_status_is_over(snapshot.status))
            return false;
    }
    return true;
}

static struct axis common_axis(const struct compare_model *view, const struct curve_view *wanted)
{
    double low = DBL_MAX, high = 0, first, last;
    for (size_t i = 0; i < view->count; i++)
        if (curves_extent(run_series(view->runs[i]), wanted->x, &first, &last)) {
            low = fmin(low, first > 0 ? first : 1e-3);
            high = fmax(high, last);
        }
    if (high <= 0)
        return (struct axis){wanted->log_x ? 0.1 : 0, 1, wanted->log_x};
    if (!all_over(view))
        high = axis_round_up(high);
    if (high <= low)
        high = low * 2;
    return (struct axis){wanted->log_x ? low : 0, high, wanted->log_x};
}

static struct plot_extent extent_of(const struct compare_model *view,
                                    const struct curve_view *wanted, size_t columns)
{
    struct plot_extent extent = {.all = common_axis(view, wanted),
                                 .first = DBL_MAX,
                                 .last = -DBL_MAX,
                                 .columns = columns,
                                 .live = !all_over(view)};
    double first, last;
    for (size_t i = 0; i < view->count; i++)
        if (curves_extent(run_series(view->runs[i]), wanted->x, &first, &last)) {
            size_t points = series_count(run_series(view->runs[i]));
            extent.first = fmin(extent.first, first);
            extent.last = fmax(extent.last, last);
            extent.points = points > extent.points ? points : extent.points;
        }
    return extent;
}

bool compare_model_update_curves(struct compare_model *view, const struct curve_view *wanted,
                                 size_t columns, struct error *error)
{
    struct curve_view each = *wanted;
    struct plot_extent extent = extent_of(view, wanted, columns);
    view->x = plot_window_show(&view->window, &extent);
    each.axis = &view->x;
    each.traces = TRACE_BIT(view->trace);
    for (size_t i = 0; i < view->count; i++)
        if (!curves_update(&view->curves[i], run_series(view->runs[i]), &each, error))
            return false;
    return true;
}

struct axis compare_model_y_axis(const struct compare_model *view, bool log)
{
    double low = DBL_MAX, high = -DBL_MAX;
    for (size_t i = 0; i < view->count; i++)
        if (view->trace < TRACES_PER_ITERATION)
            curve_range(&view->curves[i].trace[view->trace], log, &low, &high);
        else
            validations_range(&view->curves[i], view->trace, log, &low, &high);
    return axis_for_range(low, high, log);
}

size_t compare_model_count_nonpositive(const struct compare_model *view)
{
    size_t count = 0;
    for (size_t i = 0; i < view->count; i++)
        count += view->trace < TRACES_PER_ITERATION
                     ? view->curves[i].trace[view->trace].nonpositive
                     : validations_nonpositive(&view->curves[i], view->trace);
    return count;
}

/* Where a run has ended there is nothing under the cursor any more. */
static double value_at_cursor(const struct compare_model *view, size_t run)
{
    const struct curves *curves = &view->curves[run];
    double first, last, cursor = view->window.cursor;
    if (!curves_extent(curves->series, curves->view.x, &first, &last) || cursor > last)
        return NAN;
    if (view->trace >= TRACES_PER_ITERATION)
        return curves_validation_value(curves, view->trace, cursor);
    return curves_value(curves, view->trace,
                        curves_nearest(curves->series, curves->view.x, cursor));
}

double compare_model_value(const struct compare_model *view, size_t run)
{
    const struct curves *curves = &view->curves[run];
    if (!curves->series)
        return NAN;
    if (view->window.cursor_on)
        return value_at_cursor(view, run);
    return view->trace < TRACES_PER_ITERATION
               ? curves_newest(curves, view->trace)
               : curves_validation_value(curves, view->trace, INFINITY);
}

/* --- cells --- */

char *compare_model_cell(const struct compare_model *view, size_t row, size_t column, char *text,
                         size_t size)
{
    compare_cell(&view->table, row, column, text, size);
    if (strcmp(text, "not measured") == 0)
        snprintf(text, size, "?");
    return text;
}

void compare_model_heading(const struct compare_model *view, size_t column, char *upper,
                           char *lower, size_t size)
{
    char text[128];
    compare_heading(&view->table, column, text, sizeof text);
    size_t space = strcspn(text, " ");
    snprintf(upper, size, "%.*s", (int)space, text);
    snprintf(lower, size, "%s", text[space] ? text + space + 1 : "");
}
