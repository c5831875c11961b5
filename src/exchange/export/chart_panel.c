/* Draws one panel of a chart: axes, curves, marks and findings.
 *
 * A run may have millions of points, more than paper can show. Points that fall into the same
 * column of a third of a point are joined to one: the line enters at the first value, visits the
 * lowest and the highest, and leaves at the last. Of a column with many points it visits the lowest
 * and the highest only, the nearer one first: as each line is wider than a column, what is inked is
 * the same, and Cairo has half of the length to draw. So a file's size depends on the width of the
 * chart only, and no extreme value is lost. */
#include "exchange/export/internal.h"

#include "base/language.h"

#include <math.h>

static const struct canvas_colour grid = {224, 227, 231}, white = {255, 255, 255};

static void draw_line(const struct panel *panel, double x0, double y0, double x1, double y1,
                      double width, struct canvas_colour colour)
{
    sheet_line(panel->sheet, (struct canvas_point){x0, y0}, (struct canvas_point){x1, y1}, width,
               colour);
}

/* --- axes --- */

static double panel_x(const struct panel *panel, double value)
{
    return panel->left + axis_position(&panel->x, value) * (panel->right - panel->left);
}

static double panel_y(const struct panel *panel, double value)
{
    return panel->bottom - axis_position(&panel->y, value) * (panel->bottom - panel->top);
}

/* Returns how many ticks fit along `length`, each taking `each`. */
static size_t tick_limit(double length, double each)
{
    return (size_t)fmin(fmax(length / each, 2), AXIS_MAX_TICKS);
}

static void draw_x_axis(const struct panel *panel, const char *title)
{
    char label[32];
    double ticks[AXIS_MAX_TICKS];
    const struct sheet *sheet = panel->sheet;
    const size_t count =
        axis_ticks(&panel->x, tick_limit(panel->right - panel->left, 4 * SHEET_TEXT), ticks);
    for (size_t i = 0; i < count; i++) {
        const double at = panel_x(panel, ticks[i]);
        draw_line(panel, at, panel->top, at, panel->bottom, 0.5, grid);
        draw_line(panel, at, panel->bottom, at, panel->bottom + 3, 0.7, sheet_ink);
        if (title)
            sheet_text(sheet, at, panel->bottom + 4 + SHEET_TEXT, 0.5, 4 * SHEET_TEXT,
                       axis_label(ticks[i], label, sizeof label), &sheet_label);
    }
    if (title)
        sheet_text(sheet, (panel->left + panel->right) / 2, panel->bottom + 6 + 2.3 * SHEET_TEXT,
                   0.5, panel->right - panel->left, title, &sheet_label);
}

static void draw_y_axis(const struct panel *panel, const char *title)
{
    char label[32];
    double ticks[AXIS_MAX_TICKS];
    const struct sheet *sheet = panel->sheet;
    const size_t count =
        axis_ticks(&panel->y, tick_limit(panel->bottom - panel->top, 2 * SHEET_TEXT), ticks);
    for (size_t i = 0; i < count; i++) {
        const double at = panel_y(panel, ticks[i]);
        draw_line(panel, panel->left, at, panel->right, at, 0.5, grid);
        draw_line(panel, panel->left - 3, at, panel->left, at, 0.7, sheet_ink);
        sheet_text(sheet, panel->left - 5, at + 0.36 * SHEET_TEXT, 1, panel->left - 16,
                   axis_label(ticks[i], label, sizeof label), &sheet_label);
    }
    sheet_text_upwards(sheet, 11, (panel->top + panel->bottom) / 2, 0.5,
                       panel->bottom - panel->top + 3 * SHEET_TEXT, title, &sheet_label);
}

void panel_draw_axes(const struct panel *panel, const char *x_title, const char *y_title)
{
    draw_x_axis(panel, x_title);
    draw_y_axis(panel, y_title);
    draw_line(panel, panel->left, panel->top, panel->left, panel->bottom, 0.7, sheet_ink);
    draw_line(panel, panel->left, panel->bottom, panel->right, panel->bottom, 0.7, sheet_ink);
}

/* --- curves --- */

enum { LINE_CAPACITY = 4096, MANY = 8 };
static const double column_width = 1.0 / 3;

/* The line being drawn, and the column of points that is still open. */
struct tracer {
    const struct panel *panel;
    struct canvas_pen pen;
    struct canvas_point points[LINE_CAPACITY + 4];
    size_t count;
    size_t in_column; /* points */
    double x, first, last, low, high;
};

static void tracer_append(struct tracer *tracer, double y)
{
    const struct canvas_point *before = tracer->count ? &tracer->points[tracer->count - 1] : NULL;
    if (!before || before->x != tracer->x || before->y != y)
        tracer->points[tracer->count++] = (struct canvas_point){tracer->x, y};
}

/* Draws the collected line. The next one continues at its last point. */
static void tracer_flush(struct tracer *tracer)
{
    const struct sheet *sheet = tracer->panel->sheet;
    if (tracer->count == 0)
        return;
    sheet->draw->line(sheet->canvas, tracer->points, tracer->count, &tracer->pen);
    tracer->points[0] = tracer->points[tracer->count - 1];
    tracer->count = 1;
}

/* Appends the lowest and the highest value, the one nearer to the line's end first. */
static void tracer_append_envelope(struct tracer *tracer)
{
    const double end = tracer->count ? tracer->points[tracer->count - 1].y : tracer->first;
    const bool low_first = fabs(end - tracer->low) < fabs(end - tracer->high);
    tracer_append(tracer, low_first ? tracer->low : tracer->high);
    tracer_append(tracer, low_first ? tracer->high : tracer->low);
}

