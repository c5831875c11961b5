/* The screen Log: all messages of this session, the newest last, with a search and the selected
 * message in full. */
#include "ui/app/app.h"

#include "base/language.h"
#include "ui/terminal/columns.h"
#include "ui/widgets/listing.h"

#include <stdio.h>
#include <string.h>

static const struct key_binding bindings[] = {
    {UI_ENTER, 0, ACTION_OPEN, "Enter", N_("watch"), N_("show the run that the line concerns")},
    {'/', 0, ACTION_SEARCH, "/", N_("search"),
     N_("show only lines in which the text occurs; Esc shows all again")},
    {UI_UP, 0, ACTION_UP, N_("Up"), NULL, N_("the line above")},
    {UI_DOWN, 0, ACTION_DOWN, N_("Down"), NULL, N_("the line below")},
    {UI_PAGE_UP, 0, ACTION_PAGE_UP, N_("PgUp"), N_("page"), NULL},
    {UI_PAGE_DOWN, 0, ACTION_PAGE_DOWN, N_("PgDn"), NULL, NULL},
    {UI_HOME, 0, ACTION_FIRST, N_("Home"), NULL, NULL},
    {UI_END, 0, ACTION_LAST, N_("End"), N_("newest"), N_("the newest line, and follow new ones")},
};
static const struct key_table table = {N_("The log"), bindings, sizeof bindings / sizeof *bindings};

enum { PAGE = 10, DETAIL_ROWS = 3 };

/* --- keys --- */

struct log_state {
    size_t selected, top; /* counted among the lines that match the search */
    bool left_end;        /* the user has moved up: new lines do not move the selection */
    bool searching;
    struct line_edit search;
};

static struct log_state *log_state(const struct app *app)
{
    return app_state(app, SCREEN_LOG);
}

static size_t match_count(const struct app *app)
{
    size_t count = 0;
    for (size_t i = 0; i < app->shared.log.count; i++)
        count += log_matches(log_line(&app->shared.log, i), log_state(app)->search.text);
    return count;
}

static const struct log_line *nth_match(const struct app *app, size_t nth)
{
    for (size_t i = 0; i < app->shared.log.count; i++)
        if (log_matches(log_line(&app->shared.log, i), log_state(app)->search.text) && nth-- == 0)
            return log_line(&app->shared.log, i);
    return NULL;
}

static void move(struct app *app, long steps)
{
    struct log_state *view = log_state(app);
    long last = (long)match_count(app) - 1, to = (long)view->selected + steps;
    view->selected = (size_t)(to < 0 || last < 0 ? 0 : to > last ? last : to);
    view->left_end = (long)view->selected < last;
}

static bool take_key(struct app *app, int key)
{
    struct log_state *view = log_state(app);
    if (!view->searching && !(key == UI_ESCAPE && view->search.text[0]))
        return false;
    if (key == UI_UP || key == UI_DOWN)
        return false;
    if (key == UI_ENTER || key == UI_ESCAPE) {
        view->searching = false;
        if (key == UI_ESCAPE)
            view->search.text[0] = '\0';
    } else
        line_edit_key(&view->search, key);
    view->left_end = false;
    return true;
}

/* Returns the index of the run that the selected line concerns; app_run_count: none. */
static size_t run_of_line(const struct app *app, const struct log_line *line)
{
    size_t i = 0;
    for (; i < app_run_count(app); i++) {
        const char *directory = run_entry_directory(app_run_at(app, i));
        if (line && directory && strcmp(directory, line->directory) == 0)
            break;
    }
    return i;
}

static const char *refuses_open(const struct app *app)
{
    const struct log_line *line = nth_match(app, log_state(app)->selected);
    if (!line || !line->directory[0])
        return _("This line concerns no run.");
    return run_of_line(app, line) < app_run_count(app) ? NULL
                                                       : _("This run is not in the list any more.");
}

static const char *refuses(const struct app *app, enum action action)
{
    const struct log_state *view = log_state(app);
    if (app->shared.log.count == 0)
        return _("There are no messages yet.");
    if (action == ACTION_SEARCH)
        return NULL;
    if (match_count(app) == 0)
        return _("The text occurs in no message.");
    if (action == ACTION_OPEN)
        return refuses_open(app);
    if (action == ACTION_LAST)
        return view->left_end ? NULL : _("The newest line is selected.");
    return match_count(app) > 1 ? NULL : _("There is only one line.");
}

