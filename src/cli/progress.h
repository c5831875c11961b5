/* progress.h: shows the progress of a run on standard error.
 *
 * On a terminal it is one line that is rewritten, cut to the terminal's width; otherwise a new line
 * every few seconds. A finding is printed once, when it begins. So is an error of writing to the
 * disk, also with --quiet.
 */
#ifndef TINCA_CLI_PROGRESS_H
#define TINCA_CLI_PROGRESS_H

#include "cli/internal.h"
#include "runs/record/run.h"

#include <stdbool.h>
#include <stddef.h>

struct progress {
    bool quiet, terminal;
    double last;      /* the clock at the last plain line, in seconds */
    uint64_t printed; /* iteration of the last plain line */
    long halted;      /* the process that it said was halted; 0: none */
    size_t findings;  /* printed so far */
    bool begun; /* the line that says where a resumed run continues was printed, or is not needed */
    bool noticed;         /* run_notice has been shown */
    struct error trouble; /* the last error that was printed */
    bool saving;          /* a signal has asked for a checkpoint that is not written yet */
    uint64_t checkpoints; /* how many there were then */
    bool line_open;       /* the terminal shows a line that will be rewritten */
};

/* Returns the state of a display that has shown nothing yet. */
struct progress progress_begin(bool quiet);

/* Shows the run as it is now. Call it several times a second. */
void progress_show(struct progress *progress, const struct run *run);

/* Prints the findings that have not been printed and erases the line. */
void progress_end(struct progress *progress, const struct run *run);

/* Shows the run until it is over, and prints its events if there is a stream (NULL: none).
 * Signals that ask it to stop or to save (signals.h) are sent to it as commands. */
void progress_follow(struct run *run, bool quiet, struct event_stream *events);

#endif
