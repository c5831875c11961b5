/* import_log.h: what a log of another framework tells of a training. No run, no files written.
 * Internal to session/, but for its tests. */
#ifndef TINCA_SESSION_IMPORT_IMPORT_LOG_H
#define TINCA_SESSION_IMPORT_IMPORT_LOG_H

#include "base/error.h"
#include "session/import/import.h"
#include "session/values/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Texts are "" and counts 0 where the log does not say. */
struct imported_log {
    char framework[16];
    char network[64], host[128], device[8], created[24], solver[12];
    char variant[128];                  /* of a table, the further columns of its key; "" without */
    size_t batch, average_loss, images; /* images: of an epoch */
    uint64_t max_iterations;
    double learning_rate, momentum, weight_decay; /* NaN: not said */
    bool finished;                                /* it says that the training came to its end */
    bool mean_only;   /* Caffe's mean is all that is there: no losses of single iterations */
    bool times_only;  /* of a table of mean times: one point, without a loss */
    bool epoch_means; /* a loss is the mean of an epoch up to there, not of one iteration */
    size_t damaged;   /* lines that begin as one of interest and could not be read */
    size_t replaced;  /* iterations that a later part of the log has again */
    struct series_point *points; /* epoch: NaN where it follows from images and batch alone;
                                    ms_per_image is that of an iteration */
    size_t count, capacity;
    struct series_validation *validations;
    size_t validation_count, validation_capacity;
};

/* The trainings that one file tells of: a log of one, a table of the studies of many. */
struct imported_logs {
    struct imported_log *logs;
    size_t count, capacity;
};

/* Reads `text`, which is changed: one of the studies' tables, or the log of a framework, found out
 * unless the request names it. Iterations count from 1. False when nothing of that kind is there,
 * when two frameworks are mixed, or when memory is out. */
bool import_logs_read(struct imported_logs *logs, const struct import_request *request, char *text,
                      struct error *error);
void import_logs_free(struct imported_logs *logs);

/* --- import_csv.c --- */

/* Whether it is one of the studies' tables. */
bool import_csv_is(const char *text);
bool import_csv_read(struct imported_logs *logs, const struct import_request *request, char *text,
                     struct error *error);

/* A new log, everything unknown; NULL when memory is out. */
struct imported_log *import_logs_add(struct imported_logs *logs, const char *framework,
                                     struct error *error);

#endif
