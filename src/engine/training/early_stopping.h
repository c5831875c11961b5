/* early_stopping.h: ends a run whose validations have stopped getting better (Prechelt 1998).
 *
 * A validation is better than all before it if its loss is lower than the lowest so far by more
 * than `change`, or its accuracy higher than the highest. The run ends with validation number
 * `patience` in a row that is not.
 */
#ifndef TINCA_ENGINE_TRAINING_EARLY_STOPPING_H
#define TINCA_ENGINE_TRAINING_EARLY_STOPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum early_stopping_metric { EARLY_STOPPING_LOSS, EARLY_STOPPING_TOP1, EARLY_STOPPING_METRICS };

/* The names of the metrics, by enum early_stopping_metric, then NULL. */
extern const char *const early_stopping_names[EARLY_STOPPING_METRICS + 1];

struct early_stopping_settings {
    enum early_stopping_metric metric;
    size_t patience; /* validations; 0: the run is never ended */
    double change;   /* of the loss, or percentage points of top-1 */
};

/* The state that a checkpoint must hold to resume. */
struct early_stopping_state {
    double best;    /* NaN: no validation yet */
    uint64_t stale; /* validations since the best one */
};

/* Returns the state at the start of a run. */
struct early_stopping_state early_stopping_begin(void);

/* Updates the state with the loss and the top-1 accuracy (percent) of a validation. A NaN is not
 * better than anything. Returns false if the run ends with it. */
bool early_stopping_step(const struct early_stopping_settings *settings,
                         struct early_stopping_state *state, double loss, double top1);

#endif
