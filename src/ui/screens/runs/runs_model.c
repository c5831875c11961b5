/* The order of the run table: which runs match the search, sorted by one column. The selection
 * stays with its run when the order changes. */
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

void runs_model_free(struct runs_model *view)
{
    free(view->order);
    *view = (struct runs_model){0};
}

void runs_columns(const struct runs_model *view, struct table_column *fitted)
{
    memcpy(fitted, runs_table_columns(), RUNS_COLUMNS * sizeof *fitted);
    if (!view->named)
        fitted[RUNS_NAME].width = 0;
}

/* --- order --- */

static int compare_figures(double a, double b, bool backwards)
{
    if (isnan(a) || isnan(b)) /* what is unknown comes last, in either direction */
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
    const struct runs_model *view = runs_model(app);
    const struct run_entry *a = app_run_at(app, i), *b = app_run_at(app, j);
    int order = (int)loading_is_unread(a) - (int)loading_is_unread(b);
    if (order == 0 && runs_is_numeric(view->sort))
        order =
            compare_figures(runs_value(a, view->sort), runs_value(b, view->sort), view->backwards);
    else if (order == 0 && view->sort == RUNS_BEGUN)
        order = compare_words(runs_id(a), runs_id(b), view->backwards);
    else if (order == 0 && view->sort != RUNS_NUMBER)
        order = compare_words(runs_text(a, view->sort), runs_text(b, view->sort), view->backwards);
    if (order != 0)
        return order;
    order = (i > j) - (i < j);
    return view->sort == RUNS_NUMBER && view->backwards ? -order : order;
}

size_t runs_model_index(const struct app *app)
{
    const struct runs_model *view = runs_model(app);
    return view->selected < view->count ? view->order[view->selected] : app_run_count(app);
}

static bool make_order(struct app *app)
{
    struct runs_model *view = runs_model(app);
    struct error error;
    size_t count = app_run_count(app);
    if (!memory_grow(&view->order, &view->capacity, count, sizeof *view->order, "the list of runs",
                     &error)) {
        app_say_error(app, &error);
        return false;
    }
    view->count = view->unread = 0;
    view->named = false;
    for (size_t i = 0; i < count; i++) {
        const struct run_entry *entry = app_run_at(app, i);
        view->unread += loading_is_unread(entry);
        view->named = view->named || entry->name[0];
        if (runs_match(app, i))
            view->order[view->count++] = i;
    }
    if (view->count > 0) /* else there may be no array yet */
        qsort_r(view->order, view->count, sizeof *view->order, by_column, app);
    return true;
}

/* Places shift when the list grows; a run's directory is its own. */
static void remember_selected(struct app *app)
{
    struct runs_model *view = runs_model(app);
    view->at_index = runs_model_index(app);
    view->at[0] = '\0';
    if (view->at_index >= app_run_count(app))
        return;
    const char *directory = run_entry_directory(app_run_at(app, view->at_index));
    snprintf(view->at, sizeof view->at, "%s", directory ? directory : "");
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
    struct runs_model *view = runs_model(app);
    size_t count = app_run_count(app);
    if (view->known == count && !app->shared.runs_changed && !run_list_active(&app->shared.runs))
        return;
    if (!make_order(app))
        return;
    if (view->selected >= view->count)
        view->selected = view->count > 0 ? view->count - 1 : 0;
    for (size_t i = 0; view->moved && i < view->count; i++)
        if (was_selected(app, view->order[i])) {
            view->selected = i;
            break;
        }
    remember_selected(app);
    view->known = count;
    app->shared.runs_changed = false;
}

void runs_model_move(struct app *app, long steps)
{
    struct runs_model *view = runs_model(app);
    long last = (long)view->count - 1, to = (long)view->selected + steps;
    view->selected = (size_t)(to < 0 || last < 0 ? 0 : to > last ? last : to);
    view->moved = true;
    remember_selected(app);
}

void runs_model_sort(struct app *app, int direction)
{
    struct runs_model *view = runs_model(app);
    size_t steps = direction > 0 ? 1 : RUNS_COLUMNS - 1;
    do
        view->sort = (enum runs_column)(((size_t)view->sort + steps) % RUNS_COLUMNS);
    while (view->sort == RUNS_NAME && !view->named);
    view->backwards = view->sort == RUNS_TOP1 || view->sort == RUNS_BEGUN; /* the best first */
    if (view->sort == RUNS_MARK)
        view->backwards = false;
    app->shared.runs_changed = true;
}

bool runs_model_read_outlines(struct app *app)
{
    runs_model_update(app);
    return loading_read_outlines(app);
}
