/* The runs: those of this sitting, of which one trains while the others wait or are over, then the
 * kept ones of earlier sittings, the newest first. A kept run is read when it comes into sight. */
#include "ui/app.h"

#include "base/file.h"
#include "base/language.h"
#include "ui/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct key_binding bindings[] = {
    {UI_ENTER, 0, ACTION_OPEN, N_("Enter"), N_("watch"), N_("watch the selected run")},
    {' ', 0, ACTION_MARK, N_("space"), N_("mark"), N_("mark the run for a comparison, or not")},
    {'c', 0, ACTION_COMPARE, "c", N_("compare"),
     N_("compare the marked runs; without marks all finished ones of the list")},
    {UI_UP, 0, ACTION_UP, N_("Up"), NULL, N_("the run above")},
    {UI_DOWN, 0, ACTION_DOWN, N_("Down"), NULL, N_("the run below")},
    {UI_HOME, 0, ACTION_FIRST, N_("Home"), NULL, NULL},
    {UI_END, 0, ACTION_LAST, N_("End"), NULL, NULL},
    {'/', 0, ACTION_SEARCH, "/", N_("search"), N_("show only runs in whose line the text occurs")},
    {'d', UI_DELETE, ACTION_REMOVE, "d", N_("drop"), N_("drop a run that waits from the queue")},
    {'s', 0, ACTION_STOP, "s", N_("stop"), N_("stop the run that is on: asks how")},
    {'n', 0, ACTION_FORM, "n", N_("new"), N_("set up another run")},
};
static const struct key_table table = {N_("The list of runs"), bindings,
                                       sizeof bindings / sizeof *bindings};

enum {
    MARK,
    NUMBER,
    STATUS,
    NETWORK,
    DATA,
    BATCH,
    DEVICE,
    DONE,
    LOSS,
    TOP1,
    SPEED,
    BEGUN,
    COLUMNS
};

static const struct table_column columns[COLUMNS] = {
    [MARK] = {"", 1, 0, false, false},
    [BEGUN] = {N_("begun (UTC)"), 11, 7, false, false},
    [NUMBER] = {"#", 3, 0, true, false},
    [STATUS] = {N_("status"), 10, 0, false, false},
    [NETWORK] = {N_("network"), 12, 0, false, true},
    [DATA] = {N_("data"), 10, 2, false, true},
    [BATCH] = {N_("batch"), 5, 4, true, false},
    [DEVICE] = {N_("device"), 9, 6, false, false},
    [DONE] = {N_("done"), 5, 1, true, false},
    [LOSS] = {N_("loss"), 9, 1, true, false},
    [TOP1] = {N_("top-1"), 6, 3, true, false},
    [SPEED] = {N_("ms/image"), 8, 5, true, false},
};

static bool plain(const char *technique)
{
    return strcmp(technique, "none") == 0;
}

/* The name of a run's folder begins with the time: 20261121-063012-lenet-1a2b. */
static void begun_text(const struct run_entry *entry, char *text, size_t size)
{
    const char *id = run_entry_is_kept(entry) ? file_base_name(entry->directory)
                     : entry->run             ? run_facts(entry->run)->id
                                              : "";
    if (strspn(id, "0123456789") == 8 && id[8] == '-' && strspn(id + 9, "0123456789") == 6)
        snprintf(text, size, "%.2s-%.2s %.2s:%.2s", id + 4, id + 6, id + 9, id + 11);
}

