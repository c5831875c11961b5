/* sweep_order.h: the order in which several ranks compute the cells of a sweep: the largest first,
 * so that no large cell begins when all others are done. */
#ifndef TINCA_STUDIES_SWEEP_SWEEP_ORDER_H
#define TINCA_STUDIES_SWEEP_SWEEP_ORDER_H

#include "studies/sweep/sweep.h"
#include "studies/sweep/sweep_estimate.h"

/* Returns the indices of all cells, in descending order of FLOPs of an image times images times
 * epochs, equal ones in the grid's order; the caller frees the array. Cells that wait for
 * techniques after training only come last. Opens a data set if its number of images is needed and
 * no run has recorded it. NULL with an error if memory is short. */
size_t *sweep_order_make(const struct sweep *sweep, const struct sweep_estimate *estimate,
                         struct error *error);

#endif
