/* Draws one frame of the workbench: the title line, the body of the screen in front, the message
 * and the key hints, and above them the menu or the dialog that is open. */
#include "ui/app/app.h"

#include "base/language.h"
#include "ui/terminal/columns.h"
#include "ui/terminal/terminal.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Returns how many runs wait in other processes. */
static size_t count_queued(const struct app *app)
{
    size_t queued = app->shared.queue.runs.count;
    for (size_t i = 0; i < app->shared.saved_runs.count; i++)
        queued += app->shared.saved_runs.entries[i].queue.rank > 0;
    return queued;
}

/* Writes how many runs there are, as the list of runs counts them, and how many of them other
 * processes train or have in the queue; the former with little space (`brief`) only if there are
 * some. */
static void count_runs(const struct app *app, bool brief, char *text, size_t size)
{
    const size_t all = app_run_count(app), queued = count_queued(app);
    size_t live = 0;
    for (size_t i = 0; i < app->shared.saved_runs.count; i++) {
        const struct run_entry *entry = &app->shared.saved_runs.entries[i];
        live += entry->live || (entry->announced && !entry->outline_known);
    }
    if (queued > 0)
        snprintf(text, size,
                 ngettext("%zu run, %zu on, %zu waiting ", "%zu runs, %zu on, %zu waiting ", all),
                 all, live, queued);
    else if (all > 0 && live > 0)
        snprintf(text, size, ngettext("%zu run, %zu on ", "%zu runs, %zu on ", all), all, live);
    else if (all > 0 && brief)
        snprintf(text, size, ngettext("%zu run ", "%zu runs ", all), all);
    else if (all > 0)
        snprintf(text, size, ngettext("%zu run, none on ", "%zu runs, none on ", all), all);
}

/* Returns the translated state of what computes: the active run or the sweep; NULL: nothing does.
 */
static const char *state_of_work(const struct app *app)
{
    const struct run_entry *active = run_list_active(&app->shared.runs);
    if (active)
        return language_text(run_entry_status(active));
    if (app->shared.sweep.on && app->shared.sweep.paused)
        return _("sweep paused");
    return app->shared.runs.held ? _("sweep running") : NULL;
}

/* Writes what the first waiting run waits for. Returns whether one waits. */
static bool write_wait(const struct run_list *runs, char *text, size_t size)
{
    for (size_t i = 0; i < runs->count; i++)
        if (run_entry_is_waiting(&runs->entries[i])) {
            run_entry_status_text(&runs->entries[i], text, size);
            return true;
        }
    return false;
}

/* Writes the right half of the title: what computes, or how many runs there are. */
static void write_state(const struct app *app, bool brief, char *text, size_t size)
{
    const char *state = state_of_work(app);
    const struct run_entry *shown = app_run_in_front(app);
    const size_t waiting = run_list_waiting(&app->shared.runs);
    char words[120];
    text[0] = '\0';
    if (state && waiting > 0)
        snprintf(text, size, _("%s, %zu waiting "), state, waiting);
    else if (state)
        snprintf(text, size, "%s ", state);
    else if (shown && shown->live)
        snprintf(text, size, "%s ", language_text(run_entry_status(shown)));
    else if (write_wait(&app->shared.runs, words, sizeof words))
        snprintf(text, size, "%s ", brief ? _("waiting") : words);
    else
        count_runs(app, brief, text, size);
}

/* Shortens "tinca - Run - lenet - digits - batch 64" to `columns` by leaving out whole parts: the
 * last ones, but not the third, which is the screen's subject, then the first and the second. A
 * part that is still too long loses its middle. */
static void fit_title(char *title, size_t size, size_t columns, const struct glyphs *glyphs)
{
    enum { PARTS = 16, SUBJECT = 3 };
    char separator[16], whole[300], *parts[PARTS];
    size_t count = 0, first = 0;
    snprintf(separator, sizeof separator, " %s ", glyphs->dot);
    snprintf(whole, sizeof whole, "%s", title);
    for (char *at = whole; at && count < PARTS; at = strstr(at, separator)) {
        at += count > 0 ? strlen(separator) : 0;
        parts[count++] = at;
    }
    while (count > SUBJECT && columns_of(whole) > columns)
        parts[--count][-(ptrdiff_t)strlen(separator)] = '\0';
    while (first + 1 < count && columns_of(parts[first]) > columns)
        first++;
    columns_fit_middle(parts[first], columns, glyphs->cut, title, size);
}

static void draw_title(struct app *app, struct rect area)
{
    char right[128], name[256], left[300];
    draw_fill(&app->canvas, area, ROLE_TITLE);
    snprintf(name, sizeof name, "%s", gettext(app_screen(app)->name));
    if (app_screen(app)->title)
        app_screen(app)->title(app, name, sizeof name);
    snprintf(left, sizeof left, "tinca %s %s", app->canvas.glyphs->dot, name);
    write_state(app, false, right, sizeof right);
    int room = area.columns - (int)columns_of(right) - 2; /* columns for the left half */
    if ((int)columns_of(left) > room) {
        write_state(app, true, right, sizeof right);
        room = area.columns - (int)columns_of(right) - 2;
    }
    const bool both = room >= 20;
    room = both ? room : area.columns - 1;
    fit_title(left, sizeof left, room > 0 ? (size_t)room : 0, app->canvas.glyphs);
    draw_text(&app->canvas, area, 0, 1, ROLE_TITLE, left);
    if (both)
        draw_right(&app->canvas, area, 0, ROLE_TITLE, right);
}

