/* The state of the screen Compare. The runs stay at their indices, which determine colours and
 * curves; only the rows of the table are sorted. Columns are the fixed ones below, then the times
 * and the energies of the devices. */
#include "ui/screens/compare/compare_model.h"

#include "base/clock.h"
#include "base/language.h"
#include "base/memory.h"
#include "session/measure/compare_files.h"
#include "session/values/run_snapshot.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIXED_COLUMNS = 8 };

/* Sort keys of compare_sort for the columns before the devices'; "": the column cannot be sorted.
 */
static const char *const sort_names[FIXED_COLUMNS] = {"",    "network", "top1", "parameters",
                                                      "e_p", "flops",   "size", "memory"};

void compare_model_clear(struct compare_model *model)
{
    compare_free(&model->table);
    for (size_t i = 0; i < model->count; i++) {
        curves_free(&model->curves[i]);
        compare_files_free(&model->files[i]);
    }
    model->count = model->selected = model->top = model->left = model->scroll = model->next = 0;
    model->gathering = false;
    model->difference_count = 0;
    model->window = (struct plot_window){0};
    model->in_sight = NULL;
    run_reader_drop(model->reader);
    model->reader = NULL;
}

void compare_model_free(struct compare_model *model)
{
    compare_model_clear(model);
    plot_free(&model->plot);
    free(model->runs);
    free(model->files);
    free(model->curves);
    *model = (struct compare_model){0};
}

bool compare_model_add(struct compare_model *model, const struct run *run,
                       struct compare_files *files, struct error *error)
{
    const size_t needed = model->count + 1;
    for (size_t i = 0; i < model->count; i++)
        if (model->runs[i] == run)
            return true;
    if (!memory_grow(&model->runs, &model->run_capacity, needed, sizeof *model->runs,
                     "the comparison", error) ||
        !memory_grow(&model->files, &model->file_capacity, needed, sizeof *model->files,
                     "the comparison", error) ||
        !memory_grow(&model->curves, &model->curve_capacity, needed, sizeof *model->curves,
                     "the comparison", error))
        return false;
    model->files[model->count] = *files;
    *files = (struct compare_files){0};
    model->curves[model->count] = (struct curves){0};
    model->runs[model->count++] = run;
    return true;
}

/* --- the table --- */

static void set_sort_key(struct compare_model *model)
{
    size_t device;
    if (model->sort < FIXED_COLUMNS)
        snprintf(model->sort_key, sizeof model->sort_key, "%s", sort_names[model->sort]);
    else if (compare_column_energy(&model->table, model->sort, &device))
        snprintf(model->sort_key, sizeof model->sort_key, "energy %s",
                 model->table.devices[device]);
    else
        snprintf(model->sort_key, sizeof model->sort_key, "%s",
                 model->table.devices[model->sort - FIXED_COLUMNS]);
}

static bool find_differences(struct compare_model *model, struct error *error)
{
    const struct run_config **configs =
        memory_new(model->count, sizeof *configs, "the comparison", error);
    if (!configs)
        return false;
    for (size_t i = 0; i < model->count; i++)
        configs[i] = run_config(model->runs[i]);
    model->difference_count = config_differences(configs, model->count, model->differences);
    free(configs);
    return true;
}

bool compare_model_build(struct compare_model *model, struct error *error)
{
    bool made = find_differences(model, error);
    compare_free(&model->table);
    model->built = clock_nanoseconds();
    for (size_t i = 0; made && i < model->count; i++)
        made = compare_add(&model->table, model->runs[i], &model->files[i], error);
    made = made && (!model->published || compare_add_published(&model->table, error));
    if (made)
        compare_complete(&model->table);
    if (model->sort >= compare_columns(&model->table)) /* that device's column no longer exists */
        model->sort = 0;
    if (model->selected >= model->table.count)
        model->selected = model->table.count > 0 ? model->table.count - 1 : 0;
    set_sort_key(model);
    return made && (model->sort == 0 || compare_sort(&model->table, model->sort_key, error));
}

