/* An update makes a record of every run, filters and sorts them, and then makes the rows: with
 * groups a head before the runs of each group that is open. The selection is stored as the run's
 * directory or the group's value, so that it stays where it was when the order changes. */
#include "ui/screens/runs/internal.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/portable/portable.h"
#include "runs/settings/settings.h"
#include "ui/app/app.h"
#include "ui/app/run_loading.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REST = 5 }; /* an order rests for so many times the time that it took */

const size_t runs_mean_fields[RUNS_MEANS] = {
    FIGURE_LOSS,      FIGURE_TOP1,        FIGURE_VALIDATION_LOSS,
    FIGURE_BEST_TOP1, FIGURE_TRAINING_MS, FIGURE_SECONDS};

void runs_model_free(struct runs_model *model)
{
    free(model->order);
    free(model->rows);
    free(model->groups);
    free(model->records);
    runs_undo_free(&model->undo);
    *model = (struct runs_model){0};
}

/* --- order --- */

/* Compares by start time: what waits comes first, in the order of the queue. */
static int by_start(const struct runs_model *model, size_t i, size_t j)
{
    const size_t a = model->records[i].place, b = model->records[j].place;
    if (a != b)
        return a == 0 ? 1 : b == 0 ? -1 : (a > b) - (a < b);
    return (i > j) - (i < j);
}

static int by_column(const void *first, const void *second, void *context)
{
    const struct runs_model *model = context;
    const size_t i = *(const size_t *)first, j = *(const size_t *)second;
    const struct run_record *a = &model->records[i], *b = &model->records[j];
    int order = !a->status[0] - !b->status[0]; /* runs that are not read yet come last */
    if (order == 0 && model->group != FIELD_NONE)
        order = run_field_compare(model->group, a, b, false);
    if (order == 0 && model->sort != FIELD_NONE)
        order = run_field_compare(model->sort, a, b, model->backwards);
    if (order != 0)
        return order;
    order = by_start(model, i, j);
    return model->sort == FIELD_NONE && model->backwards ? -order : order;
}

static bool grow(struct runs_model *model, size_t runs, struct error *error)
{
    static const char what[] = "the list of runs";
    return memory_grow(&model->order, &model->capacity, runs, sizeof *model->order, what, error) &&
           memory_grow(&model->records, &model->record_capacity, runs, sizeof *model->records, what,
                       error) &&
           memory_grow(&model->groups, &model->group_capacity, runs, sizeof *model->groups, what,
                       error) &&
           memory_grow(&model->rows, &model->row_capacity, 2 * runs, sizeof *model->rows, what,
                       error);
}

/* Chooses the columns for the runs that are shown, in the order in which they are shown. */
static bool choose_columns(struct runs_model *model, struct error *error)
{
    struct run_record *shown = memory_new(model->count, sizeof *shown, "the list of runs", error);
    if (!shown && model->count > 0)
        return false;
    for (size_t i = 0; i < model->count; i++)
        shown[i] = model->records[model->order[i]];
    runs_columns_choose(&model->columns, shown, model->count);
    free(shown);
    return true;
}

/* --- groups and rows --- */

static size_t find_collapsed(const struct runs_model *model, const char *value)
{
    size_t i = 0;
    while (i < model->collapsed_count && strcmp(model->collapsed[i], value) != 0)
        i++;
    return i;
}

static void begin_group(struct runs_model *model, const char *value, size_t first)
{
    struct runs_group *group = &model->groups[model->group_count++];
    *group = (struct runs_group){.first = first};
    snprintf(group->value, sizeof group->value, "%s", value);
    const bool listed = find_collapsed(model, group->value) < model->collapsed_count;
    group->collapsed = listed != (model->group == FIELD_NONE);
}

/* Adds a run's figures to the means of a group (Welford, Technometrics 4, 1962). */
static void add_to_means(struct runs_group *group, const struct run_record *record)
{
    for (size_t i = 0; i < RUNS_MEANS; i++) {
        struct runs_mean *mean = &group->means[i];
        const double value = run_field_number(runs_mean_fields[i], record);
        if (!isfinite(value))
            continue;
        const double difference = value - mean->mean;
        mean->mean += difference / (double)++mean->count;
        mean->squares += difference * (value - mean->mean);
    }
}

