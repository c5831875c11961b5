/* caffe_importer.h: the state of an import, and its parts. Internal to this folder.
 *
 * An import goes through the layers of a file once, in their order. Caffe's layers name the values
 * that they read ("bottom") and write ("top"); a layer whose top is its bottom works in place, and
 * the name then stands for the later value. For every array of weights of tinca's graph the import
 * notes which array of which layer it comes from; they are read when the files are written.
 */
#ifndef TINCA_SESSION_CAFFE_IMPORTER_H
#define TINCA_SESSION_CAFFE_IMPORTER_H

#include "base/error.h"
#include "engine/graph/graph.h"
#include "engine/graph/name_index.h"
#include "session/caffe/caffe.h"
#include "session/caffe/caffe_binary.h"
#include "session/caffe/caffe_tree.h"

enum { CAFFE_MAX_LAYERS = 8192, CAFFE_MAX_SIDE = 65536, CAFFE_MAX_LOSSES = 16 };

enum caffe_value_kind {
    CAFFE_UNKNOWN, /* a layer has computed it that tinca lacks */
    CAFFE_NODE,    /* the output of `node` */
    CAFFE_LABEL,   /* the labels of the batch, or what else is no image */
    CAFFE_RESULT   /* a loss or an accuracy, which no layer may read */
};

/* What a name stands for after the layers so far. */
struct caffe_value {
    const char *name;
    enum caffe_value_kind kind;
    size_t node;
};

/* How an array of tinca is made of one of Caffe. */
enum caffe_copy {
    CAFFE_COPY,
    CAFFE_REPEAT,    /* one value for all */
    CAFFE_TRANSPOSE, /* [I, O] */
    CAFFE_STATISTIC, /* divided by the one value of array 2, and 0 if that is 0 */
    CAFFE_DEFAULT    /* as the layer begins, whatever the file has */
};

struct caffe_source { /* of a parameter of the graph */
    const char *layer;
    size_t blob;
    enum caffe_copy copy;
};

struct caffe_loss {
    size_t node;
    float weight;
    const char *name;
};

struct caffe_importer {
    const struct caffe_import_request *request;
    struct caffe_import_result *result;
    const char *path; /* of the file with the network */
    struct error *error;
    bool failed; /* error is set */
    struct caffe_tree tree;
    struct caffe_model *model; /* NULL: no weights */
    const struct caffe_field **layers;
    size_t layer_count;
    struct caffe_value *values;
    size_t value_count, value_capacity;
    struct name_index names;
    struct graph graph;
    bool has_input;
    size_t batch; /* images that the file's network takes at once; 0: it does not say */
    bool *read;   /* by node: a layer reads it */
    size_t read_capacity;
    struct caffe_source *sources; /* by parameter of the graph */
    size_t source_capacity;
    struct caffe_loss losses[CAFFE_MAX_LOSSES];
    size_t loss_count;
    const struct caffe_field *transform; /* what the file says about its images; NULL: nothing */
};

/* --- caffe_values.c --- */

/* Sets the error about a layer or another part of the file, once; returns false. `why` is marked
 * N_. */
bool caffe_damaged(struct caffe_importer *im, const struct caffe_field *field, const char *what,
                   const char *why);

/* Records that tinca lacks a layer, and that its tops are unknown. Returns false. */
bool caffe_lacks(struct caffe_importer *im, const struct caffe_field *layer, const char *why);

/* Returns the name of a layer, "" if it has none. */
const char *caffe_layer_name(const struct caffe_field *layer);

/* Returns the value of this name, or NULL. */
struct caffe_value *caffe_find_value(const struct caffe_importer *im, const char *name);

/* Sets what a name stands for from now on. Returns false if memory runs out. */
bool caffe_set_value(struct caffe_importer *im, const char *name, enum caffe_value_kind kind,
                     size_t node);

/* Sets the node that bottom `k` of a layer stands for. Returns false with an error if there is
 * none. */
bool caffe_input(struct caffe_importer *im, const struct caffe_field *layer, size_t k,
                 size_t *node);

/* Returns the shape of a node's output. */
struct shape caffe_shape(const struct caffe_importer *im, size_t node);

/* Adds a node that computes a layer, named after it and `suffix` (NULL: none). Returns false with
 * an error. */
bool caffe_add(struct caffe_importer *im, const struct caffe_field *layer, const char *suffix,
               const struct op *op, const size_t *inputs, size_t count,
               const union attributes *attributes, size_t *added);

/* The same for the last node of a layer, which its top then stands for. */
bool caffe_add_top(struct caffe_importer *im, const struct caffe_field *layer, const struct op *op,
                   const size_t *inputs, size_t count, const union attributes *attributes,
                   size_t *added);

/* Notes where parameter `k` of a node comes from. */
void caffe_set_source(struct caffe_importer *im, size_t node, size_t k,
                      const struct caffe_field *layer, size_t blob, enum caffe_copy copy);

/* --- fields; each returns `otherwise` if there is none, or if the import has failed --- */

size_t caffe_get_count(struct caffe_importer *im, const struct caffe_field *message,
                       const char *name, size_t otherwise, size_t low, size_t high);
float caffe_get_float(struct caffe_importer *im, const struct caffe_field *message,
                      const char *name, float otherwise);
bool caffe_get_flag(struct caffe_importer *im, const struct caffe_field *message, const char *name,
                    bool otherwise);

/* Returns whether a number that chooses an axis is there and none of `wanted` and `wanted` - 4. */
bool caffe_other_axis(const struct caffe_field *message, const char *name, int wanted);

/* --- caffe_import_input.c --- */

/* Creates the graph from the fields that name the network's input. Returns false with an error. */
bool caffe_import_fields(struct caffe_importer *im);

/* Does the same for a layer with data. */
bool caffe_import_data(struct caffe_importer *im, const struct caffe_field *layer);

/* --- caffe_import_windows.c, caffe_import_weights.c, caffe_import_layers.c --- */

bool caffe_import_conv(struct caffe_importer *im, const struct caffe_field *layer);
bool caffe_import_pool(struct caffe_importer *im, const struct caffe_field *layer);
bool caffe_import_linear(struct caffe_importer *im, const struct caffe_field *layer);
bool caffe_import_norm(struct caffe_importer *im, const struct caffe_field *layer);
bool caffe_import_scale(struct caffe_importer *im, const struct caffe_field *layer);
bool caffe_import_prelu(struct caffe_importer *im, const struct caffe_field *layer);

/* Reads how an array begins. Without a filler weights begin as He et al. propose, and a bias with
 * 0. */
struct initialiser caffe_get_filler(struct caffe_importer *im, const struct caffe_field *param,
                                    const char *name, bool bias);

/* Adds what a layer of the file computes, or records that tinca lacks it. */
void caffe_import_layer(struct caffe_importer *im, const struct caffe_field *layer);

/* --- caffe_import_save.c --- */

/* Writes the files. Returns false with an error. */
bool caffe_import_save(struct caffe_importer *im);

/* --- caffe_fill.c --- */

/* Returns whether the file has an array of the right size for each one of the network, before
 * memory is taken for them; if not, sets an error that names the layer. */
bool caffe_check_weights(struct caffe_importer *im, const struct graph *graph);

/* Copies the arrays of the file into the weights of the network, whose parameters have the names of
 * im->graph. Returns false with an error that names the layer. */
bool caffe_fill_weights(struct caffe_importer *im, struct weights *weights);

#endif
