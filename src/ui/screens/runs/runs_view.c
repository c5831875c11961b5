/* A row has a mark of the selection, the mark of the run, its number in this session and the cells.
 * A text that does not fit loses its middle; a number always fits (runs_columns_fit). The head of a
 * group has the number of its runs and mean and standard deviation of their figures. */
#include "ui/screens/runs/internal.h"

#include "base/language.h"
#include "base/statistics.h"
#include "ui/app/app.h"
#include "ui/app/other_runs.h"
#include "ui/app/run_loading.h"
#include "ui/terminal/columns.h"
#include "ui/widgets/listing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MARKS = 2, NUMBER = 4 }; /* columns before the cells: "> *", and the session's number */

/* --- cells --- */

/* Draws a text that is cut, if it does not fit, at a character before its end, with a mark. */
static void draw_cut(struct app *app, struct rect cell, enum role role, const char *text)
{
    char part[FIELD_TEXT];
    if ((int)columns_of(text) <= cell.columns) {
        draw_text(&app->canvas, cell, 0, 0, role, text);
        return;
    }
    if (cell.columns < 2)
        return;
    columns_fit(text, (size_t)cell.columns - 1, part, sizeof part);
    const int end = draw_text(&app->canvas, cell, 0, 0, role, part);
    draw_text(&app->canvas, cell, 0, end, role, app->canvas.glyphs->cut);
}

/* Draws a number flush right. If it does not fit, because it has grown since the columns were
 * measured, the cell stays empty until they are measured again: a part would read as another
 * number. */
static void draw_number(struct app *app, struct rect cell, enum role role, const char *text)
{
    if ((int)columns_of(text) <= cell.columns)
        draw_right(&app->canvas, cell, 0, role, text);
}

/* Returns the columns before the first cell. */
static int indent_of(const struct app *app)
{
    return 1 + MARKS + (app->shared.runs.count > 0 ? NUMBER : 0);
}

static void draw_run(struct app *app, struct rect line, size_t index, bool selected)
{
    char text[FIELD_TEXT];
    struct run_record record;
    const struct run_entry *entry = app_run_at(app, index);
    const struct runs_columns *columns = &runs_model(app)->columns;
    const enum role role = selected ? ROLE_FOCUS : ROLE_TEXT;
    runs_record(entry, &record);
    draw_text(&app->canvas, line, 0, 1, role, entry->marked ? "*" : "");
    if (!run_entry_is_saved(entry) && entry->queue.rank == 0) {
        const struct rect number = {line.row, line.column + 1 + MARKS, 1, NUMBER - 1};
        snprintf(text, sizeof text, "%zu", index + 1);
        draw_number(app, number, role, text);
    }
    for (size_t i = 0; i < columns->count; i++) {
        const struct runs_column *column = &columns->list[i];
        const struct rect cell = {line.row, line.column + column->start, 1, column->width};
        runs_cell(column->field, &record, text, sizeof text);
        if (column->width && column->right)
            draw_number(app, cell, role, text);
        else if (column->content <= column->width)
            draw_cut(app, cell, role, text);
    }
}

/* --- texts that are too long --- */

/* The texts of a column, from the first row shown on. */
struct column_texts {
    const struct app *app;
    size_t field;
};

static void write_text(const void *context, size_t index, char *text, size_t size)
{
    const struct column_texts *texts = context;
    const struct runs_model *model = runs_model(texts->app);
    const struct runs_row *row = &model->rows[model->selection.top + index];
    struct run_record record;
    text[0] = '\0';
    if (row->index == SIZE_MAX) /* the head of a group */
        return;
    runs_record(app_run_at(texts->app, row->index), &record);
    runs_cell(texts->field, &record, text, size);
}

/* Draws a column of texts of which some are too long: these lose their middle, and different ones
 * stay different. */
static void draw_short_texts(struct app *app, struct rect list, size_t rows,
                             const struct runs_column *column)
{
    const struct runs_model *model = runs_model(app);
    const struct runs_selection *selection = &model->selection;
    const struct column_texts context = {app, column->field};
    struct short_names names;
    char text[FIELD_TEXT];
    short_names_make(&names, rows, column->width, app->canvas.glyphs->cut, write_text, &context);
    for (size_t i = 0; i < rows; i++) {
        const struct rect cell = {list.row + (int)i, list.column + column->start, 1, column->width};
        if (model->rows[selection->top + i].index == SIZE_MAX)
            continue;
        write_text(&context, i, text, sizeof text);
        draw_cut(app, cell, selection->top + i == selection->row ? ROLE_FOCUS : ROLE_TEXT,
                 short_names_get(&names, i, text));
    }
    short_names_free(&names);
}

/* --- groups --- */

/* Writes "loss 0.53 +- 0.02", the mean and the standard deviation or, of a group of seeds, the 95 %
 * interval of the mean; if `brief`, "loss 0.53"; with the number of runs that have the figure if
 * not all do. */
