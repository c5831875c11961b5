/* The panels of the Curves view. Drawing order: raw values, smoothed lines, validations, findings;
 * later ones cover earlier ones. If a panel has several curves of one kind, each carries its
 * letter, so that colour is not needed to distinguish them. The x axis ends at a round number and
 * grows in steps; between two steps a new point changes only its own cells, which saves bytes on a
 * slow connection.
 */
#include "ui/screens/run/internal.h"

#include "base/language.h"
#include "runs/values/run_snapshot.h"
#include "ui/app/app.h"
#include "ui/app/plot_actions.h"
#include "ui/plot/axis_marks.h"
#include "ui/plot/curves.h"
#include "ui/plot/plot.h"
#include "ui/plot/trace.h"

#include <math.h>
#include <stdio.h>

static bool has(unsigned traces, enum trace trace)
{
    return traces & TRACE_BIT(trace);
}

enum { LETTERS = 3 }; /* letters along one curve */

/* --- choice of curves --- */

/* Returns bits of the traces that are drawn: those chosen, and the learning rate if it has a panel.
 */
static unsigned run_plot_traces(const struct app *app, const struct run_entry *entry,
                                const struct run_layout *run)
{
    const struct series *series = run_series(entry->run);
    const struct trace_choice *choice = &run_model(app)->choice;
    unsigned traces = trace_choice_shown(choice, series);
    if (!choice->custom && !rect_is_empty(run->rate) && trace_has_values(series, TRACE_RATE))
        traces |= TRACE_BIT(TRACE_RATE);
    return traces;
}

/* Returns the area of all panels together. */
static struct rect plots_area(const struct run_layout *run)
{
    struct rect area = run->view;
    if (!rect_is_empty(run->rate))
        area.rows = run->rate.row + run->rate.rows - area.row;
    return area;
}

/* Lists the marks of the run, and places those that are drawn on the x axis: findings are drawn on
 * the curves. */
static bool update_marks(struct app *app, const struct run_entry *entry, size_t columns,
                         struct error *error)
{
    struct run_model *model = run_model(app);
    model->axis_marks.count = 0;
    return curve_marks_update(&model->changes, run_series(entry->run), error) &&
           axis_marks_add_run(&model->axis_marks, entry->run, entry->snapshot.finding_count,
                              &model->curves, &model->changes, 0, NULL, error) &&
           axis_marks_place(&model->axis_marks, &model->curves.x, columns,
                            AXIS_MARKS_ALL & ~AXIS_MARK_BIT(AXIS_MARK_FINDING), error);
}

void run_plot_update(struct app *app, const struct run_entry *entry, const struct run_layout *run)
{
    const struct run_snapshot *now = &entry->snapshot;
    const struct series *series = run_series(entry->run);
    struct plot_layout layout = layout_plot(run->view, true);
    size_t columns = layout.plot.columns > 0 ? (size_t)layout.plot.columns : 0;
    struct curve_view wanted = {.x = curves_available_x(series, app->shared.axes.x),
                                .log_x = app->shared.axes.log_x,
                                .width = columns * plot_dots_across(app->symbols),
                                .traces = run_plot_traces(app, entry, run),
                                .smoothing = app->shared.axes.smoothing,
                                .iterations = (double)now->iterations,
                                .epochs = now->epochs,
                                .over = run_status_is_over(now->status)};
    struct plot_extent extent = {.all = curves_axis(series, &wanted),
                                 .first = 1,
                                 .points = series_count(series),
                                 .columns = columns,
                                 .live = !wanted.over};
    struct error error;
    curves_extent(series, wanted.x, &extent.first, &extent.last);
    struct axis axis = plot_window_show(&run_model(app)->window, &extent);
    wanted.axis = &axis;
    if (!curves_update(&run_model(app)->curves, series, &wanted, &error) ||
        !update_marks(app, entry, columns, &error))
        app_say_error(app, &error);
}

/* --- one panel --- */

