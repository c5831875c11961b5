/* prune.h: makes a trained model smaller by removing channels, and fine-tunes what remains.
 *
 * Pruning goes from a model file to another one in one or more steps. A step measures how important
 * the channels are, removes the least important ones until the model meets the step's target, and
 * fine-tunes the result in a run of its own, which is recorded like every run. The steps approach
 * the target evenly.
 *
 * What is done is stored in the folder OUTPUT.prune, until the output is complete: the same request
 * continues where an interrupted one stopped. A model whose values the steps have changed is saved
 * there, and each run is named, so that it is resumed.
 */
#ifndef TINCA_SESSION_COMPRESS_PRUNE_H
#define TINCA_SESSION_COMPRESS_PRUNE_H

#include "engine/compress/channel_groups.h"
#include "engine/compress/channel_importance.h"
#include "session/config/config.h"
#include "session/model/evaluate.h"
#include "session/record/run.h"
#include "session/values/statistics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum prune_goal { GOAL_FLOPS, GOAL_PARAMETERS, GOAL_LATENCY };

enum { PRUNE_MAX_STEPS = 100 };

struct prune_request {
    const char *model, *output; /* paths */
    enum channel_criterion criterion;
    enum prune_goal goal;
    double target; /* what remains, as a share in (0, 1); or milliseconds of one image */
    size_t steps;
    size_t batches;   /* that the Taylor criterion reads */
    const char *keep; /* patterns of layers that keep their channels (name_pattern.h); "": none */
    /* The device and, with data, the settings of fine-tuning, which is left out unless epochs or
     * iterations are given. With `validate` the accuracy is measured. */
    struct run_config config;
};

/* How the caller watches; all may block. */
struct prune_hooks {
    void *context;
    /* Returns false with an error to end the work. */
    bool (*go_on)(void *context, struct error *error);
    /* Is told what begins, a translated sentence. */
    void (*report)(void *context, const char *text);
    /* Follows a run until it is over. */
    void (*follow)(void *context, struct run *run);
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
    char run[512];              /* the folder of its fine-tuning; "": none */
    bool tuned;                 /* that is complete */
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

/* Checks a request before anything is opened. Returns false with an error. */
bool prune_check(const struct prune_request *request, struct error *error);

/* Prunes the model. Returns false with an error; the output is then as it was. */
bool prune_run(const struct prune_request *request, const struct prune_hooks *hooks,
               struct prune_result *result, struct error *error);
void prune_result_free(struct prune_result *result); /* leaves it {0} */

/* Deletes what a pruning that was killed when `output` was complete has left beside it. */
void prune_remove_leftovers(const char *output);

/* Returns whether the request has a fine-tuning. */
bool prune_tunes(const struct prune_request *request);

/* Writes the step that the chain of techniques gets: "prune:0.5", "prune:p0.5", "prune:2ms". */
char *prune_step_name(const struct prune_request *request, char *text, size_t size);

#endif
