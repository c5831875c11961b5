/* curves.h: the curves of one run, binned for one range of the x axis.
 *
 * A new point costs constant time. All points within the axis are binned again when the axis, the
 * width or the choice of traces changes. This module knows nothing of ncurses or colours.
 */
#ifndef TINCA_UI_PLOT_CURVES_H
#define TINCA_UI_PLOT_CURVES_H

#include "base/axis.h"
#include "base/error.h"
#include "ui/plot/plot.h"
#include "ui/plot/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- value range ---
 *
 * the y range of a plot, robust against outliers.
 *
 * The range of a curve covers its values between two quantiles and those beyond that are near
 * enough, so a few values of a run that diverges do not flatten the rest. The range of a plot joins
 * the ranges of its curves; among runs, a curve whose range is far from the median of the others
 * does not widen it. On a logarithmic axis all of this is computed with logarithms.
 */

/* The range of a curve, in logarithms if the axis is logarithmic. */
struct value_bounds {
    double low, high; /* low > high: the curve has no values */
};

/* The values of the curve that is measured, and the ranges of those before it. Starts as {0}. */
struct value_range {
    bool log, all; /* logarithmic axis; all values count, outliers too */
    double *values;
    size_t count, capacity;
    struct value_bounds *curves;
    size_t curve_count, curve_capacity;
};

/* Starts with no curves. `all`: outliers widen the range too. */
void value_range_begin(struct value_range *range, bool log, bool all);

/* Frees the memory and leaves `*range` {0}. */
void value_range_free(struct value_range *range);

/* Adds a value to the present curve. NaN, infinity and, on a logarithmic axis, values at or below
 * zero are ignored. Returns false with an error if out of memory. */
bool value_range_add(struct value_range *range, double value, struct error *error);

/* Returns the bounds of the present curve and removes its values. */
struct value_bounds value_range_take_bounds(struct value_range *range);

/* Ends the present curve and adds it. Returns false with an error if out of memory. */
bool value_range_end_curve(struct value_range *range, struct error *error);

/* Returns the bounds that hold all curves; not finite if there are no values. */
struct value_bounds value_range_join(const struct value_range *range);

/* Returns the bounds that hold the curves that are near the median curve. Reorders the curves. */
struct value_bounds value_range_join_runs(struct value_range *range);

/* Returns an axis with round numbers around the bounds. */
struct axis value_range_axis(const struct value_range *range, struct value_bounds bounds);

/* --- curve.c --- */

/* One curve, binned into the dot columns of a plot (min/max decimation).
 *
 * A run may have millions of points and a plot a hundred columns. Each dot column stores the
 * smallest, largest, first and last value in it, so a new point costs constant time. This module
 * knows nothing of ncurses, colours or runs. */

struct curve_column {
    float low, high, first, last; /* the values in this column, if `any` */
    float positive;               /* the smallest value above zero; INFINITY: none */
    bool any;                     /* it has values */
    bool gap; /* a NaN or infinity lies between the previous column and this one */
};

/* The bounds of a curve as curve_measure has found them. Frames between two new points use them
 * again, since to find them takes sorting the values. */
struct curve_bounds {
    bool valid, log, all; /* log, all: as in struct value_range */
    struct value_bounds bounds;
};

struct curve {
    struct curve_column *columns;
    size_t width, capacity; /* dot columns in use and allocated */
    size_t nonpositive;     /* values at or below zero, which a logarithmic axis cannot show */
    bool gap;               /* the last value added was NaN or infinity */
    struct curve_bounds measured;
};

/* The marks at the edges of a plot: for values above it; for values below it, which on a
 * logarithmic axis all those at or below zero are. */
enum { CURVE_ABOVE = '^', CURVE_BELOW = 'v' };

/* Empties the curve (which starts as {0}) and gives it `width` columns. Returns false with an error
 * if out of memory. */
bool curve_reset(struct curve *curve, size_t width, struct error *error);

/* Frees the columns and leaves `*curve` {0}. */
void curve_free(struct curve *curve);

/* Returns the dot column, of `width`, for a position along the x axis (axis_position); -1 if the
 * position is outside 0..1. */
long curve_column_at(double place, size_t width);

/* Adds `count` values, which lie `stride` bytes apart, to one column. NaN and infinity leave a gap
 * in the curve. Column -1 ignores the values. */
void curve_add_all(struct curve *curve, long column, const float *values, size_t stride,
                   size_t count);

/* Adds the smallest and largest value of each column to a range as one curve. Returns false with an
 * error if out of memory. */
bool curve_measure(struct curve *curve, struct value_range *range, struct error *error);

/* Draws the curve as series `series` of the plot. */
void curve_draw(const struct curve *curve, const struct axis *y, struct plot *plot,
                uint16_t series);

/* Marks the columns with values above or below the y axis at the edges of the plot, but not values
 * at or below zero on a logarithmic axis. */
void curve_mark_outliers(const struct curve *curve, const struct axis *y, struct plot *plot,
                         uint16_t series);

/* Marks the columns with values at or below zero at the foot of a logarithmic plot. */
void curve_mark_nonpositive(const struct curve *curve, const struct axis *y, struct plot *plot,
                            uint16_t series);

/* Returns how many columns have values above or below the y axis; values at or below zero on a
 * logarithmic axis are counted in `nonpositive` instead. */
size_t curve_count_outliers(const struct curve *curve, const struct axis *y);

/* Draws a character on the curve, at its last value up to `place` (0..1 along the x axis). */
void curve_mark(const struct curve *curve, const struct axis *y, struct plot *plot, uint16_t series,
                double place, char mark);

