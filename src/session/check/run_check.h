/* run_check.h: verifies the folder of a run, as fsck does a file system: what is damaged, missing
 * or contradictory, and what can be done about it.
 *
 * Nothing in the folder is changed. Memory is bounded whatever lies there: files are read in
 * blocks, JSON within limits. A run that is on is checked as far as it can be. Thread-safe: nothing
 * is shared between two checks. */
#ifndef TINCA_SESSION_CHECK_RUN_CHECK_H
#define TINCA_SESSION_CHECK_RUN_CHECK_H

#include "base/error.h"

#include <stddef.h>

enum run_problem_severity {
    RUN_PROBLEM_WARNING, /* harmless, or the run has all that it needs without it */
    RUN_PROBLEM_ERROR,   /* something is lost or wrong */
};

struct run_problem {
    enum run_problem_severity severity;
    char file[256];    /* in the folder; "." is the folder itself */
    char what[512];    /* what is wrong with it */
    char remedy[1536]; /* what can be done */
};

enum { RUN_CHECK_PROBLEMS_MAX = 200 }; /* others are counted only, warnings rather than errors */

struct run_check {
    char id[256];    /* the folder's name */
    char status[24]; /* as run_status_name; "unreadable": its configuration is; "none": no run */
    struct run_problem *problems;          /* the table's order of files */
    size_t count, omitted, omitted_errors; /* omitted: of both severities */
};

/* Returns the names of everything in the folder of all runs, sorted: runs, folders that hold none,
 * other files. Free each and the array. */
bool run_check_list(char ***names, size_t *count, struct error *error);

/* Checks the run in `directory` and fills `check`, to be freed with run_check_free. `home`: the
 * folder lies in the folder of all runs and should be named by the run's ID. False: memory is out.
 */
bool run_check(const char *directory, bool home, struct run_check *check, struct error *error);

/* Returns how many problems are errors. */
size_t run_check_errors(const struct run_check *check);

/* "error", "warning" */
const char *run_problem_severity_name(enum run_problem_severity severity);

void run_check_free(struct run_check *check); /* leaves it {0} */

#endif
