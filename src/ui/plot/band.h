/* band.h: the mean and the band of minimum and maximum of one trace of several runs.
 *
 * The runs' curves are binned on the same x axis. In each dot column the mean is over the runs that
 * have a value there; where a run has none between two of its values, the value is interpolated. A
 * run does not contribute before its first or after its last value.
 */
#ifndef TINCA_UI_PLOT_BAND_H
#define TINCA_UI_PLOT_BAND_H

#include "ui/plot/curves.h"

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
