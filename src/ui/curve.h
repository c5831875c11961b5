/* curve.h: a run's points gathered into the columns of a plot.
 *
 * A run may have millions of points and a plot a hundred columns. Each dot column keeps the least,
 * greatest, first and last value that fell into it, so new points cost only themselves; everything
 * is gathered afresh only when the x axis or the width changes. Knows neither ncurses nor colours.
 */
#ifndef TINCA_UI_CURVE_H
#define TINCA_UI_CURVE_H

#include "base/axis.h"
#include "base/error.h"
#include "session/series.h"
#include "ui/plot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct curve_column {
    float low, high, first, last;
    bool any;
    bool gap; /* a value that is no number lies between this column and the one before */
};

struct curve {
    struct curve_column *columns;
    size_t width, capacity;
    bool gap; /* before the next value */
};

bool curve_reset(struct curve *curve, size_t width, struct error *error); /* starts as {0} */
void curve_free(struct curve *curve);
/* `place` is axis_place's on the x axis; values outside 0..1 are left out, NaN makes a gap. */
void curve_add(struct curve *curve, double place, float value);
/* Widens *low..*high to hold the curve's finite values (positive ones only, for a log axis). */
void curve_range(const struct curve *curve, bool log, double *low, double *high);
void curve_draw(const struct curve *curve, const struct axis *y, struct plot *plot, uint8_t series);
/* A character on the curve, at its last value up to `place` (0..1 along the x axis). */
void curve_mark(const struct curve *curve, const struct axis *y, struct plot *plot, uint8_t series,
                double place, char mark);

/* --- what can be drawn of a run --- */

/* Those before QUANTITY_VALIDATION have a value an iteration, the others one a validation. */
enum quantity {
    QUANTITY_LOSS, /* with a discriminator: the generator's */
    QUANTITY_DISCRIMINATOR,
    QUANTITY_L1,
    QUANTITY_VALIDATION, /* loss */
    QUANTITY_ACCURACY,   /* top-1, percent */
    QUANTITY_PIXELS,     /* pixel accuracy, percent */
    QUANTITIES,
    QUANTITIES_TRAINED = QUANTITY_VALIDATION
};

/* "loss"; of networks with a discriminator "generator loss". */
const char *quantity_name(enum quantity quantity, bool adversarial);
/* NaN: the run has no such thing. */
float quantity_of_point(const struct series_point *point, enum quantity quantity);
float quantity_of_validation(const struct series_validation *validation, enum quantity quantity);
/* Whether any value of it is there. */
bool quantity_is_known(const struct series *series, enum quantity quantity);

/* --- the curves of one run --- */

enum curve_x { X_ITERATION, X_EPOCH, X_TIME, X_KINDS };
const char *curve_x_name(enum curve_x x);

/* What the x axis is asked to be. */
struct curve_view {
    enum curve_x x;
    bool log_x, log_y;
    size_t width;              /* dots */
    double iterations, epochs; /* of the whole run; 0: not known */
    bool over;                 /* the axis ends where the run does */
    const struct axis *shared; /* the axis itself, where several runs share one; else NULL */
};

struct curves {
    struct curve raw[QUANTITIES_TRAINED], smoothed[QUANTITIES_TRAINED], rate;
    struct axis x;
    /* what the columns were gathered for, and how far */
    const struct series *series;
    struct curve_view view;
    size_t gathered;
    double smoothed_value[QUANTITIES_TRAINED]; /* the newest; NaN: none */
};

/* Takes in what is new in `series`. */
bool curves_update(struct curves *curves, const struct series *series,
                   const struct curve_view *view, struct error *error);
void curves_free(struct curves *curves);

/* Where an iteration lies on the current x axis; NaN: nowhere. */
double curves_place(const struct curves *curves, uint64_t iteration, double epoch);
double curves_place_validation(const struct curves *curves,
                               const struct series_validation *validation);

/* A quantity that validations have, as lines between marks (lines alone where marks would crowd).
 */
void validations_range(const struct series *series, enum quantity quantity, bool log, double *low,
                       double *high);
void validations_draw(const struct curves *curves, const struct series *series,
                      enum quantity quantity, const struct axis *y, struct plot *plot,
                      uint8_t number, char mark);

/* Where a series has a value first and last on an x axis of this kind; false: it has none. */
bool curves_extent(const struct series *series, enum curve_x x, double *first, double *last);

#endif
