/* Inspections of a run: the worker measures the next iterations when it is asked, and publishes the
 * result. A new one is requested every five seconds, or after a hundred times the cost of the last
 * one if that is longer. The tables sort a list of row numbers and draw the part that fits. */
#include "ui/screens/run/internal.h"

#include "base/clock.h"
#include "base/language.h"
#include "base/memory.h"
#include "runs/settings/train_command.h"
#include "ui/app/app.h"
#include "ui/terminal/columns.h"
#include "ui/widgets/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const double RENEW_SECONDS = 5, RENEW_COSTS = 100;

/* --- requests --- */

static bool is_old(const struct insight *insight, const struct inspection *seen)
{
    double age = clock_seconds(insight->answered, clock_nanoseconds());
    return age >= fmax(RENEW_SECONDS, RENEW_COSTS * seen->cost);
}

void insight_request(struct insight *insight, struct run_entry *entry)
{
    struct error error;
    if (!run_entry_is_active(entry))
        return;
    if (insight->run != entry->run)
        *insight = (struct insight){.run = entry->run};
    const struct inspection *seen = run_inspection(entry->run, &error);
    if (seen && seen->iteration != insight->iteration) {
        insight->iteration = seen->iteration;
        insight->answered = clock_nanoseconds();
        insight->asked = false;
    }
    if (!insight->asked && (!seen || is_old(insight, seen)))
        insight->asked = run_send(entry->run, COMMAND_INSPECT, 0);
}

/* --- no inspection yet --- */

static void draw_bench_command(struct canvas *canvas, struct rect area, int row,
                               const struct run_config *config)
{
    struct text command = {0};
    bench_command_append(&command, config);
    if (command.data && !command.failed)
        draw_wrapped(canvas, area, row, ROLE_STRONG, command.data);
    text_free(&command);
}

/* Returns why a run that is over has no inspection. */
static const char *why_not_measured(const struct run_entry *entry)
{
    if (run_facts(entry->run)->imported[0])
        return _("Not measured: another program computed this run, and it was imported.");
    switch (entry->snapshot.status) {
    case RUN_INTERRUPTED:
        return _(
            "Not measured: a run measures its last iterations, but this run's process was ended "
            "before them. Resume the run to measure them.");
    case RUN_FAILED:
    case RUN_REFUSED:
        return _("Not measured: a run measures its last iterations, but this run failed before "
                 "them.");
    default:
        return _(
            "Not measured: a run measures its last iterations, unless that would take more than "
            "a hundredth of its time. This run was too short, or an older version computed "
            "it.");
    }
}

static void explain(struct app *app, const struct run_entry *entry, struct rect area,
                    const struct error *error)
{
    char text[1200];
    const struct run_snapshot *now = &entry->snapshot;
    struct canvas *canvas = &app->canvas;
    const struct error *wrong = error->kind != ERROR_NONE ? error : &now->error;
    if (wrong->kind != ERROR_NONE && (error->kind != ERROR_NONE || run_entry_is_active(entry))) {
        draw_wrapped(canvas, area, 1, ROLE_BAD, error_format(wrong, text, sizeof text));
    } else if (run_entry_is_active(entry)) {
        draw_wrapped(canvas, area, 1, ROLE_FAINT,
                     now->status == RUN_PAUSED
                         ? _("The next iterations will be measured; space lets the run go on.")
                         : _("Measuring the next iterations ..."));
    } else if (entry->live) {
        draw_wrapped(canvas, area, 1, ROLE_FAINT,
                     _("These values are measured by the process that computes the run, while this "
                       "view is open there. What it has saved is shown when the run is over."));
    } else {
        int row = draw_wrapped(canvas, area, 1, ROLE_FAINT, why_not_measured(entry));
        if (!config_is_known(&entry->config, run_facts(entry->run)->imported, KEY(network)))
            return;
        row = draw_wrapped(canvas, area, row + 1, ROLE_FAINT,
                           _("A benchmark measures the same for the network alone:"));
        draw_bench_command(canvas, area, row, &entry->config);
    }
}

const struct inspection *insight_get(struct app *app, struct run_entry *entry, struct rect area)
{
    struct error error;
    struct rect inside = {area.row, area.column + 2, area.rows, area.columns - 3};
    const struct inspection *seen = run_inspection(entry->run, &error);
    run_model(app)->insight.absent = !seen;
    if (!seen)
        explain(app, entry, inside, &error);
    return seen;
}

