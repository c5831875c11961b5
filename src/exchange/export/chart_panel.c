/* A chart consists of texts and lines (the sheet), curves, and panels that show the curves. */
#include "exchange/export/internal.h"

#include "base/character.h"
#include "base/files/file.h"
#include "base/language.h"
#include "base/series_colours.h"
#include "base/text.h"
#include "runs/folder/run_name.h"
#include "runs/settings/settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

/* --- the sheet --- */

/* Texts and straight lines on a chart.
 *
 * Messages have the locale's character set, and run names may contain any bytes, but Cairo fails on
 * text that is not valid UTF-8. Therefore every text is converted first. */

const struct canvas_colour sheet_ink = {32, 36, 42}, sheet_grey = {96, 102, 110};
const struct canvas_font sheet_label = {.colour = {32, 36, 42}, .size = SHEET_TEXT},
                         sheet_secondary_label = {.colour = {96, 102, 110}, .size = SHEET_TEXT};

/* --- UTF-8 --- */

static void append_utf8(struct text *text, uint32_t code)
{
    char bytes[4];
    size_t count = 1;
    if (code < 0x80)
        bytes[0] = (char)code;
    else if (code < 0x800) {
        bytes[0] = (char)(0xc0 | code >> 6);
        count = 2;
    } else if (code < 0x10000) {
        bytes[0] = (char)(0xe0 | code >> 12);
        count = 3;
    } else {
        bytes[0] = (char)(0xf0 | code >> 18);
        count = 4;
    }
    for (size_t i = 1; i < count; i++)
        bytes[i] = (char)(0x80 | (code >> 6 * (count - 1 - i) & 0x3f));
    text_append_bytes(text, bytes, count);
}

/* Returns the length in bytes of the character at `from` and sets *code to its Unicode number.
 * Bytes that are not UTF-8 are read in the locale's character set (glibc's wchar_t is Unicode); a
 * byte that is invalid there, too, becomes a question mark. */
static size_t decode(const char *from, uint32_t *code)
{
    wchar_t wide;
    mbstate_t state = {0};
    size_t length = character_decode_utf8(from, code);
    if (length == 0) {
        length = mbrtowc(&wide, from, strlen(from), &state);
        *code = (uint32_t)wide;
        if (length == 0 || length > strlen(from)) {
            length = 1;
            *code = '?';
        }
    }
    if (!character_is_visible(*code))
        *code = '?';
    return length;
}

void sheet_append_utf8(struct text *out, const char *text)
{
    text_append_bytes(out, "", 0); /* an empty text is "", not NULL */
    for (uint32_t code; *text;) {
        text += decode(text, &code);
        append_utf8(out, code);
    }
}

/* Returns `text` as UTF-8, or "" if memory runs out. The caller frees `buffer`. */
static const char *to_utf8(const char *text, struct text *buffer)
{
    sheet_append_utf8(buffer, text);
    return buffer->failed ? "" : buffer->data;
}

/* --- drawing --- */

/* Draws a straight line. */
static void sheet_line(const struct sheet *sheet, struct canvas_point from, struct canvas_point to,
                       double width, struct canvas_colour colour)
{
    const struct canvas_point points[2] = {from, to};
    sheet->draw->line(sheet->canvas, points, 2,
                      &(struct canvas_pen){.colour = colour, .width = width});
}

double sheet_text_width(const struct sheet *sheet, const char *text, const struct canvas_font *font)
{
    struct text buffer = {0};
    const double width = sheet->draw->text_width(sheet->canvas, to_utf8(text, &buffer), font);
    text_free(&buffer);
    return width;
}

/* Returns the length of `text` in `font`, whose size is first reduced until it fits into `limit`.
 */
static double fit(const struct sheet *sheet, const char *text, double limit,
                  struct canvas_font *font)
{
    const double width = sheet->draw->text_width(sheet->canvas, text, font);
    if (width <= limit || !(limit > 0))
        return width;
    font->size *= limit / width;
    return limit;
}