static void cell_text(const struct app *app, size_t index, int column, char *text, size_t size)
{
    struct run_entry *entry = app_run_at(app, index);
    run_entry_peek(entry);
    const struct run_snapshot *now = &entry->snapshot;
    bool started = (entry->run || entry->peeked) && now->iterations > 0;
    char technique[32];
    text[0] = '\0';
    if (entry->refused && run_entry_is_kept(entry) && column > STATUS && column != BEGUN) {
        snprintf(text, size, "%s", column == NETWORK ? file_base_name(entry->directory) : "");
        return;
    }
    switch (column) {
    case MARK:
        snprintf(text, size, "%s", entry->marked ? "*" : "");
        break;
    case NUMBER:
        if (!run_entry_is_kept(entry))
            snprintf(text, size, "%zu", index + 1);
        break;
    case BEGUN:
        begun_text(entry, text, size);
        break;
    case STATUS:
        snprintf(text, size, "%s", language_text(run_entry_status(entry)));
        break;
    case NETWORK:
        config_get(&entry->config, "technique", technique, sizeof technique);
        snprintf(text, size, "%.200s%s%s", entry->config.network, plain(technique) ? "" : "-",
                 plain(technique) ? "" : technique);
        break;
    case DATA:
        snprintf(text, size, "%s", entry->config.data);
        break;
    case BATCH:
        snprintf(text, size, "%zu", entry->config.batch);
        break;
    case DEVICE:
        snprintf(text, size, "%s", entry->config.device);
        break;
    case DONE:
        if (started)
            snprintf(text, size, "%.0f %%",
                     100.0 * (double)now->iteration / (double)now->iterations);
        break;
    case LOSS:
        if (started && now->iteration > 0)
            snprintf(text, size, "%.4g", (double)now->loss);
        break;
    case TOP1:
        if (now->has_validation && isfinite(now->top1))
            snprintf(text, size, "%.2f", now->top1);
        break;
    case SPEED:
        if (started)
            snprintf(text, size, "%.3g", now->ms_per_image_median);
        break;
    default:
        break;
    }
}

/* --- deciding --- */

bool runs_match(const struct app *app, size_t index)
{
    char text[FORM_TEXT];
    if (!app->table.search.text[0])
        return true;
    for (int column = 0; column < COLUMNS; column++) {
        cell_text(app, index, column, text, sizeof text);
        if (strcasestr(text, app->table.search.text))
            return true;
    }
    return false;
}

/* The index of the `nth` run that matches, or app_run_count. */
static size_t nth_match(const struct app *app, size_t nth)
{
    for (size_t i = 0; i < app_run_count(app); i++)
        if (runs_match(app, i) && nth-- == 0)
            return i;
    return app_run_count(app);
}

static size_t match_count(const struct app *app)
{
    size_t count = 0;
    for (size_t i = 0; i < app_run_count(app); i++)
        count += runs_match(app, i);
    return count;
}

static void move(struct app *app, long steps)
{
    long last = (long)match_count(app) - 1, to = (long)app->table.selected + steps;
    app->table.selected = (size_t)(to < 0 || last < 0 ? 0 : to > last ? last : to);
}

static bool take_key(struct app *app, int key)
{
    struct runs_view *view = &app->table;
    if (!view->searching)
        return false;
    if (key == UI_UP || key == UI_DOWN)
        return false;
    if (key == UI_ENTER || key == UI_ESCAPE) {
        view->searching = false;
        if (key == UI_ESCAPE)
            view->search.text[0] = '\0';
    } else
        line_edit_key(&view->search, key);
    move(app, 0);
    return true;
}

static void mark(struct app *app, size_t index)
{
    if (index >= app_run_count(app))
        return;
    struct run_entry *entry = app_run_at(app, index);
    if (run_entry_waits(entry) || entry->refused)
        app_say(app, ROLE_WARNING, "This run has nothing to compare.");
    else
        entry->marked = !entry->marked;
    move(app, 1);
}