static void mean_text(const struct app *app, const struct runs_group *group, size_t figure,
                      bool brief, char *text, size_t size)
{
    char value[64], spread[80] = "", part[48] = "";
    const struct runs_mean *mean = &group->means[figure];
    const size_t field = runs_mean_fields[figure];
    text[0] = '\0';
    if (mean->count == 0)
        return;
    run_field_print(field, mean->mean, value, sizeof value);
    if (mean->count > 1 && !brief) {
        char sd[64];
        const double runs = (double)mean->count, deviation = sqrt(mean->squares / (runs - 1));
        const double half = student_t_quantile(0.975, runs - 1) * deviation / sqrt(runs);
        const bool seeds = runs_model(app)->group == FIELD_NONE;
        run_field_print(field, seeds ? half : deviation, sd, sizeof sd);
        snprintf(spread, sizeof spread, " %s %s", app->canvas.glyphs->plus_minus, sd);
    }
    if (mean->count < group->count)
        snprintf(part, sizeof part, _(" (of %zu)"), mean->count);
    snprintf(text, size, "%s %s%s%s", runs_heading(field), value, spread, part);
}

/* Draws the head of a group: only whole texts, since a part of a number would be another one. */
static void draw_head(struct app *app, struct rect line, const struct runs_group *group,
                      bool selected)
{
    char text[200];
    const struct runs_model *model = runs_model(app);
    const enum role role = selected ? ROLE_FOCUS : ROLE_STRONG;
    const char *sign = group->collapsed ? "+" : "-";
    const bool seeds = model->group == FIELD_NONE;
    int at = draw_format(&app->canvas, line, 0, 1, role, "%s %s %s", sign,
                         seeds ? _("seeds") : runs_heading(model->group),
                         group->value[0] ? group->value : _("none"));
    snprintf(text, sizeof text, ngettext("%zu run", "%zu runs", group->count), group->count);
    at = draw_format(&app->canvas, line, 0, at + 2, role, "%s", text);
    for (size_t i = 0; i < RUNS_MEANS; i++) {
        mean_text(app, group, i, false, text, sizeof text);
        if (at + 2 + (int)columns_of(text) >= line.columns)
            mean_text(app, group, i, true, text, sizeof text);
        if (at + 2 + (int)columns_of(text) >= line.columns)
            return; /* the heads of all groups have the same figures first */
        if (text[0])
            at = draw_text(&app->canvas, line, 0, at + 2, selected ? ROLE_FOCUS : ROLE_TEXT, text);
    }
}

/* --- the table --- */

/* A click on a heading sorts by its column, and reverses the order of the one that is sorted by. */
static void add_sort_target(struct app *app, struct rect cell, size_t place)
{
    const struct runs_model *model = runs_model(app);
    const size_t choices = model->columns.count + 1; /* as in runs_model_sort */
    const size_t at =
        model->sort == FIELD_NONE ? 0 : runs_columns_place(&model->columns, model->sort);
    if (rect_is_empty(cell))
        return;
    if (at == place + 1)
        targets_add(&app->canvas.targets, cell, 'i', 1);
    else
        targets_add(&app->canvas.targets, cell, '>', (place + 1 + choices - at) % choices);
}

/* Draws the headings; the sort column has an arrow that shows the direction. */
static void draw_headings(struct app *app, struct rect head)
{
    const struct runs_model *model = runs_model(app);
    if (app->shared.runs.count > 0) {
        const struct rect number = {head.row, head.column + 1 + MARKS, head.rows, NUMBER - 1};
        draw_right(&app->canvas, number, 0, ROLE_HEADING, "#");
    }
    for (size_t i = 0; i < model->columns.count; i++) {
        const struct runs_column *column = &model->columns.list[i];
        struct rect cell = {head.row, head.column + column->start, head.rows, column->width};
        const char *heading = runs_heading(column->field);
        const int wide = (int)columns_of(heading), used = wide < cell.columns ? wide : cell.columns;
        if (column->right)
            draw_right(&app->canvas, cell, 0, ROLE_HEADING, heading);
        else
            draw_cut(app, cell, ROLE_HEADING, heading);
        add_sort_target(app, cell, i);
        if (column->field != model->sort || column->width == 0)
            continue;
        cell.columns++; /* the arrow may use the gap before the next column */
        draw_text(&app->canvas, cell, 0, column->right ? column->width : used, ROLE_STRONG,
                  model->backwards ? app->canvas.glyphs->down : app->canvas.glyphs->up);
    }
}

