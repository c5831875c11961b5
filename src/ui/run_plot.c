/* Series are drawn in this order, so that what matters more replaces what matters less: raw loss
 * faint, smoothed loss, validation, then marks. The x axis ends at a round number and grows in
 * steps: between two steps a new point changes only its own cells, which keeps a slow link quick.
 */
#include "ui/run_plot.h"

#include "base/language.h"
#include "ui/plot_axes.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    SERIES_NONE,
    SERIES_RAW,
    SERIES_SMOOTHED, /* of three losses side by side: the generator's */
    SERIES_DISCRIMINATOR,
    SERIES_L1,
    SERIES_VALIDATION,
    SERIES_RATE,
    SERIES_FINDING,
    SERIES
};

static const enum role roles[SERIES] = {[SERIES_RAW] = ROLE_RAW,
                                        [SERIES_SMOOTHED] = ROLE_SMOOTHED,
                                        [SERIES_DISCRIMINATOR] = ROLE_SERIES + 1,
                                        [SERIES_L1] = ROLE_SERIES + 2,
                                        [SERIES_VALIDATION] = ROLE_VALIDATION,
                                        [SERIES_RATE] = ROLE_RATE,
                                        [SERIES_FINDING] = ROLE_BAD};
static const enum plot_style styles[SERIES] = {PLOT_DOTTED, PLOT_DOTTED, PLOT_SOLID, PLOT_SOLID,
                                               PLOT_SOLID,  PLOT_SOLID,  PLOT_SOLID, PLOT_SOLID};

/* The losses of two networks that are trained against each other, in one picture. */
static const struct {
    enum quantity quantity;
    uint8_t series;
    char mark;
} contest[] = {{QUANTITY_L1, SERIES_L1, '1'},
               {QUANTITY_DISCRIMINATOR, SERIES_DISCRIMINATOR, 'D'},
               {QUANTITY_LOSS, SERIES_SMOOTHED, 'G'}};
enum { CONTEST = sizeof contest / sizeof *contest };

/* --- what is drawn: 0: all losses of the run, else 1 + a quantity --- */

static bool is_contest(const struct series *series)
{
    return quantity_is_known(series, QUANTITY_DISCRIMINATOR);
}

/* The validation loss stands beside what it is a validation of. */
static bool is_offered(const struct series *series, enum quantity quantity)
{
    if (quantity == QUANTITY_VALIDATION || (quantity == QUANTITY_LOSS && !is_contest(series)))
        return false;
    return quantity_is_known(series, quantity);
}

static size_t picture_of(const struct app *app, const struct series *series)
{
    size_t picture = app->run.picture;
    return picture > 0 && is_offered(series, (enum quantity)(picture - 1)) ? picture : 0;
}

const char *run_plot_next(struct app *app, const struct run_entry *entry)
{
    const struct series *series = run_series(entry->run);
    size_t picture = picture_of(app, series);
    do
        picture = (picture + 1) % (QUANTITIES + 1);
    while (picture > 0 && !is_offered(series, (enum quantity)(picture - 1)));
    app->run.picture = picture;
    if (picture == 0)
        return is_contest(series) ? _("the three losses") : _("the loss");
    return quantity_name((enum quantity)(picture - 1), is_contest(series));
}

/* What is drawn with its raw values behind it; QUANTITIES: nothing. */
static enum quantity trained_quantity(const struct series *series, size_t picture)
{
    if (picture == 0)
        return is_contest(series) ? QUANTITIES : QUANTITY_LOSS;
    return picture - 1 < QUANTITIES_TRAINED ? (enum quantity)(picture - 1) : QUANTITIES;
}

/* What is drawn of the validations; QUANTITIES: nothing. A generator is validated by its L1. */
static enum quantity validated_quantity(const struct series *series, size_t picture)
{
    enum quantity trained = trained_quantity(series, picture);
    if (picture > QUANTITIES_TRAINED)
        return (enum quantity)(picture - 1);
    return trained == (is_contest(series) ? QUANTITY_L1 : QUANTITY_LOSS) ? QUANTITY_VALIDATION
                                                                         : QUANTITIES;
}

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

/* Losses that differ by powers of ten are only told apart on a logarithmic axis. */
static bool is_log(const struct app *app, const struct series *series, size_t picture)
{
    return app->run.log_y || (picture == 0 && is_contest(series));
}

static struct axis y_axis(const struct app *app, const struct series *series, size_t picture)
{
    const struct curves *curves = &app->run.curves;
    enum quantity trained = trained_quantity(series, picture);
    double low = DBL_MAX, high = -DBL_MAX;
    bool log = is_log(app, series, picture);
    if (trained != QUANTITIES) {
        curve_range(&curves->raw[trained], log, &low, &high);
        curve_range(&curves->smoothed[trained], log, &low, &high);
    }
    for (size_t i = 0; i < CONTEST && picture == 0 && is_contest(series); i++)
        curve_range(&curves->smoothed[contest[i].quantity], log, &low, &high);
    validations_range(series, validated_quantity(series, picture), log, &low, &high);
    return axis_around(low, high, log);
}

/* --- curves and marks --- */

static long dot(double place, size_t dots)
{
    return lround(place * (double)(dots - 1));
}

