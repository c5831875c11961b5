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

enum tables_study { TABLES_TRINDADE, TABLES_GONDIM };
enum tables_format { TABLES_TEXT, TABLES_MARKDOWN, TABLES_CSV, TABLES_LATEX };

/* Appends the tables of a study. `runs` has the runs, oldest first; `votes` may be empty. Returns
 * false with an error. */
bool tables_write(enum tables_study study, const struct comparison *runs,
                  const struct study_file *votes, enum tables_format format, struct text *text,
                  struct error *error);

#endif
