/* inspector.h: inspections of a training, on demand (COMMAND_INSPECT) and at its end: time per
 * layer, and weights. Internal to session/.
 *
 * An inspection lasts 16 iterations or one second, whichever is shorter, but at least one
 * iteration. It attaches profiles to the executions, which changes no result, and measures the
 * weights of the first iteration if that is asked for. Otherwise an iteration only calls
 * inspector_is_active.
 */
#ifndef TINCA_SESSION_PREPARE_INSPECTOR_H
#define TINCA_SESSION_PREPARE_INSPECTOR_H

#include "session/prepare/prepare.h"
#include "session/values/inspection.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INSPECTOR_ITERATIONS = 16, INSPECTOR_SECONDS = 1 }; /* at most */

struct inspector_request {
    uint64_t done;  /* iterations before the first one that is measured */
    bool weights;   /* measure the weights as well */
    bool until_end; /* the run ends within INSPECTOR_ITERATIONS: do not end after a second */
    bool after_end; /* see struct inspection */
};

struct inspector {
    struct inspection *made; /* the inspection in progress; NULL: none */
    struct profile *profiles[INSPECTION_NETWORKS];
    float *before[INSPECTION_NETWORKS]; /* the weights before the first step; NULL: not enough
                                           memory */
    bool weights, until_end;            /* as requested */
    uint64_t began, step_began;         /* clock_nanoseconds; 0: not begun */
};

static inline bool inspector_is_active(const struct inspector *inspector)
{
    return inspector->made != NULL;
}

/* Begins an inspection, unless one is in progress. Returns false with an error if out of
 * memory. */
bool inspector_begin(struct inspector *inspector, struct preparation *prepared,
                     const struct inspector_request *request, struct error *error);

/* Returns the seconds within which the weights can be measured, as a generous estimate. */
double inspector_weights_seconds(const struct preparation *prepared);

/* Call these before and after each step during an inspection. They return the nanoseconds that they
 * took, which do not belong to the iteration. */
uint64_t inspector_before(struct inspector *inspector, struct preparation *prepared);
uint64_t inspector_after(struct inspector *inspector, struct preparation *prepared, size_t images);

/* Returns whether enough was measured; set `last` if no iteration will follow. */
bool inspector_is_complete(const struct inspector *inspector, bool last);

/* Ends an inspection and returns its result, which the caller frees; NULL with an error if out of
 * memory. */
struct inspection *inspector_end(struct inspector *inspector, struct preparation *prepared,
                                 struct error *error);

/* Ends an inspection without a result. Call it before the preparation is freed. */
void inspector_abandon(struct inspector *inspector, struct preparation *prepared);

#endif
