#include "session/export/chart.h"

#include "base/axis.h"
#include "base/files/file.h"
#include "base/language.h"
#include "data/formats/image_file.h"
#include "session/export/raster.h"
#include "session/export/stroke_font.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct colour paper = {255, 255, 255}, ink = {32, 36, 42}, faint = {120, 126, 134},
                           grid = {226, 229, 233}, raw_colour = {176, 196, 222};
/* Told apart by people with any kind of colour vision: Okabe & Ito, "Color universal design"
 * (2008), without its yellow, which is lost on white. */
static const struct colour palette[] = {{0, 114, 178},   {213, 94, 0},   {0, 158, 115},
                                        {204, 121, 167}, {86, 180, 233}, {230, 159, 0}};
enum { COLOURS = sizeof palette / sizeof *palette };

/* --- what is drawn --- */

enum value {
    VALUE_LOSS,
    VALUE_SMOOTHED,
    VALUE_CAFFE,
    VALUE_DISCRIMINATOR,
    VALUE_VALIDATION,
    VALUE_TOP1,
    VALUE_TOP5,
    VALUE_PIXELS
};

struct trace {
    const struct run *run;
    enum value value;
    struct colour colour;
    double width; /* in units */
    size_t dash;  /* 0: solid; else the length of a dash, in units */
    char label[256];
};

enum { MAX_TRACES = 2 * CHART_MAX_RUNS + 8 };

struct traces {
    struct trace trace[MAX_TRACES];
    size_t count;
};

static bool of_validation(enum value value)
{
    return value >= VALUE_VALIDATION;
}

static size_t trace_points(const struct trace *trace)
{
    const struct series *series = run_series(trace->run);
    return of_validation(trace->value) ? series_validation_count(series) : series_count(series);
}

static double x_of(enum chart_x x, double iteration, double epoch, double seconds)
{
    return x == CHART_ITERATION ? iteration : x == CHART_EPOCH ? epoch : seconds;
}

/* Point `i`; `smoothed` carries the smoothed loss from point to point. */
static void trace_point(const struct trace *trace, enum chart_x kind, size_t i, double *smoothed,
                        double *x, double *y)
{
    const struct series *series = run_series(trace->run);
    if (of_validation(trace->value)) {
        const struct series_validation *at = &series->validations[i];
        *x = x_of(kind, (double)at->iteration, (double)at->epoch, (double)at->seconds);
        *y = trace->value == VALUE_VALIDATION ? (double)at->loss
             : trace->value == VALUE_TOP1     ? (double)at->top1
             : trace->value == VALUE_TOP5     ? (double)at->top5
                                              : (double)at->pixel_accuracy;
        return;
    }
    const struct series_point *at = &series->points[i];
    *x = x_of(kind, (double)at->iteration, (double)at->epoch, (double)at->seconds);
    *smoothed = series_smoothed(series, *smoothed, i);
    *y = trace->value == VALUE_LOSS       ? (double)at->loss
         : trace->value == VALUE_SMOOTHED ? *smoothed
         : trace->value == VALUE_CAFFE    ? (double)at->loss_caffe
                                          : (double)at->loss_discriminator;
}

static struct trace *add_trace(struct traces *traces, const struct run *run, enum value value,
                               struct colour colour, double width, const char *label)
{
    struct trace *trace = &traces->trace[traces->count];
    *trace = (struct trace){.run = run, .value = value, .colour = colour, .width = width};
    snprintf(trace->label, sizeof trace->label, "%s", label);
    if (trace_points(trace))
        traces->count++;
    return trace;
}

static bool has_wrong_mean(const struct run *run)
{
    struct run_snapshot snapshot;
    struct finding finding;
    run_snapshot(run, &snapshot);
    for (size_t i = 0; i < snapshot.finding_count; i++) {
        run_finding(run, i, &finding);
        if (finding.kind == FINDING_NEGATIVE_LOSS || finding.kind == FINDING_RESIDUE)
            return true;
    }
    return false;
}