/* Draws a key's name and its hint, as a click target for `key`. Returns the column after them. */
static int draw_hint(struct app *app, struct rect area, int column, int key, const char *name,
                     const char *hint)
{
    int end = draw_text(&app->canvas, area, 0, column, ROLE_KEY, name);
    end = draw_format(&app->canvas, area, 0, end, ROLE_FAINT, " %s", hint);
    struct rect place = {area.row, area.column + column, 1, end - column};
    targets_add(&app->canvas.targets, place, key, 1);
    return end + 2;
}

/* Finds the key of an action that works now: the first one or, where printable keys are typed, the
 * first that is not printable. Returns false if there is none. */
static bool find_hinted_key(const struct app *app, const char *keys, struct key_name *name)
{
    const bool typed = !actions_open(app) && app_takes_text(app);
    while ((keys = key_take_name(keys, name)))
        if (name->shown && !(typed && key_is_printable(name->key)))
            return true;
    return false;
}

/* Draws the hints of actions `from` to `to` of a list, as many as fit. Returns the column after
 * them. */
static int draw_hints_of(struct app *app, struct rect area, int column,
                         const struct actions *actions, size_t from, size_t to)
{
    struct key_name name;
    for (size_t i = from; i < to && i < actions->count; i++) {
        const struct action *action = &actions->list[i];
        if (!action->hint || !action_is_offered(app, app_screen(app), actions, action) ||
            !find_hinted_key(app, action->keys, &name))
            continue;
        const char *hint = action_hint(app, action);
        if (column + (int)(columns_of(name.name) + 1 + columns_of(hint)) > area.columns)
            return area.columns;
        column = draw_hint(app, area, column, name.key, name.name, hint);
    }
    return column;
}

/* Draws the key hints, help and back first so that they are visible at any width. */
static void draw_hints(struct app *app, struct rect area)
{
    const struct actions *open = actions_open(app);
    int column = 0;
    if (open) {
        draw_hints_of(app, area, 0, open, 0, open->count);
        return;
    }
    if (!app_is_in_front(app, SCREEN_HELP))
        column = draw_hints_of(app, area, 0, &actions_everywhere, 0, 1);
    if (app->depth > 1)
        column = draw_hints_of(app, area, column, &actions_everywhere, 1, 2);
    else if (app_takes_text(app))
        column = draw_hint(app, area, column, UI_F10, "F10", _("quit"));
    else
        column = draw_hint(app, area, column, 'q', "q", _("quit"));
    column = draw_hints_of(app, area, column, &app_screen(app)->actions, 0, SIZE_MAX);
    draw_hints_of(app, area, column, &actions_everywhere, 2, SIZE_MAX);
}

/* Draws the message in its line; a long one covers up to three lines above it, in their whole
 * width, so that no end of such a line remains beside it. */
static void draw_message(struct app *app, const struct frame_layout *frame)
{
    struct rect area = frame->message.rows > 0 ? frame->message : frame->hints, text = area;
    text.column += area.columns > 60;
    text.columns -= area.columns > 60 ? 2 : 0;
    if (rect_is_empty(area))
        return;
    int lines = (int)columns_lines(app->message.text, (size_t)text.columns);
    lines = lines > 4 ? 4 : lines > area.row ? area.row : lines;
    text.row = area.row -= lines - 1;
    text.rows = area.rows = lines;
    draw_fill(&app->canvas, area, ROLE_TEXT);
    draw_wrapped(&app->canvas, text, 0, app->message.role, app->message.text);
}

static void draw_bottom(struct app *app, const struct frame_layout *frame)
{
    const bool has_message = app_has_message(app);
    if (has_message)
        draw_message(app, frame);
    if (has_message && frame->message.rows == 0)
        return;
    struct rect area = frame->hints;
    area.column += area.columns > 60;
    area.columns -= area.columns > 60;
    draw_hints(app, area);
}

void frame_draw(struct app *app)
{
    int rows, columns;
    terminal_size(&rows, &columns);
    struct frame_layout frame = layout_frame(rows, columns);
    app->canvas.rows = rows;
    app->canvas.columns = columns;
    app->canvas.cursor_row = -1;
    terminal_begin_frame();
    draw_title(app, frame.title);
    targets_clear(&app->canvas.targets);
    app_screen(app)->draw(app, frame.body);
    if (app->choosing.chooser.open) {
        targets_clear(&app->canvas.targets); /* a click must not reach what the list covers */
        chooser_draw(&app->choosing.chooser, &app->canvas);
    }
    draw_bottom(app, &frame);
    if (app->menu.open || app->dialog.open || app->commands.chooser.open)
        targets_clear(&app->canvas.targets);
    if (app->menu.open)
        menu_draw(app);
    if (app->commands.chooser.open)
        commands_draw(app);
    if (app->dialog.open)
        dialog_draw(&app->dialog, &app->canvas);
    terminal_end_frame(app->canvas.cursor_row, app->canvas.cursor_column);
}
