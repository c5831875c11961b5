/* run_check.h: verifies the folder of a run, as fsck does with a file system. It finds damaged,
 * missing or contradictory files, and advises what to do about them.
 *
 * A check changes nothing in the folder. Its memory is bounded whatever the folder contains: it
 * reads files in blocks and JSON within limits. If a run is training, only some properties can be
 * checked. Thread-safe: two checks share nothing. */
#ifndef TINCA_TRAINING_CHECK_RUN_CHECK_H
#define TINCA_TRAINING_CHECK_RUN_CHECK_H

#include "base/error.h"

#include <stddef.h>

enum run_problem_severity {
    RUN_PROBLEM_WARNING, /* the run is complete in spite of it */
    RUN_PROBLEM_ERROR,   /* something is lost or wrong */
};

struct run_problem {
    enum run_problem_severity severity;
    char file[256];    /* name in the folder; "." is the folder itself */
    char what[512];    /* what is wrong with the file */
    char remedy[1536]; /* what to do about it */
};

enum { RUN_CHECK_PROBLEMS_MAX = 200 }; /* more are only counted; errors are stored first */

struct run_check {
    char id[256];    /* the folder's name */
    char status[24]; /* as run_status_name; "unreadable" if its configuration is; "none": no run */
    struct run_problem *problems;          /* in the order in which files are checked */
    size_t count, omitted, omitted_errors; /* stored; not stored; errors among the latter */
};

/* Fills *names with the names of everything in the folder of all runs, sorted: runs, other folders,
 * and files. Free each name and the array. Returns false with an error. */
bool run_check_list(char ***names, size_t *count, struct error *error);

/* Checks the run in `directory` and fills *check; free it with run_check_free. `home`: the folder
 * is in the folder of all runs, so its name should be the run's ID. Returns false if out of memory.
 */
bool run_check(const char *directory, bool home, struct run_check *check, struct error *error);

/* Returns the number of errors, including those that were not stored. */
size_t run_check_errors(const struct run_check *check);

/* Returns "error" or "warning". */
const char *run_problem_severity_name(enum run_problem_severity severity);

/* Frees the problems and resets *check to {0}. */
void run_check_free(struct run_check *check);

#endif