static void trace_one_run(const struct run *run, struct traces *losses, struct traces *accuracies)
{
    const bool adversarial = run_facts(run)->discriminator_parameters > 0;
    const bool makes_images = adversarial || !run_facts(run)->classes;
    char words[96], smoothed[128];
    snprintf(smoothed, sizeof smoothed,
             adversarial ? _("generator, smoothed: %s") : _("smoothed: %s"),
             series_smoothing_words(run_series(run), words, sizeof words));
    add_trace(losses, run, VALUE_LOSS, raw_colour, 0.14,
              adversarial ? _("generator, raw") : _("loss, raw"));
    if (run_config(run)->average_loss > 1 || has_wrong_mean(run))
        add_trace(losses, run, VALUE_CAFFE, palette[3], 0.2, _("Caffe's running mean"));
    add_trace(losses, run, VALUE_SMOOTHED, palette[0], 0.26, smoothed);
    if (adversarial)
        add_trace(losses, run, VALUE_DISCRIMINATOR, palette[1], 0.2, _("discriminator"));
    else
        add_trace(losses, run, VALUE_VALIDATION, palette[1], 0.26, _("validation"));
    if (makes_images) {
        add_trace(accuracies, run, VALUE_PIXELS, palette[0], 0.26, _("pixel accuracy"));
        return;
    }
    add_trace(accuracies, run, VALUE_TOP1, palette[0], 0.26, _("top-1"));
    add_trace(accuracies, run, VALUE_TOP5, palette[4], 0.2, _("top-5"));
}

/* Whether one description of the smoothed loss holds for all runs. */
static bool are_smoothed_alike(struct run *const *runs, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (run_series(runs[i])->window != run_series(runs[0])->window)
            return false;
    return true;
}

/* `alike`: the heading says what the smoothed loss of all runs is. */
static void trace_of_several(const struct run *run, size_t number, bool alike,
                             struct traces *losses, struct traces *accuracies)
{
    char label[256];
    const struct run_config *config = run_config(run);
    const size_t window = run_series(run)->window;
    snprintf(label, sizeof label, _("%.40s, %.40s, batch %zu, %.63s"), run_facts(run)->network,
             file_base_name(config->data), config->batch, run_facts(run)->id);
    if (!alike && window)
        snprintf(label + strlen(label), sizeof label - strlen(label), _(" (mean of %zu)"), window);
    const struct colour colour = palette[number % COLOURS];
    const size_t dash = number / COLOURS * 2;
    add_trace(losses, run, VALUE_SMOOTHED, colour, 0.26, label)->dash = dash;
    add_trace(accuracies, run, run_facts(run)->classes ? VALUE_TOP1 : VALUE_PIXELS, colour, 0.26,
              label)
        ->dash = dash;
}

/* --- axes --- */

static bool has_place(double value, bool log)
{
    return isfinite(value) && (!log || value > 0);
}

/* Widens the ranges to hold every point that has a place. */
static void trace_range(const struct trace *trace, const struct chart_settings *settings,
                        bool log_y, double *x_range, double *y_range)
{
    double smoothed = NAN, x, y;
    for (size_t i = 0, count = trace_points(trace); i < count; i++) {
        trace_point(trace, settings->x, i, &smoothed, &x, &y);
        if (!has_place(x, settings->log_x) || !has_place(y, log_y))
            continue;
        x_range[0] = fmin(x_range[0], x);
        x_range[1] = fmax(x_range[1], x);
        y_range[0] = fmin(y_range[0], y);
        y_range[1] = fmax(y_range[1], y);
    }
}

/* The y axis of some traces; *x_range is widened to hold them as well. */
static struct axis choose_y(const struct traces *traces, const struct chart_settings *settings,
                            bool log_y, double *x_range)
{
    double y_range[2] = {INFINITY, -INFINITY};
    for (size_t t = 0; t < traces->count; t++)
        trace_range(&traces->trace[t], settings, log_y, x_range, y_range);
    return axis_for_range(y_range[0], y_range[1], log_y);
}

static struct axis choose_x(const double *range, bool log)
{
    struct axis axis = {log ? range[0] : 0, range[1], log};
    return axis.high > axis.low ? axis : axis_for_range(range[0], range[1], log);
}

/* --- a panel --- */

struct panel {
    struct raster *raster;
    double unit; /* the height of a capital, pixels */
    double left, top, right, bottom;
    struct axis x, y;
};

static double panel_x(const struct panel *panel, double value)
{
    return panel->left + axis_position(&panel->x, value) * (panel->right - panel->left);
}

static double panel_y(const struct panel *panel, double value)
{
    return panel->bottom - axis_position(&panel->y, value) * (panel->bottom - panel->top);
}

