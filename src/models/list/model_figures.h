/* model_figures.h: the known figures of a model file: its facts (name, parameters, bytes, FLOPs)
 * and its measurements (accuracy, time and energy of an image), stored so that they are measured
 * once.
 *
 * $XDG_STATE_HOME/tinca/model-figures/KEY.json has the figures of one file. KEY is the checksum
 * (CRC-32) and the size of its contents, so that a copy has the same figures and a changed file has
 * none. An entry holds for one data set (its SPEC and the state of its files), device, machine and
 * number of threads; a new one replaces the old one of the same four. Its times do not depend on
 * the data set: the latest of the device, machine and threads count (model_figures_times).
 *
 * Times of two moments cannot be compared, since the load and the clock of a machine change. A pair
 * has the times of the model and of one that it was made from, taken in turns. The checksum of a
 * file is computed once, too (checksum_cache.h). Nothing is ever estimated. */
#ifndef TINCA_MODELS_LIST_MODEL_FIGURES_H
#define TINCA_MODELS_LIST_MODEL_FIGURES_H

#include "base/error.h"
#include "base/json/json.h"
#include "models/measure/turns.h"
#include "models/saved/evaluate.h"
#include "runs/folder/checksum_cache.h"
#include "runs/values/run_snapshot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODEL_NAME = 256, MODEL_KEY = 32, MODEL_DATA_KEY = 12, MODEL_SPEC = 704 };

struct model_description {
    char name[MODEL_NAME]; /* with technique and the chain of techniques after training */
    char technique[16];    /* before training; "none" */
    size_t parameters, linear_parameters; /* learnable values, and those of linear layers */
    size_t classes;                       /* 0: the network makes pictures */
    uint64_t flops;                       /* of one image */
    uint64_t bytes;                       /* of the file */
    /* checksums of the file, and of the model that its last technique was applied to; "": not known
     */
    char checksum[MODEL_CHECKSUM], parent[MODEL_CHECKSUM];
};

/* The measurements of one data set, device, machine and number of threads; NaN: not measured, or
 * not known. */
struct model_measured {
    char data[MODEL_SPEC], data_key[MODEL_DATA_KEY]; /* SPEC; the state of its files */
    struct measured_on on;
    size_t images;                    /* images that the accuracy was measured on */
    double top1, top1_low, top1_high; /* percent; 95 % interval (Wilson) */
    double loss;
    size_t timed;               /* images that the times were measured on, one at a time */
    double ms, ms_low, ms_high; /* median, and its 95 % interval by order statistics */
    double ms_mean, ms_ci95;    /* mean, and half its 95 % interval (Student's t) */
    double joules;              /* of an image */
    char energy_unknown[ENERGY_REASON_SIZE];
};

/* The turns (turns.h) of a model and of one that it was made from, directly or in several steps. */
struct model_pair {
    char origin[MODEL_CHECKSUM]; /* the checksum of its file */
    struct turns turns;          /* its first model is the one that was made */
};

struct model_figures {
    char key[MODEL_KEY];
    struct model_description facts;
    struct model_measured *measured;
    size_t count, capacity;
    struct model_pair *pairs;
    size_t pair_count, pair_capacity;
};

/* Reads the figures of a model file, and stores its facts if they are not known yet. `cache` knows
 * checksums; NULL: the file is read. Returns false with an error if the file is no model. */
bool model_figures_read(struct model_figures *figures, struct checksum_cache *cache,
                        const char *path, struct error *error);
void model_figures_free(struct model_figures *figures);

/* Opens the cache of the checksums of model files; checksum_cache_close closes it. NULL if out of
 * memory. */
struct checksum_cache *model_figures_cache(void);

/* Writes a key of the present state of a data set: a checksum of the SPEC, of the names, sizes and
 * times of its files (one level deep) and of the version of the generators. Returns `key`. */
char *model_data_key(const char *spec, char key[MODEL_DATA_KEY]);

/* Returns the measurement on this data, device and number of threads, on this machine, or NULL.
 * "cuda" also finds "cuda:0". */
const struct model_measured *model_figures_find(const struct model_figures *figures,
                                                const char *data_key, const char *device,
                                                size_t threads);

/* Returns the entry with the latest times of this device, number of threads and machine, or NULL.
 */
const struct model_measured *model_figures_times(const struct model_figures *figures,
                                                 const char *device, size_t threads);

/* Returns the pair with the origin that has the checksum `origin`, or NULL. */
const struct model_pair *model_figures_pair(const struct model_figures *figures, const char *origin,
                                            const char *device, size_t threads);

/* Stores a pair, as model_figures_put stores an entry. */
bool model_figures_put_pair(struct model_figures *figures, const struct model_pair *pair,
                            struct error *error);

/* Returns the entry that was measured last, or NULL. */
const struct model_measured *model_figures_latest(const struct model_figures *figures);

/* Stores an entry, in `figures` and in the file. Returns false with an error. */
bool model_figures_put(struct model_figures *figures, const struct model_measured *measured,
                       struct error *error);

/* Adds the measurements to a JSON object. Returns false if out of memory. */
bool model_measured_to_json(struct json *object, const struct model_measured *measured);
/* Reads the output of model_measured_to_json. Returns false if a member is missing or wrong. */
bool model_measured_from_json(struct model_measured *measured, const struct json *object);

/* Adds the facts of a model to a JSON object. Returns false if out of memory. */
bool model_description_to_json(struct json *object, const struct model_description *facts);
/* Reads the output of model_description_to_json. Returns false if a member is missing or wrong. */
bool model_description_from_json(struct model_description *facts, const struct json *object);

#endif
