/* The state of the screen Compare. The runs stay at their indices, which determine colours and
 * curves; only the rows of the table are sorted. Columns are the fixed ones below, then the times
 * and the energies of the devices. */
#include "ui/screens/compare/compare_model.h"

#include "base/clock.h"
#include "base/language.h"
#include "base/memory.h"
#include "session/measure/compare_files.h"

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
    compare_curves_clear(&model->curves);
    for (size_t i = 0; i < model->count; i++)
        compare_files_free(&model->files[i]);
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
    compare_curves_free(&model->curves);
    plot_free(&model->plot);
    free(model->runs);
    free(model->files);
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
                     "the comparison", error))
        return false;
    model->files[model->count] = *files;
    *files = (struct compare_files){0};
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
    return made && (model->sort == 0 || compare_sort(&model->table, model->sort_key, error)) &&
           compare_curves_match(model, error);
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
