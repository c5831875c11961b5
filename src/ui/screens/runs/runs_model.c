#include "ui/screens/runs/runs_model.h"
#include "session/config/config_paths.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "ui/app/app.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Widths hold the headings of every language there is; see runs_columns. */
static const struct table_column columns[RUNS_COLUMNS] = {
    [RUNS_MARK] = {"", 1, 0, false, false},
    [RUNS_NUMBER] = {N_("#"), 3, 3, true, false},
    [RUNS_STATUS] = {N_("status"), 11, 0, false, false},
    [RUNS_NETWORK] = {N_("network"), 10, 0, false, true},
    [RUNS_TECHNIQUE] = {N_("technique"), 9, 4, false, false},
    [RUNS_NAME] = {N_("name"), 10, 5, false, true},
    [RUNS_DATA] = {N_("data"), 8, 6, false, true},
    [RUNS_BATCH] = {N_("batch"), 5, 7, true, false},
    [RUNS_DEVICE] = {N_("device"), 9, 10, false, false},
    [RUNS_EPOCHS] = {N_("epochs"), 9, 8, true, false},
    [RUNS_LOSS] = {N_("loss"), 8, 1, true, false},
    [RUNS_TOP1] = {N_("top-1"), 6, 2, true, false},
    [RUNS_SPEED] = {N_("ms/image"), 8, 9, true, false},
    [RUNS_BEGUN] = {N_("begun (UTC)"), 11, 11, false, false},
};

void runs_view_free(struct runs_view *view)
{
    free(view->order);
    *view = (struct runs_view){0};
}

const char *runs_heading(enum runs_column column)
{
    return columns[column].title[0] ? gettext(columns[column].title) : "";
}

void runs_columns(const struct runs_view *view, struct table_column *fitted)
{
    memcpy(fitted, columns, sizeof columns);
    if (!view->named)
        fitted[RUNS_NAME].width = 0;
}

/* --- cells --- */

const char *runs_id(const struct run_entry *entry)
{
    if (run_entry_is_saved(entry))
        return file_base_name(entry->directory);
    return entry->run ? run_facts(entry->run)->id : "";
}

const char *runs_called(const struct run_entry *entry)
{
    return entry->name[0] ? entry->name : runs_id(entry);
}

/* The name of a run's folder begins with the time: 20261121-063012-lenet-1a2b. */
static void begun_text(const struct run_entry *entry, char *text, size_t size)
{
    const char *id = runs_id(entry);
    if (strspn(id, "0123456789") == 8 && id[8] == '-' && strspn(id + 9, "0123456789") == 6)
        snprintf(text, size, "%.2s-%.2s %.2s:%.2s", id + 4, id + 6, id + 9, id + 11);
}

static bool is_started(const struct run_entry *entry)
{
    return (entry->run || entry->outline_known) && entry->snapshot.iterations > 0;
}

static bool has_top1(const struct run_entry *entry)
{
    return entry->snapshot.has_validation && isfinite(entry->snapshot.top1);
}

/* "3/10": epochs done, of; or what a run that has not begun is asked for. */
static void epochs_text(const struct run_entry *entry, char *text, size_t size)
{
    const struct run_snapshot *now = &entry->snapshot;
    if (!is_started(entry) && entry->config.has_iterations)
        return;
    if (!is_started(entry))
        snprintf(text, size, "%zu", entry->config.epochs);
    else if (now->epoch >= now->epochs)
        snprintf(text, size, "%.4g", now->epochs);
    else
        snprintf(text, size, "%.3g/%.4g", now->epoch, now->epochs);
}

static void figure_text(const struct run_entry *entry, enum runs_column column, char *text,
                        size_t size)
{
    const struct run_snapshot *now = &entry->snapshot;
    if (column == RUNS_BATCH)
        snprintf(text, size, entry->config.batch ? "%zu" : "?", entry->config.batch);
    else if (column == RUNS_EPOCHS)
        epochs_text(entry, text, size);
    else if (column == RUNS_LOSS && is_started(entry) && now->iteration > 0)
        snprintf(text, size, "%.4g", (double)now->loss);
    else if (column == RUNS_TOP1 && has_top1(entry))
        snprintf(text, size, "%.2f", now->top1);
    else if (column == RUNS_SPEED && is_started(entry) && now->ms_per_image_median > 0)
        snprintf(text, size, "%.3g", now->ms_per_image_median);
}

static bool is_figure(enum runs_column column)
{
    return columns[column].right && column != RUNS_NUMBER;
}

/* What a column says in words; NULL: it is one of figures. */
static const char *words_of(const struct run_entry *entry, enum runs_column column)
{
    switch (column) {
    case RUNS_MARK:
        return entry->marked ? "*" : "";
    case RUNS_STATUS:
        return language_text(run_entry_status(entry));
    case RUNS_NETWORK:
        return file_base_name(entry->config.network);
    case RUNS_TECHNIQUE:
        return technique_name((enum technique)entry->config.technique);
    case RUNS_NAME:
        return entry->name;
    case RUNS_DATA:
        return entry->config.data;
    case RUNS_DEVICE:
        return entry->config.device;
    default:
        return NULL;
    }
}

