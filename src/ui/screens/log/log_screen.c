/* The screen Log: all messages of this session, the newest last, with a search and the selected
 * message in full. */
#include "ui/app/app.h"

#include "base/language.h"
#include "ui/terminal/columns.h"
#include "ui/widgets/listing.h"

#include <stdio.h>
#include <string.h>

enum { PAGE = 10, DETAIL_ROWS = 3 };

/* --- keys --- */

struct log_state {
    size_t selected, top; /* counted among the lines that match the search */
    bool left_end;        /* the user has moved up: new lines do not move the selection */
    struct search_line search;
};

static struct log_state *log_state(const struct app *app)
{
    return app_state(app, SCREEN_LOG);
}

static size_t match_count(const struct app *app)
{
    size_t count = 0;
    for (size_t i = 0; i < app->shared.log.count; i++)
        count += log_matches(log_line(&app->shared.log, i), log_state(app)->search.edit.text);
    return count;
}

static const struct log_line *nth_match(const struct app *app, size_t nth)
{
    for (size_t i = 0; i < app->shared.log.count; i++)
        if (log_matches(log_line(&app->shared.log, i), log_state(app)->search.edit.text) &&
            nth-- == 0)
            return log_line(&app->shared.log, i);
    return NULL;
}

static bool take_key(struct app *app, int key)
{
    const bool taken = search_line_key(&log_state(app)->search, key);
    log_state(app)->left_end = log_state(app)->left_end && !taken;
    return taken;
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

static const char *refuses_search(const struct app *app)
{
    return app->shared.log.count > 0 ? NULL : _("There are no messages yet.");
}

/* Returns why the list has no line to select, or NULL. */
static const char *refuses_lines(const struct app *app)
{
    const char *why = refuses_search(app);
    return why || match_count(app) > 0 ? why : _("The text occurs in no message.");
}

static const char *refuses_open(const struct app *app)
{
    const struct log_line *line = nth_match(app, log_state(app)->selected);
    if (refuses_lines(app))
        return refuses_lines(app);
    if (!line || !line->directory[0])
        return _("This line concerns no run.");
    return run_of_line(app, line) < app_run_count(app) ? NULL
                                                       : _("This run is not in the list any more.");
}

static const char *refuses_move(const struct app *app, int how)
{
    const char *why = refuses_lines(app);
    if (why)
        return why;
    if (how == MOVE_LAST)
        return log_state(app)->left_end ? NULL : _("The newest line is selected.");
    return match_count(app) > 1 ? NULL : _("There is only one line.");
}

static void open_line(struct app *app)
{
    app_show_run(app, run_of_line(app, nth_match(app, log_state(app)->selected)));
}

static void search(struct app *app)
{
    search_line_begin(&log_state(app)->search);
}

static void move(struct app *app, int how)
{
    struct log_state *view = log_state(app);
    const size_t count = match_count(app);
    view->selected = list_move(view->selected, how, PAGE, count);
    view->left_end = view->selected + 1 < count;
}

static const struct action actions[] = {
    {"Enter", "watch", N_("watch"), N_("show the run that the line concerns"), .run = open_line,
     .refused = refuses_open},
    {"/", "search", N_("search"),
     N_("show only lines in which the text occurs; Esc shows all again"), .run = search,
     .refused = refuses_search},
#define ACTIONS_LINES move, refuses_move
#include "ui/app/actions.inc"
    {"PgUp", "page-up", N_("page"), NULL, move, refuses_move, .argument = MOVE_PAGE_UP},
    {"PgDn", "page-down", NULL, NULL, move, refuses_move, .argument = MOVE_PAGE_DOWN},
    {"Home", "first", NULL, NULL, move, refuses_move, .argument = MOVE_FIRST},
    {"End", "newest", N_("newest"), N_("the newest line, and follow new ones"), move, refuses_move,
     .argument = MOVE_LAST},
};

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

/* Draws the selected message in full, below the list. */
static void draw_detail(struct app *app, struct rect area, const struct log_line *line)
{
    struct log_state *view = log_state(app);
    if (search_line_is_shown(&view->search)) {
        struct rect row = {area.row, area.column, area.rows > 0, area.columns};
        search_line_draw(&view->search, &app->canvas, row, row.columns);
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
        if (!log_matches(line, view->search.edit.text))
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

static const struct actions *over(const struct app *app)
{
    return log_state(app)->search.typing ? &actions_editing : NULL;
}

const struct screen log_screen = {
    .name = N_("Log"),
    .letter = 'l',
    .purpose = N_("messages of this session: starts, ends, findings, errors"),
    .actions = {ACTIONS(N_("The log"), actions)},
    .state_size = sizeof(struct log_state),
    .open = open,
    .take_key = take_key,
    .draw = draw,
    .over = over,
};
