/* Marks on a run's panels: the iterations at which findings begin, the best epoch, and the line of
 * values under the cursor. */
#include "base/language.h"
#include "base/text.h"
#include "ui/plot/curves.h"
#include "ui/plot/plot_window.h"
#include "ui/plot/trace.h"
#include "ui/screens/run/run_model.h"
#include "ui/screens/run/run_panel.h"
#include "ui/screens/run/run_plot.h"
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

void run_marks_add(const struct run_picture *picture, const struct run_panel *panel)
{
    long x, y;
    for (size_t i = 0; panel->first && i < picture->entry->snapshot.finding_count; i++) {
        struct finding finding = finding_at(picture, i);
        if (spot_of(picture, panel, &finding, &x, &y))
            plot_mark(&run_model(picture->app)->plot, OWNER_FINDING, x, y, '!');
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

/* Returns the first finding after `x` on the x axis; SIZE_MAX: there is none. */
static size_t finding_beyond(const struct app *app, const struct run_entry *entry, double x,
                             double *found_at)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < entry->snapshot.finding_count; i++) {
        struct finding finding;
        run_finding(entry->run, i, &finding);
        double at = curves_x(&run_model(app)->curves, finding.iteration, finding.epoch);
        if (at > x && (found == SIZE_MAX || at < *found_at)) {
            found = i;
            *found_at = at;
        }
    }
    return found;
}

void run_plot_to_finding(struct app *app, const struct run_entry *entry)
{
    struct plot_window *window = &run_model(app)->window;
    struct finding finding;
    double at = 0, here = window->cursor_on ? window->cursor : -INFINITY;
    size_t next = finding_beyond(app, entry, here + fabs(here) * 1e-9, &at);
    if (next == SIZE_MAX)
        next = finding_beyond(app, entry, -INFINITY, &at);
    if (next == SIZE_MAX) {
        app_say(app, ROLE_FAINT, _("Nothing was found so far."));
        return;
    }
    run_finding(entry->run, next, &finding);
    plot_window_set_cursor(window, at);
    app_say(app, ROLE_BAD, "! %s: %s", finding_kind_words(finding.kind), finding.text);
}

/* --- marks on the x axis --- */

static double x_of_rate(const struct app *app, size_t index)
{
    const struct run_model *model = run_model(app);
    const struct series_point *point = &model->marks.series->points[model->marks.rates[index]];
    return curves_x(&model->curves, point->iteration, (double)point->epoch);
}

char run_mark_of_resume(const struct run_picture *picture, size_t index)
{
    const struct run *run = picture->entry->run;
    const struct run_fork *fork = run ? &run_facts(run)->fork : NULL;
    const bool forked = fork && fork->ancestor[0] && !fork->weights_only &&
                        picture->series->resumes[index] == fork->iteration;
    return forked ? MARK_FORK : MARK_RESUME;
}

/* Returns the x value of the first iteration after a resume; NaN: it has not been done yet. */
static double x_of_resume(const struct app *app, size_t index)
{
    const struct curves *curves = &run_model(app)->curves;
    const struct series *series = curves->series;
    const uint64_t first = series->resumes[index] + 1;
    const size_t at = curves_nearest(series, X_ITERATION, (double)first);
    if (at == SIZE_MAX || series->points[at].iteration < first)
        return NAN;
    return curves_x(curves, series->points[at].iteration, (double)series->points[at].epoch);
}

/* Returns the x value of the best epoch; NaN: there is none. */
static double x_of_best(const struct app *app)
{
    const struct curves *curves = &run_model(app)->curves;
    const size_t best = series_best(curves->series);
    return best == SIZE_MAX ? (double)NAN
                            : curves_x_of_validation(curves, &curves->series->validations[best]);
}

static void draw_mark(const struct run_picture *picture, struct rect axis, double x, enum role role,
                      const char *mark)
{
    const double at = axis_position(&run_model(picture->app)->curves.x, x);
    if (at >= 0 && at <= 1)
        draw_text(&picture->app->canvas, axis, 0, (int)lround(at * (axis.columns - 1)), role, mark);
}