const char *insight_when(const struct inspection *seen, const struct run_entry *entry, char *text,
                         size_t size)
{
    const unsigned long long first = seen->iteration, count = seen->iterations;
    const unsigned long long last = first + count - 1;
    if (seen->after_end)
        snprintf(text, size,
                 ngettext("Iteration %llu, %llu time after the end",
                          "Iteration %llu, %llu times after the end", count),
                 first, count);
    else if (!run_entry_is_active(entry) && last == entry->snapshot.iteration)
        snprintf(text, size,
                 ngettext("The last iteration, %llu", "The last iterations, %llu to %llu", count),
                 first, last);
    else if (count == 1)
        snprintf(text, size, _("Iteration %llu"), first);
    else
        snprintf(text, size, _("Iterations %llu to %llu"), first, last);
    return text;
}

/* --- tables: keys and order --- */

static bool is_sortable(const struct insight_table *table, size_t column)
{
    return table->sortable >> column & 1;
}

static void turn_sort(struct insight_table_view *view, const struct insight_table *table)
{
    const size_t count = table->column_count, step = view->turn < 0 ? count - 1 : 1;
    if (view->sort >= count || !is_sortable(table, view->sort))
        view->sort = 0;
    if (view->turn != 0)
        do
            view->sort = (view->sort + step) % count;
        while (!is_sortable(table, view->sort) && view->sort != 0);
    view->turn = 0;
}