/* Divides the order into groups: runs with equal texts in the field follow each other. */
static void make_groups(struct runs_model *model)
{
    char text[FIELD_TEXT], value[RUNS_GROUP_VALUE];
    model->group_count = 0;
    for (size_t i = 0; model->group != FIELD_NONE && i < model->count; i++) {
        snprintf(value, sizeof value, "%.63s",
                 runs_cell(model->group, &model->records[model->order[i]], text, sizeof text));
        if (model->group_count == 0 ||
            strcasecmp(model->groups[model->group_count - 1].value, value) != 0)
            begin_group(model, value, i);
        struct runs_group *group = &model->groups[model->group_count - 1];
        group->count++;
        add_to_means(group, &model->records[model->order[i]]);
    }
}

/* Returns the group of seeds of run number `place` of the order; "" if it has none or is not read
 * yet. */
static const char *seed_group_of(const struct runs_model *model, size_t place)
{
    const struct run_record *record = &model->records[model->order[place]];
    return record->known && record->config ? record_settings(record->config).seed_group : "";
}

/* Moves the other runs of the group of seeds behind its first run `first`. Returns how many runs it
 * has. */
static size_t gather_seeds(struct runs_model *model, size_t first)
{
    const char *group = seed_group_of(model, first);
    size_t count = 1;
    for (size_t i = first + 1; group[0] && i < model->count; i++) {
        if (strcmp(seed_group_of(model, i), group) != 0)
            continue;
        const size_t run = model->order[i];
        memmove(&model->order[first + count + 1], &model->order[first + count],
                (i - first - count) * sizeof *model->order);
        model->order[first + count++] = run;
    }
    return count;
}

/* Makes the groups of seeds, if the table is not grouped by a field. */
static void make_seed_groups(struct runs_model *model)
{
    for (size_t i = 0, count; model->group == FIELD_NONE && i < model->count; i += count) {
        count = gather_seeds(model, i);
        if (count < 2)
            continue;
        begin_group(model, seed_group_of(model, i), i);
        struct runs_group *group = &model->groups[model->group_count - 1];
        group->count = count;
        for (size_t k = i; k < i + count; k++)
            add_to_means(group, &model->records[model->order[k]]);
    }
}

static void add_row(struct runs_model *model, size_t index, size_t group)
{
    model->rows[model->row_count++] = (struct runs_row){index, group};
}

static void make_rows(struct runs_model *model)
{
    size_t next = 0; /* of the order */
    model->row_count = 0;
    for (size_t g = 0; g < model->group_count; g++) {
        const struct runs_group *group = &model->groups[g];
        while (next < group->first)
            add_row(model, model->order[next++], SIZE_MAX);
        add_row(model, SIZE_MAX, g);
        for (size_t i = 0; !group->collapsed && i < group->count; i++)
            add_row(model, model->order[group->first + i], g);
        next = group->first + group->count;
    }
    while (next < model->count)
        add_row(model, model->order[next++], SIZE_MAX);
}

static bool make_order(struct app *app)
{
    struct runs_model *model = runs_model(app);
    struct error error;
    const size_t count = app_run_count(app);
    if (!grow(model, count, &error)) {
        app_say_error(app, &error);
        return false;
    }
    model->count = model->unread = 0;
    for (size_t i = 0; i < count; i++) {
        model->unread += loading_is_unread(app_run_at(app, i));
        runs_record(app_run_at(app, i), &model->records[i]);
        if (run_filter_matches(&app->shared.runs_filter, &model->records[i]))
            model->order[model->count++] = i;
    }
    if (model->count > 0) /* else `order` may be NULL */
        portable_sort(model->order, model->count, sizeof *model->order, by_column, model);
    make_groups(model);
    make_seed_groups(model);
    make_rows(model);
    if (choose_columns(model, &error))
        return true;
    app_say_error(app, &error);
    return false;
}

/* --- selection --- */

/* Returns the selected row, or NULL if there is none. */
static const struct runs_row *selected_row(const struct runs_model *model)
{
    const size_t row = model->selection.row;
    return row < model->row_count ? &model->rows[row] : NULL;
}

size_t runs_model_index(const struct app *app)
{
    const struct runs_row *row = selected_row(runs_model(app));
    const size_t index = row ? row->index : SIZE_MAX;
    return index < app_run_count(app) ? index : app_run_count(app);
}

const struct runs_group *runs_model_head(const struct app *app)
{
    const struct runs_model *model = runs_model(app);
    const struct runs_row *row = selected_row(model);
    return row && row->index == SIZE_MAX ? &model->groups[row->group] : NULL;
}

/* Stores the selected run's directory, because indices shift when the list grows. */
static void remember_selected(struct app *app)
{
    struct runs_selection *selection = &runs_model(app)->selection;
    const struct runs_group *head = runs_model_head(app);
    selection->index = runs_model_index(app);
    selection->directory[0] = '\0';
    selection->at_head = head;
    if (head)
        memcpy(selection->group, head->value, sizeof selection->group);
    if (selection->index >= app_run_count(app))
        return;
    const char *directory = run_entry_directory(app_run_at(app, selection->index));
    snprintf(selection->directory, sizeof selection->directory, "%s", directory ? directory : "");
}

