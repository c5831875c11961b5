/* The list of curves. It covers only the right part of the screen, so that the effect of switching
 * a curve is visible. */
#include "base/language.h"
#include "ui/plot/trace.h"
#include "ui/plot/trace_choice.h"
#include "ui/screens/run/internal.h"
#include "ui/terminal/columns.h"

#include <stdio.h>

enum { WIDTH = 38 };

static void draw_item(struct app *app, const struct series *series, struct rect line,
                      enum trace trace, bool selected)
{
    bool adversarial = trace_is_adversarial(series),
         on = run_model(app)->choice.chosen & TRACE_BIT(trace);
    enum role role = selected ? ROLE_FOCUS : ROLE_TEXT;
    if (selected)
        draw_fill(&app->canvas, line, ROLE_FOCUS);
    draw_text(&app->canvas, line, 0, 0, role, selected ? ">" : " ");
    draw_text(&app->canvas, line, 0, 1, role, on ? "[x]" : "[ ]");
    draw_format(&app->canvas, line, 0, 5, selected ? ROLE_FOCUS : trace_role(trace), "%c",
                trace_letter(trace, adversarial));
    int column = draw_text(&app->canvas, line, 0, 7, role, trace_name(trace, adversarial));
    if (!trace_has_values(series, trace) &&
        column + 2 + (int)columns_of(_("none yet")) <= line.columns)
        draw_right(&app->canvas, line, 0, selected ? ROLE_FOCUS : ROLE_FAINT, _("none yet"));
    if (selected)
        draw_cursor(&app->canvas, line, 0, 1);
}

void trace_list_draw(struct app *app, const struct run_entry *entry, struct rect body)
{
    struct trace_choice *choice = &run_model(app)->choice;
    const struct series *series = run_series(entry->run);
    enum trace items[TRACES];
    size_t count = trace_list_items(series, items);
    int rows = (int)count + 2 < body.rows ? (int)count + 2 : body.rows;
    int columns = WIDTH < body.columns ? WIDTH : body.columns;
    struct rect box = {body.row, body.column + body.columns - columns, rows, columns};
    struct rect inside = draw_box(&app->canvas, box, _("Curves: space, Enter"));
    targets_clear(&app->canvas.targets); /* a click must not reach what the list covers */
    if (inside.rows <= 0)
        return;
    size_t room = (size_t)inside.rows;
    if (choice->selected < choice->top)
        choice->top = choice->selected;
    if (choice->selected >= choice->top + room)
        choice->top = choice->selected - room + 1;
    for (size_t row = 0; row < room && choice->top + row < count; row++) {
        struct rect line = {inside.row + (int)row, inside.column, 1, inside.columns};
        draw_item(app, series, line, items[choice->top + row],
                  choice->top + row == choice->selected);
        targets_add(&app->canvas.targets, line,
                    trace_letter(items[choice->top + row], trace_is_adversarial(series)), 1);
    }
}