/* Marks on the smoothed curve where findings set in. */
static void add_findings(struct app *app, const struct run_entry *entry, enum quantity quantity,
                         const struct axis *y)
{
    struct plot *plot = &app->run.plot;
    const struct curve *curve = &app->run.curves.smoothed[quantity];
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

static void add_curves(struct app *app, const struct run_entry *entry, const struct series *series,
                       size_t picture, const struct axis *y)
{
    struct plot *plot = &app->run.plot;
    const struct curves *curves = &app->run.curves;
    enum quantity trained = trained_quantity(series, picture);
    bool all = picture == 0 && is_contest(series);
    if (trained != QUANTITIES) {
        curve_draw(&curves->raw[trained], y, plot, SERIES_RAW);
        curve_draw(&curves->smoothed[trained], y, plot, SERIES_SMOOTHED);
    }
    for (size_t i = 0; i < CONTEST && all; i++)
        curve_draw(&curves->smoothed[contest[i].quantity], y, plot, contest[i].series);
    for (size_t i = 0; i < CONTEST && all; i++)
        for (int mark = 0; mark < 3; mark++)
            curve_mark(&curves->smoothed[contest[i].quantity], y, plot, contest[i].series,
                       0.15 + 0.3 * mark + 0.05 * (double)i, contest[i].mark);
    validations_draw(curves, series, validated_quantity(series, picture), y, plot,
                     SERIES_VALIDATION, 'o');
    if (picture <= QUANTITIES_TRAINED)
        add_findings(app, entry, trained == QUANTITIES ? QUANTITY_LOSS : trained, y);
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

static const char *line_sample(const struct app *app, char *text, size_t size)
{
    const char *line = app->canvas.glyphs->horizontal;
    snprintf(text, size, "%s%s", line, line);
    return app->symbols == SYMBOLS_ASCII ? "\"_" : text;
}

static int draw_contest_keys(struct app *app, struct rect legend, int column)
{
    char sample[24], line[16];
    line_sample(app, line, sizeof line);
    for (size_t i = CONTEST; i-- > 0;) {
        snprintf(sample, sizeof sample, "%c%s", contest[i].mark,
                 app->symbols == SYMBOLS_ASCII ? "\"_" : line);
        column = plot_axes_draw_key(&app->canvas, legend, column, roles[contest[i].series], sample,
                                    contest[i].quantity == QUANTITY_LOSS ? _("generator")
                                    : contest[i].quantity == QUANTITY_L1 ? "L1"
                                                                         : _("discriminator"));
    }
    return column;
}

static void draw_legend(struct app *app, const struct run_entry *entry, const struct series *series,
                        size_t picture, struct rect legend)
{
    const struct glyphs *glyphs = app->canvas.glyphs;
    char line[16], best_words[48];
    bool ascii = app->symbols == SYMBOLS_ASCII, all = picture == 0 && is_contest(series);
    const char *name = all            ? _("losses")
                       : picture == 0 ? _("loss")
                                      : quantity_name((enum quantity)(picture - 1), true);
    int column = draw_format(&app->canvas, legend, 0, 0, ROLE_STRONG, "%s%s", name,
                             is_log(app, series, picture) ? _(", log") : "") +
                 3;
    if (all)
        column = draw_contest_keys(app, legend, column);
    if (trained_quantity(series, picture) != QUANTITIES) {
        column = plot_axes_draw_key(&app->canvas, legend, column, ROLE_SMOOTHED,
                                    line_sample(app, line, sizeof line), _("smoothed"));
        column = plot_axes_draw_key(&app->canvas, legend, column, ROLE_RAW,
                                    ascii ? ".:" : "::", _("raw"));
    }
    if (series_validation_count(series) > 0 && validated_quantity(series, picture) != QUANTITIES)
        column =
            plot_axes_draw_key(&app->canvas, legend, column, ROLE_VALIDATION, "o", _("validation"));
    size_t best = series_best(series);
    if (best != SIZE_MAX) {
        snprintf(best_words, sizeof best_words, _("best epoch %.4g"),
                 (double)series->validations[best].epoch);
        column =
            plot_axes_draw_key(&app->canvas, legend, column, ROLE_GOOD, glyphs->best, best_words);
    }
    if (entry->snapshot.finding_count > 0 && picture <= QUANTITIES_TRAINED)
        plot_axes_draw_key(&app->canvas, legend, column, ROLE_BAD, "!", _("finding"));
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
    draw_text(&app->canvas, title, 0, 0, ROLE_RATE, _("learning rate"));
    if (!plot_reset(plot, (size_t)layout.plot.rows, (size_t)layout.plot.columns, app->symbols,
                    NULL))
        return;
    curve_draw(&curves->rate, &y, plot, SERIES_RATE);
    plot_axes_draw_y(&app->canvas, layout.labels, &y);
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
    size_t picture = picture_of(app, series);
    struct axis y = y_axis(app, series, picture);
    add_curves(app, entry, series, picture, &y);
    draw_legend(app, entry, series, picture, layout.legend);
    plot_axes_draw_y(&app->canvas, layout.labels, &y);
    draw_plot(&app->canvas, layout.plot, plot, roles, styles);
    plot_axes_draw_x(&app->canvas, layout.axis, &app->run.curves.x, app->run.x,
                     layout.labels.columns > 0);
    draw_best(app, series, layout.axis);
    draw_rate(app, rate);
}
