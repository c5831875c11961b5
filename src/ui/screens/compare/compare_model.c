/* The state of the screen Compare. The runs stay at their indices, which determine colours and
 * curves; only the rows of the table are sorted. */
#include "ui/screens/compare/internal.h"

#include "base/clock.h"
#include "base/language.h"
#include "base/memory.h"
#include "runs/settings/settings.h"
#include "studies/compare/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- compare curves --- */

/* Records stay in the order of the model's runs. Groups are found once for a set of runs; entries
 * are listed again after each choice, since they depend on the pins and the order of the table. */

enum { LABEL_LENGTH = 24 }; /* what a legend of two columns has room for at 80 columns */

/* --- records --- */

static void free_record(struct compare_curve *record)
{
    curves_free(&record->curves);
    curve_marks_free(&record->changes);
    band_free(&record->band);
    *record = (struct compare_curve){0};
}

/* Removes all records. The choice of groups stays. */
static void compare_curves_clear(struct compare_curves *curves)
{
    for (size_t i = 0; i < curves->count; i++)
        free_record(&curves->list[i]);
    curves->count = curves->entry_count = curves->field_count = curves->marks.count = 0;
}

/* Frees the memory and leaves `*curves` {0}. */
static void compare_curves_free(struct compare_curves *curves)
{
    compare_curves_clear(curves);
    free(curves->list);
    free(curves->entries);
    free(curves->configs);
    free(curves->roles);
    free(curves->styles);
    value_range_free(&curves->range);
    axis_marks_free(&curves->marks);
    *curves = (struct compare_curves){0};
}

static bool has_same_runs(const struct compare_model *model)
{
    const struct compare_curves *curves = &model->curves;
    for (size_t i = 0; i < curves->count && i < model->count; i++)
        if (curves->list[i].run != model->runs[i])
            return false;
    return curves->count == model->count;
}

/* Moves the record of a run to index `at`, behind which the records not yet placed lie, or begins
 * one there. */
static void place_record(struct compare_curves *curves, size_t at, const struct run *run)
{
    size_t found = at;
    while (found < curves->count && curves->list[found].run != run)
        found++;
    if (found == curves->count)
        curves->list[curves->count++] = (struct compare_curve){.run = run};
    const struct compare_curve moved = curves->list[found];
    curves->list[found] = curves->list[at];
    curves->list[at] = moved;
}

/* --- groups --- */

/* Returns whether two runs differ in their seed only. Runs of two groups do not belong together,
 * even if both groups have the same settings. */
static bool differ_in_seed_only(const struct run_config *a, const struct run_config *b)
{
    const char *group = record_settings(a).seed_group, *other = record_settings(b).seed_group;
    if (group[0] && other[0] && strcmp(group, other) != 0)
        return false;
    return config_equal(a, b, COMPARE_SEEDS);
}

static void find_groups(struct compare_curves *curves)
{
    for (size_t i = 0; i < curves->count; i++) {
        struct compare_curve *record = &curves->list[i];
        record->group = i;
        record->group_size = 0;
        for (size_t k = 0; k < i && record->group == i; k++)
            if (curves->list[k].group == k &&
                differ_in_seed_only(run_config(curves->list[k].run), run_config(record->run)))
                record->group = k;
        curves->list[record->group].group_size++;
    }
    for (size_t i = 0; i < curves->count; i++)
        curves->list[i].group_size = curves->list[curves->list[i].group].group_size;
}

/* Returns the index of the record that stands for a run: that of its group, or its own. */
static size_t leader_of(const struct compare_curves *curves, size_t run)
{
    return curves->ungrouped ? run : curves->list[run].group;
}

static bool is_member(const struct compare_curves *curves, const struct compare_entry *entry,
                      size_t run)
{
    return leader_of(curves, run) == entry->run;
}

/* --- entries --- */

static bool any_solo(const struct compare_curves *curves)
{
    for (size_t i = 0; i < curves->count; i++)
        if (curves->list[i].solo)
            return true;
    return false;
}

static void list_entry(struct compare_curves *curves, size_t run, size_t row, bool solo)
{
    const size_t leader = leader_of(curves, run);
    const struct compare_curve *record = &curves->list[leader];
    for (size_t i = 0; i < curves->entry_count; i++)
        if (curves->entries[i].run == leader)
            return;
    curves->entries[curves->entry_count++] = (struct compare_entry){
        .run = leader,
        .row = row,
        .runs = curves->ungrouped ? 1 : record->group_size,
        .visible = !record->hidden && (!solo || record->solo || record->pinned),
        .pinned = record->pinned,
        .grouped = !curves->ungrouped};
}

