/* prune_state.h: what a pruning has done so far, in the folder OUTPUT.prune. Internal to session/.
 *
 *   state.json                    the request and the steps, with a checksum
 *   NETWORK-stepK.safetensors     the model of step K as it was pruned
 *   NETWORK-tunedK.safetensors    the same after fine-tuning
 *
 * The folder is deleted when the output is complete. */
#ifndef TINCA_SESSION_COMPRESS_PRUNE_STATE_H
#define TINCA_SESSION_COMPRESS_PRUNE_STATE_H

#include "session/compress/prune.h"

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
 * another request. */
bool prune_state_open(struct prune_state *state, const struct prune_request *request,
                      const char *network, struct error *error);
void prune_state_free(struct prune_state *state); /* leaves it {0} */

/* Writes the state. Returns false with an error. */
bool prune_state_write(const struct prune_state *state, struct error *error);

/* Returns the path of the model of step `step`, from 0, which the caller frees; NULL with an error.
 */
char *prune_state_model(const struct prune_state *state, size_t step, bool tuned,
                        struct error *error);

/* Returns the path of the folder, which the caller frees; NULL if out of memory. */
char *prune_folder(const char *output);
/* Deletes the models in the folder, and half-written files. */
void prune_folder_empty(const char *path);

/* Deletes the folder and its files. */
void prune_state_remove(const struct prune_state *state);

#endif
