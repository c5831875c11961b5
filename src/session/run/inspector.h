/* inspector.h: the worker's looks inside its own run, on demand (COMMAND_INSPECT). Internal to
 * session/.
 *
 * A look begins before an iteration and lasts 16 of them or a second on the wall, whichever is
 * less, and one at the least. Profiles are attached to the executions, which changes no number, and
 * the first iteration's weights are measured. Without a look an iteration asks inspector_is_on and
 * that is all.
 */
#ifndef TINCA_SESSION_RUN_INSPECTOR_H
#define TINCA_SESSION_RUN_INSPECTOR_H

#include "session/run/prepare.h"
#include "session/values/inspection.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inspector {
    struct inspection *made; /* not complete yet; NULL: nobody has asked */
    struct profile *profiles[INSPECTION_NETWORKS];
    float *before[INSPECTION_NETWORKS]; /* the weights before the first step; NULL: no room */
    uint64_t began, step_began;         /* clock_nanoseconds; 0: not yet */
};

static inline bool inspector_is_on(const struct inspector *inspector)
{
    return inspector->made != NULL;
}

/* Begins a look, unless one is on. False when memory is out: nothing is on then. */
bool inspector_begin(struct inspector *inspector, struct preparation *prepared, uint64_t iteration,
                     struct error *error);

/* Around each step while a look is on. Each returns the nanoseconds it took for itself, which are
 * not the iteration's. */
uint64_t inspector_before(struct inspector *inspector, struct preparation *prepared);
uint64_t inspector_after(struct inspector *inspector, struct preparation *prepared, size_t images);

/* Whether enough was measured; `last`: no further iteration will come. */
bool inspector_is_complete(const struct inspector *inspector, bool last);

/* Ends a look and hands out what it saw; the caller frees it. NULL with an error: memory is out. */
struct inspection *inspector_end(struct inspector *inspector, struct preparation *prepared,
                                 struct error *error);

/* Ends a look without a result; to be called before the preparation is freed. */
void inspector_abandon(struct inspector *inspector, struct preparation *prepared);

#endif
