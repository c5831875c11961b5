/* value_range.h: the y range of a plot, robust against outliers.
 *
 * The range of a curve covers its values between two quantiles and those beyond that are near
 * enough, so a few values of a run that diverges do not flatten the rest. The range of a plot joins
 * the ranges of its curves; among runs, a curve whose range is far from the median of the others
 * does not widen it. On a logarithmic axis all of this is computed with logarithms.
 */
#ifndef TINCA_UI_PLOT_VALUE_RANGE_H
#define TINCA_UI_PLOT_VALUE_RANGE_H

#include "base/axis.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

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

/* Adds a curve by its bounds. Returns false with an error if out of memory. */
bool value_range_add_bounds(struct value_range *range, struct value_bounds bounds,
                            struct error *error);

/* Ends the present curve and adds it. Returns false with an error if out of memory. */
bool value_range_end_curve(struct value_range *range, struct error *error);

/* Returns the bounds that hold all curves; not finite if there are no values. */
struct value_bounds value_range_join(const struct value_range *range);

/* Returns the bounds that hold the curves that are near the median curve. Reorders the curves. */
struct value_bounds value_range_join_runs(struct value_range *range);

/* Returns an axis with round numbers around the bounds. */
struct axis value_range_axis(const struct value_range *range, struct value_bounds bounds);

#endif
