/* Marks on a run's panels: findings on the curve that they concern, the other marks on the x axis,
 * and the line of values under the cursor. */
#include "base/language.h"
#include "base/text.h"
#include "ui/plot/axis_marks.h"
#include "ui/plot/curves.h"
#include "ui/plot/plot.h"
#include "ui/plot/trace.h"
#include "ui/screens/run/internal.h"
#include "ui/terminal/columns.h"

#include <math.h>
#include <stdio.h>

/* --- findings --- */

static struct finding finding_at(const struct run_picture *picture, size_t index)
{
    struct finding finding;
    run_finding(picture->entry->run, index, &finding);
    return finding;
}

/* Returns the curve on which a finding is marked: the curve that it concerns or, if that is not
 * drawn, the topmost one. */
static const struct curve *curve_of(const struct run_picture *picture,
                                    const struct run_panel *panel, enum finding_kind kind)
{
    const struct curve *curves = run_model(picture->app)->curves.trace;
    if ((kind == FINDING_NEGATIVE_LOSS || kind == FINDING_RESIDUE) &&
        panel->traces & TRACE_BIT(TRACE_CAFFE))
        return &curves[TRACE_CAFFE];
    for (enum trace trace = 0; trace < TRACES_PER_ITERATION; trace++)
        if (panel->traces & TRACE_BIT(trace))
            return &curves[trace];
    return NULL;
}

/* Writes the position of a finding's mark in dots. Returns false if it is outside the panel. */
static bool spot_of(const struct run_picture *picture, const struct run_panel *panel,
                    const struct finding *finding, long *x, long *y)
{
    const struct curves *curves = &run_model(picture->app)->curves;
    const struct plot *plot = &run_model(picture->app)->plot;
    const struct curve *curve = curve_of(picture, panel, finding->kind);
    double at = axis_position(&curves->x, curves_x(curves, finding->iteration, finding->epoch));
    double up = 1;
    if (!(at >= 0 && at <= 1) || plot_width(plot) == 0 || plot_height(plot) == 0)
        return false;
    *x = lround(at * (double)(plot_width(plot) - 1));
    if (curve && (size_t)*x < curve->width && curve->columns[*x].any)
        up = axis_position(&panel->y, (double)curve->columns[*x].last);
    up = isfinite(up) ? fmax(0, fmin(1, up)) : 0;
    *y = lround(up * (double)(plot_height(plot) - 1));
    return true;
}

/* Returns whether a finding before `index` has its mark in the cell of the dot (x, y). */
static bool is_taken(const struct run_picture *picture, const struct run_panel *panel, size_t index,
                     long x, long y)
{
    const enum graph_symbols symbols = run_model(picture->app)->plot.symbols;
    const long across = (long)plot_dots_across(symbols), down = (long)plot_dots_down(symbols);
    long other_x, other_y;
    for (size_t i = 0; i < index; i++) {
        const struct finding finding = finding_at(picture, i);
        if (spot_of(picture, panel, &finding, &other_x, &other_y) &&
            other_x / across == x / across && other_y / down == y / down)
            return true;
    }
    return false;
}

void run_marks_add(const struct run_picture *picture, const struct run_panel *panel)
{
    long x, y;
    for (size_t i = 0; panel->first && i < picture->entry->snapshot.finding_count; i++) {
        const struct finding finding = finding_at(picture, i);
        if (spot_of(picture, panel, &finding, &x, &y))
            plot_mark(&run_model(picture->app)->plot, OWNER_FINDING, x, y,
                      is_taken(picture, panel, i, x, y) ? AXIS_MARKS_SEVERAL : '!');
    }
}

/* Returns whether these cells of the plot are empty. */
static bool is_free(const struct plot *plot, long row, long column, long width)
{
    if (row < 0 || row >= (long)plot->rows || column < 0 || column + width > (long)plot->columns)
        return false;
    for (long i = column; i < column + width; i++)
        if (plot->cells[row * (long)plot->columns + i].series != 0)
            return false;
    return true;
}

static void take_cells(struct plot *plot, long row, long column, long width)
{
    for (long i = column; i < column + width; i++)
        plot->cells[row * (long)plot->columns + i].series = OWNER_FINDING;
}

/* Draws a finding's name beside its mark, or on a nearby row. */
static void draw_words(const struct run_picture *picture, const struct run_panel *panel, long row,
                       long column, const char *words)
{
    static const int nearby[] = {0, -1, 1, -2, 2};
    struct plot *plot = &run_model(picture->app)->plot;
    long width = (long)columns_of(words);
    for (size_t i = 0; i < 2 * sizeof nearby / sizeof *nearby; i++) {
        long at_row = row + nearby[i / 2], at = i % 2 == 0 ? column + 2 : column - width - 1;
        if (!is_free(plot, at_row, at - 1, width + 2))
            continue;
        draw_text(&picture->app->canvas, panel->layout.plot, (int)at_row, (int)at, ROLE_BAD, words);
        take_cells(plot, at_row, at, width);
        return;
    }
}

