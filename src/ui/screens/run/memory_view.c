/* Memory of the process: the forecast by kind beside the measured value, and a curve of the
 * measured value over time. */
#include "ui/app/app.h"
#include "ui/screens/run/internal.h"

#include "base/language.h"
#include "base/text.h"
#include "training/prepare/forecast.h"
#include "ui/plot/axis_marks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- the table --- */

enum { LABEL_COLUMNS = 16, FIGURE_COLUMNS = 12 };

static void draw_row(struct canvas *canvas, struct rect area, int line,
                     const struct memory_part *row, uint64_t most)
{
    char text[32];
    const int start = 1 + LABEL_COLUMNS + FIGURE_COLUMNS + 2;
    struct rect label = {area.row, area.column + 1, area.rows, LABEL_COLUMNS};
    struct rect number = {area.row, area.column + 1 + LABEL_COLUMNS, area.rows, FIGURE_COLUMNS};
    draw_text(canvas, label, line, 0, ROLE_FAINT, gettext(row->name));
    draw_right(canvas, number, line, ROLE_TEXT,
               row->bytes ? text_bytes(row->bytes, text, sizeof text) : "-");
    int width = area.columns - start - 1 > 60 ? 60 : area.columns - start - 1;
    if (width > 4)
        draw_gauge(canvas, area, line, start, width, (double)row->bytes / (double)most, ROLE_GAUGE);
}

/* The most that was measured, in bytes; 0: not known. */
struct highest {
    uint64_t resident, on_gpus;
};

/* Draws the table and returns the row after it. */
static int draw_table(struct canvas *canvas, struct rect area, const struct run_display *display,
                      struct highest highest)
{
    const struct memory_forecast *forecast = &display->facts->forecast;
    const bool over = run_status_is_over(display->steady.status);
    const struct memory_part measured[] = {
        {N_("the network"), forecast->total},
        {N_("forecast"), display->facts->memory_peak},
        {over ? N_("at the end") : N_("measured now"), display->steady.memory_measured},
        {N_("highest"), highest.resident},
        {N_("highest on GPUs"), highest.on_gpus}};
    struct memory_part rows[MEMORY_PARTS + sizeof measured / sizeof *measured];
    const int parts = (int)forecast_parts(forecast, rows), forecasts = parts + 1;
    const int count = parts + (int)(sizeof measured / sizeof *measured) - (highest.on_gpus == 0);
    uint64_t most = 1;
    memcpy(rows + parts, measured, sizeof measured);
    draw_text(canvas, area, 0, 1, ROLE_HEADING, _("Memory of this run"));
    for (int i = 0; i < count; i++)
        most = rows[i].bytes > most ? rows[i].bytes : most;
    for (int i = 0; i < count; i++)
        draw_row(canvas, area, 1 + i + (i >= forecasts && area.rows >= 10), &rows[i], most);
    return 1 + count + (area.rows >= 10);
}

/* Draws what the memory limit costs in time, if a limit has an effect. Returns the next free row.
 */
static int draw_limit(struct canvas *canvas, struct rect area, int row,
                      const struct memory_forecast *forecast)
{
    char words[160], text[240];
    if (!forecast_limit_text(forecast, words, sizeof words)[0] || row >= area.rows)
        return row;
    snprintf(text, sizeof text, _("Memory limit: %s."), words);
    return draw_wrapped(canvas, area, row, ROLE_TEXT, text) + 1;
}

/* --- over time --- */

/* The kinds of memory that have curves. */
enum kind { RESIDENT, ON_GPUS, KINDS };

/* The least and the greatest measured value; 0: not known. */
struct extremes {
    uint64_t least, most;
};

static uint64_t bytes_at(const struct series *series, enum kind kind, size_t i)
{
    const struct series_point *point = &series->points[i];
    return kind == ON_GPUS ? point->gpu_memory_bytes : point->memory_bytes;
}

/* Returns the extremes of some thousands of the points, because memory changes slowly and a run may
 * have millions of points. */