static unsigned of_unit(unsigned traces, enum trace_unit unit)
{
    unsigned found = 0;
    for (enum trace trace = 0; trace < TRACES; trace++)
        if (has(traces, trace) && trace_unit(trace) == unit)
            found |= TRACE_BIT(trace);
    return found;
}

/* Returns whether the panel's y axis is logarithmic: as chosen, or because losses of adversarial
 * training differ by powers of ten. */
static bool is_log(const struct run_picture *picture, unsigned traces)
{
    size_t losses =
        has(traces, TRACE_SMOOTHED) + has(traces, TRACE_DISCRIMINATOR) + has(traces, TRACE_L1);
    return picture->app->shared.axes.log_y || (picture->adversarial && losses > 1);
}

/* Returns the traces that the y axis follows: without raw values, unless there are only these or
 * all values are shown. */
static unsigned traces_to_follow(const struct run_picture *picture, unsigned traces)
{
    unsigned smooth = traces;
    for (enum trace trace = 0; trace < TRACES; trace++)
        if (trace_kind(trace) == TRACE_IS_RAW)
            smooth &= ~TRACE_BIT(trace);
    return smooth && !picture->app->shared.axes.all_values ? smooth : traces;
}

static struct axis y_axis(const struct run_picture *picture, const struct run_panel *panel)
{
    struct app *app = picture->app;
    struct value_range *range = &run_model(app)->range;
    struct error error;
    /* steps of the learning rate are no outliers */
    value_range_begin(range, panel->log, app->shared.axes.all_values || panel->unit == UNIT_RATE);
    for (enum trace trace = 0; trace < TRACES; trace++)
        if (has(panel->follows, trace) &&
            !curves_measure(&run_model(app)->curves, trace, range, &error))
            app_say_error(app, &error);
    struct value_bounds bounds = value_range_join(range);
    /* a constant needs an axis that begins at 0 */
    bool flat = bounds.high - bounds.low < 1e-3 * bounds.high;
    if (!panel->log && bounds.low <= bounds.high && (flat || panel->unit == UNIT_RATE))
        return axis_for_range(0, bounds.high > 0 ? bounds.high : 1, false);
    return value_range_axis(range, bounds);
}

/* Returns the y axis to show. That of a live run that is not zoomed is held (axis_hold_take). */
static struct axis shown_y_axis(const struct run_picture *picture, const struct run_panel *panel)
{
    struct run_model *model = run_model(picture->app);
    const struct axis wanted = y_axis(picture, panel);
    const unsigned what = panel->follows | (picture->app->shared.axes.all_values ? 1U << 31 : 0);
    if (run_status_is_over(picture->entry->snapshot.status) || model->window.zoomed)
        return wanted;
    return axis_hold_take(&model->holds[panel->unit], wanted, what);
}

/* --- curves --- */

static void add_zero_line(struct plot *plot, const struct axis *y)
{
    if (y->log || y->low >= 0 || y->high <= 0)
        return;
    long row = lround(axis_position(y, 0) * (double)(plot_height(plot) - 1));
    for (size_t x = 0; x < plot_width(plot); x += 4)
        plot_dot(plot, OWNER_ZERO, (long)x, row);
}

static void add_kind(const struct run_picture *picture, const struct run_panel *panel,
                     enum trace_kind kind)
{
    struct app *app = picture->app;
    for (enum trace trace = TRACES; trace-- > 0;) {
        if (!has(panel->traces, trace) || trace_kind(trace) != kind)
            continue;
        if (kind == TRACE_IS_VALIDATION)
            validations_draw(&run_model(app)->curves, trace, &panel->y, &run_model(app)->plot,
                             (uint16_t)(trace + 1), trace_letter(trace, picture->adversarial));
        else
            curve_draw(&run_model(app)->curves.trace[trace], &panel->y, &run_model(app)->plot,
                       (uint16_t)(trace + 1));
    }
}

