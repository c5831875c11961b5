/* curves.h: the curves of one run, gathered for one stretch of the x axis.
 *
 * New points cost only themselves; everything is gathered afresh when the axis, the width or the
 * choice of traces changes, and then only the points within the axis. Knows neither ncurses nor
 * colours.
 */
#ifndef TINCA_UI_PLOT_CURVES_H
#define TINCA_UI_PLOT_CURVES_H

#include "ui/plot/curve.h"
#include "ui/plot/smoothing.h"
#include "ui/plot/trace.h"

enum curve_x { X_ITERATION, X_EPOCH, X_TIME, X_KINDS };
const char *curve_x_name(enum curve_x x); /* translated */

/* What is to be gathered. */
struct curve_view {
    enum curve_x x;
    bool log_x;
    size_t width;              /* dots */
    unsigned traces;           /* a set */
    double iterations, epochs; /* of the whole run; 0: not known */
    bool over;                 /* the axis ends where the run does */
    const struct axis *axis;   /* the part to be seen; NULL: all */
};

struct curves { /* starts as {0} */
    struct curve trace[TRACES_PER_ITERATION];
    struct axis x;
    /* what the columns were gathered for, and how far */
    const struct series *series;
    struct curve_view view;
    size_t gathered, count; /* points with a column or before the axis; in all */
    struct smoothing smoothing;
};

/* The axis on which the whole run has a place; it ends at a round number and grows in steps, or
 * where the run ends. */
struct axis curves_axis(const struct series *series, const struct curve_view *view);

/* Takes in what is new in `series`. */
bool curves_update(struct curves *curves, const struct series *series,
                   const struct curve_view *view, struct error *error);
void curves_free(struct curves *curves);
/* The series may be another one at the same address: nothing that was gathered holds. */
void curves_invalidate(struct curves *curves);

/* The newest smoothed value; NaN: none yet. */
double curves_newest(const struct curves *curves, enum trace trace);

/* --- places --- */

double curves_point_x(const struct series_point *point, enum curve_x x);
/* `wanted`, or X_ITERATION where the points do not know that: imported runs may have no epochs. */
enum curve_x curves_available_x(const struct series *series, enum curve_x wanted);
/* Where a series has a point first and last on an x axis of this kind; false: it has none. */
bool curves_extent(const struct series *series, enum curve_x x, double *first, double *last);

/* Where an iteration lies, as a value of the x axis; NaN: nowhere yet. */
double curves_x(const struct curves *curves, uint64_t iteration, double epoch);
double curves_x_of_validation(const struct curves *curves,
                              const struct series_validation *validation);

/* A value of one x axis on another, by the nearest point. */
double curves_convert(const struct series *series, enum curve_x from, enum curve_x to,
                      double value);

/* --- values under a cursor --- */

/* The point nearest to a value of the x axis; SIZE_MAX: there is none. */
size_t curves_nearest(const struct series *series, enum curve_x x, double value);
/* Of a point below series_count; NaN: no number, or not taken in yet. */
double curves_value(const struct curves *curves, enum trace trace, size_t point);
/* Of the last validation up to a value of the x axis; NaN: none yet. */
double curves_validation_value(const struct curves *curves, enum trace trace, double x);

/* --- traces of validations: lines between marks (lines alone where marks would crowd) --- */

void validations_range(const struct curves *curves, enum trace trace, bool log, double *low,
                       double *high);
void validations_draw(const struct curves *curves, enum trace trace, const struct axis *y,
                      struct plot *plot, uint8_t number, char mark);
/* How many in sight a logarithmic axis has no place for. */
size_t validations_nonpositive(const struct curves *curves, enum trace trace);

#endif