static void act(struct app *app, enum action action)
{
    long all = (long)app->shared.log.count;
    switch (action) {
    case ACTION_OPEN:
        app_show_run(app, run_of_line(app, nth_match(app, log_state(app)->selected)));
        break;
    case ACTION_SEARCH:
        log_state(app)->searching = true;
        line_edit_begin(&log_state(app)->search, "", sizeof log_state(app)->search.text, false);
        break;
    case ACTION_UP:
    case ACTION_DOWN:
        move(app, action == ACTION_UP ? -1 : 1);
        break;
    case ACTION_PAGE_UP:
    case ACTION_PAGE_DOWN:
        move(app, action == ACTION_PAGE_UP ? -PAGE : PAGE);
        break;
    default:
        move(app, action == ACTION_FIRST ? -all : all);
        break;
    }
}

/* --- drawing --- */

static void draw_line(struct app *app, struct rect row, const struct log_line *line, bool selected)
{
    char clock[16];
    struct tm local;
    strftime(clock, sizeof clock, "%H:%M:%S", localtime_r(&line->when, &local));
    if (selected) {
        draw_fill(&app->canvas, row, ROLE_FOCUS);
        draw_cursor(&app->canvas, row, 0, 0);
    }
    draw_text(&app->canvas, row, 0, 0, selected ? ROLE_FOCUS : ROLE_TEXT, selected ? ">" : " ");
    draw_text(&app->canvas, row, 0, 1, selected ? ROLE_FOCUS : ROLE_FAINT, clock);
    draw_sentence(&app->canvas, row, 0, 10, selected ? ROLE_FOCUS : line->role, line->text);
}

static void draw_search(struct app *app, struct rect area)
{
    const struct log_state *view = log_state(app);
    int column = draw_text(&app->canvas, area, 0, 1, ROLE_KEY, "/ ");
    size_t cursor, room = area.columns > column + 2 ? (size_t)(area.columns - column - 1) : 1;
    size_t start = line_edit_window(&view->search, room, &cursor);
    draw_text(&app->canvas, area, 0, column, ROLE_TEXT, view->search.text + start);
    if (view->searching)
        draw_cursor(&app->canvas, area, 0, column + (int)cursor);
}

/* Draws the selected message in full, below the list. */
static void draw_detail(struct app *app, struct rect area, const struct log_line *line)
{
    struct log_state *view = log_state(app);
    if (view->searching || view->search.text[0]) {
        struct rect row = {area.row, area.column, area.rows > 0, area.columns};
        draw_search(app, row);
        area.row += row.rows;
        area.rows -= row.rows;
    }
    area.column++;
    area.columns--;
    if (line && (int)columns_of(line->text) + 10 > area.columns)
        draw_wrapped(&app->canvas, area, 0, ROLE_FAINT, line->text);
}

static void draw(struct app *app, struct rect body)
{
    struct log_state *view = log_state(app);
    int detail = body.rows >= 8 ? DETAIL_ROWS : body.rows > 2;
    struct rect list = {body.row, body.column, body.rows - detail, body.columns};
    struct rect foot = {body.row + list.rows, body.column, detail, body.columns};
    size_t count = match_count(app), rows = list.rows > 0 ? (size_t)list.rows : 0;
    if (app->shared.log.count == 0)
        draw_wrapped(
            &app->canvas, list, 1, ROLE_FAINT,
            _("There are no messages yet: starts, ends, findings and errors of runs come here."));
    if (!view->left_end || view->selected >= count)
        view->selected = count > 0 ? count - 1 : 0;
    view->top = listing_scroll(view->top, view->selected, rows, count);
    size_t nth = 0;
    for (size_t i = 0; i < app->shared.log.count; i++) {
        const struct log_line *line = log_line(&app->shared.log, i);
        if (!log_matches(line, view->search.text))
            continue;
        size_t place = nth++;
        if (place < view->top || place >= view->top + rows)
            continue;
        struct rect row = {list.row + (int)(place - view->top), list.column, 1, list.columns};
        draw_line(app, row, line, place == view->selected);
        targets_add_row(&app->canvas.targets, row, place, view->selected);
    }
    draw_detail(app, foot, nth_match(app, view->selected));
}

static void open(struct app *app)
{
    log_state(app)->left_end = false;
}

static bool typing(const struct app *app)
{
    return log_state(app)->searching;
}

const struct screen log_screen = {
    .name = N_("Log"),
    .letter = 'l',
    .purpose = N_("messages of this session: starts, ends, findings, errors"),
    .keys = &table,
    .state_size = sizeof(struct log_state),
    .open = open,
    .take_key = take_key,
    .refuses = refuses,
    .act = act,
    .draw = draw,
    .typing = typing,
};
