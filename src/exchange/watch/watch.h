/* watch.h: watches trainings of other programs. Each source becomes a run that is listed, drawn,
 * compared and exported like runs computed here, while its files grow.
 *
 * A source is a file, a named pipe, "-" for standard input, or a folder, in which
 * each training becomes a run. One thread at a time may use a watch. */
#ifndef TINCA_EXCHANGE_WATCH_WATCH_H
#define TINCA_EXCHANGE_WATCH_WATCH_H

#include "base/error.h"
#include "exchange/logs/import.h"
#include "runs/values/run_facts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct watch_request {
    struct import_request import; /* what the user knows about the logs; its path does not count */
    const char *const *sources;
    size_t count;
    int input;   /* the descriptor for "-", which the watch closes */
    long pid;    /* the process that trains; 0: not known */
    double idle; /* seconds without news after which the watch is over; 0: never */
};

/* A training that is watched. */
struct watch_state {
    const char *path;
    struct import_result run; /* its id is "" as long as there are no values */
    const char *directory;    /* of the run; NULL as long as there is none */
    uint64_t iteration;
    float loss;
    double top1;        /* NaN: none */
    bool stopped;       /* the run ended before the training */
    struct error error; /* why the source ended; ERROR_NONE: nothing is wrong */
};

struct watch;

/* Opens the sources. Returns NULL with an error if one of them cannot be opened, or if there is no
 * process with that number. `request` is not copied and must stay as it is. */
struct watch *watch_open(const struct watch_request *request, struct error *error);

/* Reads what is new in all sources, and brings their runs up to date. Returns whether there is more
 * to read at once. */
bool watch_step(struct watch *watch);

/* Returns whether the watch is over: the process has ended, all sources have ended, or nothing came
 * for the requested time. */
bool watch_is_over(const struct watch *watch);

/* Ends all runs that are not over. `stopped`: the user ends the watch before it is over. */
void watch_end(struct watch *watch, bool stopped);

/* Return the number of trainings so far, and one training. */
size_t watch_count(const struct watch *watch);
const struct watch_state *watch_state(const struct watch *watch, size_t index);

/* Return the most memory that the process had, resident and on GPUs, in bytes; 0: not known. */
uint64_t watch_memory(const struct watch *watch);
uint64_t watch_gpu_memory(const struct watch *watch);

/* Frees the watch. NULL is allowed. */
void watch_free(struct watch *watch);

#endif
