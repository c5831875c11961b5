/* The legend above a panel: the names of its curves and their values under the cursor. The legend
 * of the first panel also names the zoomed range, the best epoch and the findings. */
#include "base/language.h"
#include "ui/plot/axis_marks.h"
#include "ui/plot/curves.h"
#include "ui/plot/trace.h"
#include "ui/screens/run/internal.h"

#include <math.h>
#include <stdio.h>

static bool has(unsigned traces, enum trace trace)
{
    return traces & TRACE_BIT(trace);
}

static size_t count_kind(unsigned traces, enum trace_kind kind)
{
    size_t count = 0;
    for (enum trace trace = 0; trace < TRACES; trace++)
        count += has(traces, trace) && trace_kind(trace) == kind;
    return count;
}

static size_t count_nonpositive(const struct run_picture *picture, const struct run_panel *panel)
{
    const struct curves *curves = &run_model(picture->app)->curves;
    size_t count = 0;
    for (enum trace trace = 0; trace < TRACES && panel->log; trace++)
        if (has(panel->traces, trace))
            count += curves_nonpositive(curves, trace);
    return count;
}

static size_t count_outliers(const struct run_picture *picture, const struct run_panel *panel)
{
    size_t count = 0;
    for (enum trace trace = 0; trace < TRACES; trace++)
        if (has(panel->follows, trace))
            count += curves_outliers(&run_model(picture->app)->curves, trace, &panel->y);
    return count;
}

const char *run_panel_value(const struct run_picture *picture, enum trace trace, char *text,
                            size_t size)
{
    const struct curves *curves = &run_model(picture->app)->curves;
    double value =
        trace < TRACES_PER_ITERATION
            ? curves_value(curves, trace, picture->point)
            : curves_validation_value(curves, trace, run_model(picture->app)->window.cursor);
    if (isfinite(value))
        snprintf(text, size, "%.4g", value);
    else
        snprintf(text, size, "-");
    return text;
}

bool run_panel_is_lettered(const struct run_panel *panel, enum trace trace)
{
    return count_kind(panel->traces, trace_kind(trace)) > 1;
}

static const char *sample_of(const struct run_picture *picture, const struct run_panel *panel,
                             enum trace trace, char *text, size_t size)
{
    const struct app *app = picture->app;
    const char *line = app->canvas.glyphs->horizontal;
    char letter[2] = {trace_letter(trace, picture->adversarial), '\0'};
    bool ascii = app->symbols == SYMBOLS_ASCII;
    if (trace_kind(trace) == TRACE_IS_VALIDATION)
        snprintf(text, size, "%s", letter);
    else if (trace_kind(trace) == TRACE_IS_RAW)
        snprintf(text, size, "%s%s", run_panel_is_lettered(panel, trace) ? letter : "",
                 ascii ? ".:" : "::");
    else
        snprintf(text, size, "%s%s%s", run_panel_is_lettered(panel, trace) ? letter : "",
                 ascii ? "\"_" : line, ascii ? "" : line);
    return text;
}

/* Writes how a trace is smoothed. Returns false if there is nothing to say: only the loss is
 * smoothed by the mean that the run itself computes. */
static bool has_smoothing_words(const struct run_picture *picture, enum trace trace, char text[40])
{
    const size_t choice = picture->app->shared.axes.smoothing;
    smoothing_words(choice, picture->series, text, 40);
    return text[0] && (choice > 0 || trace == TRACE_SMOOTHED);
}

/* Adds a curve's name and value. Values are padded, so that a moving cursor does not shift the
 * text. `brief`: without the name. */
