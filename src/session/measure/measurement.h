/* measurement.h: what was measured of a run's model, kept in its directory.
 *
 * measurements.json holds one entry a device: the time of one image's inference (batch 1, after a
 * warm-up, over the test set), the accuracy on the same images, and what the model takes. A new
 * measurement on a device replaces the old one; the file is replaced whole. Nothing in it is ever
 * estimated: what was not measured has no entry, and an entry whose model file has changed since
 * (name, size or time of change) is stale: it tells nothing of the model that is there now.
 */
#ifndef TINCA_SESSION_MEASURE_MEASUREMENT_H
#define TINCA_SESSION_MEASURE_MEASUREMENT_H

#include "base/error.h"
#include "base/threads/background_job.h"
#include "engine/devices/device.h"
#include "session/model/evaluate.h"
#include "session/values/statistics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct measurement {
    char device[DEVICE_NAME_SIZE];
    char host[128], cpu[128]; /* the machine it was measured on */
    size_t threads;
    char created[24]; /* RFC 3339 */
    char data[512];   /* SPEC */
    char weights[32]; /* the file in the run directory */
    size_t images;
    struct statistics ms_per_image; /* milliseconds */
    double top1, top5, loss;        /* percent (NaN: the network tells no classes); mean loss */
    uint64_t model_bytes;           /* size of the file */
    uint64_t model_changed;         /* when it was last written, in seconds; 0: not known */
    uint64_t memory_bytes;          /* planned for the inference of one image */
    bool stale;                     /* not kept: found out when the file is read */
};

struct measurements {
    struct measurement *entries;
    size_t count, capacity;
};

/* No file is an empty list. */
bool measurements_read(struct measurements *measurements, const char *run_directory,
                       struct error *error);
void measurements_free(struct measurements *measurements);

/* Reads the file again, replaces or adds the entry of this device, and writes it. */
bool measurements_put(const char *run_directory, const struct measurement *measurement,
                      struct error *error);

/* The entry of a device, NULL: not measured, or stale. "cuda" finds "cuda:0" too. */
const struct measurement *measurements_find(const struct measurements *measurements,
                                            const char *device);

/* Times of two machines, or of two numbers of threads, say nothing about two networks. */
bool measurements_are_comparable(const struct measurement *a, const struct measurement *b);

/* Whether the 95 % intervals of the means touch: then neither network is the faster one. */
bool measurements_overlap(const struct measurement *a, const struct measurement *b);

struct run;

/* "best.safetensors", or "weights.safetensors" where there is no best one, of a run directory; its
 * path is owned by the caller, its size in *bytes (may be NULL). NULL with an error: none is saved.
 */
char *measurement_model_path(const char *run_directory, uint64_t *bytes, struct error *error);

/* Notes in `measurement` which model file it is of. */
bool measurement_note_model(struct measurement *measurement, const char *path, struct error *error);

struct measure_request {
    const char *data;   /* SPEC; NULL: the run's validation data, or the test split of its data */
    const char *device; /* NULL: the run's */
    size_t threads;     /* 0: all cores */
    size_t images;      /* 0: the whole set */
    evaluation_progress *progress; /* NULL: nobody is told */
    void *context;
};

/* Measures the run's model and keeps what came out in its directory. */
bool measure_run(const struct run *run, const struct measure_request *request,
                 struct measurement *measurement, struct error *error);

/* The same of a run's directory, in the background. The job must live until background_job_finish.
 */
struct measure_job {
    char directory[512], device[DEVICE_NAME_SIZE];
    size_t threads;
    struct measurement result;
};
struct background_job *measure_start(struct measure_job *job, struct error *error);

#endif