/* The quantities that an x axis can show; X_TIME is in seconds. */
enum curve_x { X_ITERATION, X_EPOCH, X_TIME, X_KINDS };

/* Returns the translated name of the quantity. */
const char *curve_x_name(enum curve_x x);

/* The part of the curves to show. */
struct curve_view {
    enum curve_x x;
    bool log_x;
    size_t width;              /* dots */
    unsigned traces;           /* a set of TRACE_BIT */
    double iterations, epochs; /* the length of the whole run; 0: unknown */
    bool over;                 /* the run is over, so the axis ends where its points do */
    const struct axis *axis;   /* the part of the x axis to show; NULL: the whole run */
    size_t smoothing;          /* index of smoothing_names */
};

struct curves { /* starts as {0} */
    struct curve trace[TRACES_PER_ITERATION];
    struct axis x; /* the axis in use */
    /* the points in the columns */
    const struct series *series;
    struct curve_view view;
    size_t binned; /* points that are in a column or before the axis */
    size_t count;  /* points of the series at the last update */
    struct smoothing smoothing;
};

/* Returns an axis for the whole run. While the run goes on, the axis ends at a round number, so
 * that it grows in steps. */
struct axis curves_axis(const struct series *series, const struct curve_view *view);

/* Adds the points that are new in `series`. Returns false with an error if out of memory. */
bool curves_update(struct curves *curves, const struct series *series,
                   const struct curve_view *view, struct error *error);

/* Frees everything and leaves `*curves` {0}. */
void curves_free(struct curves *curves);

/* Makes the next update bin all points again. Needed when another series may have taken the
 * address of the last one. */
void curves_invalidate(struct curves *curves);

/* Returns the newest value of a trace with one value per iteration; NaN: none yet. */
double curves_newest(const struct curves *curves, enum trace trace);

/* --- positions on the x axis --- */

/* Returns `wanted`, or X_ITERATION if the points lack that quantity (imported runs may have no
 * epochs). */
enum curve_x curves_available_x(const struct series *series, enum curve_x wanted);

/* Sets the x values of the first and the last point. Returns false if there are no points. */
bool curves_extent(const struct series *series, enum curve_x x, double *first, double *last);

/* Returns the x value of an iteration, of which the caller gives the epoch as well; NaN if its time
 * is unknown. */
double curves_x(const struct curves *curves, uint64_t iteration, double epoch);

/* Returns the x value of a validation; NaN: unknown. */
double curves_x_of_validation(const struct curves *curves,
                              const struct series_validation *validation);

/* Converts a value of the x axis `from` to the x axis `to`, by linear interpolation between
 * points. */
double curves_convert(const struct series *series, enum curve_x from, enum curve_x to,
                      double value);

/* --- values under a cursor --- */

/* Returns the index of the point nearest to a value of the x axis; SIZE_MAX: there are none. */
size_t curves_nearest(const struct series *series, enum curve_x x, double value);

/* Returns the value of a trace at a point; NaN if it has none or the point came after the last
 * update. */
double curves_value(const struct curves *curves, enum trace trace, size_t point);

/* Returns the value of the last validation at or before a value of the x axis; NaN: none yet. */
double curves_validation_value(const struct curves *curves, enum trace trace, double x);

/* --- traces of validations: lines between marks, or lines alone where marks would crowd --- */

/* Adds the visible parts of the lines to a range as one curve. Returns false with an error if out
 * of memory. */
bool validations_measure(const struct curves *curves, enum trace trace, struct value_range *range,
                         struct error *error);

/* Adds the values of a trace of either kind to a range as one curve. Returns false with an error if
 * out of memory. */
bool curves_measure(struct curves *curves, enum trace trace, struct value_range *range,
                    struct error *error);

/* Returns how many columns or validations of a trace lie outside the y axis; those that a
 * logarithmic axis cannot show are not counted. */
size_t curves_outliers(const struct curves *curves, enum trace trace, const struct axis *y);

/* Returns how many visible values of a trace are at or below zero. */
size_t curves_nonpositive(const struct curves *curves, enum trace trace);

/* Draws the lines and marks as series `number` of the plot. */
void validations_draw(const struct curves *curves, enum trace trace, const struct axis *y,
                      struct plot *plot, uint16_t number, char mark);

/* Writes the values of the lines at each of `width` columns; NaN: there is no line. */
void validations_sample(const struct curves *curves, enum trace trace, double *values,
                        size_t width);

/* --- band ---
 *
 * the mean and the band of minimum and maximum of one trace of several runs.
 *
 * The runs' curves are binned on the same x axis. In each dot column the mean is over the runs that
 * have a value there; where a run has none between two of its values, the value is interpolated. A
 * run does not contribute before its first or after its last value.
 */

struct band {                  /* starts as {0} */
    struct curve mean, extent; /* a column of `extent` holds the minimum and the maximum */
    size_t *runs;              /* by column: how many runs the mean is over */
    double *values;            /* the values of the run that is being added */
    size_t capacity, value_capacity;
};

/* Empties the band and gives it the width of the curves. Returns false with an error if out of
 * memory. */
bool band_reset(struct band *band, size_t width, struct error *error);

/* Adds a run, whose curves have the band's width. */
void band_add(struct band *band, const struct curves *curves, enum trace trace);

/* Frees the memory and leaves `*band` {0}. */
void band_free(struct band *band);

/* Returns the mean at a column or, without values there, at the last column before it that has
 * some, and sets the number of runs that it is over; NaN and 0: there is none. */
double band_value(const struct band *band, size_t column, size_t *runs);

#endif