/* Returns the position of the newest point along the x axis; letters are placed before it. */
static double end_of(const struct app *app)
{
    const struct plot_window *window = &run_model(app)->window;
    double place = axis_position(&window->shown, window->extent.last);
    return place > 0 && place < 1 ? place : 1;
}

static void add_letters(const struct run_picture *picture, const struct run_panel *panel)
{
    struct app *app = picture->app;
    double shift = 0;
    for (enum trace trace = 0; trace < TRACES_PER_ITERATION; trace++) {
        if (!has(panel->traces, trace) || !run_panel_is_lettered(panel, trace))
            continue;
        for (int i = 0; i < LETTERS; i++)
            curve_mark(&run_model(app)->curves.trace[trace], &panel->y, &run_model(app)->plot,
                       (uint16_t)(trace + 1), end_of(app) * (0.15 + 0.3 * i + shift),
                       trace_letter(trace, picture->adversarial));
        shift += 0.05;
    }
}

static void draw_cells(const struct run_picture *picture, const struct run_panel *panel)
{
    enum role roles[OWNERS] = {[OWNER_ZERO] = ROLE_RAW, [OWNER_FINDING] = ROLE_BAD};
    enum plot_style styles[OWNERS] = {PLOT_DOTTED};
    for (enum trace trace = 0; trace < TRACES; trace++) {
        roles[trace + 1] = trace_role(trace);
        styles[trace + 1] = trace_kind(trace) == TRACE_IS_RAW ? PLOT_DOTTED : PLOT_SOLID;
    }
    styles[OWNER_FINDING] = PLOT_SOLID;
    plot_draw(&picture->app->canvas, panel->layout.plot, &run_model(picture->app)->plot, roles,
              styles);
}

/* Marks values beyond the axis at its ends. Raw values are marked only if the axis follows them,
 * because their noise often leaves it. */
static void mark_outliers(const struct run_picture *picture, const struct run_panel *panel)
{
    struct run_model *model = run_model(picture->app);
    for (enum trace trace = 0; trace < TRACES_PER_ITERATION; trace++) {
        const struct curve *curve = &model->curves.trace[trace];
        if (has(panel->traces, trace))
            curve_mark_nonpositive(curve, &panel->y, &model->plot, (uint16_t)(trace + 1));
        if (has(panel->follows, trace))
            curve_mark_outliers(curve, &panel->y, &model->plot, (uint16_t)(trace + 1));
    }
}

static void draw_panel(const struct run_picture *picture, struct run_panel *panel)
{
    struct app *app = picture->app;
    struct plot *plot = &run_model(app)->plot;
    struct rect area = panel->layout.plot;
    struct error error;
    if (rect_is_empty(area))
        return;
    if (!plot_reset(plot, (size_t)area.rows, (size_t)area.columns, app->symbols, &error)) {
        app_say_error(app, &error);
        return;
    }
    add_zero_line(plot, &panel->y);
    for (int kind = 0; kind < TRACE_KINDS; kind++) {
        static const enum trace_kind order[TRACE_KINDS] = {TRACE_IS_RAW, TRACE_IS_LINE,
                                                           TRACE_IS_VALIDATION};
        add_kind(picture, panel, order[kind]);
    }
    mark_outliers(picture, panel);
    add_letters(picture, panel);
    run_marks_add(picture, panel);
    legend_draw(&panel->legend, &app->canvas, panel->layout.legend);
    plot_axes_draw_y(&app->canvas, panel->layout.labels, &panel->y);
    draw_cells(picture, panel);
    plot_draw_cursor(&app->canvas, &run_model(app)->plot, &run_model(app)->window, area);
    run_marks_draw_words(picture, panel);
}

/* --- all panels --- */

