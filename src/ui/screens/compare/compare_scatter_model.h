/* compare_scatter_model.h: the points of a scatter plot of two figures, its axes, and the Pareto
 * front. No drawing. */
#ifndef TINCA_UI_SCREENS_COMPARE_COMPARE_SCATTER_MODEL_H
#define TINCA_UI_SCREENS_COMPARE_COMPARE_SCATTER_MODEL_H

#include "base/axis.h"
#include "session/compare/pareto.h"

#include <stdbool.h>
#include <stddef.h>

enum { FIGURE_NAME = DEVICE_NAME_SIZE + 16 };

enum scatter_axis { SCATTER_X, SCATTER_Y, SCATTER_AXES };

struct scatter_point {
    double at[SCATTER_AXES]; /* the values */
    size_t row;
};

struct compare_scatter {                   /* starts as {0} */
    char names[SCATTER_AXES][FIGURE_NAME]; /* chosen figures; "": a default takes their place */
    bool log[SCATTER_AXES];                /* wanted, where all values are positive */

    /* as of the last compare_scatter_build */
    bool usable; /* false: no figure of the table is known, and nothing below is valid */
    struct compare_figure figures[SCATTER_AXES];
    struct axis axes[SCATTER_AXES];
    struct scatter_point *points; /* rows with both values */
    size_t count, capacity;
    size_t unknown[SCATTER_AXES]; /* rows without that value */
    struct compare_front front;
    bool has_front; /* false: it is not known whether more or less of a figure is better */
};

/* Fills points, axes and front from the table. Chosen figures that the table lacks are replaced by
 * defaults: parameters and top-1 accuracy if they are known. Returns false with an error when there
 * is no memory. */
bool compare_scatter_build(struct compare_scatter *scatter, const struct comparison *table,
                           struct error *error);
/* Frees the points. The chosen figures stay. */
void compare_scatter_free(struct compare_scatter *scatter);

/* Goes on to the next scales: linear, log x, log y, both. */
void compare_scatter_next_scale(struct compare_scatter *scatter);

/* Returns the point of a row, or NULL. */
const struct scatter_point *compare_scatter_find(const struct compare_scatter *scatter, size_t row);

/* Returns the row of the nearest point in a direction from the row's point, one of (1, 0), (-1, 0),
 * (0, 1), (0, -1) for right, left, up and down; the row itself if there is none. */
size_t compare_scatter_neighbour(const struct compare_scatter *scatter, size_t row, int across,
                                 int up);

#endif
