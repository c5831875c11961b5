/* Records stay in the order of the model's runs. Groups are found once for a set of runs; entries
 * are listed again after each choice, since they depend on the pins and the order of the table. */
#include "ui/screens/compare/compare_curves.h"

#include "base/language.h"
#include "base/memory.h"
#include "ui/screens/compare/compare_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_LENGTH = 24 }; /* what a legend of two columns has room for at 80 columns */

/* --- records --- */

static void free_record(struct compare_curve *record)
{
    curves_free(&record->curves);
    curve_marks_free(&record->changes);
    band_free(&record->band);
    *record = (struct compare_curve){0};
}

void compare_curves_clear(struct compare_curves *curves)
{
    for (size_t i = 0; i < curves->count; i++)
        free_record(&curves->list[i]);
    curves->count = curves->entry_count = curves->field_count = curves->marks.count = 0;
}

void compare_curves_free(struct compare_curves *curves)
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
    static const char *const of_seeds[] = {KEY(seed), KEY(seeds), KEY(seed_group)};
    if (a->seed_group[0] && b->seed_group[0] && strcmp(a->seed_group, b->seed_group) != 0)
        return false;
    for (size_t i = 0; i < config_field_count; i++) {
        bool skip = false;
        for (size_t k = 0; k < sizeof of_seeds / sizeof *of_seeds; k++)
            skip = skip || strcmp(config_fields[i].key, of_seeds[k]) == 0;
        if (!skip && !config_field_equal(a, b, &config_fields[i]))
            return false;
    }
    return true;
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

bool compare_curves_match(struct compare_model *model, struct error *error)
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
