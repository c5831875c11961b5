/* sweep_request.h: what the command line of tinca sweep asks for, and the sweep made from it. */
#ifndef TINCA_CLI_SWEEP_REQUEST_H
#define TINCA_CLI_SWEEP_REQUEST_H

#include "cli/options.h"
#include "studies/sweep/sweep.h"

#include <stdbool.h>
#include <stddef.h>

enum sweep_format { SWEEP_FORMAT_TEXT, SWEEP_FORMAT_MARKDOWN };

/* All texts belong to the command line; NULL: the option was not given. */
struct sweep_request {
    struct run_config config; /* the configuration that all cells share, as given by options */
    const char *file;         /* FILE.json, the operand */
    const char *networks, *techniques, *batches, *devices; /* lists, as given */
    const char *grid;                                      /* a study's grid: overfit, cifar */
    const char *name;                                      /* --name */
    struct option_list tags;                               /* --tag TAG */
    const char *note;                                      /* --note */
    const char *cell;                                      /* compute only this cell */
    struct option_list vary;                               /* --vary KEY=LIST */
    struct option_list after;                              /* --after LIST */
    size_t after_epochs;                                   /* --after-epochs; 0: not given */
    const char *csv, *target;                              /* --csv DIR, --output FILE */
    size_t jobs;                                           /* runs at the same time, from 1 */
    size_t cores;     /* to be divided among the jobs; 0: all cores of the machine */
    size_t format;    /* enum sweep_format */
    const char *over; /* --over: "mpi" */
    size_t ranks;     /* --ranks; 0: not given */
    bool dry_run, report, due, as_json, retry, quiet, list, wait;
};

/* Makes the sweep that `request` describes, or opens the earlier sweep that it names. False with an
 * error when a file or an option is wrong. Free the sweep with sweep_free, also after an error. */
bool sweep_request_open(const struct sweep_request *request, struct sweep *sweep,
                        struct error *error);

/* Returns whether the request names an earlier sweep and describes no grid. */
bool sweep_request_is_earlier(const struct sweep_request *request);

/* Returns the number of threads for one run: `asked` unless that is 0, otherwise an equal share of
 * the cores when several jobs run or --cores was given. 0: the run decides. */
size_t sweep_request_threads(const struct sweep_request *request, size_t asked);

#endif