static void draw_x_axis(const struct panel *panel, const char *name)
{
    char label[32];
    double ticks[AXIS_MAX_TICKS];
    const double unit = panel->unit;
    const size_t count =
        axis_ticks(&panel->x, (size_t)((panel->right - panel->left) / unit / 7), ticks);
    for (size_t i = 0; i < count; i++) {
        const double at = panel_x(panel, ticks[i]);
        axis_label(ticks[i], label, sizeof label);
        raster_line(panel->raster, at, panel->top, at, panel->bottom, 1, grid);
        stroke_font_draw(panel->raster, at - stroke_font_width(label, unit) / 2,
                         panel->bottom + 1.9 * unit, unit, ink, label);
    }
    if (name)
        stroke_font_draw(panel->raster, panel->right - stroke_font_width(name, unit),
                         panel->bottom + 3.9 * unit, unit, faint, name);
}

static void draw_y_axis(const struct panel *panel, const char *name)
{
    char label[32];
    double ticks[AXIS_MAX_TICKS];
    const double unit = panel->unit;
    const size_t count =
        axis_ticks(&panel->y, (size_t)((panel->bottom - panel->top) / unit / 3), ticks);
    for (size_t i = 0; i < count; i++) {
        const double at = panel_y(panel, ticks[i]);
        axis_label(ticks[i], label, sizeof label);
        raster_line(panel->raster, panel->left, at, panel->right, at, 1, grid);
        stroke_font_draw(panel->raster, panel->left - unit - stroke_font_width(label, unit),
                         at + unit / 2, unit, ink, label);
    }
    stroke_font_draw_up(panel->raster, 2.2 * unit, panel->top + stroke_font_width(name, unit), unit,
                        faint, name);
}

/* A pen that lifts by itself along a dashed line. */
struct pen {
    const struct panel *panel;
    const struct trace *trace;
    double drawn; /* pixels since the line began */
};

static void pen_line(struct pen *pen, double x0, double y0, double x1, double y1)
{
    const double width = pen->trace->width * pen->panel->unit, length = hypot(x1 - x0, y1 - y0);
    const double dash = (double)pen->trace->dash * pen->panel->unit;
    struct raster *raster = pen->panel->raster;
    if (dash == 0 || !(length > 0)) {
        raster_line(raster, x0, y0, x1, y1, width, pen->trace->colour);
        return;
    }
    for (double at = 0; at < length;) {
        const double phase = fmod(pen->drawn, 2 * dash);
        const bool down = phase < dash;
        const double step = fmin((down ? dash : 2 * dash) - phase + 1e-6, length - at);
        const double a = at / length, b = (at + step) / length;
        if (down)
            raster_line(raster, x0 + a * (x1 - x0), y0 + a * (y1 - y0), x0 + b * (x1 - x0),
                        y0 + b * (y1 - y0), width, pen->trace->colour);
        at += step;
        pen->drawn += step;
    }
}

/* The points that fall into one column of pixels are drawn as one upright line from the least to
 * the greatest: a million points cost no more than the picture is wide. */
struct column {
    bool any;
    double x, first, last, low, high;
};

static void draw_column(struct pen *pen, const struct column *before, const struct column *column)
{
    if (before->any)
        pen_line(pen, before->x, before->last, column->x, column->first);
    if (column->high - column->low > 0.5)
        pen_line(pen, column->x, column->low, column->x, column->high);
    else if (!before->any)
        pen_line(pen, column->x, column->first, column->x, column->first);
}

static void column_add(struct column *column, double x, double y)
{
    if (!column->any)
        *column = (struct column){true, x, y, y, y, y};
    column->last = y;
    column->low = fmin(column->low, y);
    column->high = fmax(column->high, y);
}

static void draw_trace(const struct panel *panel, const struct trace *trace, enum chart_x kind)
{
    struct pen pen = {.panel = panel, .trace = trace};
    struct column before = {0}, column = {0};
    double smoothed = NAN, x, y;
    for (size_t i = 0, count = trace_points(trace); i < count; i++) {
        trace_point(trace, kind, i, &smoothed, &x, &y);
        const double at_x = panel_x(panel, x), at_y = panel_y(panel, y);
        const bool placed = isfinite(at_x) && isfinite(at_y);
        if (column.any && (!placed || floor(at_x) != floor(column.x))) {
            draw_column(&pen, &before, &column);
            before = column;
            column.any = false;
        }
        if (placed)
            column_add(&column, at_x, at_y);
        else
            before.any = false; /* a gap */
    }
    if (column.any)
        draw_column(&pen, &before, &column);
}

