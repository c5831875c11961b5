/* technique_step.h: techniques after training as steps of a chain, and their application by this
 * program's own commands, each as a child process.
 *
 * A step is KIND or KIND:ARGUMENT; `+` joins the steps of a chain, as in a network's name:
 *   quantize[:METHOD]       int8; METHOD: minmax, percentile, entropy, mse (tinca quantize)
 *   prune:SHARE             this share of the FLOPs remains (tinca prune)
 *   prune:pSHARE            ... of the parameters; prune:mSHARE: weights set to zero, unstructured
 *   prune:MSms              one image takes at most so long
 *   factorize[:ENERGY]      layers as products (tinca factorize); pSHARE and MSms as above. With
 *                           epochs, tinca train trains them on
 *   distill:TEACHER.safetensors   trained on with a teacher (tinca train --teacher)
 *   tune                    trained on, without a technique
 *   half[:FORMAT]           weights in 16 bits; FORMAT: float16, bf16 (tinca weights)
 *
 * The command reads a model file and writes another one, as a whole or not at all. */
#ifndef TINCA_SESSION_MODELS_TECHNIQUE_STEP_H
#define TINCA_SESSION_MODELS_TECHNIQUE_STEP_H

#include "base/error.h"
#include "session/config/config.h"

#include <stdbool.h>
#include <stddef.h>

enum { TECHNIQUE_CHAIN = 400, TECHNIQUE_STEPS = 8, TECHNIQUE_WORDS = 40, TECHNIQUE_TEXTS = 20 };

struct technique_chain {
    char text[TECHNIQUE_CHAIN]; /* the steps, each ended by a NUL */
    const char *steps[TECHNIQUE_STEPS];
    size_t count;
};

/* Splits a chain and checks its steps. Returns false with an error that names the step. */
bool technique_chain_read(struct technique_chain *chain, const char *text, struct error *error);

/* Returns whether the step trains, so that its result depends on the number of epochs. */
bool technique_step_trains(const char *step);

/* Returns whether the step cannot be applied without data. */
bool technique_step_needs_data(const char *step);

/* What a step is applied to. */
struct technique_target {
    const char *input, *output; /* model files */
    const char *data;           /* SPEC of the training data */
    const char *validate;       /* SPEC of the validation data; "" or NULL: none */
    const char *device;         /* NULL: cpu */
    size_t threads;             /* 0: all cores */
    size_t epochs;              /* of fine-tuning; 0: none, of distill 1 */
    size_t seed;
    const struct run_config *config; /* whose batch, solver, rate ... fine-tuning takes; NULL: the
                                        defaults */
};

/* A command line: words[0] is "tinca". */
struct technique_command {
    const char *words[TECHNIQUE_WORDS + 1]; /* ends with NULL */
    size_t count;
    char texts[TECHNIQUE_TEXTS][TECHNIQUE_CHAIN]; /* words that are made, not borrowed */
    size_t text_count;
};

/* Makes the command that applies a step, which borrows the texts of the target. */
void technique_command_make(struct technique_command *command, const char *step,
                            const struct technique_target *target);
/* Makes the command that trains the model `input` of a target on, for its epochs. */
void technique_command_tune(struct technique_command *command,
                            const struct technique_target *target);

/* How a command is run. */
struct technique_run {
    const char *log;             /* file of the output, messages included; NULL: none */
    bool (*stop)(void *context); /* whether to stop; NULL: never */
    void *context;
    double seconds; /* after which it is stopped; 0: no limit */
    bool own_group; /* the terminal's signals do not reach the command */
};

/* Returns whether an error says that a step was cut off, and would succeed when it is repeated: a
 * signal ended or stopped its command, or there was too little memory or room on the disk. */
bool technique_was_cut_off(const struct error *error);

/* The exit status by which a command says to technique_apply, and to no other process, that there
 * was too little memory for it. */
enum { STEP_MEMORY = 3 };

/* Returns whether technique_apply of another process has started this one. */
bool technique_step_is_child(void);

/* Applies a step and waits for its end. If the output exists, the step is done: what a command that
 * was killed after it has left beside it is deleted. A command that is to stop gets SIGTERM, so
 * that it can save, and SIGKILL if it goes on for long; it does not survive this process. A
 * training that was cut off goes on with its run, which OUTPUT.run names meanwhile. Returns false
 * with an error: of kind ERROR_INTERRUPTED if it was stopped or killed, of kind ERROR_MEMORY if it
 * was killed or refused for memory, else with the message of the command. */
bool technique_apply(const char *step, const struct technique_target *target,
                     const struct technique_run *run, struct error *error);

#endif
