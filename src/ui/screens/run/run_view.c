/* Drawing of the run screen: the tabs, the newest finding, the view in front (views.c), the
 * run's values beside or below it, and the progress. A completed run is shown as its last snapshot.
 */
#include "ui/screens/run/internal.h"

#include "base/clock.h"
#include "base/language.h"
#include "ui/app/app.h"
#include "ui/app/other_runs.h"
#include "ui/plot/trace.h"
#include "ui/shared/form.h"
#include "ui/terminal/columns.h"

#include <math.h>
#include <stdio.h>

static struct run_display display_of(struct app *app, const struct run_entry *entry)
{
    struct run_model *view = run_model(app);
    struct run_display display = {
        .config = &entry->config, .now = entry->snapshot, .smoothed = NAN};
    if (entry->run && entry->snapshot.status != RUN_PREPARING)
        display.facts = run_facts(entry->run);
    if (entry->run && view->curves.series == run_series(entry->run))
        display.smoothed = curves_newest(&view->curves, TRACE_SMOOTHED);
    if (view->steady_since == 0 || clock_seconds(view->steady_since, clock_nanoseconds()) >= 1 ||
        view->steady.status != entry->snapshot.status) {
        view->steady = entry->snapshot;
        view->steady_since = clock_nanoseconds();
    }
    display.steady = view->steady;
    return display;
}

/* Draws the lines in columns of RUN_GRID_ROWS. A wide grid has three columns: the middle one has
 * the longest values, the last one the shortest. */
static void draw_grid(struct app *app, struct rect area, const struct run_line *lines, size_t count)
{
    static const int starts[] = {1, 31, 61}, labels[] = {11, 14, 10};
    bool wide = count > 2 * RUN_GRID_ROWS;
    for (size_t i = 0; i < count; i++) {
        int cell = (int)(i / RUN_GRID_ROWS), row = (int)(i % RUN_GRID_ROWS);
        int start = wide ? starts[cell] * area.columns / 80 : cell * area.columns / 2;
        int end = wide && cell < 2 ? starts[cell + 1] * area.columns / 80 - 1
                  : wide           ? area.columns
                                   : (cell + 1) * area.columns / 2 - 1;
        struct rect box = {area.row, area.column + start, area.rows, end - start};
        draw_text(&app->canvas, box, row, 0, ROLE_FAINT, lines[i].label);
        draw_fitted_value(&app->canvas, box, row, wide ? labels[cell] : 10, lines[i].role,
                          lines[i].value);
    }
}

static void draw_flow(struct app *app, struct rect area, const struct run_line *lines, size_t count)
{
    int row = 0, column = 0;
    for (size_t i = 0; i < count; i++) {
        int width = (int)(columns_of(lines[i].label) + 1 + columns_of(lines[i].value));
        if (column > 0 && column + width > area.columns) {
            row++;
            column = 0;
        }
        column = draw_text(&app->canvas, area, row, column, ROLE_FAINT, lines[i].label) + 1;
        column =
            draw_fitted_value(&app->canvas, area, row, column, lines[i].role, lines[i].value) + 2;
    }
}

static void draw_panel(struct app *app, struct rect area, const struct run_line *lines,
                       size_t count)
{
    int headings = 0, row = 0;
    for (size_t i = 0; i < count; i++)
        headings += !lines[i].value[0] && lines[i].role == ROLE_HEADING;
    bool airy = (int)count + headings <= area.rows;
    for (size_t i = 0; i < count; i++, row++) {
        bool heading = lines[i].role == ROLE_HEADING;
        if (heading && airy && row > 0)
            row++;
        draw_text(&app->canvas, area, row, heading ? 0 : 1, heading ? ROLE_HEADING : ROLE_FAINT,
                  lines[i].label);
        draw_fitted_value(&app->canvas, area, row, 15, lines[i].role, lines[i].value);
    }
}

