/* fork.h: a new run that begins with the weights of another one, its ancestor, and other settings.
 *
 * If the changed settings do not affect the meaning of an iteration and the solver's state (rate,
 * schedule, length, seed, ...), the fork continues from a checkpoint: it begins with a copy of the
 * ancestor's curves up to there, continues its count of iterations, and its length is the total.
 * With unchanged settings it gives the bits of a resumed run. Otherwise, or from a saved model, it
 * takes the weights alone: the solver's state is new, and iterations count from zero. Settings that
 * give the weights other shapes or another meaning are refused.
 *
 * Everything that the fork needs is copied into its folder, so the ancestor can be deleted. */
#ifndef TINCA_TRAINING_FORK_H
#define TINCA_TRAINING_FORK_H

#include "runs/settings/config.h"
#include "runs/values/run_facts.h"

/* The files of the ancestor that a fork can begin with. */
enum fork_source {
    FORK_LAST,     /* checkpoint.safetensors */
    FORK_PREVIOUS, /* checkpoint.previous.safetensors */
    FORK_FINAL,    /* weights.safetensors */
    FORK_BEST,     /* best.safetensors */
    FORK_SOURCES
};
extern const char *const fork_source_names[FORK_SOURCES + 1]; /* "last", ..., then NULL */

struct fork_request {
    char directory[512]; /* the ancestor's; "": no fork */
    enum fork_source source;
};

/* Returns whether the ancestor's folder has this file. */
bool fork_has(const char *directory, enum fork_source source);

/* Reads "RUN" or "RUN@SOURCE". Without @ it takes the first source that the folder has. Returns
 * false with an error. */
bool fork_parse(const char *text, struct fork_request *request, struct error *error);

/* Reads the settings of the ancestor. Returns false with an error. */
bool fork_read_config(const struct fork_request *request, struct run_config *config,
                      struct error *error);

/* Fills *fork for a run with these settings. Returns false with an error if a changed setting does
 * not go with the ancestor's weights, or the file cannot be used. */
bool fork_plan(const struct fork_request *request, const struct run_config *config,
               struct run_fork *fork, struct error *error);

/* Copies the files of the checkpoint that the fork needs into its folder `directory`, and sets
 * fork->iteration to that of the copy. Returns false with an error, and leaves no copies then. */
bool fork_copy(const struct fork_request *request, const char *directory, struct run_fork *fork,
               struct error *error);

#endif
