/* The state of the screen Compare. The runs stay at their indices, which determine colours and
 * curves; only the rows of the table are sorted. */
#include "ui/screens/compare/internal.h"

#include "base/clock.h"
#include "base/language.h"
#include "base/memory.h"
#include "session/measure/compare_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void compare_model_clear(struct compare_model *model)
{
    compare_free(&model->table);
    compare_curves_clear(&model->curves);
    for (size_t i = 0; i < model->count; i++)
        compare_files_free(&model->files[i]);
    model->count = model->selected = model->top = model->left = model->scroll = model->next = 0;
    model->gathering = model->outdated = model->chooser.open = false;
    model->omitted = 0;
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
    compare_scatter_free(&model->scatter);
    compare_parallel_free(&model->parallel);
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

/* Finds the column with the sort key again, since columns come and go with the runs. */
static void find_sort_column(struct compare_model *model)
{
    struct compare_figure wanted, figure;
    struct error error;
    model->sort = 0;
    if (!model->sort_key[0] ||
        !compare_find_figure(&model->table, model->sort_key, &wanted, &error))
        return;
    for (size_t i = 1; i < compare_columns(&model->table); i++)
        if (compare_column_figure(&model->table, i, &figure) &&
            compare_figure_equal(&figure, &wanted))
            model->sort = i;
}

static bool fill_table(struct compare_model *model, struct error *error)
{
    bool made = true;
    for (size_t i = 0; made && i < model->count; i++)
        made = compare_add(&model->table, model->runs[i], &model->files[i], error);
    made = made && (model->curves.ungrouped || compare_merge_seeds(&model->table, NULL, error)) &&
           compare_add_settings(&model->table, error) &&
           (!model->published || compare_add_published(&model->table, error));
    return made && compare_complete(&model->table, error);
}

bool compare_model_build(struct compare_model *model, struct error *error)
{
    compare_free(&model->table);
    model->built = clock_nanoseconds();
    model->outdated = false;
    if (!find_differences(model, error) || !fill_table(model, error))
        return false;
    if (model->selected >= model->table.count)
        model->selected = model->table.count > 0 ? model->table.count - 1 : 0;
    find_sort_column(model);
    if (model->sort == 0)
        model->sort_key[0] = '\0';
    else if (!compare_sort(&model->table, model->sort_key, model->reverse, error))
        return false;
    compare_model_measure_columns(model);
    return compare_scatter_build(&model->scatter, &model->table, error) &&
           compare_parallel_build(&model->parallel, &model->table, error) &&
           compare_curves_match(model, error);
}

const char *compare_model_sort_name(const struct compare_model *model)
{
    return model->sort == 0 ? _("as chosen") : model->sort_key;
}

void compare_model_step_sort(struct compare_model *model, int steps)
{
    const size_t count = compare_columns(&model->table);
    struct compare_figure figure;
    model->sort = (size_t)((long)(model->sort + count) + steps) % count;
    model->reverse = false;
    model->sort_key[0] = '\0';
    if (compare_column_figure(&model->table, model->sort, &figure))
        compare_figure_name(&model->table, &figure, model->sort_key, sizeof model->sort_key);
    model->show = model->sort;
    model->outdated = true;
}

void compare_model_reverse(struct compare_model *model)
{
    model->reverse = !model->reverse;
    model->outdated = true;
}

size_t compare_model_run_of_row(const struct compare_model *model, size_t row)
{
    for (size_t i = 0; i < model->count; i++)
        if (model->table.rows[row].run == model->runs[i])
            return i;
    return COMPARE_NO_RUN;
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
    static const enum trace order[] = {TRACE_SMOOTHED, TRACE_DISCRIMINATOR, TRACE_L1,
                                       TRACE_LABELS,   TRACE_TEACHER,       TRACE_VALIDATION,
                                       TRACE_TOP1,     TRACE_TOP5,          TRACE_PIXELS,
                                       TRACE_CAFFE,    TRACE_MEAN,          TRACE_MS,
                                       TRACE_RATE};
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
