/* The run table: the runs of this session, of which one is active while the others wait or are
 * complete, then the saved runs of earlier sessions, the newest first. runs_model.c chooses and
 * sorts the rows; ui/app/run_actions.c does what the keys ask for. */
#include "ui/app/app.h"
#include "ui/app/offers.h"

#include "base/language.h"
#include "ui/app/other_runs.h"
#include "ui/app/questions.h"
#include "ui/app/run_actions.h"
#include "ui/app/run_loading.h"
#include "ui/screens/runs/runs_model.h"
#include "ui/terminal/columns.h"

#include <stdio.h>
#include <string.h>

static const struct key_binding bindings[] = {
    {UI_ENTER, 0, ACTION_OPEN, "Enter", N_("watch"), N_("watch the selected run")},
    {' ', 0, ACTION_MARK, N_("space"), N_("mark"),
     N_("mark the run for a comparison, an export or deletion, or not")},
    {'c', 0, ACTION_COMPARE, "c", N_("compare"),
     N_("compare the marked runs; without marks all finished ones of the list")},
    {'/', 0, ACTION_SEARCH, "/", N_("search"),
     N_("show only runs in whose line, ID or name every word occurs; Esc shows all again")},
    {'>', 0, ACTION_SORT, ">", N_("sort"), N_("sort by the next column")},
    {'<', 0, ACTION_SORT_BACK, "<", NULL, N_("sort by the column before")},
    {'i', 0, ACTION_REVERSE, "i", NULL, N_("reverse the order; unknown values stay last")},
    {'f', 0, ACTION_CLONE, "f", N_("to form"), N_("copy all settings of the run into the form")},
    {'r', 0, ACTION_RESUME, "r", N_("resume"),
     N_("go on with a run that was interrupted or stopped, from its last checkpoint")},
    {'R', 0, ACTION_RENAME, "R", N_("name"), N_("give the run a name of your own")},
    {'d', UI_DELETE, ACTION_REMOVE, "d", N_("delete"),
     N_("delete the marked runs, or the selected one: asks; drop a run that waits")},
    {'a', 0, ACTION_ALL, "a", NULL, N_("mark every run of the list")},
    {'u', 0, ACTION_UNMARK, "u", NULL, N_("remove all marks")},
    {UI_UP, 0, ACTION_UP, N_("Up"), NULL, N_("the run above")},
    {UI_DOWN, 0, ACTION_DOWN, N_("Down"), NULL, N_("the run below")},
    {UI_PAGE_UP, 0, ACTION_PAGE_UP, N_("PgUp"), NULL, NULL},
    {UI_PAGE_DOWN, 0, ACTION_PAGE_DOWN, N_("PgDn"), NULL, NULL},
    {UI_HOME, 0, ACTION_FIRST, N_("Home"), NULL, NULL},
    {UI_END, 0, ACTION_LAST, N_("End"), NULL, NULL},
    {'s', 0, ACTION_STOP, "s", N_("stop"), N_("stop the run that is on: asks how")},
    {'n', 0, ACTION_FORM, "n", N_("new"), N_("set up another run")},
};
static const struct key_table table = {N_("The list of runs"), bindings,
                                       sizeof bindings / sizeof *bindings};

enum { PAGE = 10 };

/* --- keys --- */

/* Handles the keys of the search line. Esc ends the editing, or clears a search that is in effect.
 */
static bool take_key(struct app *app, int key)
{
    struct runs_model *model = runs_model(app);
    struct line_edit *search = &app->shared.runs_search;
    if (!model->searching && !(key == UI_ESCAPE && search->text[0]))
        return false;
    if (key == UI_UP || key == UI_DOWN)
        return false;
    if (key == UI_ENTER || key == UI_ESCAPE) {
        model->searching = false;
        if (key == UI_ESCAPE)
            search->text[0] = '\0';
    } else
        line_edit_key(search, key);
    app->shared.runs_changed = true;
    runs_model_update(app);
    return true;
}

static bool can_be_marked(const struct run_entry *entry)
{
    return !run_entry_is_waiting(entry) && run_entry_directory(entry);
}