const char *compare_model_sort_name(const struct compare_model *model)
{
    return model->sort == 0 ? _("as chosen") : model->sort_key;
}

const char *compare_model_next_sort(struct compare_model *model, struct error *error)
{
    model->sort = (model->sort + 1) % compare_columns(&model->table);
    return compare_model_build(model, error) ? compare_model_sort_name(model) : NULL;
}

size_t compare_model_run_of_row(const struct compare_model *model, size_t row)
{
    for (size_t i = 0; i < model->count; i++)
        if (model->table.rows[row].run == model->runs[i])
            return i;
    return COMPARE_NO_RUN;
}

char compare_model_row_mark(size_t row)
{
    return row < 9 ? (char)('1' + row) : row < 35 ? (char)('a' + row - 9) : '+';
}

/* --- settings in which the runs differ --- */

size_t compare_model_differences(const struct compare_model *model,
                                 const struct config_field **fields)
{
    memcpy(fields, model->differences, model->difference_count * sizeof *fields);
    return model->difference_count;
}

/* Returns whether the label of a network, as the studies print it, already contains the setting. */
static bool is_in_name(const struct config_field *field)
{
    static const char *const keys[] = {"network", "technique", "groups", "width-rate",
                                       "block-rate"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(field->key, keys[i]) == 0)
            return true;
    return false;
}

char *compare_model_label(const struct compare_model *model, size_t run, char *text, size_t size)
{
    const struct config_field *fields[CONFIG_MAX_FIELDS];
    size_t count = compare_model_differences(model, fields);
    size_t used = (size_t)snprintf(text, size, "%s", run_facts(model->runs[run])->network);
    char value[512];
    for (size_t i = 0; i < count && used < size; i++) {
        if (is_in_name(fields[i]))
            continue;
        config_get(run_config(model->runs[run]), fields[i]->key, value, sizeof value);
        used += (size_t)snprintf(text + used, size - used, ", %s %s", fields[i]->key,
                                 value[0] ? value : _("none"));
    }
    return text;
}

/* --- curves --- */

bool compare_model_has_values(const struct compare_model *model, enum trace trace)
{
    for (size_t i = 0; i < model->count; i++)
        if (trace_has_values(run_series(model->runs[i]), trace))
            return true;
    return false;
}

void compare_model_next_trace(struct compare_model *model)
{
    static const enum trace order[] = {
        TRACE_SMOOTHED, TRACE_DISCRIMINATOR, TRACE_L1,   TRACE_VALIDATION, TRACE_TOP1, TRACE_TOP5,
        TRACE_PIXELS,   TRACE_CAFFE,         TRACE_MEAN, TRACE_MS,         TRACE_RATE};
    const size_t count = sizeof order / sizeof *order;
    size_t at = 0;
    while (at < count && order[at] != model->trace)
        at++;
    for (size_t tried = 0; tried < count; tried++) {
        model->trace = order[++at % count];
        if (compare_model_has_values(model, model->trace))
            return;
    }
}

static bool all_over(const struct compare_model *model)
{
    struct run_snapshot snapshot;
    for (size_t i = 0; i < model->count; i++) {
        run_snapshot(model->runs[i], &snapshot);
        if (!run_status_is_over(snapshot.status))
            return false;
    }
    return true;
}

static struct axis common_axis(const struct compare_model *model, const struct curve_view *wanted)
{
    double low = DBL_MAX, high = 0, first, last;
    for (size_t i = 0; i < model->count; i++)
        if (curves_extent(run_series(model->runs[i]), wanted->x, &first, &last)) {
            low = fmin(low, first > 0 ? first : 1e-3);
            high = fmax(high, last);
        }
    if (high <= 0)
        return (struct axis){wanted->log_x ? 0.1 : 0, 1, wanted->log_x};
    if (!all_over(model))
        high = axis_round_up(high);
    if (high <= low)
        high = low * 2;
    return (struct axis){wanted->log_x ? low : 0, high, wanted->log_x};
}

