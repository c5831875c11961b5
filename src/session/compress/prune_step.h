/* prune_step.h: one step of a pruning, on a model in memory. Internal to session/. */
#ifndef TINCA_SESSION_COMPRESS_PRUNE_STEP_H
#define TINCA_SESSION_COMPRESS_PRUNE_STEP_H

#include "engine/compress/prune_selection.h"
#include "session/compress/prune.h"

/* A model and what is known about its channels. */
struct prune_subject {
    const char *path; /* of the model's file */
    struct model *model;
    struct channel_groups groups;
    double *importance; /* by group; NaN: it stays */
    bool later;         /* an earlier step made the model: the name of this one replaces its name */
};

/* Sets keep[] to true for the layers that these patterns name; "": none. Returns false with an
 * error if a pattern names none. */
bool prune_mark_kept(const struct graph *graph, const char *patterns, bool *keep,
                     struct error *error);

/* Finds the groups, and how important they are. prune_subject_free releases the subject. Returns
 * false with an error, also if no channel can be removed. */
bool prune_subject_open(struct prune_subject *subject, const char *path, struct model *model,
                        const struct prune_request *request, const struct prune_hooks *hooks,
                        struct error *error);
void prune_subject_free(struct prune_subject *subject); /* leaves it {0}, not the model */

/* The result of a step. Its model borrows device, class names and more from the subject's. */
struct prune_candidate {
    struct model model;
    struct prune_selection selection;
    double ms; /* 0: not measured */
};

/* Removes groups until at most `limit` FLOPs or parameters remain. `name` is the step of the
 * network's chain, NULL: it has it already. prune_candidate_free releases the result. */
bool prune_to_limit(const struct prune_subject *subject, enum prune_measure measure, uint64_t limit,
                    const char *name, struct prune_candidate *candidate, struct error *error);

/* Removes groups until one image takes at most `ms` milliseconds: looks for the largest share of
 * the FLOPs that does, by bisection. */
bool prune_to_latency(const struct prune_subject *subject, double ms, const char *name,
                      const struct prune_hooks *hooks, struct prune_candidate *candidate,
                      struct error *error);
void prune_candidate_free(struct prune_candidate *candidate); /* leaves it {0} */

#endif