static void add_trace_words(const struct run_picture *picture, struct run_panel *panel,
                            enum trace trace, bool brief)
{
    char sample[24], value[32], mean[96], smoothing[40];
    const char *words = brief ? "" : trace_legend(trace, picture->adversarial);
    if (!brief && trace < TRACES_SMOOTHED && has_smoothing_words(picture, trace, smoothing)) {
        snprintf(mean, sizeof mean, "%s (%s)", words, smoothing);
        words = mean;
    }
    sample_of(picture, panel, trace, sample, sizeof sample);
    if (picture->point == SIZE_MAX)
        legend_add(&panel->legend, trace_role(trace), sample, "%s", words);
    else
        legend_add(&panel->legend, trace_role(trace), sample, "%s%s%-8s", words, brief ? "" : " ",
                   run_panel_value(picture, trace, value, sizeof value));
}

/* Explains the sign of a kind of marks, if there are any. */
static void add_mark_words(const struct app *app, struct legend *legend, enum axis_mark_kind kind,
                           enum role role)
{
    if (axis_marks_kinds(&run_model(app)->axis_marks) & AXIS_MARK_BIT(kind))
        legend_add(legend, role, axis_mark_sign(kind, app->canvas.glyphs), "%s",
                   axis_mark_kind_words(kind));
}

/* Names the best epoch, or its iteration if the log of another program does not tell epochs. */
static void add_best(const struct series_validation *best, const char *sign, struct legend *legend)
{
    if (isnan(best->epoch))
        legend_add(legend, ROLE_GOOD, sign, _("best iteration %llu"),
                   (unsigned long long)best->iteration);
    else
        legend_add(legend, ROLE_GOOD, sign, _("best epoch %.4g"), (double)best->epoch);
}

/* Adds the items that concern all panels: the zoomed range, the best epoch, findings. */
static void add_common_words(const struct run_picture *picture, struct legend *legend)
{
    const struct app *app = picture->app;
    const struct plot_window *window = &run_model(app)->window;
    size_t best = series_best(picture->series);
    if (window->zoomed)
        legend_add(legend, ROLE_STRONG, "<>", "%s", window->follow ? _("follows") : _("zoomed"));
    if (best != SIZE_MAX)
        add_best(&picture->series->validations[best], app->canvas.glyphs->best, legend);
    add_mark_words(app, legend, AXIS_MARK_RATE, ROLE_RATE);
    add_mark_words(app, legend, AXIS_MARK_RESUME, ROLE_WARNING);
    add_mark_words(app, legend, AXIS_MARK_FORK, ROLE_WARNING);
    add_mark_words(app, legend, AXIS_MARK_FINDING, ROLE_BAD);
    if (run_model(app)->axis_marks.shared)
        legend_add(legend, ROLE_STRONG, (char[2]){AXIS_MARKS_SEVERAL, '\0'}, "%s", _("several"));
}

void run_panel_make_legend(const struct run_picture *picture, struct run_panel *panel, bool brief)
{
    struct legend *legend = &panel->legend;
    const char *unit = trace_unit_name(panel->unit, picture->adversarial);
    size_t nonpositive = count_nonpositive(picture, panel);
    legend->count = 0;
    plot_axes_title(unit, panel->log,
                    picture->app->shared.axes.all_values && panel->unit != UNIT_RATE, legend->title,
                    sizeof legend->title);
    if (nonpositive > 0)
        legend_add(legend, ROLE_WARNING, (char[2]){CURVE_BELOW, '\0'},
                   ngettext("%zu value <= 0", "%zu values <= 0", nonpositive), nonpositive);
    if (count_outliers(picture, panel) > 0)
        legend_add(legend, ROLE_WARNING, "^v", "%s", _("outliers"));
    bool plain = panel->traces == TRACE_BIT(TRACE_RATE) || panel->traces == TRACE_BIT(TRACE_MS);
    for (enum trace trace = 0; trace < TRACES; trace++)
        if (has(panel->traces, trace) && (!plain || picture->point != SIZE_MAX))
            add_trace_words(picture, panel, trace, brief);
    panel->curves_named = legend->count;
    if (panel->first)
        add_common_words(picture, legend);
}
