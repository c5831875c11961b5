/* weights.h: a graph's values, and files of them.
 *
 * Files are safetensors: 8 bytes little-endian length, a JSON header {"name": {"dtype": "F32",
 * "shape": [...], "data_offsets": [begin, end]}, "__metadata__": {text: text}}, then the data.
 * Names and layouts are PyTorch's, so that its `safetensors` reads them as a state_dict.
 */
#ifndef TINCA_ENGINE_WEIGHTS_WEIGHTS_H
#define TINCA_ENGINE_WEIGHTS_WEIGHTS_H

#include "base/error.h"
#include "engine/graph/graph.h"

#include <stddef.h>
#include <stdint.h>

struct device;
struct device_buffer;
struct pool;

/* The values lie in the host's memory. A device with memory of its own works on a copy, made when
 * the first execution needs it: weights_fetch before they are read, weights_mark_changed after they
 * were written. */
struct weights {
    const struct graph *graph;    /* borrowed */
    float *values;                /* graph->total_floats; padding is zero */
    struct device_buffer *buffer; /* the device's copy; NULL: there is none */
};

bool weights_create(struct weights *weights, const struct graph *graph, struct error *error);
/* Before the device that has a copy is closed. */
void weights_free(struct weights *weights);

/* Where the device's kernels find the values; makes its copy if it needs one. A second device with
 * memory of its own is refused. */
float *weights_on_device(struct weights *weights, struct device *device, struct error *error);

/* Brings `values` up to date with the device's copy. False when the device failed. */
bool weights_fetch(const struct weights *weights, struct error *error);

/* `values` were changed: the device takes them over before it next computes. */
void weights_mark_changed(struct weights *weights);

/* Draws the initial values from `seed`; `pool` may be NULL. The same bits for any pool. */
void weights_initialise(struct weights *weights, uint64_t seed, struct pool *pool);

/* Fetches and writes all parameters and running statistics, with a checksum. `metadata` is keys and
 * values in turn, NULL-ended.
 */
bool weights_save(const struct weights *weights, const char *path, const char *const *metadata,
                  struct error *error);

/* Reads and touches every parameter of the graph; a missing name or another shape is an error that
 * names it, and so is a wrong checksum where the file carries one. */
bool weights_load(struct weights *weights, const char *path, struct error *error);

#endif
