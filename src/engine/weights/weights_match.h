/* weights_match.h: begins a training with weights from a file, by name and shape. */
#ifndef TINCA_ENGINE_WEIGHTS_WEIGHTS_MATCH_H
#define TINCA_ENGINE_WEIGHTS_WEIGHTS_MATCH_H

#include "engine/weights/weights.h"

/* What of a file and a network fits. */
struct weights_match {
    size_t loaded;     /* arrays that were read from the file */
    size_t reset;      /* arrays of the network that keep their initial values */
    size_t unused;     /* arrays of the file that the network has no place for */
    char example[128]; /* the name of one of these */
};

/* Reads the parameters and running statistics of the graph from a safetensors file, without those
 * that the patterns `reset` match (engine/graph/name_pattern.h): they keep their values. Returns
 * false with an error that names what is missing or has another shape; the weights are then
 * undefined. */
bool weights_begin(struct weights *weights, const char *path, const char *reset,
                   struct weights_match *match, struct error *error);

#endif
