/* turns.h: does one model take longer than another? This file has the only rule by which the
 * program calls times different.
 *
 * The load, the clock and the memory of a machine drift, so times of two moments say nothing about
 * two models: measured twice, the same model "differs" from itself. Times are compared only if they
 * were taken in turns. A block has two turns of each model, in the order A B B A (of several models
 * A B C C B A), so that a drift that is linear during the block cancels; each turn has one image
 * that is not timed, then at least two that are. Every block loads the models anew, alternately
 * first, because where a model's memory lies makes up to a few percent and stays for as long as it
 * is loaded.
 *
 * The block is the unit: its value is ln(A's time / B's time), and Student's t over the blocks
 * gives the mean, its 95 % interval and p. The images of a block share its load and are no
 * independent values. A ratio counts as a difference only if the interval lies beyond TURNS_MARGIN
 * on one side: the null hypothesis is that the times are equal up to that margin, which alignment
 * and the like can make up. So the share of pairs of equal models that are called different is at
 * most TURNS_LEVEL.
 *
 * A block is marked, and takes no part, if other work kept this process from its processors for
 * more than TURNS_DISTURBED of it (host_contention.h). Marking does not depend on the times. With
 * fewer than TURNS_LEAST blocks that are not marked there is no verdict, and the reason is said. */
#ifndef TINCA_MODELS_MEASURE_TURNS_H
#define TINCA_MODELS_MEASURE_TURNS_H

#include "base/error.h"
#include "base/json/json.h"
#include "engine/devices/device.h"
#include "models/saved/evaluate.h"

#include <stdbool.h>
#include <stddef.h>

/* --- where and how --- */

/* The place, settings and time of a measurement. Every stored time has one description, so that the
 * same members decide everywhere whether two times are of the same machine and settings. */
enum { PRECISION_NAME_SIZE = 16 };
struct measured_on {
    char device[DEVICE_NAME_SIZE];
    char precision[PRECISION_NAME_SIZE]; /* of the computation; "": an older version measured, in
                                            float32 */
    char host[128], cpu[128];            /* the machine and its processor */
    char created[24];                    /* RFC 3339 */
    size_t threads;
};

/* Describes this machine and this moment, and the device as it computes now. */
struct measured_on measured_on_now(const struct device *device);

/* Describes this machine, for queries: no precision and no moment. `threads` 0: all cores. */
struct measured_on measured_on_here(const char *device, size_t threads);

/* Returns whether two times are of the same device, machine and number of threads. The precision is
 * a property of the model and not of the machine: a model in int8 may take turns with one in
 * float32. */
bool measured_on_same(const struct measured_on *a, const struct measured_on *b);

/* Returns whether a time is of the device, machine and threads that are wanted; "cuda" also stands
 * for "cuda:0". */
bool measured_on_is(const struct measured_on *on, const struct measured_on *wanted);

/* Returns whether a device's name is `wanted`; "cuda" also stands for "cuda:0". */
bool measured_on_device(const char *name, const char *wanted);

struct run_config;

/* Sets the precision of a loaded model's device: `wanted` (one of device_precision_names) or, if
 * that is NULL, the run's where the device computes in it. A quantized model then stays as
 * model_load sets it. Returns false with an error. */
bool measurement_set_precision(struct model *model, const struct run_config *config,
                               const char *wanted, struct error *error);

/* --- turns --- */

enum {
    TURNS_LEAST = 10, /* unmarked blocks that a verdict needs */
    TURNS_AIM = 32,   /* unmarked blocks after which a measurement ends */
    TURNS_MOST = 80,  /* blocks after which it ends anyway */
    TURNS_VAIN = 20,  /* blocks after which it ends if all of them are marked */
    TURNS_MODELS = 8  /* models that take turns together */
};
#define TURNS_LEVEL     0.05
#define TURNS_MARGIN    0.01
#define TURNS_DISTURBED 0.05

/* The result of the turns of two models. {0}: nothing was measured. */
struct turns {
    struct measured_on on; /* its precision is the first model's */
    /* the second model's precision; "": an older version measured */
    char second_precision[PRECISION_NAME_SIZE];
    size_t blocks, marked;      /* marked: those blocks that other work disturbed */
    size_t images;              /* of the first model in a block */
    double first_ms, second_ms; /* an image's mean time, over the blocks that the ratio is of */
    double log_ratio, log_sd; /* of ln(first / second): mean and standard deviation over the blocks
                                 that are not marked or, if all are, over all; sd NaN: one block */
};

enum turns_verdict {
    TURNS_NONE,         /* too few blocks that are not marked */
    TURNS_ALIKE,        /* no difference above the margin is shown */
    TURNS_FIRST_FASTER, /* the first model takes less time */
    TURNS_SECOND_FASTER
};

struct turns_test {
    enum turns_verdict verdict;
    double ratio, low, high; /* first / second, with its 95 % interval; NaN: unknown */
    double t, freedom, p;    /* of the hypothesis above; NaN without a verdict */
};

/* Returns the verdict of the turns. */
struct turns_test turns_test(const struct turns *turns);

/* Returns whether the models are known to compute in different precisions. */
bool turns_precisions_differ(const struct turns *turns);

/* Returns the note, translated, for times that were not taken in turns: they are not comparable.
 * Their ratio may be shown, but no verdict. */
const char *turns_missing_text(void);
/* Returns the note, translated, below a table with such ratios of two models: they are no verdict,
 * and how to get one. */
const char *turns_advice_text(void);

/* Returns the turns as the second model sees them. */
struct turns turns_swapped(const struct turns *turns);

/* Writes the verdict's evidence, or why there is none, translated: "0.871 and 1 ms, 95 % interval
 * of the ratio 0.86 to 0.88, ...", after the precisions if they differ. Returns `text`. */
char *turns_text(const struct turns *turns, char *text, size_t size);

/* Computes blocks, marked, times and log ratio from blocks of sums: first[b] and second[b] are the
 * ms per image of block b. */
void turns_summarise(struct turns *turns, const double *first, const double *second,
                     const bool *marked, size_t blocks);

/* A model that takes turns: a file, and how it is computed. */
struct turns_model {
    const char *path, *device;
    size_t threads;                  /* 0: all cores */
    const struct run_config *config; /* its precision is used where the device computes in it; NULL:
                                        that of model_load */
};

/* Lets `count` (2 to TURNS_MODELS) models take turns and fills results[i * count + j] for i < j.
 * `progress` (may be NULL) gets the blocks that are done and TURNS_MOST. Returns false with an
 * error. */
bool turns_measure(const struct turns_model *models, size_t count, evaluation_progress *progress,
                   void *context, struct turns *results, struct error *error);

/* Adds the turns to a JSON object; returns false if out of memory. */
bool turns_to_json(struct json *object, const struct turns *turns);
/* Reads the output of turns_to_json. Returns false if a member is missing or wrong. */
bool turns_from_json(struct turns *turns, const struct json *object);

#endif