/* Lists the entries in the order of the table, the pinned ones first. */
static void list_entries(struct compare_model *model)
{
    struct compare_curves *curves = &model->curves;
    const bool solo = any_solo(curves);
    curves->entry_count = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t row = 0; row < model->table.count; row++) {
            const size_t run = compare_model_run_of_row(model, row);
            if (run < curves->count && curves->list[leader_of(curves, run)].pinned == (pass == 0))
                list_entry(curves, run, row, solo);
        }
}

/* Finds the fields that labels are made of. */
static void find_fields(struct compare_model *model)
{
    struct compare_curves *curves = &model->curves;
    for (size_t i = 0; i < model->count; i++) {
        curves->configs[i] = run_config(model->runs[i]);
        curves->list[i].label.text[0] = '\0';
    }
    curves->field_count =
        config_differences_shorten(curves->configs, model->count, curves->fields,
                                   compare_model_differences(model, curves->fields), LABEL_LENGTH);
}

/* Makes the records those of the model's runs. Runs that were there keep theirs. Call it after runs
 * were added or the table was sorted. Returns false with an error if out of memory. */
static bool compare_curves_match(struct compare_model *model, struct error *error)
{
    struct compare_curves *curves = &model->curves;
    const bool same = has_same_runs(model);
    /* records of runs that are gone lie behind the others until they are freed */
    if (!memory_grow(&curves->list, &curves->capacity, curves->count + model->count,
                     sizeof *curves->list, "a comparison", error) ||
        !memory_grow(&curves->entries, &curves->entry_capacity, model->count,
                     sizeof *curves->entries, "a comparison", error) ||
        !memory_grow(&curves->configs, &curves->config_capacity, model->count,
                     sizeof *curves->configs, "a comparison", error) ||
        !memory_grow(&curves->roles, &curves->role_capacity, 2 * model->count + 1,
                     sizeof *curves->roles, "a comparison", error) ||
        !memory_grow(&curves->styles, &curves->style_capacity, 2 * model->count + 1,
                     sizeof *curves->styles, "a comparison", error))
        return false;
    for (size_t i = 0; i < model->count && !same; i++)
        place_record(curves, i, model->runs[i]);
    while (curves->count > model->count)
        free_record(&curves->list[--curves->count]);
    if (!same) {
        find_groups(curves);
        find_fields(model);
    }
    list_entries(model);
    return true;
}

char *compare_curves_label(const struct compare_model *model, const struct compare_entry *entry,
                           size_t columns, char *text, size_t size)
{
    const struct compare_curves *curves = &model->curves;
    const struct run *run = curves->list[entry->run].run;
    const struct config_field *fields[CONFIG_MAX_FIELDS];
    size_t count = 0;
    const char *given = model->table.rows[entry->row].given;
    if (entry->runs == 1 && run_facts(run)->imported[0] && given[0]) {
        /* settings of other programs are mostly unknown; the name is that of the source */
        snprintf(text, size, "%s", given);
        return text;
    }
    if (entry->runs == 1)
        config_difference_label(run_config(run), curves->fields, curves->field_count, text, size);
    if (entry->runs > 1 || strlen(text) > columns) {
        for (size_t i = 0; i < curves->field_count; i++)
            if (!entry->grouped || strcmp(curves->fields[i]->key, KEY(seed)) != 0)
                fields[count++] = curves->fields[i];
        config_distinct_label(curves->configs, curves->count, entry->run, fields, count, columns,
                              text, size);
    }
    if (!text[0])
        snprintf(text, size, "%s", run_facts(run)->network);
    return text;
}

const char *compare_curves_fitted_label(struct compare_model *model,
                                        const struct compare_entry *entry, size_t columns)
{
    struct compare_label *label = &model->curves.list[entry->run].label;
    if (!label->text[0] || label->columns != columns || label->grouped != entry->grouped) {
        compare_curves_label(model, entry, columns, label->text, sizeof label->text);
        label->columns = columns;
        label->grouped = entry->grouped;
    }
    return label->text;
}

const struct compare_entry *compare_curves_selected(const struct compare_model *model)
{
    const struct compare_curves *curves = &model->curves;
    if (model->table.count == 0)
        return NULL;
    const size_t run = compare_model_run_of_row(model, model->selected);
    for (size_t i = 0; i < curves->entry_count && run < curves->count; i++)
        if (is_member(curves, &curves->entries[i], run))
            return &curves->entries[i];
    return NULL;
}

