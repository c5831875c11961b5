/* Chooses the curves of a chart with their colours, widths and dashes.
 *
 * The curves of one run have colours of Okabe and Ito ("Color universal design", 2008); several
 * runs have those of the terminal (series_colours). People with any kind of colour vision can tell
 * them apart. Some have the same lightness, so the curves of runs also differ by their dashes: 10
 * colours and 4 patterns give each of CHART_MAX_RUNS runs a different line, also in a grey print.
 */
#include "exchange/export/internal.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/series_colours.h"
#include "runs/folder/run_name.h"
#include "runs/settings/settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

void chart_trace_set_dashes(const struct chart_trace *trace, struct canvas_pen *pen)
{
    pen->dashes = trace->dash == SOLID ? NULL : patterns[trace->dash];
    pen->dash_count = 4;
}

/* --- points --- */

bool chart_trace_is_validation(const struct chart_trace *trace)
{
    return trace->value >= CHART_TRACE_VALIDATION;
}

size_t chart_trace_point_count(const struct chart_trace *trace)
{
    const struct series *series = run_series(trace->run);
    return chart_trace_is_validation(trace) ? series_validation_count(series)
                                            : series_count(series);
}

double chart_trace_x(enum chart_x kind, double iteration, double epoch, double seconds)
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
