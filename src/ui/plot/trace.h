/* trace.h: the traces: the quantities of a run that a plot can show. One table gives each its name,
 * letter, unit and the place of its values. This module knows nothing of ncurses or plots.
 *
 * The letter is drawn on the curve where only colour would distinguish it from others, and before
 * its name in the legend. In the list of curves it is the key that switches the curve on and off.
 */
#ifndef TINCA_UI_PLOT_TRACE_H
#define TINCA_UI_PLOT_TRACE_H

#include "runs/values/series.h"
#include "ui/terminal/theme.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trace {
    TRACE_SMOOTHED, /* the smoothed loss; in adversarial training the generator's */
    TRACE_DISCRIMINATOR,
    TRACE_L1,
    TRACE_LABELS, /* the two parts of the loss by distillation */
    TRACE_TEACHER,
    TRACE_MEAN,  /* the running mean of Caffe, computed without its rounding drift */
    TRACE_CAFFE, /* the running mean as Caffe prints it */
    TRACE_RAW,
    TRACE_DISCRIMINATOR_RAW,
    TRACE_L1_RAW,
    TRACE_MS,
    TRACE_RATE,
    /* from here on one value per validation, before one per iteration */
    TRACE_VALIDATION,
    TRACE_TOP1,
    TRACE_TOP5,
    TRACE_PIXELS,
    TRACES,
    TRACES_PER_ITERATION = TRACE_VALIDATION,
    TRACES_SMOOTHED = TRACE_MEAN /* the traces before it are smoothed */
};

/* Traces of the same unit share a y axis. */
enum trace_unit { UNIT_LOSS, UNIT_PERCENT, UNIT_MS, UNIT_RATE, UNITS };

/* The kinds of traces, which are drawn differently. */
enum trace_kind { TRACE_IS_LINE, TRACE_IS_RAW, TRACE_IS_VALIDATION, TRACE_KINDS };

/* Sets of traces are bit masks. */
#define TRACE_BIT(trace) (1u << (trace))

/* Functions with the parameter `adversarial` return what fits a run of adversarial training. */

/* Returns the translated name: "smoothed loss". */
const char *trace_name(enum trace trace, bool adversarial);

/* Returns the translated short name for a legend: "smoothed". */
const char *trace_legend(enum trace trace, bool adversarial);

/* Returns the translated name of a unit. */
const char *trace_unit_name(enum trace_unit unit, bool adversarial);

/* Returns the letter. */
char trace_letter(enum trace trace, bool adversarial);

/* Returns the unit. */
enum trace_unit trace_unit(enum trace trace);

/* Returns how the trace is drawn. */
enum trace_kind trace_kind(enum trace trace);

/* Returns the colour. */
enum role trace_role(enum trace trace);

/* Returns the value at a point; for a smoothed trace the value before smoothing. NaN: none. */
float trace_point_value(const struct series_point *point, enum trace trace);

/* Returns the address of the value in the first of many points; the values of the following points
 * lie sizeof(struct series_point) bytes apart. */
const float *trace_values(const struct series_point *points, enum trace trace);

/* Returns the value of a validation. NaN: none. */
float trace_validation_value(const struct series_validation *validation, enum trace trace);

/* Returns whether the run trains a generator against a discriminator. */
bool trace_is_adversarial(const struct series *series);

/* Returns whether the series has any value of the trace. */
bool trace_has_values(const struct series *series, enum trace trace);

/* Returns whether a run of this kind can have values of the trace. */
bool trace_is_possible(const struct series *series, enum trace trace);

#endif
