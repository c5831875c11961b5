/* report.h: runs as a report in Markdown: settings, results, findings, timing with intervals,
 * memory forecast and measured, and of several runs the table of tinca compare. What was not
 * measured is said to be, with the command that would measure it; nothing is estimated here. */
#ifndef TINCA_SESSION_COMPARE_REPORT_H
#define TINCA_SESSION_COMPARE_REPORT_H

#include "base/error.h"
#include "session/record/run.h"

#include <stddef.h>

/* Writes the report, atomically. `picture`, the path of a PNG file, is linked; NULL: there is none.
 * Live runs are reported as they stand. */
bool report_write(struct run *const *runs, size_t count, const char *picture, const char *path,
                  struct error *error);

#endif
