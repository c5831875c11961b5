/* Lays a chart out: heading, legend, the panel of the losses, the panel of the accuracies below it
 * on the same x axis.
 *
 * The page is measured in points. A PDF or SVG file has the size asked for; a PNG file is the same
 * page, enlarged until it has the pixels asked for. The document is collected in memory and then
 * written in one step, so a failed drawing leaves an existing file as it was. */
#include "exchange/export/internal.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "runs/folder/run_name.h"
#include "runs/settings/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In points: the page of a default chart, which spans the text of a paper, and margins. */
enum { PAGE_WIDTH = 480, PAGE_HEIGHT = 300, LEFT = 46, RIGHT = 10, BOTTOM = 32, EDGE = 8 };
enum { LEGEND_ROW = 12, SAMPLE = 24, PANEL_MINIMUM = 24 };

struct page {
    struct sheet sheet;
    const struct chart_settings *settings;
    double scale; /* pixels per point */
    struct chart_traces losses, accuracies;
    struct text title, details; /* UTF-8 */
    struct text document;       /* the file's content */
};

static const char subject[] = N_("the chart");

enum canvas_format chart_format_of(const char *path)
{
    const char *dot = strrchr(file_base_name(path), '.');
    return dot && strcmp(dot, ".svg") == 0   ? CANVAS_SVG
           : dot && strcmp(dot, ".pdf") == 0 ? CANVAS_PDF
                                             : CANVAS_PNG;
}

/* --- axes --- */

static bool is_drawable(double value, bool log)
{
    return isfinite(value) && (!log || value > 0);
}

/* Widens the ranges to hold every point that can be drawn. */
static void add_range(const struct chart_trace *trace, const struct chart_settings *settings,
                      bool log_y, double *x_range, double *y_range)
{
    struct chart_trace_position at = {.smoothed = NAN};
    for (size_t i = 0, count = chart_trace_point_count(trace); i < count; i++) {
        chart_trace_read_point(trace, settings->x, i, &at);
        if (!is_drawable(at.x, settings->log_x) || !is_drawable(at.y, log_y))
            continue;
        x_range[0] = fmin(x_range[0], at.x);
        x_range[1] = fmax(x_range[1], at.x);
        y_range[0] = fmin(y_range[0], at.y);
        y_range[1] = fmax(y_range[1], at.y);
    }
}

/* Returns the y axis of some traces, and widens *x_range to hold them as well. */
static struct axis choose_y(const struct chart_traces *traces,
                            const struct chart_settings *settings, bool log_y, double *x_range)
{
    double y_range[2] = {INFINITY, -INFINITY};
    for (size_t t = 0; t < traces->count; t++)
        add_range(&traces->trace[t], settings, log_y, x_range, y_range);
    return axis_for_range(y_range[0], y_range[1], log_y);
}

static struct axis choose_x(const double *range, bool log)
{
    struct axis axis = {log ? range[0] : 0, range[1], log};
    return axis.high > axis.low ? axis : axis_for_range(range[0], range[1], log);
}

/* --- heading and legend --- */

/* Writes the settings of a run; of a run of another program those that its log has given. */
static void write_settings(const struct run_config *config, const struct run_facts *facts,
                           char *text, size_t size)
{
    const struct training_settings training = training_settings(config);
    static const char *const keys[] = {KEY(batch), KEY(device), KEY(learning_rate), KEY(seed)};
    char value[64];
    if (!facts->imported[0]) {
        snprintf(text, size, _("batch %zu, %s, learning rate %g, seed %llu   %s"), training.batch,
                 machine_settings(config).device, training.learning_rate,
                 (unsigned long long)training.seed, facts->id);
        return;
    }
    text[0] = '\0';
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const size_t used = strlen(text);
        config_get(config, keys[i], value, sizeof value);
        if (config_is_known(config, facts->imported, keys[i]))
            snprintf(text + used, size - used, "%s %s, ", keys[i], value);
    }
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s", facts->id);
}

/* Writes what was trained: network and data set, as far as they are known; else the run's name. */
static void write_subject(const struct run_config *config, const struct run_facts *facts,
                          char *text, size_t size)
{
    char name[RUN_NAME_SIZE];
    const char *data = file_base_name(data_settings(config).data);
    const bool network = config_is_known(config, facts->imported, KEY(network));
    if (network && config_is_known(config, facts->imported, KEY(data)))
        snprintf(text, size, _("%s on %.90s"), facts->network, data);
    else if (network)
        snprintf(text, size, "%.150s", facts->network);
    else if (run_name_read(facts->directory, name)[0])
        snprintf(text, size, "%s", name);
    else
        snprintf(text, size, _("a log of %s"), facts->imported);
}

