/* Series are drawn in this order, so that what matters more replaces what matters less: raw loss
 * faint, smoothed loss, validation, then marks. The x axis ends at a round number and grows in
 * steps: between two steps a new point changes only its own cells, which keeps a slow link quick.
 */
#include "ui/run_plot.h"

#include "ui/columns.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    SERIES_NONE,
    SERIES_RAW,
    SERIES_SMOOTHED,
    SERIES_VALIDATION,
    SERIES_RATE,
    SERIES_FINDING,
    SERIES
};

static const enum role roles[SERIES] = {ROLE_TEXT,       ROLE_RAW,  ROLE_SMOOTHED,
                                        ROLE_VALIDATION, ROLE_RATE, ROLE_BAD};
static const enum plot_style styles[SERIES] = {PLOT_DOTTED, PLOT_DOTTED, PLOT_SOLID,
                                               PLOT_SOLID,  PLOT_SOLID,  PLOT_SOLID};

void run_plot_gather(struct app *app, const struct run_entry *entry, struct rect view)
{
    const struct run_snapshot *now = &entry->snapshot;
    struct plot_layout layout = layout_plot(view, true);
    size_t columns = layout.plot.columns > 0 ? (size_t)layout.plot.columns : 0;
    struct curve_view wanted = {.x = app->run.x,
                                .log_x = app->run.log_x,
                                .log_y = app->run.log_y,
                                .width = columns * plot_dots_across(app->symbols),
                                .iterations = (double)now->iterations,
                                .epochs = now->epochs,
                                .over = run_status_is_over(now->status)};
    struct error error;
    if (!curves_update(&app->run.curves, run_series(entry->run), &wanted, &error))
        app_say_error(app, &error);
}

/* --- the y axis --- */

static struct axis loss_axis(const struct app *app, const struct series *series)
{
    const struct curves *curves = &app->run.curves;
    double low = DBL_MAX, high = -DBL_MAX;
    curve_range(&curves->loss, app->run.log_y, &low, &high);
    curve_range(&curves->smoothed, app->run.log_y, &low, &high);
    for (size_t i = 0; i < series_validation_count(series); i++) {
        double loss = (double)series->validations[i].loss;
        if (isfinite(loss) && !(app->run.log_y && loss <= 0)) {
            low = fmin(low, loss);
            high = fmax(high, loss);
        }
    }
    return axis_around(low, high, app->run.log_y);
}

static void draw_y_labels(struct app *app, struct rect labels, const struct axis *y)
{
    double ticks[AXIS_MAX_TICKS];
    char text[32];
    struct rect numbers = {labels.row, labels.column, labels.rows, labels.columns - 2};
    int limit = labels.rows / 2 > 2 ? labels.rows / 2 : 2;
    size_t count = axis_ticks(y, (size_t)limit, ticks);
    if (rect_is_empty(labels))
        return;
    for (int row = 0; row < labels.rows; row++)
        draw_text(&app->canvas, labels, row, labels.columns - 1, ROLE_RAW,
                  app->canvas.glyphs->vertical);
    for (size_t i = 0; i < count; i++) {
        int row = (int)lround((1 - axis_place(y, ticks[i])) * (labels.rows - 1));
        draw_right(&app->canvas, numbers, row, ROLE_FAINT, axis_label(ticks[i], text, sizeof text));
        draw_text(&app->canvas, labels, row, labels.columns - 1, ROLE_RAW,
                  app->canvas.glyphs->tick_left);
    }
}

/* --- the x axis --- */

static void draw_x_rule(struct app *app, struct rect axis, int corner)
{
    struct rect whole = {axis.row, axis.column - corner, 1, axis.columns + corner};
    int column =
        corner ? draw_text(&app->canvas, whole, 0, 0, ROLE_RAW, app->canvas.glyphs->corner) : 0;
    while (column < whole.columns)
        column =
            draw_text(&app->canvas, whole, 0, column, ROLE_RAW, app->canvas.glyphs->horizontal);
}

