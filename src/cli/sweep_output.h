/* sweep_output.h: what tinca sweep prints and writes. Functions that return int return the exit
 * status and have printed their error. */
#ifndef TINCA_CLI_SWEEP_OUTPUT_H
#define TINCA_CLI_SWEEP_OUTPUT_H

#include "cli/sweep_request.h"
#include "studies/sweep/sweep.h"
#include "studies/sweep/sweep_estimate.h"

#include <stdbool.h>
#include <stddef.h>

/* Writes the CSV files, and then the JSON document, the list of cells (--dry-run) or the tables of
 * results, whichever the request asks for. */
int sweep_output_report(const struct sweep *sweep, const struct sweep_estimate *estimate,
                        const struct sweep_request *request);

/* Prints the numbers of the cells that are still to compute, as sbatch --array takes them:
 * "1,3-6,9". Prints nothing when none are. */
int sweep_output_due(const struct sweep *sweep);

/* Returns whether this machine or another may still compute the cell: a cell that does not fit the
 * memory here, or whose device is missing here, may run elsewhere. */
bool sweep_output_is_open(const struct sweep *sweep, size_t index);

/* Prints a table of all sweeps with the number of their cells in each state. */
int sweep_output_list(void);

/* Prints on standard error why each failed cell failed. */
void sweep_output_failures(const struct sweep *sweep);

#endif