static void draw_text(const struct sheet *sheet, struct canvas_point at, double align, double limit,
                      const char *text, struct canvas_font font, bool upwards)
{
    struct text buffer = {0};
    const char *utf8 = to_utf8(text, &buffer);
    const double before = align * fit(sheet, utf8, limit, &font);
    sheet->draw->text(sheet->canvas, upwards ? at.x : at.x - before, upwards ? at.y + before : at.y,
                      utf8, &font, upwards);
    text_free(&buffer);
}

void sheet_text(const struct sheet *sheet, double x, double y, double align, double limit,
                const char *text, const struct canvas_font *font)
{
    draw_text(sheet, (struct canvas_point){x, y}, align, limit, text, *font, false);
}

/* Draws a text like sheet_text, but upwards, for the title of a y axis. */
static void sheet_text_upwards(const struct sheet *sheet, double x, double y, double align,
                               double limit, const char *text, const struct canvas_font *font)
{
    draw_text(sheet, (struct canvas_point){x, y}, align, limit, text, *font, true);
}

/* --- curves --- */

/* Chooses the curves of a chart with their colours, widths and dashes.
 *
 * The curves of one run have colours of Okabe and Ito ("Color universal design", 2008); several
 * runs have those of the terminal (series_colours). People with any kind of colour vision can tell
 * them apart. Some have the same lightness, so the curves of runs also differ by their dashes: 10
 * colours and 4 patterns give each of CHART_MAX_RUNS runs a different line, also in a grey print.
 */

enum { BLUE, VERMILION, PURPLE, ORANGE, COLOURS };
static const struct canvas_colour palette[COLOURS] = {[BLUE] = {0, 114, 178},
                                                      [VERMILION] = {213, 94, 0},
                                                      [PURPLE] = {204, 121, 167},
                                                      [ORANGE] = {230, 159, 0}};
static const struct canvas_colour pale_blue = {160, 190, 222};

enum { SOLID, DASHED, DOTTED, DASH_DOTTED, PATTERNS };
static const double patterns[PATTERNS][4] = {
    [DASHED] = {5, 2.5, 5, 2.5}, [DOTTED] = {1.5, 1.8, 1.5, 1.8}, [DASH_DOTTED] = {6, 2, 1.5, 2}};

enum { THIN, MEDIUM, THICK };
static const double widths[] = {[THIN] = 0.5, [MEDIUM] = 1, [THICK] = 1.4}; /* points */

/* Sets the dashes of `pen` to those of the trace; 0 is solid. */
static void chart_trace_set_dashes(const struct chart_trace *trace, struct canvas_pen *pen)
{
    pen->dashes = trace->dash == SOLID ? NULL : patterns[trace->dash];
    pen->dash_count = 4;
}

/* --- points --- */

/* Returns whether the curve has one point for each validation and none for each iteration. */
static bool chart_trace_is_validation(const struct chart_trace *trace)
{
    return trace->value >= CHART_TRACE_VALIDATION;
}

size_t chart_trace_point_count(const struct chart_trace *trace)
{
    const struct series *series = run_series(trace->run);
    return chart_trace_is_validation(trace) ? series_validation_count(series)
                                            : series_count(series);
}

/* Returns the one of the three values (seconds since the start) that the x axis shows. */
static double chart_trace_x(enum chart_x kind, double iteration, double epoch, double seconds)
{
    return kind == CHART_ITERATION ? iteration : kind == CHART_EPOCH ? epoch : seconds;
}

static double validation_value(const struct series_validation *at, enum chart_trace_value value)
{
    return value == CHART_TRACE_VALIDATION ? (double)at->loss
           : value == CHART_TRACE_TOP1     ? (double)at->top1
           : value == CHART_TRACE_TOP5     ? (double)at->top5
                                           : (double)at->pixel_accuracy;
}

