/* import.h: imports logs of other trainers as saved runs, marked as imported, for
 * comparisons. A table of the studies becomes one run for each training in it. Existing runs are
 * never changed. */
#ifndef TINCA_EXCHANGE_LOGS_IMPORT_H
#define TINCA_EXCHANGE_LOGS_IMPORT_H

#include "base/error.h"
#include "runs/values/run_facts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The facts that the user gives about the log. They override those in the log. */
struct import_request {
    const char *path;      /* the log; may be gzip-compressed; what messages call it */
    int input;             /* an open file or pipe that is read in its place, and closed; 0: none */
    const char *name;      /* of the run; NULL: that of the file */
    const char *framework; /* of a format that carries logs (formats.inc); NULL: detect it */
    const char *columns;   /* "loss=NAME,..." (import_rows.c); NULL: by their names */
    const char *network, *host, *device; /* NULL: as the log says */
    size_t batch, average_loss, images;  /* 0: as the log says; images per epoch */
};

/* The peculiarities of a log that the user is told after it was read. */
struct import_notes {
    size_t damaged;     /* lines that should have had values but are unreadable */
    size_t replaced;    /* iterations that a later part of the log repeats */
    size_t others_lost; /* values of other names beyond the limits of scalars.h, or out of memory */
    char top1_name[96]; /* the column, key or tag of the validations' accuracy; "": it has none */
    bool several_top1;  /* other names could be meant, too */
    char left_out[96];  /* the name of the training's accuracy, if no validation has one; else "" */
};

struct import_result {
    char id[RUN_ID_SIZE];
    char framework[16];
    uint64_t iterations, validations; /* imported */
    struct import_notes notes;
};

struct import_results {
    struct import_result *items;
    size_t count, capacity;
};

/* Creates all runs of the file, or none if it fails. `results` starts as {0}; the caller frees it
 * in both cases. */
bool import_file(const struct import_request *request, struct import_results *results,
                 struct error *error);

/* The contents of all logs in a file together. */
struct import_summary {
    char framework[16]; /* of the first one */
    size_t trainings;
    uint64_t points, validations;
};

/* Reads a file without making runs of it. Returns false if it is no log of a training. */
bool import_summarise(const char *path, struct import_summary *summary);

/* Frees the results, and sets them to {0}. */
void import_results_free(struct import_results *results);

#endif