static struct plot_extent extent_of(const struct compare_model *model,
                                    const struct curve_view *wanted, size_t columns)
{
    struct plot_extent extent = {.all = common_axis(model, wanted),
                                 .first = DBL_MAX,
                                 .last = -DBL_MAX,
                                 .columns = columns,
                                 .live = !all_over(model)};
    double first, last;
    for (size_t i = 0; i < model->count; i++)
        if (curves_extent(run_series(model->runs[i]), wanted->x, &first, &last)) {
            size_t points = series_count(run_series(model->runs[i]));
            extent.first = fmin(extent.first, first);
            extent.last = fmax(extent.last, last);
            extent.points = points > extent.points ? points : extent.points;
        }
    return extent;
}

bool compare_model_update_curves(struct compare_model *model, const struct curve_view *wanted,
                                 size_t columns, struct error *error)
{
    struct curve_view each = *wanted;
    struct plot_extent extent = extent_of(model, wanted, columns);
    model->x = plot_window_show(&model->window, &extent);
    each.axis = &model->x;
    each.traces = TRACE_BIT(model->trace);
    for (size_t i = 0; i < model->count; i++)
        if (!curves_update(&model->curves[i], run_series(model->runs[i]), &each, error))
            return false;
    return true;
}

struct axis compare_model_y_axis(const struct compare_model *model, bool log)
{
    double low = DBL_MAX, high = -DBL_MAX;
    for (size_t i = 0; i < model->count; i++)
        if (model->trace < TRACES_PER_ITERATION)
            curve_range(&model->curves[i].trace[model->trace], log, &low, &high);
        else
            validations_range(&model->curves[i], model->trace, log, &low, &high);
    return axis_for_range(low, high, log);
}

size_t compare_model_count_nonpositive(const struct compare_model *model)
{
    size_t count = 0;
    for (size_t i = 0; i < model->count; i++)
        count += model->trace < TRACES_PER_ITERATION
                     ? model->curves[i].trace[model->trace].nonpositive
                     : validations_nonpositive(&model->curves[i], model->trace);
    return count;
}

/* Returns the trace's value under the cursor; NaN after the end of the run. */
static double value_at_cursor(const struct compare_model *model, size_t run)
{
    const struct curves *curves = &model->curves[run];
    double first, last, cursor = model->window.cursor;
    if (!curves_extent(curves->series, curves->view.x, &first, &last) || cursor > last)
        return NAN;
    if (model->trace >= TRACES_PER_ITERATION)
        return curves_validation_value(curves, model->trace, cursor);
    return curves_value(curves, model->trace,
                        curves_nearest(curves->series, curves->view.x, cursor));
}

double compare_model_value(const struct compare_model *model, size_t run)
{
    const struct curves *curves = &model->curves[run];
    if (!curves->series)
        return NAN;
    if (model->window.cursor_on)
        return value_at_cursor(model, run);
    return model->trace < TRACES_PER_ITERATION
               ? curves_newest(curves, model->trace)
               : curves_validation_value(curves, model->trace, INFINITY);
}

/* --- cells --- */

char *compare_model_cell(const struct compare_model *model, size_t row, size_t column, char *text,
                         size_t size)
{
    compare_cell(&model->table, row, column, text, size);
    if (strcmp(text, "not measured") == 0)
        snprintf(text, size, "?");
    return text;
}

void compare_model_heading(const struct compare_model *model, size_t column, char *upper,
                           char *lower, size_t size)
{
    char text[128];
    compare_heading(&model->table, column, text, sizeof text);
    size_t space = strcspn(text, " ");
    snprintf(upper, size, "%.*s", (int)space, text);
    snprintf(lower, size, "%s", text[space] ? text + space + 1 : "");
}