void chart_trace_read_point(const struct chart_trace *trace, enum chart_x kind, size_t i,
                            struct chart_trace_position *position)
{
    const struct series *series = run_series(trace->run);
    if (chart_trace_is_validation(trace)) {
        const struct series_validation *at = &series->validations[i];
        position->x =
            chart_trace_x(kind, (double)at->iteration, (double)at->epoch, (double)at->seconds);
        position->y = validation_value(at, trace->value);
        return;
    }
    const struct series_point *at = &series->points[i];
    position->x =
        chart_trace_x(kind, (double)at->iteration, (double)at->epoch, (double)at->seconds);
    position->smoothed = series_smoothed(series, position->smoothed, i);
    position->y = trace->value == CHART_TRACE_LOSS       ? (double)at->loss
                  : trace->value == CHART_TRACE_SMOOTHED ? position->smoothed
                  : trace->value == CHART_TRACE_CAFFE    ? (double)at->loss_caffe
                                                         : (double)at->loss_discriminator;
}

/* --- which curves --- */

/* Returns whether the curve has a value: a log of another program may lack any, and a network has
 * one kind of accuracy. Curves of iterations are taken as they are. */
static bool has_values(const struct chart_trace *trace)
{
    const struct series *series = run_series(trace->run);
    if (!chart_trace_is_validation(trace))
        return series_count(series) > 0;
    for (size_t i = 0, count = series_validation_count(series); i < count; i++)
        if (isfinite(validation_value(&series->validations[i], trace->value)))
            return true;
    return false;
}