static void mark(struct app *app, size_t index)
{
    if (index >= app_run_count(app))
        return;
    struct run_entry *entry = app_run_at(app, index);
    if (can_be_marked(entry))
        entry->marked = !entry->marked;
    else
        app_say(app, ROLE_WARNING, _("This run has nothing to compare."));
    app->shared.runs_changed = true;
    runs_model_move(app, 1);
}

static bool any_marked(const struct app *app)
{
    for (size_t i = 0; i < app_run_count(app); i++)
        if (app_run_at(app, i)->marked)
            return true;
    return false;
}

static void mark_all(struct app *app, bool marked)
{
    size_t count = 0;
    for (size_t i = 0; i < app_run_count(app); i++) {
        struct run_entry *entry = app_run_at(app, i);
        if (marked && runs_match(app, i) && can_be_marked(entry))
            entry->marked = true;
        else if (!marked)
            entry->marked = false;
        count += entry->marked;
    }
    app->shared.runs_changed = true;
    if (marked)
        app_say(app, ROLE_GOOD, ngettext("%zu run is marked.", "%zu runs are marked.", count),
                count);
    else
        app_say(app, ROLE_GOOD, _("No run is marked."));
}

static void move(struct app *app, enum action action)
{
    long all = (long)app_run_count(app);
    long steps = action == ACTION_UP          ? -1
                 : action == ACTION_DOWN      ? 1
                 : action == ACTION_PAGE_UP   ? -PAGE
                 : action == ACTION_PAGE_DOWN ? PAGE
                 : action == ACTION_FIRST     ? -all
                                              : all;
    runs_model_move(app, steps);
}

static void act(struct app *app, enum action action)
{
    runs_model_update(app);
    size_t index = runs_model_index(app);
    switch (action) {
    case ACTION_OPEN:
        if (index < app_run_count(app))
            app_show_run(app, index);
        break;
    case ACTION_MARK:
        mark(app, index);
        break;
    case ACTION_ALL:
    case ACTION_UNMARK:
        mark_all(app, action == ACTION_ALL);
        break;
    case ACTION_COMPARE:
        app_go(app, SCREEN_COMPARE);
        break;
    case ACTION_SEARCH:
        runs_model(app)->searching = true;
        app->shared.runs_changed = true;
        line_edit_begin(&app->shared.runs_search, "", sizeof app->shared.runs_search.text, false);
        break;
    case ACTION_SORT:
    case ACTION_SORT_BACK:
        runs_model_sort(app, action == ACTION_SORT ? 1 : -1);
        break;
    case ACTION_REVERSE:
        runs_model(app)->backwards = !runs_model(app)->backwards;
        app->shared.runs_changed = true;
        break;
    case ACTION_RENAME:
        ask_run_name(app, index);
        break;
    case ACTION_CLONE:
        run_actions_clone(app, index);
        break;
    case ACTION_RESUME:
        run_actions_resume(app, index);
        break;
    case ACTION_REMOVE:
        ask_run_removal(app, index);
        break;
    case ACTION_STOP:
        if (index >= app_run_count(app) || !others_ask_stop(app, app_run_at(app, index)))
            ask_stop(app);
        break;
    case ACTION_FORM:
        app_show(app, SCREEN_SETUP);
        break;
    default:
        move(app, action);
        break;
    }
}

/* --- drawing --- */

static void title(const struct app *app, char *text, size_t size)
{
    const struct runs_model *model = runs_model(app);
    const struct glyphs *glyphs = app->canvas.glyphs;
    if (model->sort == RUNS_NUMBER && !model->backwards)
        snprintf(text, size, "%s", _("Runs"));
    else
        snprintf(text, size, _("Runs by %s %s"),
                 model->sort == RUNS_MARK ? _("marks") : runs_heading(model->sort),
                 model->backwards ? glyphs->down : glyphs->up);
}

