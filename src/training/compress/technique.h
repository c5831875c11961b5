/* technique.h: techniques after training as steps of a chain, and their application to model files.
 *
 * A step is KIND or KIND:ARGUMENT; `+` joins the steps of a chain, as in a network's name:
 *   quantize[:METHOD]       int8; METHOD: minmax, percentile, entropy, mse
 *   prune:SHARE             this share of the FLOPs remains
 *   prune:pSHARE            ... of the parameters; prune:mSHARE: weights set to zero, unstructured
 *   prune:MSms              one image takes at most so long
 *   factorize[:ENERGY]      layers as products; pSHARE and MSms as above
 *   distill:TEACHER.safetensors   trained on with a teacher
 *   tune                    trained on, without a technique
 *   half[:FORMAT]           weights in 16 bits; FORMAT: float16, bf16
 *
 * A step reads a model file and writes another one, as a whole or not at all. */
#ifndef TINCA_TRAINING_COMPRESS_TECHNIQUE_H
#define TINCA_TRAINING_COMPRESS_TECHNIQUE_H

#include "engine/weights/weights.h"
#include "training/compress/fine_tune.h"

#include <stdbool.h>
#include <stddef.h>

enum { TECHNIQUE_CHAIN = 400, TECHNIQUE_STEPS = 8 };

struct technique_chain {
    char text[TECHNIQUE_CHAIN]; /* the steps, each ended by a NUL */
    const char *steps[TECHNIQUE_STEPS];
    size_t count;
};

/* Splits a chain and checks its steps. Returns false with an error that names the step. */
bool technique_chain_read(struct technique_chain *chain, const char *text, struct error *error);

/* The argument of a step is the share of the FLOPs or of the energy of singular values that remains
 * (TECHNIQUE_PLAIN), the share of the parameters that remains, the share of the weights that become
 * zero, or the milliseconds of one image. */
enum technique_goal { TECHNIQUE_PLAIN, TECHNIQUE_PARAMETERS, TECHNIQUE_ZEROS, TECHNIQUE_TIME };

/* Returns the goal of the argument of a step prune or factorize, and sets *value to its number. */
enum technique_goal technique_goal_of(const char *argument, double *value);

/* Returns whether a step is of this kind, and sets *argument to its argument, "" if it has none. */
bool technique_step_is(const char *step, const char *kind, const char **argument);

/* Returns whether the step trains, so that its result depends on the number of epochs. */
bool technique_step_trains(const char *step);

/* Returns whether the step cannot be applied without data. */
bool technique_step_needs_data(const char *step);

/* Returns the number of a name in a list that ends with NULL; `otherwise` if it is not there. */
size_t technique_choice(const char *name, const char *const *names, size_t otherwise);

/* --- technique_apply.c --- */

/* The model and the settings that a step is applied with. */
struct technique_target {
    const char *input, *output; /* model files */
    /* The data and the validation data ("": none), device, threads, seed, and all settings of a
     * fine-tuning; without epochs there is none, except that distill and tune train for one. */
    const struct run_config *settings;
};

/* Applies a step. If the output exists, the step is complete: leftovers of a process that was
 * killed after it are deleted. A training that was cut off continues its run, which OUTPUT.run
 * names meanwhile, or for prune the folder OUTPUT.prune. The list of models gets the output.
 * Returns false with an error: of kind ERROR_INTERRUPTED if the watch ended it. */
bool technique_apply(const char *step, const struct technique_target *target,
                     const struct technique_watch *watch, struct error *error);

/* Writes the model of the file `path` with weights in this format; its name gets the step
 * half:FORMAT. Running statistics, and arrays that float16 cannot hold, stay float32. Returns false
 * with an error if the file is no model; an existing file `output` is then as it was. */
bool half_model_save(const char *path, enum weights_format format, const char *output,
                     struct error *error);

#endif
