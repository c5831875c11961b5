/* measurement.h: measures the inference of a run's model and stores the results in the run's
 * directory.
 *
 * measurements.json has one entry per device: the time of one image's inference (batch 1, after
 * warm-up, over the test set), the accuracy on the same images, and the model's memory. A new
 * measurement on a device replaces the old entry; the whole file is rewritten. Nothing is ever
 * estimated: without measurement there is no entry. An entry is stale if its model file (name, size
 * or modification time) has changed since; it then does not describe the present model. The member
 * "turns" has the results of turns with other runs' models (turns.h).
 */
#ifndef TINCA_MODELS_MEASURE_MEASUREMENT_H
#define TINCA_MODELS_MEASURE_MEASUREMENT_H

#include "base/error.h"
#include "base/threads/background_job.h"
#include "engine/devices/device.h"
#include "models/measure/turns.h"
#include "models/saved/evaluate.h"
#include "runs/folder/computed_with.h"
#include "runs/values/run_facts.h"
#include "runs/values/run_snapshot.h"
#include "runs/values/statistics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct measurement {
    struct measured_on on;
    char data[640];   /* SPEC */
    char weights[32]; /* name of the model file in the run's directory */
    size_t images;
    struct statistics ms_per_image;
    double top1, top5, loss; /* percent, NaN for a network without classes; mean loss */
    uint64_t model_bytes;    /* size of the model file */
    uint64_t model_changed;  /* its modification time in seconds; 0: unknown */
    uint64_t memory_bytes;   /* planned for the inference of one image */
    /* energy of the whole measurement, reading the images included; NaN if unknown */
    double joules_per_image, watts;
    char
        energy_unknown[ENERGY_REASON_SIZE]; /* why; "": it is known, or an older version measured */
    char chosen[KERNEL_CHOICES_SUMMARY];    /* the kernels that predictions chose; "": none */
    bool stale;                             /* not stored: computed when the file is read */
    bool in_turns; /* not stored: measured in turns: there is no interval, accuracy or energy
                      (compare_complete) */
};

/* Identifies a state of a model file. */
struct model_stamp {
    char weights[32];        /* the file's name; "": there is none */
    uint64_t bytes, changed; /* size; modification time in seconds, 0: unknown */
};

/* Reads the stamp of a file. Returns false with an error. */
bool model_stamp_read(struct model_stamp *stamp, const char *path, struct error *error);

/* Returns whether a stamp is that of the present model, `now`, or there is no model any more. */
bool model_stamp_is_present(const struct model_stamp *stamp, const struct model_stamp *now);

/* The turns of this run's model and another run's (turns.h); they are stored with one of both. */
struct measured_turns {
    char other[RUN_ID_SIZE];
    struct model_stamp own, with; /* the models that were measured: this run's, the other's */
    struct turns turns;
};

/* The most turns that a run's file keeps: the oldest ones go. */
enum { MEASURED_TURNS = 256 };

struct measurements {
    struct measurement *entries;
    size_t count, capacity;
    struct measured_turns *turns;
    size_t turns_count, turns_capacity;
    struct model_stamp model; /* the run's present model file */
};

/* Reads the file; a missing file reads as an empty one. Returns false with an error. */
bool measurements_read(struct measurements *measurements, const char *run_directory,
                       struct error *error);
void measurements_free(struct measurements *measurements);

/* Stores a measurement: reads the file, replaces or adds the entry of its device, and writes the
 * file. Returns false with an error. */
bool measurements_put(const char *run_directory, const struct measurement *measurement,
                      struct error *error);

/* Replaces the entry of the same device, or adds one. Returns false with an error. */
bool measurements_place(struct measurements *measurements, const struct measurement *entry,
                        struct error *error);

/* Returns the entry of a device, or NULL if it is missing or stale. "cuda" also finds "cuda:0". */
const struct measurement *measurements_find(const struct measurements *measurements,
                                            const char *device);

/* Stores the turns of two runs, in place of older ones of the same two and the same device. Returns
 * false with an error. */
bool measurements_put_turns(const char *run_directory, const struct measured_turns *turns,
                            struct error *error);

/* Finds the turns of the present models of two runs on a device, in the file of either run; sets
 * *turns so that the first model is that of `a`. Returns false if there are none. */
bool measurements_find_turns(const struct measurements *a, const char *id_a,
                             const struct measurements *b, const char *id_b, const char *device,
                             struct turns *turns);

/* Copies the measurements; measurements_free frees the copy. Returns false with an error. */
bool measurements_copy(struct measurements *to, const struct measurements *from,
                       struct error *error);

struct run;
struct run_config;

/* Returns the path of a run's model, owned by the caller: best.safetensors or, if there is none,
 * weights.safetensors. Sets *bytes (which may be NULL) to its size. Returns NULL with an error if
 * none is saved. */
char *measurement_model_path(const char *run_directory, uint64_t *bytes, struct error *error);

/* Records name, size and modification time of the model file in `measurement`. */
bool measurement_note_model(struct measurement *measurement, const char *path, struct error *error);

struct measure_request {
    const char *data;   /* SPEC; NULL: the run's validation data, or else its data's test split */
    const char *device; /* NULL: the run's */
    /* One of device_precision_names. NULL: the run's or, on a device that does not compute in that
     * one, float32. */
    const char *precision;
    size_t threads;                /* 0: all cores */
    size_t images;                 /* 0: the whole set */
    evaluation_progress *progress; /* NULL: no progress is reported */
    void *context;
    /* NULL, or where the milliseconds of each image are stored: an array that the caller frees */
    double **times;
    size_t *time_count;
};

/* Measures the run's model and stores the result in its directory. Returns false with an error. */
bool measure_run(const struct run *run, const struct measure_request *request,
                 struct measurement *measurement, struct error *error);

/* Lets the models of `count` runs take turns on one device (request->device; NULL: that of the
 * first run) and stores the turns of each two. Returns false with an error. */
bool measure_turns(const struct run *const *runs, size_t count,
                   const struct measure_request *request, struct error *error);

/* Writes the time of each image in the order of the set, as CSV or, to a name that ends in .npy, as
 * an array of float64. Returns false with an error. */
bool measurement_write_times(const char *path, const double *times, size_t count,
                             struct error *error);

/* The subject of a measurement in the background; it must live until background_job_finish. */
struct measure_job {
    char directory[512], device[DEVICE_NAME_SIZE];
    char other[512]; /* the folder of a run with whose model it takes turns; "": it is alone */
    size_t threads;
    struct measurement result; /* without turns */
};

/* Starts to measure the model of the run in job->directory, or both in turns. Returns NULL with an
 * error. */
struct background_job *measure_start(struct measure_job *job, struct error *error);

#endif
