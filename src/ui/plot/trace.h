/* trace.h: what can be drawn of a run, in one table: its name, its letter, its unit, where its
 * values come from. Knows neither ncurses nor plots.
 *
 * The letter stands on the curve where colour alone would have to tell it from others, before its
 * name in the legend, and switches it on and off in the list of curves.
 */
#ifndef TINCA_UI_PLOT_TRACE_H
#define TINCA_UI_PLOT_TRACE_H

#include "session/values/series.h"
#include "ui/terminal/theme.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trace {
    TRACE_SMOOTHED, /* loss; with a discriminator: the generator's */
    TRACE_DISCRIMINATOR,
    TRACE_L1,
    TRACE_MEAN,  /* Caffe's running mean without its drift */
    TRACE_CAFFE, /* as Caffe prints it */
    TRACE_RAW,
    TRACE_DISCRIMINATOR_RAW,
    TRACE_L1_RAW,
    TRACE_MS,
    TRACE_RATE,
    /* from here on a value a validation, not one an iteration */
    TRACE_VALIDATION,
    TRACE_TOP1,
    TRACE_TOP5,
    TRACE_PIXELS,
    TRACES,
    TRACES_PER_ITERATION = TRACE_VALIDATION,
    TRACES_SMOOTHED = TRACE_MEAN /* those before it are smoothed */
};

/* Traces of one unit share a y axis. */
enum trace_unit { UNIT_LOSS, UNIT_PERCENT, UNIT_MS, UNIT_RATE, UNITS };

enum trace_kind { TRACE_IS_LINE, TRACE_IS_RAW, TRACE_IS_VALIDATION, TRACE_KINDS };

/* A set of traces: one bit each. */
#define TRACE_BIT(trace) (1u << (trace))

const char *trace_name(enum trace trace, bool contest);   /* "smoothed loss", translated */
const char *trace_legend(enum trace trace, bool contest); /* "smoothed" */
const char *trace_unit_name(enum trace_unit unit, bool contest);
char trace_letter(enum trace trace, bool contest);
enum trace_unit trace_unit(enum trace trace);
enum trace_kind trace_kind(enum trace trace);
enum role trace_role(enum trace trace);

/* Of a smoothed trace: what it is smoothed from. NaN: there is none. */
float trace_point_value(const struct series_point *point, enum trace trace);
/* Where the first of many points holds it; the others' lie sizeof(struct series_point) apart. */
const float *trace_values(const struct series_point *points, enum trace trace);
float trace_validation_value(const struct series_validation *validation, enum trace trace);

/* Two networks are trained against each other. */
bool trace_is_adversarial(const struct series *series);
/* Whether any value of it is there; whether a run of this kind will ever have one. */
bool trace_has_values(const struct series *series, enum trace trace);
bool trace_is_possible(const struct series *series, enum trace trace);

#endif
