/* progress.h: what a run says on standard error while it goes on.
 *
 * On a terminal one line that is rewritten in place, clipped to the terminal's width; otherwise a
 * plain line every few seconds. Findings are said once, when they set in; so is what cannot be
 * written to the disk, also to those who want it quiet.
 */
#ifndef TINCA_CLI_PROGRESS_H
#define TINCA_CLI_PROGRESS_H

#include "session/record/run.h"

#include <stdbool.h>
#include <stddef.h>

struct progress {
    bool quiet, terminal;
    double last;          /* seconds of the clock at the last plain line */
    uint64_t printed;     /* iteration of the last plain line */
    size_t findings;      /* said so far */
    bool begun;           /* whether the run was resumed has been said */
    bool noticed;         /* run_notice has been shown */
    struct error trouble; /* the last one that was said */
    bool line_open;       /* a live line stands on the screen */
};

struct progress progress_begin(bool quiet);

/* To be called several times a second. */
void progress_show(struct progress *progress, const struct run *run);

/* Removes the live line. */
void progress_end(struct progress *progress, const struct run *run);

#endif