static void draw_facts(struct app *app, const struct run_layout *layout,
                       const struct run_display *display)
{
    struct run_line lines[RUN_LINES_MAX];
    size_t count = run_text_lines(display, layout->density, lines);
    if (layout->density == DENSITY_PANEL)
        draw_panel(app, layout->facts, lines, count);
    else if (layout->density == DENSITY_TINY)
        draw_flow(app, layout->facts, lines, count);
    else
        draw_grid(app, layout->facts, lines, count);
}

static void draw_progress(struct app *app, struct rect area, const struct run_display *display)
{
    char text[96];
    if (rect_is_empty(area))
        return;
    run_text_progress(display, area.columns, text, sizeof text);
    int width = area.columns - (int)columns_of(text) - 3;
    if (width > 8)
        draw_gauge(&app->canvas, area, 0, 1, width, run_text_fraction(&display->now), ROLE_GAUGE);
    draw_right(&app->canvas, area, 0, ROLE_TEXT, text);
}

static void draw_failure(struct app *app, struct rect area, const struct error *error, bool refused)
{
    char text[1100];
    struct rect inside = {area.row + 1, area.column + 2, area.rows - 1, area.columns - 4};
    int row =
        draw_wrapped(&app->canvas, inside, 0, ROLE_BAD,
                     refused ? _("! This run could not begin.") : _("! This run could not go on."));
    const struct error shown = setting_error(error);
    snprintf(text, sizeof text, "%s: %s", shown.what, shown.why);
    row = draw_wrapped(&app->canvas, inside, row, ROLE_TEXT, text);
    if (shown.advice[0])
        row = draw_wrapped(&app->canvas, inside, row + 1, ROLE_STRONG, shown.advice);
    draw_wrapped(&app->canvas, inside, row + 1, ROLE_FAINT, _("n goes to the form to change it."));
}

/* Returns why the run has no values yet; NULL: it has begun. */
static const char *waiting_text(const struct run_entry *entry, char *text, size_t size)
{
    if (!entry->run && entry->queue.waits_for[0])
        return run_entry_status_text(entry, text, size);
    if (!entry->run)
        return _("It waits for the run before it to end.");
    return entry->snapshot.status == RUN_PREPARING
               ? _("Opening the data and drawing the weights ...")
               : NULL;
}

static void draw_view(struct app *app, struct run_entry *entry, const struct view *view,
                      const struct run_layout *layout, const struct run_display *display)
{
    const struct run_snapshot *now = &entry->snapshot;
    char status[120];
    const char *waiting = waiting_text(entry, status, sizeof status);
    if (rect_is_empty(layout->view))
        return;
    if (entry->refused)
        draw_failure(app, layout->view, &entry->error, true);
    else if (waiting)
        draw_text(&app->canvas, layout->view, 1, 2, ROLE_FAINT, waiting);
    else if ((now->status == RUN_FAILED || now->status == RUN_REFUSED) && now->iteration == 0)
        draw_failure(app, layout->view, &now->error, now->status == RUN_REFUSED);
    else
        view->draw(app, entry, layout, display);
}

/* Draws the newest finding, and how many there are. */
static void draw_finding(struct app *app, const struct run_entry *entry, struct rect area)
{
    struct finding finding;
    const size_t count = entry->snapshot.finding_count;
    char text[160], more[48] = "";
    run_finding(entry->run, count - 1, &finding);
    const char *kind = finding_kind_words(finding.kind);
    if (isnan(finding.epoch))
        snprintf(text, sizeof text, _("! %s from iteration %llu"), kind,
                 (unsigned long long)finding.iteration);
    else
        snprintf(text, sizeof text, _("! %s from epoch %.2f (iteration %llu)"), kind, finding.epoch,
                 (unsigned long long)finding.iteration);
    if (count > 1)
        snprintf(more, sizeof more, _("  (newest of %zu: %zu lists them)"), count,
                 views_digit(&view_findings));
    int column = 1;
    if ((int)columns_of(text) < area.columns)
        column = draw_text(&app->canvas, area, 0, column, ROLE_BAD, text);
    else
        column = draw_format(&app->canvas, area, 0, column, ROLE_BAD, "! %s", kind);
    if (column + (int)columns_of(more) <= area.columns)
        draw_text(&app->canvas, area, 0, column, ROLE_FAINT, more);
    targets_add(&app->canvas.targets, area, '0' + (int)views_digit(&view_findings), 1);
}

