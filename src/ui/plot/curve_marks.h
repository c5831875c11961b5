/* curve_marks.h: the iterations of a run at which its conditions changed: the learning rate jumped,
 * or the run was resumed. A schedule that changes the rate smoothly makes no jumps. No drawing. */
#ifndef TINCA_UI_PLOT_CURVE_MARKS_H
#define TINCA_UI_PLOT_CURVE_MARKS_H

#include "base/error.h"
#include "session/values/series.h"

#include <stdbool.h>
#include <stddef.h>

struct curve_marks { /* starts as {0} */
    const struct series *series;
    size_t *rates; /* indices of the points from which a new learning rate holds, ascending */
    size_t rate_count, capacity;
    size_t scanned; /* points of the series that were looked at */
};

/* Adds the jumps in the points that are new in `series`. Returns false with an error if out of
 * memory. */
bool curve_marks_update(struct curve_marks *marks, const struct series *series,
                        struct error *error);

/* Makes the next update start again; see curves_invalidate. */
void curve_marks_invalidate(struct curve_marks *marks);

/* Frees the memory and leaves `*marks` {0}. */
void curve_marks_free(struct curve_marks *marks);

#endif
