/* axis_hold.h: keeps the y axis of a live curve for a while. Each change of an axis moves all dots
 * of a plot, which the eye must follow and the terminal's line must carry. */
#ifndef TINCA_UI_PLOT_AXIS_HOLD_H
#define TINCA_UI_PLOT_AXIS_HOLD_H

#include "base/axis.h"

#include <stdint.h>

struct axis_hold { /* starts as {0} */
    struct axis axis;
    unsigned what;  /* what the axis was made for */
    uint64_t until; /* clock_nanoseconds; 0: nothing is held */
};

/* Returns the axis to show instead of `wanted`: the last one, if it was chosen in the last ten
 * seconds, contains the wanted one and was made for the same (`what`: traces, options); otherwise
 * the wanted one. */
struct axis axis_hold_take(struct axis_hold *hold, struct axis wanted, unsigned what);

#endif