static void draw_rows(struct app *app, struct rect list)
{
    struct runs_model *model = runs_model(app);
    struct runs_selection *selection = &model->selection;
    const size_t rows = list.rows > 0 ? (size_t)list.rows : 0;
    selection->top = listing_scroll(selection->top, selection->row, rows, model->row_count);
    if (model->row_count == 0)
        draw_wrapped(&app->canvas, list, 0, ROLE_FAINT,
                     _("No run matches all of these terms; Esc shows all runs again."));
    for (size_t i = 0; i < rows && selection->top + i < model->row_count; i++) {
        const size_t place = selection->top + i;
        const struct runs_row *row = &model->rows[place];
        const struct rect line = {list.row + (int)i, list.column, 1, list.columns};
        const bool selected = place == selection->row;
        if (selected) {
            draw_fill(&app->canvas, line, ROLE_FOCUS);
            draw_text(&app->canvas, line, 0, 0, ROLE_FOCUS, ">");
            draw_cursor(&app->canvas, line, 0, 0);
        }
        if (row->index == SIZE_MAX)
            draw_head(app, line, &model->groups[row->group], selected);
        else
            draw_run(app, line, row->index, selected);
        targets_add_row(&app->canvas.targets, line, place, selection->row);
    }
    const size_t below = model->row_count - selection->top, shown = rows < below ? rows : below;
    for (size_t i = 0; i < model->columns.count; i++) {
        const struct runs_column *column = &model->columns.list[i];
        if (!column->right && column->width > 0 && column->content > column->width)
            draw_short_texts(app, list, shown, column);
    }
}

/* --- below the table --- */

/* Writes how many runs the table shows, and how many are still unread. */
static void count_text(const struct app *app, char *text, size_t size)
{
    const struct runs_model *model = runs_model(app);
    size_t all = app_run_count(app), marked = 0;
    for (size_t i = 0; i < all; i++)
        marked += app_run_at(app, i)->marked && runs_match(app, i);
    if (model->unread > 0)
        snprintf(text, size, _("reading: %zu of %zu"), all - model->unread, all);
    else if (model->count < all && marked > 0)
        snprintf(text, size, _("%zu of %zu runs, %zu marked"), model->count, all, marked);
    else if (model->count < all)
        snprintf(text, size, _("%zu of %zu runs"), model->count, all);
    else if (marked > 0)
        snprintf(text, size, _("%zu of %zu marked"), marked, all);
    else
        snprintf(text, size, ngettext("%zu run", "%zu runs", all), all);
}

/* Writes the selected run's ID, which commands accept, its name, its note and its process; of a
 * waiting run what it waits for, or where. */
static void called_text(const struct app *app, char *text, size_t size)
{
    char owner[192];
    const size_t index = runs_model_index(app);
    text[0] = '\0';
    if (index >= app_run_count(app))
        return;
    const struct run_entry *entry = app_run_at(app, index);
    char place[300];
    if (entry->queue.rank > 0) {
        snprintf(text, size, "%s%s%s", runs_id(entry), runs_id(entry)[0] ? "  " : "",
                 runs_queue_text(app, entry, place, sizeof place));
        return;
    }
    if (run_entry_is_waiting(entry)) {
        run_entry_status_text(entry, text, size);
        return;
    }
    int length = snprintf(text, size, "%s%s%s%s%s", runs_id(entry), entry->name[0] ? "  " : "",
                          entry->name, entry->note[0] ? "  " : "", entry->note);
    if (entry->live && length > 0 && (size_t)length < size)
        snprintf(text + length, size - (size_t)length, "  %s",
                 others_owner_text(entry, owner, sizeof owner));
}

/* Draws the filter or, without one, what the selected run is called. */
static void draw_foot(struct app *app, struct rect area)
{
    char text[128], called[RUN_NAME_SIZE + RUN_NOTE_SIZE + 400];
    count_text(app, text, sizeof text);
    int room = area.columns - (int)columns_of(text) - 2;
    struct rect left = {area.row, area.column, area.rows, room > 16 ? room : area.columns};
    if (room > 16)
        draw_right(&app->canvas, area, 0, ROLE_FAINT, text);
    if (runs_model(app)->filter_line.editing || app->shared.runs_search.text[0]) {
        runs_filter_draw(app, left);
        return;
    }
    called_text(app, called, sizeof called);
    left.column++;
    left.columns--;
    draw_cut(app, left, ROLE_FAINT, called);
}

void runs_view_draw(struct app *app, struct rect body)
{
    struct runs_model *model = runs_model(app);
    runs_model_update(app);
    if (app_run_count(app) == 0) {
        draw_wrapped(&app->canvas, body, 1, ROLE_FAINT,
                     loading_is_listing(app)
                         ? _("Reading the folder of runs ...")
                         : _("There is no run yet: n sets one up, and r there starts it."));
        return;
    }
    const int panel = runs_preview_columns(body), extra = runs_filter_rows(app, body);
    const struct rect table = {body.row, body.column, body.rows, body.columns - panel};
    const struct rect list = {table.row + 2, table.column, table.rows - 3 - extra, table.columns};
    const struct rect head = {table.row + 1, table.column, table.rows > 1, table.columns};
    const struct rect foot = {table.row + table.rows - 1, table.column, table.rows > 3,
                              table.columns - (panel > 0)}; /* a gap before the panel's rule */
    const struct rect side = {body.row + 1, body.column + table.columns, body.rows - 1, panel};
    const int indent = indent_of(app);
    runs_columns_fit(&model->columns, indent, table.columns - indent - 1);
    draw_headings(app, head);
    draw_rows(app, list);
    runs_filter_draw_candidates(
        app, (struct rect){foot.row - extra, table.column, extra, table.columns});
    draw_foot(app, foot);
    if (panel > 0)
        runs_preview_draw(app, side);
}