static size_t make_panels(const struct run_picture *picture, unsigned traces,
                          struct run_panel panels[UNITS])
{
    size_t count = 0;
    for (enum trace_unit unit = 0; unit < UNITS; unit++) {
        struct run_panel *panel = &panels[count];
        *panel = (struct run_panel){.unit = unit, .traces = of_unit(traces, unit)};
        if (!panel->traces)
            continue;
        panel->first = count == 0;
        panel->log = is_log(picture, panel->traces);
        panel->follows = traces_to_follow(picture, panel->traces);
        panel->y = shown_y_axis(picture, panel);
        run_panel_make_legend(picture, panel, false);
        count++;
    }
    return count;
}

static void draw_nothing(struct app *app, struct rect area)
{
    struct rect inside = {area.row, area.column + 2, area.rows, area.columns - 3};
    draw_wrapped(&app->canvas, inside, 1, ROLE_FAINT,
                 run_model(app)->choice.custom
                     ? _("No curve that is switched on has values; Y shows the "
                         "list of curves, y goes to the next picture.")
                     : _("Waiting for the first iteration ..."));
}

static void report_left_out(struct legend *legend, size_t count)
{
    if (count > 0)
        legend_add(legend, ROLE_WARNING, "+",
                   ngettext("%zu plot has no room", "%zu plots have no room", count), count);
}

/* Returns the area of all plots, from the first to the last. */
static struct rect plots_of(const struct panels_layout *layout)
{
    struct rect area = layout->panels[0].plot;
    const struct rect last = layout->panels[layout->count - 1].plot;
    area.rows = last.row + last.rows - area.row;
    return area;
}

/* Draws the panels. */
static void run_plot_draw(struct app *app, const struct run_entry *entry,
                          const struct run_layout *run)
{
    struct rect area = plots_area(run);
    struct run_picture picture = {app, entry, run_series(entry->run), false, SIZE_MAX};
    struct run_panel panels[UNITS];
    const struct plot_window *window = &run_model(app)->window;
    unsigned traces = run_plot_traces(app, entry, run);
    if (run_model(app)->curves.series != picture.series)
        return;
    const enum curve_x x = curves_available_x(picture.series, app->shared.axes.x);
    picture.adversarial = trace_is_adversarial(picture.series);
    if (window->cursor_on)
        picture.point = curves_nearest(picture.series, x, window->cursor);
    size_t count = make_panels(&picture, traces, panels);
    if (count == 0) {
        draw_nothing(app, area);
        return;
    }
    bool readout = picture.point != SIZE_MAX;
    int lines = legend_lines(&panels[0].legend, panels[0].legend.count,
                             layout_plot(area, true).legend.columns);
    struct panels_layout layout = layout_panels(area, (int)count, readout, lines);
    for (int i = 0; i < layout.count; i++) {
        struct rect legend = layout.panels[i].legend;
        panels[i].layout = layout.panels[i];
        if (readout &&
            legend_lines(&panels[i].legend, panels[i].curves_named, legend.columns) > legend.rows)
            run_panel_make_legend(&picture, &panels[i], true);
        if (i == 0)
            report_left_out(&panels[0].legend, count - (size_t)layout.count);
        draw_panel(&picture, &panels[i]);
    }
    app->canvas.targets.plot = &run_model(app)->window;
    app->canvas.targets.plot_area = plots_of(&layout);
    plot_axes_draw_x(&app->canvas, layout.axis, &run_model(app)->curves.x, x,
                     layout.panels[0].labels.columns > 0);
    run_marks_draw_on_axis(&picture, layout.axis);
    if (readout)
        run_marks_draw_readout(&picture, traces, layout.readout, layout.panels[0].legend.rows == 0);
}

/* --- curves view --- */

static void draw(struct app *app, struct run_entry *entry, const struct run_layout *layout,
                 const struct run_display *display)
{
    (void)display;
    run_plot_draw(app, entry, layout);
}

static void move(struct app *app, const struct run_entry *entry, int how)
{
    if (entry && entry->run)
        plot_move_cursor(&run_model(app)->window, how);
}

const struct view view_curves = {
    .name = N_("Curves"), .draw = draw, .moves = VIEW_TURNS | VIEW_ENDS | VIEW_PAGES, .move = move};