/* A disc at each validation, and a ring around the best one. */
static void draw_marks(const struct panel *panel, const struct trace *trace, enum chart_x kind)
{
    const size_t best = series_best(run_series(trace->run));
    double smoothed = NAN, x, y;
    for (size_t i = 0, count = trace_points(trace); i < count; i++) {
        trace_point(trace, kind, i, &smoothed, &x, &y);
        const double at_x = panel_x(panel, x), at_y = panel_y(panel, y);
        if (i == best) {
            raster_line(panel->raster, at_x, at_y, at_x, at_y, 1.5 * panel->unit, trace->colour);
            raster_line(panel->raster, at_x, at_y, at_x, at_y, 1.1 * panel->unit, paper);
        }
        raster_line(panel->raster, at_x, at_y, at_x, at_y, 0.7 * panel->unit, trace->colour);
    }
}

static void draw_traces(const struct panel *panel, const struct traces *traces, enum chart_x kind)
{
    raster_clip(panel->raster, panel->left - panel->unit, panel->top - panel->unit,
                panel->right + panel->unit, panel->bottom + panel->unit / 4);
    for (size_t t = 0; t < traces->count; t++) {
        draw_trace(panel, &traces->trace[t], kind);
        if (of_validation(traces->trace[t].value))
            draw_marks(panel, &traces->trace[t], kind);
    }
    raster_clip_nothing(panel->raster);
}

/* An upright line where a finding set in, its name beside it. */
static void draw_findings(const struct panel *panel, const struct run *run, enum chart_x kind)
{
    struct run_snapshot snapshot;
    struct finding finding;
    const struct series *series = run_series(run);
    run_snapshot(run, &snapshot);
    for (size_t i = 0; i < snapshot.finding_count; i++) {
        run_finding(run, i, &finding);
        size_t at = finding.iteration ? (size_t)((finding.iteration - 1) / series->stride) : 0;
        if (at >= series_count(series))
            continue;
        const double x = panel_x(panel, x_of(kind, (double)finding.iteration, finding.epoch,
                                             (double)series->points[at].seconds));
        const char *words = gettext(finding_kind_words(finding.kind));
        if (!isfinite(x))
            continue;
        raster_line(panel->raster, x, panel->top, x, panel->bottom, 1, faint);
        stroke_font_draw_up(panel->raster, x - panel->unit * 0.6,
                            panel->top + stroke_font_width(words, panel->unit) + panel->unit,
                            panel->unit, faint, words);
    }
}

static void draw_frame(const struct panel *panel)
{
    raster_line(panel->raster, panel->left, panel->top, panel->left, panel->bottom, 1.5, faint);
    raster_line(panel->raster, panel->left, panel->bottom, panel->right, panel->bottom, 1.5, faint);
}

/* --- the page --- */

struct page {
    struct raster raster;
    double unit, width, height;
    const struct chart_settings *settings;
};

/* A sample of each line with its name, broken into rows. Returns the y below it. */
static double draw_legend(struct page *page, const struct traces *traces, double y)
{
    const double unit = page->unit, left = 8 * unit;
    double x = left;
    for (size_t t = 0; t < traces->count; t++) {
        const struct trace *trace = &traces->trace[t];
        const double wide = stroke_font_width(trace->label, unit) + 7 * unit;
        if (x > left && x + wide > page->width - unit) {
            x = left;
            y += 2.2 * unit;
        }
        struct panel panel = {.raster = &page->raster, .unit = unit};
        struct pen pen = {.panel = &panel, .trace = trace};
        pen_line(&pen, x, y - unit / 2, x + 3 * unit, y - unit / 2);
        stroke_font_draw(&page->raster, x + 4 * unit, y, unit, ink, trace->label);
        x += wide;
    }
    return y + 2.2 * unit;
}

static double draw_heading(struct page *page, struct run *const *runs, size_t count)
{
    char title[160], details[400] = "", words[96];
    const struct run_config *config = run_config(runs[0]);
    const struct run_facts *facts = run_facts(runs[0]);
    if (count > 1) {
        snprintf(title, sizeof title, _("%zu runs: smoothed loss and accuracy"), count);
        if (are_smoothed_alike(runs, count))
            snprintf(details, sizeof details, _("smoothed: %s"),
                     series_smoothing_words(run_series(runs[0]), words, sizeof words));
        else
            snprintf(details, sizeof details, "%s",
                     _("smoothed: exponential mean over 10 iterations + 2 % of those done, or the "
                       "mean of the last N where a mean of N is named"));
    } else {
        snprintf(title, sizeof title, _("%s on %.90s"), facts->network,
                 file_base_name(config->data));
        snprintf(details, sizeof details, _("batch %zu, %s, learning rate %g, seed %llu   %s"),
                 config->batch, config->device, config->learning_rate,
                 (unsigned long long)config->seed, facts->id);
    }
    stroke_font_draw(&page->raster, 8 * page->unit, 3 * page->unit, 1.4 * page->unit, ink, title);
    stroke_font_draw(&page->raster, 8 * page->unit, 5 * page->unit, page->unit, faint, details);
    return details[0] ? 7.4 * page->unit : 5.4 * page->unit;
}

