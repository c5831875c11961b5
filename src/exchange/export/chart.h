/* chart.h: the curves of runs as a figure for a report or a paper: PNG, SVG or PDF.
 *
 * A chart of one run shows its loss raw and smoothed (with a discriminator the losses of both
 * networks; Caffe's running mean where it differs), the validation loss, the iterations at which
 * findings begin, and below the accuracy. A chart of several runs shows a smoothed loss and an
 * accuracy for each. The chart states how the loss was smoothed (series_smoothing_words).
 *
 * Text is 8 points high, so that a chart included at its own size matches the captions of a paper.
 * PNG charts show the same page, enlarged to the pixels asked for.
 */
#ifndef TINCA_EXCHANGE_EXPORT_CHART_H
#define TINCA_EXCHANGE_EXPORT_CHART_H

#include "base/error.h"
#include "exchange/export/canvas.h"
#include "runs/record/run.h"

#include <stdbool.h>
#include <stddef.h>

enum chart_x { CHART_ITERATION, CHART_EPOCH, CHART_TIME };

struct chart_settings {
    enum canvas_format format;
    size_t width, height; /* PNG: pixels; SVG, PDF: points of 1/72 inch; 0x0: the default size */
    enum chart_x x;
    bool log_x, log_y; /* log_y: of the loss */
};

/* A chart of more runs would be unreadable. */
enum { CHART_MAX_RUNS = 24 };

/* Returns the format that a file's name ends in (.svg, .pdf), or CANVAS_PNG. */
enum canvas_format chart_format_of(const char *path);

/* Writes the chart to a target that the user named (output_file.h). Fails when no run has a point
 * yet, for more than CHART_MAX_RUNS runs, for a size too small for the legend, and without the
 * module that draws (canvas_load). */
bool chart_write(struct run *const *runs, size_t count, const struct chart_settings *settings,
                 const char *path, struct error *error);

#endif
