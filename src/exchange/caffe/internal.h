/* internal.h: what the files of this folder share; no other folder includes it. */
#ifndef TINCA_EXCHANGE_CAFFE_INTERNAL_H
#define TINCA_EXCHANGE_CAFFE_INTERNAL_H

#include "base/error.h"
#include "base/text.h"
#include "engine/graph/graph.h"
#include "engine/graph/name_index.h"
#include "exchange/caffe/caffe.h"
#include "exchange/frame/importer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- caffe_tree.c --- */

/* The fields of a Caffe message, as a tree.
 *
 * The text of a .prototxt file and the bytes of a .caffemodel file become the same tree, so what
 * follows does not depend on where a network came from. A field's value is a text (a number, a
 * word, or a quoted string) or a list of fields. The tree and its texts live until caffe_tree_free.
 * Size and depth are limited. */

enum { CAFFE_MAX_DEPTH = 32 };

enum caffe_field_kind { CAFFE_WORD, CAFFE_STRING, CAFFE_MESSAGE };

struct caffe_field {
    const char *name;
    enum caffe_field_kind kind;
    const char *text; /* "" for a message */
    size_t line;      /* in the text; 0: from a binary file */
    struct caffe_field *first, *last, *next;
};

struct caffe_chunk;

struct caffe_tree { /* starts as {0} */
    const char *path;
    struct caffe_field root;
    struct caffe_chunk *chunks;
    size_t left; /* bytes that may still be allocated */
    bool failed; /* out of memory, or above the limit */
};

void caffe_tree_free(struct caffe_tree *tree);

/* Returns zeroed memory of the tree; NULL if the limit is reached, and tree->failed is then set. */
void *caffe_tree_memory(struct caffe_tree *tree, size_t bytes);

/* Appends a field to a message; the texts must live as long as the tree. Returns NULL if memory
 * runs out. */
struct caffe_field *caffe_tree_add(struct caffe_tree *tree, struct caffe_field *message,
                                   const char *name, enum caffe_field_kind kind, const char *text);

/* Parses a file in protobuf's text format. `path` must live as long as the tree. Returns false with
 * an error that names the line; call caffe_tree_free in either case. */
bool caffe_tree_read_text(struct caffe_tree *tree, const char *path, struct error *error);

/* Parses `size` characters; `path` is what messages call them. Otherwise the same. */
bool caffe_tree_parse(struct caffe_tree *tree, const char *path, const char *text, size_t size,
                      struct error *error);

/* Returns the first field of this name in a message (NULL: none), or after `field`; NULL if there
 * is none. */
const struct caffe_field *caffe_first(const struct caffe_field *message, const char *name);
const struct caffe_field *caffe_next(const struct caffe_field *field);

/* Returns the number of fields of this name, and the n-th one or NULL. */
size_t caffe_count(const struct caffe_field *message, const char *name);
const struct caffe_field *caffe_nth(const struct caffe_field *message, const char *name, size_t n);

/* Returns the text of the field of this name; `otherwise` if there is none, or if it is a message.
 */
const char *caffe_text(const struct caffe_field *message, const char *name, const char *otherwise);

/* Convert the text of a field. Return false if it is none of what is wanted. */
bool caffe_read_number(const struct caffe_field *field, double *number);
bool caffe_read_count(const struct caffe_field *field, size_t *count); /* at most 2^32 */
bool caffe_read_flag(const struct caffe_field *field, bool *flag);

/* --- import --- */

/* The state of an import, and its parts.
 *
 * An import goes through the layers of a file once, in their order. Caffe's layers name the values
 * that they read ("bottom") and write ("top"); a layer whose top is its bottom works in place, and
 * the name then stands for the later value. For every array of weights of tinca's graph the import
 * notes which array of which layer it comes from; they are read when the files are written. */

enum { CAFFE_MAX_LAYERS = 8192, CAFFE_MAX_SIDE = 65536 };

enum caffe_value_kind {
    CAFFE_UNKNOWN, /* a layer has computed it that tinca lacks */
    CAFFE_NODE,    /* the output of `node` */
    CAFFE_LABEL,   /* the labels of the batch, or what else is no image */
    CAFFE_RESULT   /* a loss or an accuracy, which no layer may read */
};

