/* import_log.h: the content of another framework's training log. Creates no run and writes no
 * files. */
#ifndef TINCA_EXCHANGE_LOGS_IMPORT_LOG_H
#define TINCA_EXCHANGE_LOGS_IMPORT_LOG_H

#include "base/error.h"
#include "exchange/logs/import.h"
#include "runs/values/scalars.h"
#include "runs/values/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Texts are "" and counts 0 if the log does not contain them. */
struct imported_log {
    char framework[16];
    char network[64], host[128], device[8], created[24], solver[12];
    char variant[128];                  /* the further columns of a table's key; "": none */
    size_t batch, average_loss, images; /* images per epoch */
    uint64_t max_iterations;
    double learning_rate, momentum, weight_decay; /* NaN: not said; the rate is the latest one */
    double highest_rate;                          /* the setting, which schedules start from */
    bool finished;                                /* the log says that the training ended */
    bool mean_only;   /* only Caffe's mean, no losses of single iterations */
    bool times_only;  /* a table of mean times: one point without a loss */
    bool epoch_means; /* losses are means over the epoch so far */
    struct import_notes notes;
    struct series_point *points; /* epoch: NaN where it follows from images and batch alone;
                                    ms_per_image is that of an iteration */
    size_t count, capacity;
    struct series_validation *validations;
    size_t validation_count, validation_capacity;
    struct scalars scalars; /* the columns that are none of tinca's own */
};

/* The trainings in one file: one in a log, several in a table of the studies. */
struct imported_logs {
    struct imported_log *logs;
    size_t count, capacity;
};

/* Reads `size` bytes, and modifies them; there is room for one more. They are a table of the
 * studies, an event file of TensorBoard, or the log of a framework, which is detected unless the
 * request names it. Iterations count from 1. Fails if nothing of that kind is found, if two
 * frameworks are mixed, or if memory runs out. */
bool import_logs_read(struct imported_logs *logs, const struct import_request *request, char *bytes,
                      size_t size, struct error *error);

/* Frees the logs and their points. */
void import_logs_free(struct imported_logs *logs);

/* Adds an empty log. Returns it, or NULL if memory runs out. */
struct imported_log *import_logs_add(struct imported_logs *logs, const char *framework,
                                     struct error *error);

#endif