static void draw_row(struct app *app, struct rect line, size_t index, bool selected,
                     const int *starts, const int *widths)
{
    char text[FORM_TEXT];
    enum role role = selected ? ROLE_FOCUS : ROLE_TEXT;
    struct table_column columns[RUNS_COLUMNS];
    runs_columns(runs_model(app), columns);
    if (selected) {
        draw_fill(&app->canvas, line, ROLE_FOCUS);
        draw_text(&app->canvas, line, 0, 0, ROLE_FOCUS, ">");
        draw_cursor(&app->canvas, line, 0, 0);
    }
    for (enum runs_column i = 0; i < RUNS_COLUMNS; i++) {
        struct rect cell = {line.row, line.column + 1 + starts[i], 1, widths[i]};
        runs_cell(app, index, i, text, sizeof text);
        if (columns[i].right)
            draw_right(&app->canvas, cell, 0, role, text);
        else
            draw_text(&app->canvas, cell, 0, 0, role, text);
    }
}

/* Draws the headings; the sort column has an arrow that shows the direction. */
static void draw_head(struct app *app, struct rect head, const int *starts, const int *widths)
{
    const struct runs_model *model = runs_model(app);
    struct table_column columns[RUNS_COLUMNS];
    runs_columns(model, columns);
    for (enum runs_column i = 0; i < RUNS_COLUMNS; i++) {
        struct rect cell = {head.row, head.column + 1 + starts[i], head.rows, widths[i]};
        const char *heading = runs_heading(i);
        int used = (int)columns_of(heading) < widths[i] ? (int)columns_of(heading) : widths[i];
        if (columns[i].right)
            draw_right(&app->canvas, cell, 0, ROLE_HEADING, heading);
        else
            draw_text(&app->canvas, cell, 0, 0, ROLE_HEADING, heading);
        if (i != model->sort || widths[i] == 0 || (i == RUNS_NUMBER && !model->backwards))
            continue;
        cell.columns++; /* the arrow may use the gap before the next column */
        draw_text(&app->canvas, cell, 0, columns[i].right ? widths[i] : used, ROLE_STRONG,
                  model->backwards ? app->canvas.glyphs->down : app->canvas.glyphs->up);
    }
}

/* Writes how many runs the table shows, and how many are still unread. */
static void count_text(const struct app *app, char *text, size_t size)
{
    const struct runs_model *model = runs_model(app);
    size_t all = app_run_count(app), marked = 0;
    for (size_t i = 0; i < all; i++)
        marked += app_run_at(app, i)->marked;
    if (model->unread > 0)
        snprintf(text, size, _("reading: %zu of %zu"), all - model->unread, all);
    else if (model->count < all)
        snprintf(text, size, _("%zu of %zu runs"), model->count, all);
    else if (marked > 0)
        snprintf(text, size, _("%zu of %zu marked"), marked, all);
    else
        snprintf(text, size, ngettext("%zu run", "%zu runs", all), all);
}

static void draw_search(struct app *app, struct rect area)
{
    const struct runs_model *model = runs_model(app);
    int column = draw_text(&app->canvas, area, 0, 1, ROLE_KEY, "/ ");
    size_t cursor, room = area.columns > column + 2 ? (size_t)(area.columns - column - 1) : 1;
    size_t start = line_edit_window(&app->shared.runs_search, room, &cursor);
    draw_text(&app->canvas, area, 0, column, ROLE_TEXT, app->shared.runs_search.text + start);
    if (model->searching)
        draw_cursor(&app->canvas, area, 0, column + (int)cursor);
}

static void add_owner(const struct run_entry *entry, char *text, size_t size)
{
    char owner[192];
    const size_t length = strlen(text);
    snprintf(text + length, size - length, "  %s", others_owner_text(entry, owner, sizeof owner));
}