static bool was_selected(const struct app *app, const struct runs_row *row)
{
    const struct runs_model *model = runs_model(app);
    const struct runs_selection *selection = &model->selection;
    if (selection->at_head)
        return row->index == SIZE_MAX &&
               strcmp(model->groups[row->group].value, selection->group) == 0;
    if (row->index == SIZE_MAX)
        return false;
    const char *directory = run_entry_directory(app_run_at(app, row->index));
    if (!selection->directory[0])
        return row->index == selection->index;
    return directory && strcmp(directory, selection->directory) == 0;
}

/* Returns whether the order can wait: while outlines are read, ordering thousands of runs again
 * after each of them would take longer than reading them, and in each frame of an active run most
 * of the frame's time. */
static bool can_wait(const struct app *app)
{
    const struct runs_model *model = runs_model(app);
    const bool reading = model->unread > 0 && loading_is_reading_outlines(app);
    return (reading || !app->shared.runs_changed) &&
           clock_nanoseconds() - model->ordered < REST * model->order_took;
}

void runs_model_update(struct app *app)
{
    struct runs_model *model = runs_model(app);
    size_t count = app_run_count(app);
    if (model->known == count && !app->shared.runs_changed && !run_list_active(&app->shared.runs))
        return;
    if (model->known == count && can_wait(app))
        return;
    const uint64_t from = clock_nanoseconds();
    if (!make_order(app))
        return;
    model->ordered = clock_nanoseconds();
    model->order_took = model->ordered - from;
    if (model->selection.row >= model->row_count)
        model->selection.row = model->row_count > 0 ? model->row_count - 1 : 0;
    for (size_t i = 0; model->selection.moved && i < model->row_count; i++)
        if (was_selected(app, &model->rows[i])) {
            model->selection.row = i;
            break;
        }
    remember_selected(app);
    model->known = count;
    app->shared.runs_changed = false;
}

void runs_model_move(struct app *app, long steps)
{
    struct runs_model *model = runs_model(app);
    struct runs_selection *selection = &model->selection;
    long last = (long)model->row_count - 1, to = (long)selection->row + steps;
    selection->row = (size_t)(to < 0 || last < 0 ? 0 : to > last ? last : to);
    selection->moved = true;
    remember_selected(app);
}

/* --- what the keys change --- */

void runs_model_sort(struct app *app, int direction)
{
    struct runs_model *model = runs_model(app);
    const size_t choices = model->columns.count + 1; /* the first is the start time */
    const size_t at =
        model->sort == FIELD_NONE ? 0 : runs_columns_place(&model->columns, model->sort);
    const size_t to = (at + (direction > 0 ? 1 : choices - 1)) % choices;
    model->sort = to == 0 ? FIELD_NONE : model->columns.list[to - 1].field;
    model->backwards = model->sort == FIGURE_TOP1 || model->sort == FIGURE_TOP5 ||
                       model->sort == FIGURE_BEST_TOP1 ||
                       model->sort == FIGURE_BEGUN; /* best first */
    app->shared.runs_changed = true;
}

void runs_model_group(struct app *app, size_t field)
{
    struct runs_model *model = runs_model(app);
    model->group = field;
    model->collapsed_count = 0;
    app->shared.runs_changed = true;
    runs_model_update(app);
}

void runs_model_collapse(struct app *app, bool collapsed)
{
    struct runs_model *model = runs_model(app);
    const struct runs_row *row = selected_row(model);
    if (!row || row->group == SIZE_MAX)
        return;
    const struct runs_group *group = &model->groups[row->group];
    const bool listed = collapsed != (model->group == FIELD_NONE);
    const size_t place = find_collapsed(model, group->value);
    if (listed && place == model->collapsed_count && place < RUNS_COLLAPSED)
        memcpy(model->collapsed[model->collapsed_count++], group->value, RUNS_GROUP_VALUE);
    else if (!listed && place < model->collapsed_count)
        memcpy(model->collapsed[place], model->collapsed[--model->collapsed_count],
               RUNS_GROUP_VALUE);
    model->selection.at_head = model->selection.moved = true;
    memcpy(model->selection.group, group->value, sizeof model->selection.group);
    app->shared.runs_changed = true;
    runs_model_update(app);
}

bool runs_model_read_outlines(struct app *app)
{
    runs_model_update(app);
    return loading_read_outlines(app);
}