/* Sets the title, and the details in the line below it. */
static void write_heading(struct page *page, struct run *const *runs, size_t count)
{
    char words[96], title[160], details[400];
    const struct run_config *config = run_config(runs[0]);
    const struct run_facts *facts = run_facts(runs[0]);
    snprintf(title, sizeof title, _("%zu runs: smoothed loss and accuracy"), count);
    if (count == 1) {
        write_subject(config, facts, title, sizeof title);
        write_settings(config, facts, details, sizeof details);
    } else if (chart_traces_are_smoothed_alike(runs, count))
        snprintf(details, sizeof details, _("smoothed: %s"),
                 series_smoothing_words(run_series(runs[0]), words, sizeof words));
    else
        snprintf(details, sizeof details, "%s",
                 _("smoothed: exponential mean over 10 iterations + 2 % of those done, or the "
                   "mean of the last N where a mean of N is named"));
    sheet_append_utf8(&page->title, title);
    sheet_append_utf8(&page->details, details);
}

/* Draws title and details. Returns the y below them. */
static double draw_heading(const struct page *page)
{
    const struct canvas_font bold = {.colour = sheet_ink, .size = SHEET_TEXT + 2, .bold = true};
    const double width = page->sheet.width - LEFT - RIGHT;
    sheet_text(&page->sheet, LEFT, EDGE + 8, 0, width, page->title.data, &bold);
    sheet_text(&page->sheet, LEFT, EDGE + 20, 0, width, page->details.data, &sheet_secondary_label);
    return EDGE + 26;
}

/* Draws a sample of each curve with its name, in as many rows as needed. Returns the y below. */
static double draw_legend(const struct page *page, const struct chart_traces *traces, double y)
{
    const struct sheet *sheet = &page->sheet;
    const double right = sheet->width - RIGHT;
    double x = LEFT;
    for (size_t t = 0; t < traces->count; t++) {
        const struct chart_trace *trace = &traces->trace[t];
        const double wide = SAMPLE + 5 + sheet_text_width(sheet, trace->label, &sheet_label);
        if (x > LEFT && x + wide > right) {
            x = LEFT;
            y += LEGEND_ROW;
        }
        const double middle = y + LEGEND_ROW / 2.0;
        panel_draw_sample(sheet, trace, x, middle, SAMPLE);
        sheet_text(sheet, x + SAMPLE + 5, middle + 0.36 * SHEET_TEXT, 0, right - x - SAMPLE - 5,
                   trace->label, &sheet_label);
        x += wide + 14;
    }
    return y + LEGEND_ROW;
}

/* --- the page --- */

/* Draws the panels below `top`. The losses get three fifths of the height. Returns false, with
 * nothing drawn, if there is too little space. */
static bool draw_panels(const struct page *page, double top, const struct run *only)
{
    static const char *const x_titles[] = {N_("iteration"), N_("epoch"), N_("time (s)")};
    const char *x_title = gettext(x_titles[page->settings->x]);
    double x_range[2] = {INFINITY, -INFINITY};
    struct panel loss = {.sheet = &page->sheet,
                         .left = LEFT,
                         .top = top + 6,
                         .right = page->sheet.width - RIGHT,
                         .bottom = page->sheet.height - BOTTOM,
                         .kind = page->settings->x};
    struct panel accuracy = loss;
    loss.y = choose_y(&page->losses, page->settings, page->settings->log_y, x_range);
    accuracy.y = choose_y(&page->accuracies, page->settings, false, x_range);
    loss.x = accuracy.x = choose_x(x_range, page->settings->log_x);
    if (page->accuracies.count) {
        const double gap = only ? 10 + LEGEND_ROW : 12;
        loss.bottom = loss.top + (accuracy.bottom - loss.top - gap) * 0.6;
        accuracy.top = loss.bottom + gap;
    }
    if (loss.bottom - loss.top < PANEL_MINIMUM || accuracy.bottom - accuracy.top < PANEL_MINIMUM)
        return false;
    panel_draw_axes(&loss, page->accuracies.count ? NULL : x_title, _("loss"));
    if (only)
        panel_draw_findings(&loss, only);
    panel_draw_traces(&loss, &page->losses);
    if (!page->accuracies.count)
        return true;
    if (only)
        draw_legend(page, &page->accuracies, loss.bottom + 6);
    panel_draw_axes(&accuracy, x_title, _("accuracy (%)"));
    panel_draw_traces(&accuracy, &page->accuracies);
    return true;
}

static bool append_bytes(void *context, const void *bytes, size_t count)
{
    struct text *document = context;
    text_append_bytes(document, bytes, count);
    return !document->failed;
}