/* Takes the line of the newest finding from the top of the view, unless that view lists all
 * findings or has no row to spare. */
static struct rect take_finding_line(const struct run_entry *entry, const struct view *view,
                                     struct run_layout *layout)
{
    enum { LEAST_VIEW_ROWS = 3 };
    struct rect line = {layout->view.row, layout->view.column, 1, layout->view.columns};
    if (!entry->run || entry->snapshot.finding_count == 0 || view == &view_findings ||
        layout->view.rows <= LEAST_VIEW_ROWS)
        return (struct rect){0};
    layout->view.row++;
    layout->view.rows--;
    return line;
}

/* Enlarges the area of every view but Curves: by the rows of the learning-rate panel and, on a
 * small screen, by the rows of the run's values if the view covers them. */
static void enlarge_view(struct run_layout *layout, const struct view *view)
{
    if (view == &view_curves)
        return;
    if (!rect_is_empty(layout->rate))
        layout->view.rows = layout->rate.row + layout->rate.rows - layout->view.row;
    layout->rate.rows = 0;
    if (view->covers_figures && layout->density < DENSITY_NORMAL) {
        layout->view.rows += layout->facts.rows;
        layout->facts.rows = 0;
    }
}

/* --- the list of curves --- */

enum { TRACE_LIST_COLUMNS = 38 };

static void draw_trace_item(struct app *app, const struct series *series, struct rect line,
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

/* Draws the list in which curves are switched on and off. It covers only the right part of the
 * screen, so that the effect of switching a curve is visible. */
static void draw_trace_list(struct app *app, const struct run_entry *entry, struct rect body)
{
    struct trace_choice *choice = &run_model(app)->choice;
    const struct series *series = run_series(entry->run);
    enum trace items[TRACES];
    size_t count = trace_list_items(series, items);
    int rows = (int)count + 2 < body.rows ? (int)count + 2 : body.rows;
    int columns = TRACE_LIST_COLUMNS < body.columns ? TRACE_LIST_COLUMNS : body.columns;
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
        draw_trace_item(app, series, line, items[choice->top + row],
                        choice->top + row == choice->selected);
        targets_add(&app->canvas.targets, line,
                    trace_letter(items[choice->top + row], trace_is_adversarial(series)), 1);
    }
}

/* --- all --- */

void run_view_draw(struct app *app, struct rect body)
{
    enum { LEAST_ROWS = 6 };
    struct run_entry *entry = app_entry(app);
    struct rect line = {body.row, body.column, body.rows >= LEAST_ROWS, body.columns};
    if (entry && others_draw_line(app, entry, line)) {
        body.row++;
        body.rows--;
    }
    struct run_layout layout = layout_run(body);
    if (!entry) {
        draw_wrapped(&app->canvas, body, 1, ROLE_FAINT,
                     _("There is no run yet: n sets one up, and r there starts it."));
        return;
    }
    const struct view *view = views_shown(app, entry);
    const struct rect finding = take_finding_line(entry, view, &layout);
    if (entry->run)
        run_plot_update(app, entry, &layout);
    enlarge_view(&layout, view);
    struct run_display display = display_of(app, entry);
    draw_view(app, entry, view, &layout, &display);
    if (!rect_is_empty(layout.facts))
        draw_facts(app, &layout, &display);
    draw_progress(app, layout.progress, &display);
    views_draw_tabs(app, entry, layout.tabs);
    if (!rect_is_empty(finding))
        draw_finding(app, entry, finding);
    if (run_model(app)->choice.open && view == &view_curves && entry->run)
        draw_trace_list(app, entry, body);
}