void run_marks_draw_on_axis(const struct run_picture *picture, struct rect axis)
{
    const struct app *app = picture->app;
    if (axis.rows < 2)
        return;
    for (size_t i = 0; i < run_model(app)->marks.rate_count; i++)
        draw_mark(picture, axis, x_of_rate(app, i), ROLE_RATE, (char[2]){MARK_RATE, '\0'});
    for (size_t i = 0; i < series_resume_count(picture->series); i++)
        draw_mark(picture, axis, x_of_resume(app, i), ROLE_WARNING,
                  (char[2]){run_mark_of_resume(picture, i), '\0'});
    draw_mark(picture, axis, x_of_best(app), ROLE_GOOD, app->canvas.glyphs->best);
}

/* Sets *next to `at` if that lies after `here` and before *next (NaN: there is no next yet). */
static void offer(double at, double here, double *next)
{
    if (at > here && !(at >= *next))
        *next = at;
}

/* Returns the x value of the first mark after `here`; NaN: there is none. */
static double mark_beyond(const struct app *app, const struct run_entry *entry, double here)
{
    double next = NAN, at = 0;
    if (finding_beyond(app, entry, here, &at) != SIZE_MAX)
        offer(at, here, &next);
    offer(x_of_best(app), here, &next);
    for (size_t i = 0; i < run_model(app)->marks.rate_count; i++)
        offer(x_of_rate(app, i), here, &next);
    for (size_t i = 0; i < series_resume_count(run_model(app)->curves.series); i++)
        offer(x_of_resume(app, i), here, &next);
    return next;
}

void run_plot_to_mark(struct app *app, const struct run_entry *entry)
{
    struct plot_window *window = &run_model(app)->window;
    const double here = window->cursor_on ? window->cursor : -INFINITY;
    if (!run_model(app)->curves.series)
        return;
    double next = mark_beyond(app, entry, here + fabs(here) * 1e-9);
    if (isnan(next))
        next = mark_beyond(app, entry, -INFINITY);
    if (isnan(next))
        app_say(app, ROLE_FAINT, _("There are no marks so far."));
    plot_window_set_cursor(window, next);
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

/* Returns whether a value of the x axis lies in the cursor's column. */
static bool is_at_cursor(const struct app *app, double x)
{
    const struct plot_window *window = &run_model(app)->window;
    const struct axis *axis = &run_model(app)->curves.x;
    const double away = axis_position(axis, x) - axis_position(axis, window->cursor);
    return fabs(away) * (double)window->extent.columns <= 0.75;
}

/* Draws what the marks on the x axis in the cursor's column mean. Returns the column after it. */
static int draw_marks_there(const struct run_picture *picture, struct rect area, int column)
{
    struct app *app = picture->app;
    const struct curve_marks *marks = &run_model(app)->marks;
    for (size_t i = 0; i < marks->rate_count; i++) {
        const struct series_point *point = &picture->series->points[marks->rates[i]];
        if (is_at_cursor(app, x_of_rate(app, i)))
            column = draw_format(&app->canvas, area, 0, column + 2, ROLE_RATE,
                                 _("%c learning rate %.4g -> %.4g"), MARK_RATE,
                                 (double)point[-1].learning_rate, (double)point->learning_rate);
    }
    for (size_t i = 0; i < series_resume_count(picture->series); i++)
        if (is_at_cursor(app, x_of_resume(app, i))) {
            const char mark = run_mark_of_resume(picture, i);
            column = draw_format(&app->canvas, area, 0, column + 2, ROLE_WARNING,
                                 mark == MARK_FORK ? _("%c forked after iteration %llu")
                                                   : _("%c resumed after iteration %llu"),
                                 mark, (unsigned long long)picture->series->resumes[i]);
        }
    return column;
}

/* Draws the names of the findings in the cursor's column. Returns the column after them. */
static int draw_findings_there(const struct run_picture *picture, struct rect area, int column)
{
    const struct curves *curves = &run_model(picture->app)->curves;
    for (size_t i = 0; i < picture->entry->snapshot.finding_count; i++) {
        struct finding finding = finding_at(picture, i);
        if (is_at_cursor(picture->app, curves_x(curves, finding.iteration, finding.epoch)))
            column = draw_format(&picture->app->canvas, area, 0, column + 2, ROLE_BAD, "! %s",
                                 finding_kind_words(finding.kind));
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
    column = draw_findings_there(picture, area, column);
    column = draw_marks_there(picture, area, column);
    if (values)
        draw_values(picture, traces, area, column);
    draw_cursor(&picture->app->canvas, area, 0, 0);
}
