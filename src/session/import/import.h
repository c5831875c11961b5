/* import.h: a log of Caffe, TensorFlow or Keras becomes a kept run, marked as imported, that can be
 * put beside others; a table of the studies becomes one for each training in it. Never changes a
 * run that is there. */
#ifndef TINCA_SESSION_IMPORT_IMPORT_H
#define TINCA_SESSION_IMPORT_IMPORT_H

#include "base/error.h"
#include "session/values/run_id.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What its user knows of the log; what is given goes before what the log says. */
struct import_request {
    const char *path;                    /* the log; may be gzip-compressed */
    const char *framework;               /* "caffe", "tensorflow", "keras"; NULL: found out */
    const char *network, *host, *device; /* NULL: as the log says */
    size_t batch, average_loss, images;  /* 0: as the log says; images: of an epoch */
};

struct import_result {
    char id[RUN_ID_SIZE];
    char framework[16];
    uint64_t iterations, validations; /* taken over */
    size_t damaged, replaced;         /* see import_log.h */
};

struct import_results {
    struct import_result *items;
    size_t count, capacity;
};

/* Makes the file's runs, all of them or, when it fails, none. `results` starts as {0}; to be freed
 * in both cases. */
bool import_file(const struct import_request *request, struct import_results *results,
                 struct error *error);
void import_results_free(struct import_results *results);

#endif