static void tracer_end_column(struct tracer *tracer)
{
    if (tracer->in_column == 0)
        return;
    if (tracer->in_column >= MANY)
        tracer_append_envelope(tracer);
    else {
        tracer_append(tracer, tracer->first);
        if (tracer->low < fmin(tracer->first, tracer->last))
            tracer_append(tracer, tracer->low);
        if (tracer->high > fmax(tracer->first, tracer->last))
            tracer_append(tracer, tracer->high);
        tracer_append(tracer, tracer->last);
    }
    tracer->in_column = 0;
    if (tracer->count >= LINE_CAPACITY)
        tracer_flush(tracer);
}

static void tracer_add(struct tracer *tracer, double x, double y)
{
    if (tracer->in_column && floor(x / column_width) != floor(tracer->x / column_width))
        tracer_end_column(tracer);
    if (tracer->in_column++ == 0) {
        tracer->x = x;
        tracer->first = tracer->low = tracer->high = y;
    }
    tracer->last = y;
    tracer->low = fmin(tracer->low, y);
    tracer->high = fmax(tracer->high, y);
}

/* Interrupts the line where a value is not finite, or not positive on a logarithmic axis. */
static void tracer_break(struct tracer *tracer)
{
    tracer_end_column(tracer);
    tracer_flush(tracer);
    tracer->count = 0;
}

static void draw_trace(const struct panel *panel, const struct chart_trace *trace)
{
    struct tracer tracer = {.panel = panel,
                            .pen = {.colour = trace->colour, .width = trace->width}};
    struct chart_trace_position at = {.smoothed = NAN};
    chart_trace_set_dashes(trace, &tracer.pen);
    for (size_t i = 0, count = chart_trace_point_count(trace); i < count; i++) {
        chart_trace_read_point(trace, panel->kind, i, &at);
        const double x = panel_x(panel, at.x), y = panel_y(panel, at.y);
        if (isfinite(x) && isfinite(y))
            tracer_add(&tracer, x, y);
        else
            tracer_break(&tracer);
    }
    tracer_break(&tracer);
}

/* More discs than this would hide their curve. */
enum { MAX_DISCS = 60 };

static void draw_marks(const struct panel *panel, const struct chart_trace *trace)
{
    const struct sheet *sheet = panel->sheet;
    const size_t best = series_best(run_series(trace->run)), count = chart_trace_point_count(trace);
    struct chart_trace_position at = {.smoothed = NAN};
    for (size_t i = 0; i < count; i++) {
        chart_trace_read_point(trace, panel->kind, i, &at);
        const double x = panel_x(panel, at.x), y = panel_y(panel, at.y);
        if (!isfinite(x) || !isfinite(y))
            continue;
        if (i == best) {
            sheet->draw->disc(sheet->canvas, x, y, 4, trace->colour);
            sheet->draw->disc(sheet->canvas, x, y, 3, white);
        }
        if (i == best || count <= MAX_DISCS)
            sheet->draw->disc(sheet->canvas, x, y, 1.7, trace->colour);
    }
}

void panel_draw_traces(const struct panel *panel, const struct chart_traces *traces)
{
    const struct sheet *sheet = panel->sheet;
    sheet->draw->clip(sheet->canvas, panel->left, panel->top - 5, panel->right + 5,
                      panel->bottom + 5);
    for (size_t t = 0; t < traces->count; t++)
        draw_trace(panel, &traces->trace[t]);
    for (size_t t = 0; t < traces->count; t++)
        if (chart_trace_is_validation(&traces->trace[t]))
            draw_marks(panel, &traces->trace[t]);
    sheet->draw->unclip(sheet->canvas);
}

void panel_draw_sample(const struct sheet *sheet, const struct chart_trace *trace, double x,
                       double y, double length)
{
    const struct canvas_point points[2] = {{x, y}, {x + length, y}};
    struct canvas_pen pen = {.colour = trace->colour, .width = trace->width};
    chart_trace_set_dashes(trace, &pen);
    sheet->draw->line(sheet->canvas, points, 2, &pen);
    if (chart_trace_is_validation(trace))
        sheet->draw->disc(sheet->canvas, x + length / 2, y, 1.7, trace->colour);
}

/* --- findings --- */

/* Returns the point of the series at which a finding begins, or SIZE_MAX. */
static size_t finding_point(const struct series *series, const struct finding *finding)
{
    const size_t at = finding->iteration ? (size_t)((finding->iteration - 1) / series->stride) : 0;
    return at < series_count(series) ? at : SIZE_MAX;
}

void panel_draw_findings(const struct panel *panel, const struct run *run)
{
    struct run_snapshot snapshot;
    struct finding finding;
    const struct series *series = run_series(run);
    run_snapshot(run, &snapshot);
    for (size_t i = 0; i < snapshot.finding_count; i++) {
        run_finding(run, i, &finding);
        const size_t at = finding_point(series, &finding);
        if (at == SIZE_MAX)
            continue;
        const double x =
            panel_x(panel, chart_trace_x(panel->kind, (double)finding.iteration, finding.epoch,
                                         (double)series->points[at].seconds));
        if (!isfinite(x))
            continue;
        draw_line(panel, x, panel->top, x, panel->bottom, 0.7, sheet_grey);
        sheet_text_upwards(panel->sheet, x - 2.5, panel->top + 2, 1, panel->bottom - panel->top - 4,
                           gettext(finding_kind_words(finding.kind)), &sheet_secondary_label);
    }
}
