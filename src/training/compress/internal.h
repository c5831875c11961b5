/* internal.h: structures that the files of training/compress share: a pruning in progress and its
 * steps, and a quantization in progress and the images that it observes. */
#ifndef TINCA_TRAINING_COMPRESS_INTERNAL_H
#define TINCA_TRAINING_COMPRESS_INTERNAL_H

#include "engine/compress/prune_selection.h"
#include "engine/execution/execution.h"
#include "engine/quantize/quantize.h"
#include "training/compress/prune.h"
#include "training/compress/quantize_model.h"

/* --- requests as text --- */

/* Add the identity of a model's file, or the given settings that affect the result, to a request.
 * Return false with an error, or if out of memory. */
bool request_add_model(struct json *root, const char *path, struct error *error);
bool request_add_settings(struct json *root, const struct run_config *settings);

/* --- prune_state.c: the progress of a pruning, in the folder OUTPUT.prune ---
 *
 *   state.json                    the request and the steps, with a checksum
 *   NETWORK-stepK.safetensors     the model of step K as it was pruned
 *   NETWORK-tunedK.safetensors    the same after fine-tuning
 *
 * The folder is deleted when the output is complete. */

struct prune_state {
    char *folder, *path; /* of state.json */
    char *request;       /* the request as text, by which it is recognised */
    char network[NETWORK_NAME];
    double ms_before; /* with a goal of latency: the time of the model before; 0: not measured */
    struct prune_stage stages[PRUNE_MAX_STEPS];
    size_t count; /* steps that are pruned */
};

/* Reads the state of this request or, if there is none, makes the folder of a new one.
 * prune_state_free releases it. Returns false with an error, also if the folder has the state of
 * another request, unless this one replaces it. */
bool prune_state_open(struct prune_state *state, const struct prune_request *request,
                      const char *network, struct error *error);
void prune_state_free(struct prune_state *state); /* leaves it {0} */

/* Writes the state. Returns false with an error. */
bool prune_state_write(const struct prune_state *state, struct error *error);

/* Returns the path of the model of step `step`, from 0, which the caller frees; NULL with an error.
 */
char *prune_state_model(const struct prune_state *state, size_t step, bool tuned,
                        struct error *error);

/* Deletes the folder and its files. */
void prune_state_remove(const struct prune_state *state);

/* --- one step of a pruning, on a model in memory --- */

/* A model and the known facts about its channels. */
struct prune_subject {
    const char *path; /* of the model's file */
    struct model *model;
    struct channel_groups groups;
    double *importance; /* by group; NaN: it stays */
    bool later;         /* an earlier step made the model, whose name this step's name replaces */
};

/* The result of a step. Its model borrows device, class names and more from the subject's model. */
struct prune_candidate {
    struct model model;
    struct prune_selection selection;
    double ms; /* 0: not measured */
};

/* --- quantize_sample.c: some images of a data set, drawn at random, in memory --- */

struct sample_images {
    size_t count, values; /* images; numbers of an image */
    float *images;        /* [count, C, H, W], normalised as the model's training images */
    int32_t *labels;      /* [count] */
};

/* Reads `count` images, or all if there are fewer, of the set `spec`, from its training split
 * unless the spec names one. The seed alone determines which. Returns false with an error; call
 * sample_images_free in any case. */
bool sample_images_read(struct sample_images *sample, struct model *model, const char *spec,
                        size_t count, uint64_t seed, struct error *error);
void sample_images_free(struct sample_images *sample); /* may be {0} */

/* The accuracy and the loss of a network on a sample. */
struct sample_result {
    size_t images, right; /* right: the most probable class is the label */
    double loss;          /* mean cross-entropy of the softmax */
};

/* Computes the first `images` images of the sample. Returns false with an error. */
bool sample_images_evaluate(const struct sample_images *sample, size_t images,
                            const struct network *network, struct weights *weights,
                            struct device *device, struct sample_result *result,
                            struct error *error);

/* An observer computes the outputs of several nodes of a network at once. A plan reuses the memory
 * of values that nothing reads any more; therefore an observer computes a separate graph, in which
 * the observed values are also joined into one long vector, the output. */
struct observer {
    struct graph graph;
    struct plan *plan;
    struct execution *execution;
    size_t count;    /* observed nodes */
    size_t *offsets; /* [count + 1]: where the values of each begin in the vector of an image */
    size_t batch;
};

/* Returns the bytes of an observer without the weights; 0 if it cannot be planned. */
uint64_t observer_bytes(const struct graph *graph, const size_t *nodes, size_t count,
                        const struct device_driver *driver, size_t threads);

/* Makes an observer of nodes[0..count) of a graph without auxiliary heads. Device and weights are
 * borrowed. Call observer_close in any case. Returns false with an error. */
bool observer_open(struct observer *observer, const struct graph *graph, const size_t *nodes,
                   size_t count, struct device *device, struct weights *weights,
                   struct error *error);
void observer_close(struct observer *observer); /* may be {0} */

/* Computes images [first, first + count) of a sample, where count <= observer->batch. Returns the
 * vectors of the images, one after the other, which are valid until the next call. */
const float *observer_run(struct observer *observer, const struct sample_images *sample,
                          size_t first, size_t count);

/* --- a quantization in progress --- */

/* A network with its weights. */
struct made_network {
    struct network *network;
    struct weights weights;
};

struct quantize_state {
    const struct quantize_request *request;
    const struct technique_watch *watch;
    struct quantize_result *result;
    struct model model;         /* the original */
    struct made_network folded; /* without batch norms */
    struct sample_images sample;
    bool *layers; /* by node of the folded network: its weights are quantized */
    struct quantize_plan plan;
    struct sample_range *ranges;              /* by node */
    struct quantization *grids;               /* by node */
    struct made_network quantized, simulated; /* the result, and the same network with simulated
                                                 rounding, which shares the result's values */
};

/* Sets the ranges of all nodes to which the plan gives a grid, by the method. */
bool quantize_calibrate(struct quantize_state *state, struct error *error);

#endif