static void add_trace(struct chart_traces *traces, struct chart_trace trace, const char *label)
{
    struct chart_trace *added = &traces->trace[traces->count];
    *added = trace;
    snprintf(added->label, sizeof added->label, "%s", label);
    if (has_values(added))
        traces->count++;
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

static void add_losses(const struct run *run, bool adversarial, struct chart_traces *losses)
{
    char words[96], smoothed[128];
    snprintf(smoothed, sizeof smoothed,
             adversarial ? _("generator, smoothed: %s") : _("smoothed: %s"),
             series_smoothing_words(run_series(run), words, sizeof words));
    add_trace(losses,
              (struct chart_trace){run, CHART_TRACE_LOSS, pale_blue, widths[THIN], SOLID, ""},
              adversarial ? _("generator, raw") : _("loss, raw"));
    if (measurement_settings(run_config(run)).average_loss > 1 || has_wrong_mean(run))
        add_trace(losses,
                  (struct chart_trace){run, CHART_TRACE_CAFFE, palette[PURPLE], widths[MEDIUM],
                                       DOTTED, ""},
                  _("Caffe's running mean"));
    add_trace(
        losses,
        (struct chart_trace){run, CHART_TRACE_SMOOTHED, palette[BLUE], widths[THICK], SOLID, ""},
        smoothed);
    if (adversarial)
        add_trace(losses,
                  (struct chart_trace){run, CHART_TRACE_DISCRIMINATOR, palette[VERMILION],
                                       widths[MEDIUM], DASHED, ""},
                  _("discriminator"));
    else
        add_trace(losses,
                  (struct chart_trace){run, CHART_TRACE_VALIDATION, palette[VERMILION],
                                       widths[THICK], DASHED, ""},
                  _("validation"));
}

static void choose_for_one(const struct run *run, struct chart_traces *losses,
                           struct chart_traces *accuracies)
{
    const bool adversarial = run_facts(run)->discriminator_parameters > 0;
    add_losses(run, adversarial, losses);
    add_trace(
        accuracies,
        (struct chart_trace){run, CHART_TRACE_PIXELS, palette[BLUE], widths[THICK], SOLID, ""},
        _("pixel accuracy"));
    add_trace(accuracies,
              (struct chart_trace){run, CHART_TRACE_TOP1, palette[BLUE], widths[THICK], SOLID, ""},
              _("top-1"));
    add_trace(
        accuracies,
        (struct chart_trace){run, CHART_TRACE_TOP5, palette[ORANGE], widths[MEDIUM], DASHED, ""},
        _("top-5"));
}

bool chart_traces_are_smoothed_alike(struct run *const *runs, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (run_series(runs[i])->window != run_series(runs[0])->window)
            return false;
    return true;
}

/* Writes what the log of an imported run gives, its name and its ID. */
static void label_imported(const struct run *run, char *label, size_t size)
{
    const struct run_config *config = run_config(run);
    const struct run_facts *facts = run_facts(run);
    char name[RUN_NAME_SIZE];
    size_t used = 0;
    if (run_name_read(facts->directory, name)[0])
        used += (size_t)snprintf(label, size, "%.40s, ", name);
    if (config_is_known(config, facts->imported, KEY(network)))
        used += (size_t)snprintf(label + used, size - used, "%.40s, ", facts->network);
    if (config_is_known(config, facts->imported, KEY(data)))
        used += (size_t)snprintf(label + used, size - used, "%.40s, ",
                                 file_base_name(data_settings(config).data));
    if (config_is_known(config, facts->imported, KEY(batch)))
        used += (size_t)snprintf(label + used, size - used, _("batch %zu, "),
                                 training_settings(config).batch);
    snprintf(label + used, size - used, "%.63s", facts->id);
}

/* With `alike`, the chart's heading describes the smoothed loss; else each label does. */
static void choose_for_several(const struct run *run, size_t number, bool alike,
                               struct chart_traces *losses, struct chart_traces *accuracies)
{
    char label[256];
    const struct run_config *config = run_config(run);
    const size_t window = run_series(run)->window;
    if (run_facts(run)->imported[0])
        label_imported(run, label, sizeof label);
    else
        snprintf(label, sizeof label, _("%.40s, %.40s, batch %zu, %.63s"), run_facts(run)->network,
                 file_base_name(data_settings(config).data), training_settings(config).batch,
                 run_facts(run)->id);
    if (!alike && window)
        snprintf(label + strlen(label), sizeof label - strlen(label), _(" (mean of %zu)"), window);
    const struct series_colour *colour = &series_colours[number % SERIES_COLOURS];
    /* (number % 10, dash) differs for 24 runs, and neighbours differ in both */
    const struct chart_trace look = {.run = run,
                                     .value = CHART_TRACE_SMOOTHED,
                                     .colour = {colour->red, colour->green, colour->blue},
                                     .width = widths[THICK],
                                     .dash = (number + number / SERIES_COLOURS) % PATTERNS};
    struct chart_trace accuracy = look;
    add_trace(losses, look, label);
    accuracy.value = CHART_TRACE_TOP1;
    add_trace(accuracies, accuracy, label);
    accuracy.value = CHART_TRACE_PIXELS; /* a run has one of the two */
    add_trace(accuracies, accuracy, label);
}

void chart_traces_choose(struct chart_traces *losses, struct chart_traces *accuracies,
                         struct run *const *runs, size_t count)
{
    const bool alike = chart_traces_are_smoothed_alike(runs, count);
    losses->count = accuracies->count = 0;
    for (size_t i = 0; i < count; i++)
        if (count == 1)
            choose_for_one(runs[i], losses, accuracies);
        else
            choose_for_several(runs[i], i, alike, losses, accuracies);
}

/* --- the panel --- */

/* Draws one panel of a chart: axes, curves, marks and findings.
 *
 * A run may have millions of points, more than paper can show. Points that fall into the same
 * column of a third of a point are joined to one: the line enters at the first value, visits the
 * lowest and the highest, and leaves at the last. Of a column with many points it visits the lowest
 * and the highest only, the nearer one first: as each line is wider than a column, what is inked is
 * the same, and Cairo has half of the length to draw. So a file's size depends on the width of the
 * chart only, and no extreme value is lost. */

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
