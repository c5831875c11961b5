/* fine_tune.h: trains a model before or after a technique in a separate run, which is recorded like
 * every run; and how the caller of a technique watches it.
 *
 * Pruning, factorization and quantization, a student of a teacher and a model that is only trained
 * on use the same function with the same settings: those of a run, without its network and the
 * weights that it begins with, which are the model's.
 *
 * A training for a file can be continued: OUTPUT.run names its run until the file is complete. */
#ifndef TINCA_TRAINING_COMPRESS_FINE_TUNE_H
#define TINCA_TRAINING_COMPRESS_FINE_TUNE_H

#include "runs/record/run.h"
#include "runs/settings/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The functions with which the caller of a technique watches it. They may block. */
struct technique_watch {
    void *context;
    /* Reports the next step, a translated sentence (NULL: nothing new); it is called at least every
     * few seconds. Returns false with an error to end the work. */
    bool (*step)(void *context, const char *text, struct error *error);
    /* Follows a run until it is over. NULL: the run is waited for, and stopped once `step` asks for
     * the end. */
    void (*follow)(void *context, struct run *run);
};

/* Reports the next step (NULL: nothing new). Returns false with an error if the work should end. */
bool technique_watch_step(const struct technique_watch *watch, const char *text,
                          struct error *error);
/* Does the same as a progress function of an evaluation, whose context is the watch. */
bool technique_watch_poll(void *watch, uint64_t done, uint64_t of, struct error *error);

struct fine_tuning {
    const struct run_config *settings; /* those of TASK_FINE_TUNE */
    const char *model;                 /* the file with network and weights */
    const char *tag, *note;            /* of the run; note NULL: none */
    const char *output;                /* the file of the result; NULL: the run's folder has it */
    const char *request; /* everything that the result depends on, as text, by which an interrupted
                            training is recognised; NULL: the output's name is enough */
    bool replaces;       /* replaces an interrupted training for the output */
};

/* Returns whether the settings ask for a fine-tuning: epochs or iterations are given. */
bool fine_tune_is_wanted(const struct run_config *settings);

/* Returns whether the settings name the data of a fine-tuning; if not, sets the error. */
bool fine_tune_has_data(const struct run_config *settings, struct error *error);

/* Checks the fine-tuning of a model before anything is done: whether it has data, and whether its
 * settings contradict each other. Returns false with an error. */
bool fine_tune_check(const struct run_config *settings, const char *model, struct error *error);

/* Checks the layers that a fine-tuning freezes, or that have separate rates, against the model. If
 * `same`, the trained network has the same layers; otherwise it may have parts of them, which have
 * a dot in their names. Returns false with an error if a layer is not there. */
bool fine_tune_check_layers(const struct run_config *settings, const struct graph *graph, bool same,
                            struct error *error);

/* Returns false with an error if a given setting has no effect because nothing is trained. `used`
 * is the key of a setting that the technique uses (NULL: none); if `gradients`, it computes
 * gradients, and uses all settings that affect these. */
bool fine_tune_refuse_idle(const struct run_config *settings, const char *used, bool gradients,
                           struct error *error);

/* Starts the run. Returns NULL with an error. */
struct run *fine_tune_start(const struct fine_tuning *tuning, struct error *error);

/* Returns whether a setting may differ when a training is continued, because the resulting weights
 * do not depend on it. */
bool fine_tune_may_change(const struct config_field *field);

/* Resumes a run with the settings that are given. Returns NULL with an error. */
struct run *fine_tune_resume(const char *directory, const struct run_config *settings,
                             struct error *error);

/* Follows the run until it is over and frees it. Returns whether it is complete; if not, sets the
 * error, whose advice is `advice` if the run was stopped. */
bool fine_tune_finish(struct run *run, const struct technique_watch *watch, const char *advice,
                      struct error *error);

/* Sets *begun to whether an interrupted training for the output was begun with this request.
 * Returns false with an error if it was begun with another request, unless this request replaces
 * it. */
bool fine_tune_find(const struct fine_tuning *tuning, bool *begun, struct error *error);

#define FINE_TUNE_NOTE ".run" /* the ending of the file that names the run of an output */
enum { FINE_TUNE_RUN = 512 }; /* bytes of the path of a run's folder */

/* Trains the model and writes the output, or continues the run of an interrupted training, and sets
 * `run` to its folder. Returns false with an error; the output is then as it was. */
bool fine_tune_file(const struct fine_tuning *tuning, const struct technique_watch *watch,
                    char run[FINE_TUNE_RUN], struct error *error);

/* Copies the model of a complete run to the output: the last one or, as tinca train --save does
 * with the preset cifar, the best. A stopped run has a model, too, which is no result. Returns
 * false with an error. */
bool fine_tune_copy(const struct run_config *settings, const char *run, const char *output,
                    struct error *error);

/* Returns whether repeating the work after this error could succeed: it was interrupted, or there
 * was too little memory or room on the disk. */
bool fine_tune_was_cut_off(const struct error *error);

#endif