void run_marks_draw_words(const struct run_picture *picture, const struct run_panel *panel)
{
    enum { LEAST_ROWS = 6 };
    const struct plot *plot = &run_model(picture->app)->plot;
    long x, y;
    for (size_t i = 0; panel->first && i < picture->entry->snapshot.finding_count; i++) {
        struct finding finding = finding_at(picture, i);
        if (plot->rows < LEAST_ROWS || !spot_of(picture, panel, &finding, &x, &y))
            continue;
        draw_words(picture, panel, (long)plot->rows - 1 - y / (long)plot_dots_down(plot->symbols),
                   x / (long)plot_dots_across(plot->symbols), finding_kind_words(finding.kind));
    }
}

/* --- marks on the x axis --- */

void run_marks_draw_on_axis(const struct run_picture *picture, struct rect axis)
{
    if (axis.rows >= 2)
        axis_marks_draw(&run_model(picture->app)->axis_marks, &picture->app->canvas, axis);
}

/* Returns the next mark of some kinds after the cursor; NULL: there is none. */
static const struct axis_mark *next_mark(const struct app *app, unsigned kinds)
{
    const struct plot_window *window = &run_model(app)->window;
    const double here = window->cursor_on ? window->cursor : -INFINITY;
    return axis_marks_next(&run_model(app)->axis_marks, kinds, here + fabs(here) * 1e-9);
}

void run_plot_to_finding(struct app *app, const struct run_entry *entry)
{
    const struct axis_mark *mark = next_mark(app, AXIS_MARK_BIT(AXIS_MARK_FINDING));
    struct finding finding;
    if (!mark) {
        app_say(app, ROLE_FAINT, _("Nothing was found so far."));
        return;
    }
    run_finding(entry->run, mark->index, &finding);
    plot_window_set_cursor(&run_model(app)->window, mark->x);
    app_say(app, ROLE_BAD, "! %s: %s", finding_kind_words(finding.kind), finding.text);
}

void run_plot_to_mark(struct app *app)
{
    const struct axis_mark *mark = next_mark(app, AXIS_MARKS_ALL);
    if (mark)
        plot_window_set_cursor(&run_model(app)->window, mark->x);
    else
        app_say(app, ROLE_FAINT, _("There are no marks so far."));
}

void run_plot_to_best(struct app *app, const struct run_entry *entry)
{
    const struct series *series = run_series(entry->run);
    size_t best = series_best(series);
    if (best == SIZE_MAX) {
        app_say(app, ROLE_FAINT, _("There is no best epoch without a validation."));
        return;
    }
    plot_window_set_cursor(
        &run_model(app)->window,
        curves_x_of_validation(&run_model(app)->curves, &series->validations[best]));
}

/* --- the cursor --- */

/* Draws what the marks in the cursor's column mean. Returns the column after them. */
static int draw_marks_there(const struct run_picture *picture, struct rect area, int column)
{
    const struct run_model *model = run_model(picture->app);
    const struct axis_marks *marks = &model->axis_marks;
    struct canvas *canvas = &picture->app->canvas;
    char words[120];
    for (size_t i = 0; i < marks->count; i++) {
        const struct axis_mark *mark = &marks->list[i];
        if (axis_mark_is_at(mark, &model->curves.x, model->window.extent.columns,
                            model->window.cursor))
            column = draw_format(canvas, area, 0, column + 2, mark->role, "%s %s",
                                 axis_mark_sign(mark->kind, canvas->glyphs),
                                 axis_mark_words(mark, words, sizeof words));
    }
    return column;
}

/* Draws the values of the curves under the cursor, as many as fit completely. */
static void draw_values(const struct run_picture *picture, unsigned traces, struct rect area,
                        int column)
{
    char value[32], text[48];
    for (enum trace trace = 0; trace < TRACES; trace++) {
        if (!(traces & TRACE_BIT(trace)))
            continue;
        snprintf(text, sizeof text, "%c %s", trace_letter(trace, picture->adversarial),
                 run_panel_value(picture, trace, value, sizeof value));
        if (column + 2 + (int)columns_of(text) > area.columns)
            return;
        column = draw_text(&picture->app->canvas, area, 0, column + 2, trace_role(trace), text);
    }
}

/* Draws iteration, epoch and time under the cursor; with `brief` only two of them, to leave columns
 * for the values. Returns the column after them. */
static int draw_position(const struct run_picture *picture, struct rect area, bool brief)
{
    struct canvas *canvas = &picture->app->canvas;
    const struct series_point *point = &picture->series->points[picture->point];
    unsigned long long iteration = point->iteration;
    char time[32];
    text_duration((double)point->seconds, time, sizeof time);
    if (!brief)
        return draw_format(canvas, area, 0, 0, ROLE_STRONG, _("iteration %llu, epoch %.2f, %s"),
                           iteration, (double)point->epoch, time);
    if (picture->app->shared.axes.x == X_TIME)
        return draw_format(canvas, area, 0, 0, ROLE_STRONG, "%llu  %s", iteration, time);
    return draw_format(canvas, area, 0, 0, ROLE_STRONG, "%llu  %.2f", iteration,
                       (double)point->epoch);
}

void run_marks_draw_readout(const struct run_picture *picture, unsigned traces, struct rect area,
                            bool values)
{
    if (rect_is_empty(area))
        return;
    int column = draw_position(picture, area, values);
    column = draw_marks_there(picture, area, column);
    if (values)
        draw_values(picture, traces, area, column);
    draw_cursor(&picture->app->canvas, area, 0, 0);
}
