/* weights.h: a graph's values, and files of them.
 *
 * Files are safetensors: 8 bytes little-endian length, a JSON header {"name": {"dtype": "F32",
 * "shape": [...], "data_offsets": [begin, end]}, "__metadata__": {text: text}}, then the data.
 * Names and layouts are PyTorch's, so that its `safetensors` reads them as a state_dict.
 */
#ifndef TINCA_ENGINE_WEIGHTS_H
#define TINCA_ENGINE_WEIGHTS_H

#include "base/error.h"
#include "engine/graph.h"

#include <stddef.h>
#include <stdint.h>

struct pool;

struct weights {
    const struct graph *graph; /* borrowed */
    float *values;             /* graph->total_floats; padding is zero */
};

bool weights_create(struct weights *weights, const struct graph *graph, struct error *error);
void weights_free(struct weights *weights);

/* Draws the initial values from `seed`; `pool` may be NULL. The same bits for any pool. */
void weights_initialise(struct weights *weights, uint64_t seed, struct pool *pool);

/* Writes all parameters and running statistics. `metadata` is keys and values in turn, NULL-ended.
 */
bool weights_save(const struct weights *weights, const char *path, const char *const *metadata,
                  struct error *error);

/* Reads every parameter of the graph; a missing name or another shape is an error that names it. */
bool weights_load(struct weights *weights, const char *path, struct error *error);

#endif
