/* tables_runs.h: the runs whose results fill the tables of the studies: all runs of a folder.
 *
 * `tinca tables` and the workbench's screen Tables share it.
 */
#ifndef TINCA_STUDIES_TABLES_TABLES_RUNS_H
#define TINCA_STUDIES_TABLES_TABLES_RUNS_H

#include "studies/tables/tables.h"

#include <stddef.h>
#include <stdint.h>

struct tables_runs { /* starts as {0} */
    struct run **runs;
    size_t count, capacity;
    struct comparison comparison; /* a row for each run, oldest first */
};

/* Is called for a run that cannot be read and is left out. */
typedef void tables_report(void *context, const struct error *why);

/* Reports that `done` of `total` runs are read; has the type of background_job_progress. Returns
 * false with an error to stop. */
typedef bool tables_progress(void *context, uint64_t done, uint64_t total, struct error *error);

/* Opens all runs of a folder (NULL: the folder of all runs), in the order of their names, since IDs
 * sort by time. `report` and `progress` may be NULL. Returns false with an error if the folder
 * cannot be listed, memory runs out, or progress returns false. */
bool tables_runs_open(struct tables_runs *runs, const char *folder, tables_report *report,
                      tables_progress *progress, void *context, struct error *error);

/* Frees the runs and sets *runs to {0}. */
void tables_runs_free(struct tables_runs *runs);

#endif