static struct extremes find_extremes(const struct series *series, enum kind kind)
{
    const size_t count = series_count(series);
    struct extremes found = {0};
    for (size_t i = 0; i < count; i += 1 + count / 4096) {
        const uint64_t bytes = bytes_at(series, kind, i);
        found.most = bytes > found.most ? bytes : found.most;
        found.least = bytes > 0 && (found.least == 0 || bytes < found.least) ? bytes : found.least;
    }
    return found;
}

/* Draws the measured values, one point for each column of dots. */
static void draw_curve(struct app *app, struct rect area, const struct series *series,
                       enum kind kind, uint64_t most)
{
    static const enum role roles[] = {ROLE_TEXT, ROLE_GAUGE};
    static const enum plot_style styles[] = {PLOT_SOLID, PLOT_SOLID};
    struct plot *plot = &run_model(app)->plot;
    const size_t count = series_count(series);
    if (!plot_reset(plot, (size_t)area.rows, (size_t)area.columns, app->symbols, NULL))
        return;
    const size_t width = plot_width(plot), height = plot_height(plot);
    long before = -1;
    for (size_t x = 0; x < width; x++) {
        size_t i = width > 1 ? x * (count - 1) / (width - 1) : 0;
        const uint64_t bytes = bytes_at(series, kind, i);
        long y = lround((double)bytes / (double)most * (double)(height - 1));
        if (bytes > 0 && before >= 0)
            plot_line(plot, 1, (long)x - 1, before, (long)x, y);
        else if (bytes > 0)
            plot_dot(plot, 1, (long)x, y);
        before = bytes > 0 ? y : -1;
    }
    plot_draw(&app->canvas, area, plot, roles, styles);
}

static void draw_history(struct app *app, struct rect area, const struct series *series,
                         enum kind kind, struct extremes extremes)
{
    char low[32], high[32];
    struct rect curve = {area.row + 1, area.column + 1, area.rows - 1, area.columns - 2};
    if (extremes.most == 0 || series_count(series) < 2 || curve.rows < 2 || curve.columns < 10)
        return;
    draw_format(&app->canvas, area, 0, 1, ROLE_HEADING,
                kind == ON_GPUS ? _("On GPUs over time, from 0 to %s (least %s)")
                                : _("Measured over time, from 0 to %s (least %s)"),
                text_bytes(extremes.most, high, sizeof high),
                text_bytes(extremes.least, low, sizeof low));
    draw_curve(app, curve, series, kind, extremes.most);
}

/* Draws the curves that there are, one below the other. */
static void draw_histories(struct app *app, struct rect area, const struct series *series,
                           const struct extremes extremes[KINDS])
{
    const int curves = extremes[ON_GPUS].most > 0 ? KINDS : 1;
    struct rect part = {area.row, area.column, area.rows / curves, area.columns};
    if (part.rows > 12)
        part.rows = 12;
    for (enum kind kind = RESIDENT; (int)kind < curves; kind++) {
        draw_history(app, part, series, kind, extremes[kind]);
        part.row += part.rows;
    }
}

static void draw(struct app *app, struct run_entry *entry, const struct run_layout *layout,
                 const struct run_display *display)
{
    struct rect area = layout->view;
    if (!display->facts) {
        draw_text(&app->canvas, area, 1, 2, ROLE_FAINT, _("Known when the run is prepared."));
        return;
    }
    const struct series *series = run_series(entry->run);
    const struct extremes extremes[KINDS] = {find_extremes(series, RESIDENT),
                                             find_extremes(series, ON_GPUS)};
    const struct highest highest = {extremes[RESIDENT].most, extremes[ON_GPUS].most};
    int row = draw_table(&app->canvas, area, display, highest) + 1;
    struct rect note = {area.row, area.column + 1, area.rows, area.columns - 2};
    row = draw_limit(&app->canvas, note, row, &display->facts->forecast);
    if (area.rows >= row + 8)
        row = draw_wrapped(&app->canvas, note, row, ROLE_FAINT,
                           _("Measured is what the whole program holds: the network, whose size is "
                             "exact, the images read ahead, libraries. The forecast is of that at "
                             "its highest.")) +
              1;
    struct rect history = {area.row + row, area.column, area.rows - row, area.columns};
    draw_histories(app, history, series, extremes);
}

const struct view view_memory = {.name = N_("Memory"), .covers_figures = true, .draw = draw};
