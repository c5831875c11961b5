/* prune_tune.h: the fine-tuning of one step, in a run of its own. Internal to session/. */
#ifndef TINCA_SESSION_COMPRESS_PRUNE_TUNE_H
#define TINCA_SESSION_COMPRESS_PRUNE_TUNE_H

#include "session/compress/prune_state.h"

/* Trains the model of a step, from 0, or resumes its run, and saves the result. Notes what it does
 * in the state. Returns false with an error, also if the run was stopped. */
bool prune_tune(struct prune_state *state, size_t step, const struct prune_request *request,
                const struct prune_hooks *hooks, struct error *error);

#endif
