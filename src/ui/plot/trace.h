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

/* --- trace choice ---
 *
 * which curves of a run are shown: a predefined set of curves that fits the run, or
 * the user's own choice; and the keys of the list in which curves are switched on and off. No
 * drawing. */

struct trace_choice {     /* starts as {0}: the losses */
    size_t curve_set;     /* the predefined set in use, unless `custom` */
    bool custom;          /* the user chose the curves in the list */
    unsigned chosen;      /* that choice; it may contain curves without values */
    bool open;            /* the list is open */
    size_t selected, top; /* its selected item and the first visible one */
};

/* Returns the curves to draw: those that are switched on and have values. */
unsigned trace_choice_shown(const struct trace_choice *choice, const struct series *series);

/* Switches to the next predefined set that fits the run. Returns its translated name. */
const char *trace_choice_next(struct trace_choice *choice, const struct series *series);

/* Opens the list; the visible curves (`shown`) are switched on in it. */
void trace_list_open(struct trace_choice *choice, const struct series *series, unsigned shown);

/* Handles a key of the open list. */
void trace_list_key(struct trace_choice *choice, const struct series *series, int key);

/* Fills `items` with the traces in the order of the list. Returns how many there are. */
size_t trace_list_items(const struct series *series, enum trace items[TRACES]);

/* --- smoothing ---
 *
 * the smoothed losses of a run at any of its points.
 *
 * Smoothing depends on all earlier points, but a zoomed plot begins anywhere. The state is
 * therefore stored every SMOOTHING_STRIDE points: the values at any point follow from the stored
 * state in fewer than that many steps, and a run of millions of points needs little memory.
 *
 * The user chooses the strength: as the run's own settings say (series_smoothed), or an exponential
 * moving average as TensorBoard computes it, whose bias towards its first value is removed.
 */

enum { SMOOTHING_STRIDE = 1024 };

/* The choices of smoothing, NULL-terminated: "auto" (as the run says), then the strengths "0",
 * which leaves the values as they are, to "0.999". */
extern const char *const smoothing_names[];

/* Returns the strength of a choice: the weight of the average before the newest value; -1: auto. */
double smoothing_strength(size_t choice);

/* Writes how the losses are smoothed, in a few words for a legend: "mean of 40", "EMA 0.6". Returns
 * `text`, "" for the average that a run without such settings has. */
char *smoothing_words(size_t choice, const struct series *series, char *text, size_t size);

/* The smoothed values at one point. */
struct smoothed {
    double values[TRACES_SMOOTHED]; /* by trace; NaN: none yet */
    /* of a chosen strength: the weighted sum of the values, and of the weights */
    double sums[TRACES_SMOOTHED], weights[TRACES_SMOOTHED];
};

struct smoothing { /* starts as {0} */
    size_t choice; /* index of smoothing_names */
    struct smoothed newest;
    size_t count;            /* points included */
    struct smoothed *states; /* [k]: the state before point k * SMOOTHING_STRIDE */
    size_t capacity;
};

/* Includes the points up to `count`. Returns false with an error if out of memory. */
bool smoothing_extend(struct smoothing *smoothing, const struct series *series, size_t count,
                      struct error *error);

/* Starts again for another series or another choice. */
void smoothing_clear(struct smoothing *smoothing, size_t choice);

/* Frees the states and leaves `*smoothing` {0}. */
void smoothing_free(struct smoothing *smoothing);

/* Returns the smoothed values before point `index`, which is at most `count`. */
struct smoothed smoothing_state_before(const struct smoothing *smoothing,
                                       const struct series *series, size_t index);

/* Advances the state over point `index`. */
void smoothing_step(const struct smoothing *smoothing, struct smoothed *state,
                    const struct series *series, size_t index);

#endif
