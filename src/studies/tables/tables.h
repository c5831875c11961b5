/* tables.h: the tables of the two studies (Trindade 2017, Gondim Santos 2019), from the user's
 * runs.
 *
 * Every cell is a stored measurement: of a run's journal, profile or measurements.json, or of the
 * votes of a perceptual study. A cell that was not run has the number of a note, which is the
 * command that runs it. Published figures have columns of their own; where a study gives none, the
 * cell is blank. If several runs fit a row, the latest one fills it and is named there.
 */
#ifndef TINCA_STUDIES_TABLES_TABLES_H
#define TINCA_STUDIES_TABLES_TABLES_H

#include "base/error.h"
#include "base/text.h"
#include "studies/compare/compare.h"
#include "studies/pictures/study_file.h"

#include <stddef.h>
#include <stdint.h>

enum tables_study { TABLES_TRINDADE, TABLES_GONDIM };
enum tables_format { TABLES_TEXT, TABLES_MARKDOWN, TABLES_CSV, TABLES_LATEX };

/* Appends the tables of a study. `runs` has the runs, oldest first; `votes` may be empty. Returns
 * false with an error. */
bool tables_write(enum tables_study study, const struct comparison *runs,
                  const struct study_file *votes, enum tables_format format, struct text *text,
                  struct error *error);

/* --- the runs --- */

/* The runs whose results fill the tables of the studies: all runs of a folder.
 *
 * `tinca tables` and the workbench's screen Tables share it. */

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