static int greatest_first(const void *a, const void *b)
{
    const struct insight_row *x = a, *y = b;
    if (x->key != y->key && !(isnan(x->key) && isnan(y->key)))
        return isnan(x->key) || x->key < y->key ? 1 : -1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Sorts view->order. Returns false if there is no memory. */
static bool sort_rows(struct insight_table_view *view, const struct insight_table *table)
{
    if (!memory_grow(&view->order, &view->capacity, table->row_count, sizeof *view->order,
                     "a table", NULL))
        return false;
    for (size_t i = 0; i < table->row_count; i++)
        view->order[i] = (struct insight_row){
            view->sort == 0 ? 0 : table->key(table->context, i, view->sort), i};
    if (table->row_count > 0) /* else `order` may be NULL */
        qsort(view->order, table->row_count, sizeof *view->order, greatest_first);
    return true;
}

void insight_table_move(struct insight_table_view *view, int how)
{
    const size_t page = view->page > 1 ? (size_t)view->page - 1 : 1;
    if (how == MOVE_LEFT || how == MOVE_RIGHT) {
        view->turn += how == MOVE_LEFT ? -1 : 1;
        view->selected = 0;
    } else /* drawing limits it to the last row */
        view->selected = list_move(view->selected, how, page, SIZE_MAX / 4);
}

void insight_table_free(struct insight_table_view *view)
{
    free(view->order);
    *view = (struct insight_table_view){0};
}

struct insight_layout insight_layout(struct insight_table_view *view, struct rect area, int rows)
{
    struct insight_layout layout = {0};
    const int least = 4; /* rows of a useful table: a heading and three rows */
    int summary = area.rows >= 5;
    layout.summary = (struct rect){area.row, area.column, summary, area.columns};
    area.row += summary;
    area.rows -= summary;
    view->both = area.rows >= least + 1 + rows;
    if (view->both) {
        layout.details =
            (struct rect){area.row + area.rows - rows, area.column, rows, area.columns};
        area.rows -= rows + 1;
    } else if (view->details) {
        layout.details = area;
        area.rows = 0;
    }
    layout.table = area;
    return layout;
}

/* --- text --- */

int insight_draw_text(struct canvas *canvas, struct rect area, int row, enum role role,
                      const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return draw_wrapped(canvas, area, row, role, text);
}

void insight_draw_absence(struct canvas *canvas, struct rect area, const char *why)
{
    struct rect inside = {area.row, area.column + 2, area.rows, area.columns - 3};
    draw_wrapped(canvas, inside, 1, ROLE_FAINT, why);
}

void insight_draw_summary(struct canvas *canvas, struct rect area, enum role role,
                          const char *sentence, const char *brief)
{
    const bool fits = (int)columns_of(sentence) < area.columns;
    draw_text(canvas, area, 0, 1, role, fits ? sentence : brief);
}

/* --- tables: drawing --- */

static void draw_cell(struct canvas *canvas, struct rect cell, bool right, enum role role,
                      const char *text)
{
    if (right)
        draw_right(canvas, cell, 0, role, text);
    else
        draw_fitted_name(canvas, cell, 0, 0, role, text);
}

/* Draws the column headings and marks the one that sorts. */
static void draw_heading(const struct insight_table_view *view, const struct insight_table *table,
                         struct canvas *canvas, struct rect area, const int *starts,
                         const int *widths)
{
    char text[64];
    for (size_t i = 0; i < table->column_count; i++) {
        struct rect cell = {area.row, area.column + 1 + starts[i], 1, widths[i]};
        const bool sorts = i == view->sort;
        snprintf(text, sizeof text, "%s%s", gettext(table->columns[i].title),
                 sorts ? canvas->glyphs->sorted : "");
        draw_cell(canvas, cell, table->columns[i].right, sorts ? ROLE_STRONG : ROLE_HEADING, text);
    }
}

/* The names of a table's columns of text that are too narrow for them. */
struct table_names {
    struct short_names columns[TABLE_MAX_COLUMNS];
};

struct column_of_table {
    const struct insight_table *table;
    size_t column;
};

static void write_cell(const void *context, size_t row, char *text, size_t size)
{
    const struct column_of_table *column = context;
    column->table->cell(column->table->context, row, column->column, text, size);
}

/* Returns whether a cell of the column is wider than the column. */
static bool is_too_narrow(const struct insight_table *table, size_t column, int width)
{
    char text[SHORT_NAME_SIZE];
    for (size_t row = 0; row < table->row_count; row++) {
        table->cell(table->context, row, column, text, sizeof text);
        if ((int)columns_of(text) > width)
            return true;
    }
    return false;
}

static void shorten_names(const struct insight_table *table, const struct canvas *canvas,
                          const int *widths, struct table_names *names)
{
    for (size_t i = 0; i < table->column_count; i++) {
        const struct column_of_table column = {table, i};
        names->columns[i] = (struct short_names){0};
        if (widths[i] > 0 && !table->columns[i].right && is_too_narrow(table, i, widths[i]))
            short_names_make(&names->columns[i], table->row_count, widths[i], canvas->glyphs->cut,
                             write_cell, &column);
    }
}

static void draw_row(const struct insight_table *table, const struct table_names *names, size_t row,
                     bool selected, struct canvas *canvas, struct rect line, const int *starts,
                     const int *widths)
{
    char text[SHORT_NAME_SIZE];
    const enum role role = selected ? ROLE_FOCUS : ROLE_TEXT;
    if (selected) {
        draw_fill(canvas, line, ROLE_FOCUS);
        draw_text(canvas, line, 0, 0, ROLE_FOCUS, ">");
        draw_cursor(canvas, line, 0, 0);
    }
    for (size_t i = 0; i < table->column_count; i++) {
        struct rect cell = {line.row, line.column + 1 + starts[i], 1, widths[i]};
        if (widths[i] == 0)
            continue;
        table->cell(table->context, row, i, text, sizeof text);
        draw_cell(canvas, cell, table->columns[i].right, role,
                  short_names_get(&names->columns[i], row, text));
    }
}

size_t insight_table_draw(struct insight_table_view *view, const struct insight_table *table,
                          struct canvas *canvas, struct rect area)
{
    int starts[TABLE_MAX_COLUMNS], widths[TABLE_MAX_COLUMNS];
    turn_sort(view, table);
    if (view->selected >= table->row_count)
        view->selected = table->row_count - 1;
    if (!sort_rows(view, table))
        return 0;
    if (area.rows > 1) {
        const size_t rows = (size_t)area.rows - 1;
        table_fit(table->columns, table->column_count, area.columns - 2, starts, widths);
        view->page = (int)rows;
        view->top = table_scroll(view->top, view->selected, rows, table->row_count);
        struct table_names names;
        draw_heading(view, table, canvas, area, starts, widths);
        shorten_names(table, canvas, widths, &names);
        for (size_t i = 0; i < rows && view->top + i < table->row_count; i++) {
            struct rect line = {area.row + 1 + (int)i, area.column, 1, area.columns};
            draw_row(table, &names, view->order[view->top + i].row, view->top + i == view->selected,
                     canvas, line, starts, widths);
            targets_add_row(&canvas->targets, line, view->top + i, view->selected);
        }
        for (size_t i = 0; i < table->column_count; i++)
            short_names_free(&names.columns[i]);
    }
    return view->order[view->selected].row;
}