/* Draws the panel whose axes are chosen, without what belongs to one of them only. */
static void draw_panel(struct panel *panel, const struct page *page, const struct traces *traces,
                       const char *x_name, const char *y_name)
{
    draw_x_axis(panel, x_name);
    draw_y_axis(panel, y_name);
    draw_frame(panel);
    draw_traces(panel, traces, page->settings->x);
}

static void draw_panels(struct page *page, struct panel *loss, const struct traces *losses,
                        struct panel *accuracy, const struct traces *accuracies,
                        const struct run *only)
{
    static const char *const x_names[] = {N_("iteration"), N_("epoch"), N_("seconds")};
    const char *x_name = gettext(x_names[page->settings->x]);
    double x_range[2] = {INFINITY, -INFINITY};
    loss->y = choose_y(losses, page->settings, page->settings->log_y, x_range);
    accuracy->y = choose_y(accuracies, page->settings, false, x_range);
    loss->x = accuracy->x = choose_x(x_range, page->settings->log_x);
    if (accuracies->count) {
        const double middle = loss->top + (accuracy->bottom - loss->top) * 0.62;
        accuracy->top = middle + 5 * page->unit;
        if (only)
            accuracy->top = draw_legend(page, accuracies, accuracy->top) - page->unit / 2;
        draw_panel(accuracy, page, accuracies, x_name, _("accuracy %"));
        loss->bottom = middle;
    }
    if (only)
        draw_findings(loss, only, page->settings->x);
    draw_panel(loss, page, losses, accuracies->count ? NULL : x_name, _("loss"));
}

static void draw_page(struct page *page, struct run *const *runs, size_t count)
{
    struct traces losses = {0}, accuracies = {0};
    const bool alike = are_smoothed_alike(runs, count);
    for (size_t i = 0; i < count; i++)
        if (count == 1)
            trace_one_run(runs[i], &losses, &accuracies);
        else
            trace_of_several(runs[i], i, alike, &losses, &accuracies);
    struct panel loss = {.raster = &page->raster,
                         .unit = page->unit,
                         .left = 8 * page->unit,
                         .top = draw_legend(page, &losses, draw_heading(page, runs, count)),
                         .right = page->width - 2 * page->unit,
                         .bottom = page->height - 5 * page->unit};
    struct panel accuracy = loss;
    draw_panels(page, &loss, &losses, &accuracy, &accuracies, count == 1 ? runs[0] : NULL);
}

static bool check(struct run *const *runs, size_t count, const struct chart_settings *settings,
                  struct error *error)
{
    if (count > CHART_MAX_RUNS)
        return error_set(error, ERROR_USAGE, "the picture", "choose fewer",
                         "%zu runs cannot be told apart; %d can", count, CHART_MAX_RUNS);
    if (settings->width < 320 || settings->width > IMAGE_MAX_SIDE || settings->height < 240 ||
        settings->height > IMAGE_MAX_SIDE)
        return error_set(error, ERROR_USAGE, "the picture", "give 1600x1000, for example",
                         "%zux%zu is not between 320x240 and %dx%d", settings->width,
                         settings->height, IMAGE_MAX_SIDE, IMAGE_MAX_SIDE);
    for (size_t i = 0; i < count; i++)
        if (series_count(run_series(runs[i])))
            return true;
    return error_set(error, ERROR_INPUT, run_facts(runs[0])->id, "let it run for some iterations",
                     "there is no curve yet");
}

bool chart_write(struct run *const *runs, size_t count, const struct chart_settings *settings,
                 const char *path, struct error *error)
{
    struct page page = {
        .width = (double)settings->width,
        .height = (double)settings->height,
        .unit = fmax(fmin((double)settings->width / 130, (double)settings->height / 80), 6),
        .settings = settings};
    if (!check(runs, count, settings, error) ||
        !raster_create(&page.raster, settings->width, settings->height, paper, error))
        return false;
    draw_page(&page, runs, count);
    bool written = image_file_export_png(&page.raster.image, path, error);
    raster_free(&page.raster);
    return written;
}