static void act(struct app *app, enum action action)
{
    size_t index = nth_match(app, app->table.selected);
    switch (action) {
    case ACTION_OPEN:
        if (index < app_run_count(app))
            app_show_run(app, index);
        break;
    case ACTION_MARK:
        mark(app, index);
        break;
    case ACTION_COMPARE:
        compare_open(app);
        break;
    case ACTION_UP:
    case ACTION_DOWN:
        move(app, action == ACTION_UP ? -1 : 1);
        break;
    case ACTION_FIRST:
    case ACTION_LAST:
        move(app, action == ACTION_FIRST ? -(long)app_run_count(app) : (long)app_run_count(app));
        break;
    case ACTION_SEARCH:
        app->table.searching = true;
        line_edit_begin(&app->table.search, "", sizeof app->table.search.text, false);
        break;
    case ACTION_REMOVE:
        if (!run_list_remove(&app->runs, index))
            app_say(app, ROLE_WARNING,
                    "Only a run that waits can be dropped; s stops the one that is "
                    "on.");
        else if (!app->run.kept && app->run.entry > index)
            app->run.entry--;
        move(app, 0);
        break;
    case ACTION_STOP:
        ask_stop(app);
        break;
    case ACTION_FORM:
        app_show(app, &screen_form);
        break;
    default:
        break;
    }
}

/* --- drawing --- */

static void draw_row(struct app *app, struct rect line, size_t index, bool selected,
                     const int *starts, const int *widths)
{
    char text[FORM_TEXT];
    enum role role = selected ? ROLE_FOCUS : ROLE_TEXT;
    if (selected) {
        draw_fill(&app->canvas, line, ROLE_FOCUS);
        draw_text(&app->canvas, line, 0, 0, ROLE_FOCUS, ">");
        draw_cursor(&app->canvas, line, 0, 0);
    }
    for (int i = 0; i < COLUMNS; i++) {
        struct rect cell = {line.row, line.column + 1 + starts[i], 1, widths[i]};
        cell_text(app, index, i, text, sizeof text);
        if (columns[i].right)
            draw_right(&app->canvas, cell, 0, role, text);
        else
            draw_text(&app->canvas, cell, 0, 0, role, text);
    }
}

static void draw_search(struct app *app, struct rect area)
{
    const struct runs_view *view = &app->table;
    if (!view->searching && !view->search.text[0])
        return;
    int column = draw_text(&app->canvas, area, 0, 1, ROLE_KEY, "/ ");
    size_t cursor, room = area.columns > column + 2 ? (size_t)(area.columns - column - 1) : 1;
    size_t start = line_edit_window(&view->search, room, &cursor);
    draw_text(&app->canvas, area, 0, column, ROLE_TEXT, view->search.text + start);
    if (view->searching)
        draw_cursor(&app->canvas, area, 0, column + (int)cursor);
}

static void draw(struct app *app, struct rect body)
{
    int starts[COLUMNS], widths[COLUMNS];
    table_fit(columns, COLUMNS, body.columns - 2, starts, widths);
    struct rect list = {body.row + 2, body.column, body.rows - 3, body.columns};
    struct rect head = {body.row + 1, body.column, body.rows > 1, body.columns};
    struct rect foot = {body.row + body.rows - 1, body.column, body.rows > 3, body.columns};
    if (app_run_count(app) == 0) {
        draw_wrapped(&app->canvas, body, 1, ROLE_FAINT,
                     _("There is no run yet: n sets one up, and r there starts it."));
        return;
    }
    for (int i = 0; i < COLUMNS; i++) {
        struct rect cell = {head.row, head.column + 1 + starts[i], head.rows, widths[i]};
        if (columns[i].right)
            draw_right(&app->canvas, cell, 0, ROLE_HEADING, language_text(columns[i].title));
        else
            draw_text(&app->canvas, cell, 0, 0, ROLE_HEADING, language_text(columns[i].title));
    }
    size_t rows = list.rows > 0 ? (size_t)list.rows : 0, count = match_count(app);
    app->table.top = table_scroll(app->table.top, app->table.selected, rows, count);
    for (size_t i = 0; i < rows && app->table.top + i < count; i++) {
        size_t nth = app->table.top + i;
        struct rect line = {list.row + (int)i, list.column, 1, list.columns};
        draw_row(app, line, nth_match(app, nth), nth == app->table.selected, starts, widths);
        targets_add_row(&app->canvas.targets, line, nth, app->table.selected);
    }
    draw_search(app, foot);
}

const struct screen screen_runs = {N_("Runs"), &table, NULL, take_key, act, draw, NULL};
