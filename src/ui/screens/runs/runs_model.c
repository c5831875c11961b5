/* The rows of the run table: the runs that match the search, sorted by one column. The selection is
 * stored as the run's directory, so that it stays with its run when the order changes. */
#include "ui/screens/runs/runs_model.h"

#include "base/memory.h"
#include "ui/app/app.h"
#include "ui/app/run_loading.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct runs_model *runs_model(const struct app *app)
{
    return app_state(app, SCREEN_RUNS);
}

void runs_model_free(struct runs_model *model)
{
    free(model->order);
    *model = (struct runs_model){0};
}

void runs_columns(const struct runs_model *model, struct table_column *fitted)
{
    memcpy(fitted, runs_table_columns(), RUNS_COLUMNS * sizeof *fitted);
    if (!model->named)
        fitted[RUNS_NAME].width = 0;
}

/* --- order --- */

static int compare_figures(double a, double b, bool backwards)
{
    if (isnan(a) || isnan(b)) /* unknown values come last in both directions */
        return isnan(a) - isnan(b);
    int order = (a > b) - (a < b);
    return backwards ? -order : order;
}

static int compare_words(const char *a, const char *b, bool backwards)
{
    if (!a[0] || !b[0])
        return !a[0] - !b[0];
    int order = strcasecmp(a, b);
    return backwards ? -order : order;
}

static int by_column(const void *first, const void *second, void *context)
{
    const struct app *app = context;
    size_t i = *(const size_t *)first, j = *(const size_t *)second;
    const struct runs_model *model = runs_model(app);
    const struct run_entry *a = app_run_at(app, i), *b = app_run_at(app, j);
    int order = (int)loading_is_unread(a) - (int)loading_is_unread(b);
    if (order == 0 && runs_is_numeric(model->sort))
        order = compare_figures(runs_value(a, model->sort), runs_value(b, model->sort),
                                model->backwards);
    else if (order == 0 && model->sort == RUNS_BEGUN)
        order = compare_words(runs_id(a), runs_id(b), model->backwards);
    else if (order == 0 && model->sort != RUNS_NUMBER)
        order =
            compare_words(runs_text(a, model->sort), runs_text(b, model->sort), model->backwards);
    if (order != 0)
        return order;
    order = (i > j) - (i < j);
    return model->sort == RUNS_NUMBER && model->backwards ? -order : order;
}

size_t runs_model_index(const struct app *app)
{
    const struct runs_model *model = runs_model(app);
    return model->selected < model->count ? model->order[model->selected] : app_run_count(app);
}

static bool make_order(struct app *app)
{
    struct runs_model *model = runs_model(app);
    struct error error;
    size_t count = app_run_count(app);
    if (!memory_grow(&model->order, &model->capacity, count, sizeof *model->order,
                     "the list of runs", &error)) {
        app_say_error(app, &error);
        return false;
    }
    model->count = model->unread = 0;
    model->named = false;
    for (size_t i = 0; i < count; i++) {
        const struct run_entry *entry = app_run_at(app, i);
        model->unread += loading_is_unread(entry);
        model->named = model->named || entry->name[0];
        if (runs_match(app, i))
            model->order[model->count++] = i;
    }
    if (model->count > 0) /* else `order` may be NULL */
        qsort_r(model->order, model->count, sizeof *model->order, by_column, app);
    return true;
}

/* Stores the selected run's directory, because indices shift when the list grows. */
static void remember_selected(struct app *app)
{
    struct runs_model *model = runs_model(app);
    model->at_index = runs_model_index(app);
    model->at[0] = '\0';
    if (model->at_index >= app_run_count(app))
        return;
    const char *directory = run_entry_directory(app_run_at(app, model->at_index));
    snprintf(model->at, sizeof model->at, "%s", directory ? directory : "");
}

static bool was_selected(const struct app *app, size_t index)
{
    const char *directory = run_entry_directory(app_run_at(app, index));
    if (!runs_model(app)->at[0])
        return index == runs_model(app)->at_index;
    return directory && strcmp(directory, runs_model(app)->at) == 0;
}

void runs_model_update(struct app *app)
{
    struct runs_model *model = runs_model(app);
    size_t count = app_run_count(app);
    if (model->known == count && !app->shared.runs_changed && !run_list_active(&app->shared.runs))
        return;
    if (!make_order(app))
        return;
    if (model->selected >= model->count)
        model->selected = model->count > 0 ? model->count - 1 : 0;
    for (size_t i = 0; model->moved && i < model->count; i++)
        if (was_selected(app, model->order[i])) {
            model->selected = i;
            break;
        }
    remember_selected(app);
    model->known = count;
    app->shared.runs_changed = false;
}

void runs_model_move(struct app *app, long steps)
{
    struct runs_model *model = runs_model(app);
    long last = (long)model->count - 1, to = (long)model->selected + steps;
    model->selected = (size_t)(to < 0 || last < 0 ? 0 : to > last ? last : to);
    model->moved = true;
    remember_selected(app);
}

void runs_model_sort(struct app *app, int direction)
{
    struct runs_model *model = runs_model(app);
    size_t steps = direction > 0 ? 1 : RUNS_COLUMNS - 1;
    do
        model->sort = (enum runs_column)(((size_t)model->sort + steps) % RUNS_COLUMNS);
    while (model->sort == RUNS_NAME && !model->named);
    model->backwards = model->sort == RUNS_TOP1 || model->sort == RUNS_BEGUN; /* the best first */
    if (model->sort == RUNS_MARK)
        model->backwards = false;
    app->shared.runs_changed = true;
}

bool runs_model_read_outlines(struct app *app)
{
    runs_model_update(app);
    return loading_read_outlines(app);
}