/* Draws the search line or, without a search, the selected run's ID, which commands accept. */
static void draw_foot(struct app *app, struct rect area)
{
    char text[128], called[384] = "";
    size_t index = runs_model_index(app);
    count_text(app, text, sizeof text);
    int room = area.columns - (int)columns_of(text) - 2;
    struct rect left = {area.row, area.column, area.rows, room > 16 ? room : area.columns};
    if (room > 16)
        draw_right(&app->canvas, area, 0, ROLE_FAINT, text);
    if (runs_model(app)->searching || app->shared.runs_search.text[0]) {
        draw_search(app, left);
        return;
    }
    if (index < app_run_count(app)) {
        const struct run_entry *entry = app_run_at(app, index);
        snprintf(called, sizeof called, "%s%s%s", runs_id(entry), entry->name[0] ? "  " : "",
                 entry->name);
        if (entry->live)
            add_owner(entry, called, sizeof called);
    }
    draw_text(&app->canvas, left, 0, 1, ROLE_FAINT, called);
}

static void draw_list(struct app *app, struct rect list, const int *starts, const int *widths)
{
    struct runs_model *model = runs_model(app);
    size_t rows = list.rows > 0 ? (size_t)list.rows : 0;
    model->top = table_scroll(model->top, model->selected, rows, model->count);
    if (model->count == 0)
        draw_wrapped(&app->canvas, list, 0, ROLE_FAINT,
                     _("No run has all of these words; Esc shows all runs again."));
    for (size_t i = 0; i < rows && model->top + i < model->count; i++) {
        size_t place = model->top + i;
        struct rect line = {list.row + (int)i, list.column, 1, list.columns};
        draw_row(app, line, model->order[place], place == model->selected, starts, widths);
        targets_add_row(&app->canvas.targets, line, place, model->selected);
    }
}

static void draw(struct app *app, struct rect body)
{
    int starts[RUNS_COLUMNS], widths[RUNS_COLUMNS];
    struct table_column columns[RUNS_COLUMNS];
    runs_model_update(app);
    runs_columns(runs_model(app), columns);
    table_fit(columns, RUNS_COLUMNS, body.columns - 2, starts, widths);
    struct rect list = {body.row + 2, body.column, body.rows - 3, body.columns};
    struct rect head = {body.row + 1, body.column, body.rows > 1, body.columns};
    struct rect foot = {body.row + body.rows - 1, body.column, body.rows > 3, body.columns};
    if (app_run_count(app) == 0) {
        draw_wrapped(&app->canvas, body, 1, ROLE_FAINT,
                     loading_is_listing(app)
                         ? _("Reading the folder of runs ...")
                         : _("There is no run yet: n sets one up, and r there starts it."));
        return;
    }
    draw_head(app, head, starts, widths);
    draw_list(app, list, starts, widths);
    draw_foot(app, foot);
}

static void begin(struct app *app)
{
    runs_model(app)->sort = RUNS_NUMBER;
}

static void open(struct app *app)
{
    loading_list_runs(app, true);
}

static void close(struct app *app)
{
    runs_model_free(runs_model(app));
}

static bool offers(const struct app *app, enum action action)
{
    const size_t index = runs_model_index(app);
    const struct run_entry *entry = index < app_run_count(app) ? app_run_at(app, index) : NULL;
    if (action == ACTION_COMPARE)
        return offers_comparison(app);
    if (action == ACTION_OPEN)
        return entry;
    return action == ACTION_REMOVE && any_marked(app) ? true : offers_run_action(entry, action);
}

static bool typing(const struct app *app)
{
    return runs_model(app)->searching;
}

static struct run_entry *selected_run(const struct app *app)
{
    const size_t index = runs_model_index(app);
    return index < app_run_count(app) ? app_run_at(app, index) : NULL;
}

static bool work(struct app *app)
{
    return app_is_in_front(app, SCREEN_RUNS) && runs_model_read_outlines(app);
}

const struct screen runs_screen = {
    .name = N_("Runs"),
    .letter = 'o',
    .purpose = N_("the runs of this session and of earlier ones"),
    .keys = &table,
    .state_size = sizeof(struct runs_model),
    .begin = begin,
    .open = open,
    .close = close,
    .title = title,
    .take_key = take_key,
    .offers = offers,
    .act = act,
    .draw = draw,
    .typing = typing,
    .run = selected_run,
    .work = work,
};
