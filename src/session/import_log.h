/* import_log.h: what a log of Caffe or TensorFlow tells of a training. No run, no files written.
 * Internal to session/, but for its tests. */
#ifndef TINCA_SESSION_IMPORT_LOG_H
#define TINCA_SESSION_IMPORT_LOG_H

#include "base/error.h"
#include "session/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum import_framework { IMPORT_CAFFE, IMPORT_TENSORFLOW };

/* Texts are "" and counts 0 where the log does not say. */
struct imported_log {
    enum import_framework framework;
    char network[64], host[128], device[8], created[24], solver[12];
    size_t batch, average_loss;
    uint64_t max_iterations;
    double learning_rate, momentum, weight_decay; /* NaN: not said */
    bool finished;                                /* it says that the training came to its end */
    bool mean_only;  /* Caffe's mean is all that is there: no losses of single iterations */
    size_t damaged;  /* lines that begin as one of interest and could not be read */
    size_t replaced; /* iterations that a later part of the log has again */
    struct series_point *points; /* epoch is not filled; ms_per_image is that of an iteration */
    size_t count, capacity;
    struct series_validation *validations;
    size_t validation_count, validation_capacity;
};

/* Reads `text`, which is changed, as a log of the framework; false when memory is out. That there
 * were no lines of interest shows in `count`. */
bool import_log_read(struct imported_log *log, enum import_framework framework, char *text,
                     struct error *error);
void import_log_free(struct imported_log *log);

#endif