static void draw_x_axis(struct app *app, struct rect axis, bool labelled_left)
{
    const struct axis *x = &app->run.curves.x;
    double ticks[AXIS_MAX_TICKS];
    char text[32], name[40];
    if (rect_is_empty(axis))
        return;
    size_t count = axis_ticks(x, (size_t)(axis.columns / 10 > 2 ? axis.columns / 10 : 2), ticks);
    bool rule = axis.rows >= 2;
    if (rule)
        draw_x_rule(app, axis, labelled_left);
    snprintf(name, sizeof name, "%s%s%s", curve_x_name(app->run.x),
             app->run.x == X_TIME ? " (s)" : "", x->log ? ", log" : "");
    int end = axis.columns - (int)columns_of(name) - 1, free_from = 0;
    draw_right(&app->canvas, axis, axis.rows - 1, ROLE_FAINT, name);
    for (size_t i = 0; i < count; i++) {
        int column = (int)lround(axis_place(x, ticks[i]) * (axis.columns - 1));
        int width = (int)strlen(axis_label(ticks[i], text, sizeof text));
        int start = column - width / 2 < 0 ? 0 : column - width / 2;
        if (rule)
            draw_text(&app->canvas, axis, 0, column, ROLE_RAW, app->canvas.glyphs->tick_down);
        if (start < free_from || start + width > end)
            continue;
        draw_text(&app->canvas, axis, axis.rows - 1, start, ROLE_FAINT, text);
        free_from = start + width + 1;
    }
}

/* --- curves and marks --- */

static long dot(double place, size_t dots)
{
    return lround(place * (double)(dots - 1));
}

static void add_validations(struct app *app, const struct series *series, const struct axis *y)
{
    struct plot *plot = &app->run.plot;
    size_t count = series_validation_count(series), width = plot_width(plot);
    bool marks = count * 4 * plot_dots_across(plot->symbols) <= width, drawn = false;
    long last_x = 0, last_y = 0;
    for (int pass = 0; pass < 2; pass++, drawn = false) /* marks last: lines would go over them */
        for (size_t i = 0; i < count; i++) {
            const struct series_validation *one = &series->validations[i];
            double at = curves_place_validation(&app->run.curves, one);
            double up = axis_place(y, (double)one->loss);
            if (!isfinite(at) || !isfinite(up)) {
                drawn = false;
                continue;
            }
            long to_x = dot(at, width), to_y = dot(fmax(-1, fmin(2, up)), plot_height(plot));
            if (pass == 0 && drawn)
                plot_line(plot, SERIES_VALIDATION, last_x, last_y, to_x, to_y);
            else if (pass == 1 && (marks || count == 1))
                plot_mark(plot, SERIES_VALIDATION, to_x, to_y, 'o');
            last_x = to_x;
            last_y = to_y;
            drawn = true;
        }
}

/* Marks on the smoothed curve where findings set in. */
static void add_findings(struct app *app, const struct run_entry *entry, const struct axis *y)
{
    struct plot *plot = &app->run.plot;
    const struct curve *curve = &app->run.curves.smoothed;
    for (size_t i = 0; i < entry->snapshot.finding_count; i++) {
        struct finding finding;
        run_finding(entry->run, i, &finding);
        double at = curves_place(&app->run.curves, finding.iteration, finding.epoch);
        if (!(at >= 0 && at <= 1) || curve->width == 0)
            continue;
        long x = dot(at, curve->width);
        double up = curve->columns[x].any ? axis_place(y, (double)curve->columns[x].last) : 1;
        up = isfinite(up) ? fmax(0, fmin(1, up)) : 0;
        plot_mark(plot, SERIES_FINDING, x, dot(up, plot_height(plot)), '!');
    }
}

static void draw_best(struct app *app, const struct series *series, struct rect axis)
{
    size_t best = series_best(series);
    if (best == SIZE_MAX || axis.rows < 2)
        return;
    double at = curves_place_validation(&app->run.curves, &series->validations[best]);
    if (at >= 0 && at <= 1)
        draw_text(&app->canvas, axis, 0, (int)lround(at * (axis.columns - 1)), ROLE_GOOD,
                  app->canvas.glyphs->best);
}

