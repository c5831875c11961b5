/* observer.h: computes the outputs of several nodes of a network at once. Internal to session/.
 *
 * A plan reuses the memory of values that nothing reads any more. An observer therefore computes a
 * graph of its own, in which the observed values are also joined into one long vector, the output.
 */
#ifndef TINCA_SESSION_COMPRESS_OBSERVER_H
#define TINCA_SESSION_COMPRESS_OBSERVER_H

#include "engine/execution/execution.h"
#include "session/compress/sample_images.h"

struct observer {
    struct graph graph;
    struct plan *plan;
    struct execution *execution;
    size_t count;    /* observed nodes */
    size_t *offsets; /* [count + 1]: where the values of each begin in the vector of an image */
    size_t batch;
};

/* Returns the bytes of an observer without the weights; 0 if it cannot be planned. */
uint64_t observer_bytes(const struct graph *graph, const size_t *nodes, size_t count,
                        const struct device_driver *driver, size_t threads);

/* Makes an observer of nodes[0..count) of a graph without auxiliary heads. Device and weights are
 * borrowed. Call observer_close in any case. Returns false with an error. */
bool observer_open(struct observer *observer, const struct graph *graph, const size_t *nodes,
                   size_t count, struct device *device, struct weights *weights,
                   struct error *error);
void observer_close(struct observer *observer); /* may be {0} */

/* Computes images [first, first + count) of a sample, where count <= observer->batch. Returns the
 * vectors of the images, one after the other, which are valid until the next call. */
const float *observer_run(struct observer *observer, const struct sample_images *sample,
                          size_t first, size_t count);

#endif
