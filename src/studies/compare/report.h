/* report.h: a report of runs in Markdown: settings, results, findings, times with intervals,
 * forecast and measured memory, and for several runs the table of tinca compare. Where a value was
 * not measured, the report says so and gives the command that measures it; it estimates nothing. */
#ifndef TINCA_STUDIES_COMPARE_REPORT_H
#define TINCA_STUDIES_COMPARE_REPORT_H

#include "base/error.h"
#include "runs/record/run.h"

#include <stddef.h>

/* Writes the report to a target that the user named (output_file.h). `picture` is the path of the
 * chart to link, or NULL. Runs that are in progress are reported as they are now. */
bool report_write(struct run *const *runs, size_t count, const char *picture, const char *path,
                  struct error *error);

#endif
