/* prune.h: makes a trained model smaller by removing channels, and fine-tunes the rest.
 *
 * Pruning goes from a model file to another one in one or more steps. A step measures how important
 * the channels are, removes the least important ones until the model meets the step's target, and
 * fine-tunes the result in a separate run, which is recorded like every run. The steps approach the
 * target evenly.
 *
 * The folder OUTPUT.prune records the complete steps until the output is complete: the same request
 * continues where an interrupted one stopped. A model whose values the steps have changed is saved
 * there, and each run is named, so that it is resumed.
 */
#ifndef TINCA_TRAINING_COMPRESS_PRUNE_H
#define TINCA_TRAINING_COMPRESS_PRUNE_H

#include "engine/compress/channel_groups.h"
#include "engine/compress/channel_importance.h"
#include "models/saved/evaluate.h"
#include "runs/values/statistics.h"
#include "training/compress/fine_tune.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum prune_goal { GOAL_FLOPS, GOAL_PARAMETERS, GOAL_LATENCY };

enum { PRUNE_MAX_STEPS = 100, PRUNE_BATCHES = 10 }; /* batches of the criterion taylor */

struct prune_request {
    const char *model, *output; /* paths */
    enum channel_criterion criterion;
    enum prune_goal goal;
    double target; /* the share that remains, in (0, 1); or milliseconds of one image */
    size_t steps;
    size_t batches;   /* batches for the Taylor criterion */
    const char *keep; /* patterns of layers that keep their channels (name_pattern.h); "": none */
    enum weights_format format; /* of the output, if it is not fine-tuned */
    bool replaces;              /* replaces an interrupted pruning to the output */
    /* The device and, with data, the settings of fine-tuning, which is skipped unless epochs or
     * iterations are given. With `validate` the accuracy is measured. */
    struct run_config config;
};

/* Figures of a model. */
struct prune_figures {
    uint64_t flops;
    size_t parameters;
    uint64_t bytes;             /* of the file */
    struct statistics ms;       /* of one image, both models measured in turn */
    struct evaluation accuracy; /* valid with prune_result.evaluated */
};

struct prune_layer {
    char name[NODE_NAME_SIZE];
    size_t before, after;   /* channels */
    enum channel_hold hold; /* why all of its channels stay; free: some could be removed */
    char holder[NODE_NAME_SIZE];
};

struct prune_stage {
    uint64_t flops, parameters; /* after pruning */
    double ms;                  /* with a goal of latency; else 0 */
    char run[FINE_TUNE_RUN];    /* the folder of its fine-tuning; "": none */
    bool tuned;                 /* the fine-tuning is complete */
};

struct prune_result {
    char network[NETWORK_SHORT_NAME + 64]; /* the pruned network's name, with its chain */
    char device[DEVICE_NAME_SIZE];
    size_t threads;
    bool evaluated;
    struct prune_figures before, after;
    struct prune_stage stages[PRUNE_MAX_STEPS];
    size_t stage_count;
    size_t free_groups, held_groups; /* of channels, in the model before */
    struct prune_layer *layers;      /* convolutions and linear layers */
    size_t layer_count;
};

/* Prunes the model. Returns false with an error; the output is then as it was. */
bool prune_run(const struct prune_request *request, const struct technique_watch *watch,
               struct prune_result *result, struct error *error);
void prune_result_free(struct prune_result *result); /* leaves it {0} */

/* Deletes the files that a pruning left beside `output` if it was killed just after completing it.
 */
void prune_remove_leftovers(const char *output);

/* Writes the step for the chain of techniques: "prune:0.5", "prune:p0.5", "prune:2ms". */
char *prune_step_name(const struct prune_request *request, char *text, size_t size);

/* --- unstructured pruning ---
 *
 * The smallest weights become zero (engine/compress/magnitude.h). The result shows the real
 * savings: bytes of a compressed file, but no time, since a kernel multiplies by zero as fast as by
 * any number. */

struct magnitude_request {
    const char *model, *output;
    double share; /* of the weights that become zero, in (0, 1) */
    const char *device;
    size_t threads;
    const char *validate; /* the set on which both are evaluated; "": none */
};

struct magnitude_result {
    char network[NETWORK_SHORT_NAME + 64];
    uint64_t weights, zeros; /* of convolutions and linear layers */
    uint64_t bytes[2],
        compressed[2];       /* of the file before and after, plain and by zlib (level 6) */
    struct statistics ms[2]; /* of one image, measured in turn */
    bool evaluated;
    struct evaluation accuracy[2];
};

/* Writes the output and measures both models. Returns false with an error; if the output could not
 * be written, it is as it was. */
bool magnitude_run(const struct magnitude_request *request, const struct technique_watch *watch,
                   struct magnitude_result *result, struct error *error);

#endif