char *runs_cell(const struct app *app, size_t index, enum runs_column column, char *text,
                size_t size)
{
    const struct run_entry *entry = app_run_at(app, index);
    bool blank =
        run_entry_is_saved(entry) && !entry->outline_known; /* its settings are not known */
    text[0] = '\0';
    if (column == RUNS_BEGUN)
        begun_text(entry, text, size);
    else if (column == RUNS_NUMBER && !run_entry_is_saved(entry))
        snprintf(text, size, "%zu", index + 1);
    else if (blank && column == RUNS_NETWORK)
        snprintf(text, size, "%s", runs_id(entry));
    else if (column == RUNS_DATA && !blank)
        config_short_value("data", entry->config.data, text, size);
    else if (column <= RUNS_STATUS || !blank) {
        const char *words = words_of(entry, column);
        if (words)
            snprintf(text, size, "%s", words);
        else if (is_figure(column))
            figure_text(entry, column, text, size);
    }
    return text;
}

/* --- searching --- */

static bool word_occurs(const struct app *app, size_t index, const char *word)
{
    char text[512];
    if (strcasestr(runs_id(app_run_at(app, index)), word))
        return true;
    for (enum runs_column column = RUNS_NUMBER; column < RUNS_COLUMNS; column++)
        if (strcasestr(runs_cell(app, index, column, text, sizeof text), word))
            return true;
    return false;
}

bool runs_match(const struct app *app, size_t index)
{
    char words[sizeof app->table.search.text], *rest = words;
    snprintf(words, sizeof words, "%s", app->table.search.text);
    for (char *word; (word = strtok_r(rest, " ", &rest));)
        if (!word_occurs(app, index, word))
            return false;
    return true;
}

/* --- order --- */

/* What is sorted by: NaN: unknown. */
static double figure_of(const struct run_entry *entry, enum runs_column column)
{
    const struct run_snapshot *now = &entry->snapshot;
    switch (column) {
    case RUNS_BATCH:
        return (double)entry->config.batch;
    case RUNS_EPOCHS:
        return is_started(entry) ? now->epoch : NAN;
    case RUNS_LOSS:
        return is_started(entry) && now->iteration > 0 ? (double)now->loss : NAN;
    case RUNS_TOP1:
        return has_top1(entry) ? now->top1 : NAN;
    default:
        return is_started(entry) && now->ms_per_image_median > 0 ? now->ms_per_image_median : NAN;
    }
}

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
    const struct runs_view *view = &app->table;
    const struct run_entry *a = app_run_at(app, i), *b = app_run_at(app, j);
    int order = (int)reading_is_unread(a) - (int)reading_is_unread(b);
    if (order == 0 && is_figure(view->sort))
        order =
            compare_figures(figure_of(a, view->sort), figure_of(b, view->sort), view->backwards);
    else if (order == 0 && view->sort == RUNS_BEGUN)
        order = compare_words(runs_id(a), runs_id(b), view->backwards);
    else if (order == 0 && view->sort != RUNS_NUMBER)
        order = compare_words(words_of(a, view->sort), words_of(b, view->sort), view->backwards);
    if (order != 0)
        return order;
    order = (i > j) - (i < j);
    return view->sort == RUNS_NUMBER && view->backwards ? -order : order;
}

size_t runs_view_index(const struct app *app)
{
    const struct runs_view *view = &app->table;
    return view->selected < view->count ? view->order[view->selected] : app_run_count(app);
}

static bool make_order(struct app *app)
{
    struct runs_view *view = &app->table;
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
        view->unread += reading_is_unread(entry);
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
    struct runs_view *view = &app->table;
    view->at_index = runs_view_index(app);
    view->at[0] = '\0';
    if (view->at_index >= app_run_count(app))
        return;
    const char *directory = run_entry_directory(app_run_at(app, view->at_index));
    snprintf(view->at, sizeof view->at, "%s", directory ? directory : "");
}

static bool was_selected(const struct app *app, size_t index)
{
    const char *directory = run_entry_directory(app_run_at(app, index));
    if (!app->table.at[0])
        return index == app->table.at_index;
    return directory && strcmp(directory, app->table.at) == 0;
}

void runs_view_update(struct app *app)
{
    struct runs_view *view = &app->table;
    size_t count = app_run_count(app);
    if (view->known == count && !view->stale && !run_list_active(&app->runs))
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
    view->stale = false;
}

void runs_view_move(struct app *app, long steps)
{
    struct runs_view *view = &app->table;
    long last = (long)view->count - 1, to = (long)view->selected + steps;
    view->selected = (size_t)(to < 0 || last < 0 ? 0 : to > last ? last : to);
    view->moved = true;
    remember_selected(app);
}

void runs_view_sort(struct app *app, int direction)
{
    struct runs_view *view = &app->table;
    size_t steps = direction > 0 ? 1 : RUNS_COLUMNS - 1;
    do
        view->sort = (enum runs_column)(((size_t)view->sort + steps) % RUNS_COLUMNS);
    while (view->sort == RUNS_NAME && !view->named);
    view->backwards = view->sort == RUNS_TOP1 || view->sort == RUNS_BEGUN; /* the best first */
    if (view->sort == RUNS_MARK)
        view->backwards = false;
    view->stale = true;
}

bool runs_view_read(struct app *app)
{
    runs_view_update(app);
    return reading_outlines(app);
}
