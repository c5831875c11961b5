/* caffe_exporter.h: the state of an export. Internal to this folder. */
#ifndef TINCA_SESSION_CAFFE_EXPORTER_H
#define TINCA_SESSION_CAFFE_EXPORTER_H

#include "base/text.h"
#include "session/caffe/caffe.h"
#include "session/caffe/caffe_binary.h"
#include "session/caffe/caffe_tree.h"

struct caffe_exporter {
    const struct graph *graph;
    const struct weights *weights; /* NULL: no binary file */
    struct text text;              /* of the .prototxt file */
    struct caffe_tree memory;      /* of names and changed arrays */
    struct caffe_written_layer *layers;
    size_t layer_count, layer_capacity;
    const char **tops; /* by node: the name of its output */
    struct error *error;
};

/* Begins a layer that reads `bottoms`, and returns it: its type, name and bottoms are in the text,
 * its parameters are to follow. NULL if memory runs out. */
struct caffe_written_layer *caffe_begin_layer(struct caffe_exporter *ex, const char *type,
                                              const char *name, const char *const *bottoms,
                                              size_t count);

/* Ends the layer in the text. */
void caffe_end_layer(struct caffe_exporter *ex);

/* Appends an array to a layer; NULL as the layer, or no weights: does nothing. */
void caffe_add_blob(const struct caffe_exporter *ex, struct caffe_written_layer *layer,
                    const float *values, const size_t *dims, size_t rank);

/* Appends parameter `k` of a node. */
void caffe_add_parameter(const struct caffe_exporter *ex, struct caffe_written_layer *layer,
                         const struct node *node, size_t k);

/* Writes a node as one or two layers. Returns false with an error if Caffe lacks it. */
bool caffe_export_node(struct caffe_exporter *ex, size_t number);

#endif
