/* The run screen: one of its views (views.h), with the figures that matter beside or below. A run
 * that is over is shown as it was at its last moment. */
#include "ui/screens/run/run_view.h"

#include "base/clock.h"
#include "base/language.h"
#include "ui/app/app.h"
#include "ui/app/other_runs.h"
#include "ui/screens/run/run_model.h"
#include "ui/screens/run/run_plot.h"
#include "ui/screens/run/run_text.h"
#include "ui/screens/run/views.h"
#include "ui/terminal/columns.h"

#include <math.h>
#include <stdio.h>

static struct run_display news_of(struct app *app, const struct run_entry *entry)
{
    struct run_model *view = run_model(app);
    struct run_display news = {.config = &entry->config, .now = entry->snapshot, .smoothed = NAN};
    if (entry->run && entry->snapshot.status != RUN_PREPARING)
        news.facts = run_facts(entry->run);
    if (entry->run && view->curves.series == run_series(entry->run))
        news.smoothed = curves_newest(&view->curves, TRACE_SMOOTHED);
    if (view->steady_since == 0 || clock_seconds(view->steady_since, clock_nanoseconds()) >= 1 ||
        view->steady.status != entry->snapshot.status) {
        view->steady = entry->snapshot;
        view->steady_since = clock_nanoseconds();
    }
    news.steady = view->steady;
    return news;
}

/* Columns of RUN_GRID_ROWS lines. The wide grid has three: the middle one holds the longest
 * figures, the last one the shortest. */
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
        draw_text(&app->canvas, box, row, wide ? labels[cell] : 10, lines[i].role, lines[i].value);
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
        column = draw_text(&app->canvas, area, row, column, lines[i].role, lines[i].value) + 2;
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
        draw_text(&app->canvas, area, row, 15, lines[i].role, lines[i].value);
    }
}

static void draw_facts(struct app *app, const struct run_layout *layout,
                       const struct run_display *news)
{
    struct run_line lines[RUN_LINES_MAX];
    size_t count = run_text_lines(news, layout->density, lines);
    if (layout->density == DENSITY_PANEL)
        draw_panel(app, layout->facts, lines, count);
    else if (layout->density == DENSITY_TINY)
        draw_flow(app, layout->facts, lines, count);
    else
        draw_grid(app, layout->facts, lines, count);
}

static void draw_progress(struct app *app, struct rect area, const struct run_display *news)
{
    char text[96];
    if (rect_is_empty(area))
        return;
    run_text_progress(news, area.columns, text, sizeof text);
    int width = area.columns - (int)columns_of(text) - 3;
    if (width > 8)
        draw_gauge(&app->canvas, area, 0, 1, width, run_text_fraction(&news->now), ROLE_GAUGE);
    draw_right(&app->canvas, area, 0, ROLE_TEXT, text);
}

static void draw_failure(struct app *app, struct rect area, const struct error *error)
{
    char text[1100];
    struct rect inside = {area.row + 1, area.column + 2, area.rows - 1, area.columns - 4};
    int row = draw_wrapped(&app->canvas, inside, 0, ROLE_BAD, _("! This run could not go on."));
    snprintf(text, sizeof text, "%s: %s", error->what, error->why);
    row = draw_wrapped(&app->canvas, inside, row, ROLE_TEXT, text);
    if (error->advice[0])
        row = draw_wrapped(&app->canvas, inside, row + 1, ROLE_STRONG, error->advice);
    draw_wrapped(&app->canvas, inside, row + 1, ROLE_FAINT, _("n goes to the form to change it."));
}

static void draw_view(struct app *app, struct run_entry *entry, const struct view *view,
                      const struct run_layout *layout, const struct run_display *news)
{
    const struct run_snapshot *now = &entry->snapshot;
    const char *waiting = !entry->run ? _("It waits for the run before it to end.")
                          : now->status == RUN_PREPARING
                              ? _("Opening the data and drawing the weights ...")
                              : NULL;
    if (rect_is_empty(layout->view))
        return;
    if (entry->refused)
        draw_failure(app, layout->view, &entry->error);
    else if (waiting)
        draw_text(&app->canvas, layout->view, 1, 2, ROLE_FAINT, waiting);
    else if ((now->status == RUN_FAILED || now->status == RUN_REFUSED) && now->iteration == 0)
        draw_failure(app, layout->view, &now->error);
    else
        view->draw(app, entry, layout, news);
}

enum { FINDING_COLUMNS = 50 };

/* The newest finding, in the line of the tabs. */
static void draw_finding(struct app *app, const struct run_entry *entry, struct rect area)
{
    struct finding finding;
    if (!entry->run || entry->snapshot.finding_count == 0 || rect_is_empty(area))
        return;
    run_finding(entry->run, entry->snapshot.finding_count - 1, &finding);
    const char *kind = finding_kind_words(finding.kind);
    char text[160];
    if (isnan(finding.epoch))
        snprintf(text, sizeof text, _("! %s from iteration %llu"), kind,
                 (unsigned long long)finding.iteration);
    else
        snprintf(text, sizeof text, _("! %s from epoch %.2f (iteration %llu)"), kind, finding.epoch,
                 (unsigned long long)finding.iteration);
    if ((int)columns_of(text) <= area.columns)
        draw_text(&app->canvas, area, 0, 0, ROLE_BAD, text);
    else
        draw_format(&app->canvas, area, 0, 0, ROLE_BAD, "! %s", kind);
}

/* A finding goes before the names of the views. */
static void draw_tab_line(struct app *app, const struct run_entry *entry, struct rect area)
{
    const bool finding = entry->run && entry->snapshot.finding_count > 0;
    if (rect_is_empty(area))
        return;
    int end = views_draw_tabs(app, entry, area, area.columns - (finding ? FINDING_COLUMNS : 0)) + 1;
    struct rect rest = {area.row, area.column + end, 1, area.columns - end};
    draw_finding(app, entry, rest);
}

/* Where there is little room a view that needs it takes the figures' lines, and all but the curves
 * those of the learning rate's strip. */
static void give_room(struct run_layout *layout, const struct view *view)
{
    if (view == &view_curves)
        return;
    if (!rect_is_empty(layout->rate))
        layout->view.rows = layout->rate.row + layout->rate.rows - layout->view.row;
    layout->rate.rows = 0;
    if (view->spreads && layout->density < DENSITY_NORMAL) {
        layout->view.rows += layout->facts.rows;
        layout->facts.rows = 0;
    }
}

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
    if (entry->run)
        run_plot_update(app, entry, &layout);
    const struct view *view = views_shown(app, entry);
    give_room(&layout, view);
    struct run_display news = news_of(app, entry);
    draw_view(app, entry, view, &layout, &news);
    if (!rect_is_empty(layout.facts))
        draw_facts(app, &layout, &news);
    draw_progress(app, layout.progress, &news);
    draw_tab_line(app, entry, layout.tabs);
    if (run_model(app)->choice.open && view == &view_curves && entry->run)
        trace_list_draw(app, entry, body);
}