static int draw_key_to(struct app *app, struct rect legend, int column, enum role role,
                       const char *sample, const char *words)
{
    if (column + (int)columns_of(words) + 4 > legend.columns)
        return column;
    column = draw_text(&app->canvas, legend, 0, column, role, sample) + 1;
    return draw_text(&app->canvas, legend, 0, column, ROLE_FAINT, words) + 3;
}

static void draw_legend(struct app *app, const struct run_entry *entry, const struct series *series,
                        struct rect legend)
{
    const struct glyphs *glyphs = app->canvas.glyphs;
    char sample[16], best_words[48];
    bool ascii = app->symbols == SYMBOLS_ASCII;
    int column =
        draw_text(&app->canvas, legend, 0, 0, ROLE_STRONG, app->run.log_y ? "loss, log" : "loss") +
        3;
    snprintf(sample, sizeof sample, "%s%s", glyphs->horizontal, glyphs->horizontal);
    column = draw_key_to(app, legend, column, ROLE_SMOOTHED, ascii ? "\"_" : sample, "smoothed");
    column = draw_key_to(app, legend, column, ROLE_RAW, ascii ? ".:" : "::", "raw");
    if (series_validation_count(series) > 0)
        column = draw_key_to(app, legend, column, ROLE_VALIDATION, "o", "validation");
    size_t best = series_best(series);
    if (best != SIZE_MAX) {
        snprintf(best_words, sizeof best_words, "best epoch %.4g",
                 (double)series->validations[best].epoch);
        column = draw_key_to(app, legend, column, ROLE_GOOD, glyphs->best, best_words);
    }
    if (entry->snapshot.finding_count > 0)
        draw_key_to(app, legend, column, ROLE_BAD, "!", "finding");
}

static void draw_rate(struct app *app, struct rect strip)
{
    struct plot *plot = &app->run.plot;
    const struct curves *curves = &app->run.curves;
    struct plot_layout layout = layout_plot(strip, false);
    double low = DBL_MAX, high = -DBL_MAX;
    if (rect_is_empty(strip))
        return;
    curve_range(&curves->rate, false, &low, &high);
    struct axis y = axis_around(0, high > 0 ? high : 1, false);
    layout.plot.rows += layout.axis.rows; /* the axis above holds for this strip too */
    layout.labels.rows += layout.axis.rows;
    struct rect title = {strip.row - 1, layout.plot.column, 1, layout.plot.columns};
    draw_text(&app->canvas, title, 0, 0, ROLE_RATE, "learning rate");
    if (!plot_reset(plot, (size_t)layout.plot.rows, (size_t)layout.plot.columns, app->symbols,
                    NULL))
        return;
    curve_draw(&curves->rate, &y, plot, SERIES_RATE);
    draw_y_labels(app, layout.labels, &y);
    draw_plot(&app->canvas, layout.plot, plot, roles, styles);
}

void run_plot_draw(struct app *app, struct run_entry *entry, struct rect view, struct rect rate)
{
    struct plot_layout layout = layout_plot(view, true);
    const struct series *series = run_series(entry->run);
    struct plot *plot = &app->run.plot;
    if (rect_is_empty(layout.plot) || app->run.curves.series != series ||
        !plot_reset(plot, (size_t)layout.plot.rows, (size_t)layout.plot.columns, app->symbols,
                    NULL))
        return;
    struct axis y = loss_axis(app, series);
    curve_draw(&app->run.curves.loss, &y, plot, SERIES_RAW);
    curve_draw(&app->run.curves.smoothed, &y, plot, SERIES_SMOOTHED);
    add_validations(app, series, &y);
    add_findings(app, entry, &y);
    draw_legend(app, entry, series, layout.legend);
    draw_y_labels(app, layout.labels, &y);
    draw_plot(&app->canvas, layout.plot, plot, roles, styles);
    draw_x_axis(app, layout.axis, layout.labels.columns > 0);
    draw_best(app, series, layout.axis);
    draw_rate(app, rate);
}