/* The value that a name stands for after the layers so far. */
struct caffe_value {
    const char *name;
    enum caffe_value_kind kind;
    size_t node;
};

/* The ways to make an array of tinca of one of Caffe. */
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
    struct importer base;
    const struct model_import *request;
    const char *network,
        *weights; /* the files; NULL: the network is in the other one; no weights */
    struct caffe_tree tree;
    struct caffe_model *model; /* NULL: no weights */
    const struct caffe_field **layers;
    size_t layer_count;
    struct caffe_value *values;
    size_t value_count, value_capacity;
    struct name_index names;
    bool has_input;
    size_t batch; /* images that the file's network takes at once; 0: it does not say */
    bool *read;   /* by node: a layer reads it */
    size_t read_capacity;
    struct caffe_source *sources; /* by parameter of the graph */
    size_t source_capacity;
    struct caffe_loss losses[IMPORTER_LOSSES];
    size_t loss_count;
    const struct caffe_field *transform; /* what the file says about its images; NULL: nothing */
    size_t multipliers; /* layers with an lr_mult or decay_mult other than 1, which tinca lacks */
    size_t channels;    /* of the images */
    bool reordered;     /* weights were brought from BGR to RGB */
    struct normalisation normalisation;
    const char *mean_file; /* the file names this file of means, which is not read; "": none */
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

/* --- the input --- */

/* Creates the graph from the fields that name the network's input. Returns false with an error. */
bool caffe_import_fields(struct caffe_importer *im);

/* Does the same for a layer with data. */
bool caffe_import_data(struct caffe_importer *im, const struct caffe_field *layer);

/* --- caffe_import_layers.c --- */

/* The operators whose layers are rows: they read one value and have no weights. */
extern const struct mapping caffe_rows[];

/* Adds what a layer of the file computes, or records that tinca lacks it. */
void caffe_import_layer(struct caffe_importer *im, const struct caffe_field *layer);

/* Returns whether a pooling of tinca has as many outputs as Caffe counts. */
bool caffe_outputs_agree(struct shape in, struct shape out, const struct window *w, bool round_up);

/* --- caffe_solver.c --- */

/* Reports a solver file as options of tinca train. Returns false with an error. */
bool caffe_solver_report(const char *path, struct exchange_report *report, struct error *error);

/* --- caffe_binary.c --- */

/* The contents of a .caffemodel file. */

struct caffe_model;

/* An array of the file: floats; if that is NULL, doubles; if both are, floats that lie in the file
 * from `offset` on. */
struct caffe_blob {
    const float *floats;
    const double *doubles;
    size_t count;
    int file; /* borrowed */
    uint64_t offset;
};

/* Reads a file; caffe_model_free frees it. Memory is limited to a multiple of the file's size.
 * Returns NULL with an error. */
struct caffe_model *caffe_model_read(const char *path, struct error *error);
void caffe_model_free(struct caffe_model *model);

/* Fills a tree with the fields of the network, without the arrays. The tree borrows texts of the
 * model. Returns false with an error. */
bool caffe_model_tree(const struct caffe_model *model, const char *path, struct caffe_tree *tree,
                      struct error *error);

/* Returns the number of arrays of the first layer of this name that has some; 0: there is none. */
size_t caffe_model_blobs(const struct caffe_model *model, const char *layer);

/* Returns array `n`, which is less than that number. */
struct caffe_blob caffe_model_blob(const struct caffe_model *model, const char *layer, size_t n);

/* A layer and its arrays, for a file that is to be written. */
struct caffe_written_blob {
    const float *values;
    const size_t *dims;
    size_t rank;
};
struct caffe_written_layer {
    const char *name;
    struct caffe_written_blob blobs[3];
    size_t blob_count;
};

/* Writes a .caffemodel file with what the text says and the arrays of these layers, which have the
 * text's order. Returns false with an error. */
bool caffe_binary_write(const char *text, size_t length, const struct caffe_written_layer *layers,
                        size_t count, const char *path, struct error *error);

/* Returns whether this build can write one; if not, sets the error. */
bool caffe_binary_check(const char *path, struct error *error);

#endif