void compare_curves_select(struct compare_model *model, long steps)
{
    const struct compare_curves *curves = &model->curves;
    const struct compare_entry *selected = compare_curves_selected(model);
    const long last = (long)curves->entry_count - 1;
    long to = selected ? (long)(selected - curves->entries) + steps : 0;
    if (last < 0)
        return;
    to = to < 0 ? 0 : to > last ? last : to;
    model->selected = curves->entries[to].row;
}

/* --- what is drawn --- */

/* Sets a choice, which lies `offset` bytes from the begin of a record, of all runs of an entry. */
static void choose(struct compare_curves *curves, const struct compare_entry *entry, size_t offset,
                   bool value)
{
    for (size_t i = 0; i < curves->count; i++)
        if (is_member(curves, entry, i))
            *(bool *)((char *)&curves->list[i] + offset) = value;
}

bool compare_curves_hide(struct compare_model *model)
{
    const struct compare_entry *entry = compare_curves_selected(model);
    if (!entry)
        return false;
    choose(&model->curves, entry, offsetof(struct compare_curve, hidden),
           !model->curves.list[entry->run].hidden);
    list_entries(model);
    return true;
}

bool compare_curves_solo(struct compare_model *model)
{
    struct compare_curves *curves = &model->curves;
    const struct compare_entry *entry = compare_curves_selected(model);
    if (!entry)
        return false;
    const bool alone = !curves->list[entry->run].solo;
    for (size_t i = 0; i < curves->count; i++)
        curves->list[i].solo = false;
    choose(curves, entry, offsetof(struct compare_curve, solo), alone);
    if (alone) /* a hidden run is shown when it is to be the only one */
        choose(curves, entry, offsetof(struct compare_curve, hidden), false);
    list_entries(model);
    return true;
}

bool compare_curves_pin(struct compare_model *model)
{
    const struct compare_entry *entry = compare_curves_selected(model);
    if (!entry)
        return false;
    choose(&model->curves, entry, offsetof(struct compare_curve, pinned),
           !model->curves.list[entry->run].pinned);
    list_entries(model);
    return true;
}

size_t compare_curves_toggle_groups(struct compare_model *model)
{
    struct compare_curves *curves = &model->curves;
    size_t groups = 0;
    for (size_t i = 0; i < curves->count; i++)
        groups += curves->list[i].group == i && curves->list[i].group_size > 1;
    curves->ungrouped = !curves->ungrouped;
    list_entries(model);
    return groups;
}

/* --- the model --- */

/* Stops reading and forgets the runs that were to be read. The held keys stay. */
static void stop_gathering(struct compare_gathering *gathering)
{
    run_reader_drop(gathering->reader);
    gathering->reader = NULL;
    gathering->in_sight = NULL;
    gathering->running = false;
    gathering->next = gathering->omitted = 0;
}

void compare_model_clear(struct compare_model *model)
{
    compare_free(&model->table);
    compare_curves_clear(&model->curves);
    for (size_t i = 0; i < model->count; i++)
        compare_files_free(&model->files[i]);
    model->count = model->selected = model->top = model->left = model->scroll = 0;
    model->outdated = false;
    model->difference_count = 0;
    model->window = (struct plot_window){0};
    stop_gathering(&model->gathering);
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
    model->order.column = 0;
    if (!model->order.key[0] ||
        !compare_find_figure(&model->table, model->order.key, &wanted, &error))
        return;
    for (size_t i = 1; i < compare_columns(&model->table); i++)
        if (compare_column_figure(&model->table, i, &figure) &&
            compare_figure_equal(&figure, &wanted))
            model->order.column = i;
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
    if (model->order.column == 0)
        model->order.key[0] = '\0';
    else if (!compare_sort(&model->table, model->order.key, model->order.reverse, error))
        return false;
    compare_model_measure_columns(model);
    return compare_scatter_build(&model->scatter, &model->table, error) &&
           compare_parallel_build(&model->parallel, &model->table, error) &&
           compare_curves_match(model, error);
}

const char *compare_model_sort_name(const struct compare_model *model)
{
    return model->order.column == 0 ? _("as chosen") : model->order.key;
}

void compare_model_step_sort(struct compare_model *model, int steps)
{
    const size_t count = compare_columns(&model->table);
    struct compare_figure figure;
    model->order.column = (size_t)((long)(model->order.column + count) + steps) % count;
    model->order.reverse = false;
    model->order.key[0] = '\0';
    if (compare_column_figure(&model->table, model->order.column, &figure))
        compare_figure_name(&model->table, &figure, model->order.key, sizeof model->order.key);
    model->columns.show = model->order.column;
    model->outdated = true;
}

void compare_model_reverse(struct compare_model *model)
{
    model->order.reverse = !model->order.reverse;
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
