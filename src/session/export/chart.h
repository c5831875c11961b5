/* chart.h: the curves of runs as a picture for reports: PNG, smooth lines, no terminal needed.
 *
 * One run: its loss raw and smoothed (with a discriminator both losses; Caffe's running mean where
 * it differs), the validation loss, findings where they set in, and below the accuracy. Several: a
 * smoothed loss and an accuracy each, told apart by colour and dash. The picture says what the
 * smoothed loss is (series_smoothing_words).
 */
#ifndef TINCA_SESSION_EXPORT_CHART_H
#define TINCA_SESSION_EXPORT_CHART_H

#include "base/error.h"
#include "session/record/run.h"

#include <stdbool.h>
#include <stddef.h>

enum chart_x { CHART_ITERATION, CHART_EPOCH, CHART_TIME };

struct chart_settings {
    size_t width, height; /* pixels, 320..16384 and 240..16384 */
    enum chart_x x;
    bool log_x, log_y; /* log_y: of the loss */
};

/* Writes the picture, atomically. An error when no run has a point yet, or for more than
 * CHART_MAX_RUNS runs. */
enum { CHART_MAX_RUNS = 24 };
bool chart_write(struct run *const *runs, size_t count, const struct chart_settings *settings,
                 const char *path, struct error *error);

#endif