/* Draws the chart into page->document. */
static bool draw_page(struct page *page, struct run *const *runs, size_t count, struct error *error)
{
    const char *reason = "";
    write_heading(page, runs, count);
    chart_traces_choose(&page->losses, &page->accuracies, runs, count);
    if (page->title.failed || page->details.failed)
        return error_set_memory(error, "the chart", 0);
    const struct canvas_page canvas = {.format = page->settings->format,
                                       .width = page->sheet.width,
                                       .height = page->sheet.height,
                                       .scale = page->scale,
                                       .title = page->title.data};
    page->sheet.canvas = page->sheet.draw->begin(&canvas, append_bytes, &page->document);
    if (!page->sheet.canvas)
        return error_set_memory(error, "the chart", 0);
    const double top = draw_legend(page, &page->losses, draw_heading(page));
    const bool fits = draw_panels(page, top, count == 1 ? runs[0] : NULL);
    const enum canvas_outcome outcome = page->sheet.draw->finish(page->sheet.canvas, &reason);
    if (outcome == CANVAS_NO_FONT)
        return error_set(error, ERROR_UNSUPPORTED, subject,
                         "install one (Debian: fonts-dejavu-core)",
                         "no font is installed to write its texts with");
    if (outcome != CANVAS_DONE)
        return error_set(error, ERROR_SYSTEM, subject, "choose a smaller size",
                         "Cairo cannot draw it: %s", reason);
    return fits ||
           error_set(error, ERROR_USAGE, subject, "give a larger --size, or choose fewer runs",
                     "the legend leaves no space for the curves at %zux%zu", page->settings->width,
                     page->settings->height);
}

/* --- the file --- */

static void append_xml(struct text *out, const char *text)
{
    for (; *text; text++)
        if (*text == '&' || *text == '<' || *text == '>')
            text_append(out, "&#%d;", *text);
        else
            text_append_bytes(out, text, 1);
}

/* Writes the document. An SVG file also gets a <title> and a <desc>, which browsers and screen
 * readers show; Cairo has no call for them, so they are inserted after the <svg> tag. */
static bool write_document(const struct page *page, const char *path, struct error *error)
{
    const struct text *document = &page->document;
    const char *tag = document->data ? strstr(document->data, "<svg") : NULL;
    const char *end = tag ? strchr(tag, '>') : NULL;
    if (page->settings->format != CANVAS_SVG || !end)
        return output_file_write(path, document->data, document->length, OUTPUT_BINARY, error);
    struct text out = {0};
    text_append_bytes(&out, document->data, (size_t)(end + 1 - document->data));
    text_append(&out, "\n<title>");
    append_xml(&out, page->title.data);
    text_append(&out, "</title>\n<desc>");
    append_xml(&out, page->details.data);
    text_append(&out, "</desc>");
    text_append_bytes(&out, end + 1, (size_t)(document->data + document->length - end - 1));
    const bool written = out.failed
                             ? error_set_memory(error, "the chart", 0)
                             : output_file_write(path, out.data, out.length, OUTPUT_TEXT, error);
    text_free(&out);
    return written;
}

static bool check_runs(struct run *const *runs, size_t count, struct error *error)
{
    if (count > CHART_MAX_RUNS)
        return error_set(error, ERROR_USAGE, subject, "choose fewer",
                         "%zu runs cannot be distinguished; at most %d can", count, CHART_MAX_RUNS);
    for (size_t i = 0; i < count; i++)
        if (series_count(run_series(runs[i])))
            return true;
    return error_set(error, ERROR_INPUT, run_facts(runs[0])->id, "let it run for some iterations",
                     "there is no curve yet");
}

/* Sets the size of the page in points and returns the pixels per point, or 0 for a size that is out
 * of range. */
static double measure_page(struct page *page, struct error *error)
{
    const bool pixels = page->settings->format == CANVAS_PNG;
    const size_t width = page->settings->width, height = page->settings->height;
    const size_t least_width = pixels ? 320 : 240, least_height = pixels ? 240 : 180;
    if (width < least_width || width > IMAGE_MAX_SIDE || height < least_height ||
        height > IMAGE_MAX_SIDE) {
        error_set(error, ERROR_USAGE, subject,
                  pixels ? N_("give 1600x1000, for example") : N_("give 480x300, for example"),
                  "%zux%zu is not between %zux%zu and %dx%d", width, height, least_width,
                  least_height, IMAGE_MAX_SIDE, IMAGE_MAX_SIDE);
        return 0;
    }
    const double least_scale = fmin((double)width / PAGE_WIDTH, (double)height / PAGE_HEIGHT);
    const double scale = pixels ? fmax(least_scale, 1) : 1;
    page->sheet.width = (double)width / scale;
    page->sheet.height = (double)height / scale;
    return scale;
}

bool chart_write(struct run *const *runs, size_t count, const struct chart_settings *settings,
                 const char *path, struct error *error)
{
    struct chart_settings chosen = *settings;
    struct page *page = NULL;
    if (!chosen.width && !chosen.height) {
        chosen.width = chosen.format == CANVAS_PNG ? 1600 : PAGE_WIDTH;
        chosen.height = chosen.format == CANVAS_PNG ? 1000 : PAGE_HEIGHT;
    }
    if (!check_runs(runs, count, error) ||
        !(page = memory_new(1, sizeof *page, "the chart", error)))
        return false;
    page->settings = &chosen;
    page->scale = measure_page(page, error);
    const bool written = page->scale > 0 && (page->sheet.draw = canvas_load(error)) &&
                         draw_page(page, runs, count, error) && write_document(page, path, error);
    text_free(&page->document);
    text_free(&page->title);
    text_free(&page->details);
    free(page);
    return written;
}
