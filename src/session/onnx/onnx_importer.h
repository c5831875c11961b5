/* onnx_importer.h: the state of an import, and its parts. Internal to this folder.
 *
 * An import goes through the file's nodes once, in their order, and computes with values of three
 * kinds. Constants are arrays. A layer's value is the output of a node of tinca's graph. What only
 * moves values (Reshape, Transpose, Slice, ScatterND, ...) makes no node: the result is an array
 * that says where each value comes from, and when a layer reads it, it is compared with what
 * channel_shift, channel_shuffle and flatten do. So it does not matter by which nodes a program
 * expresses them. A batch that is not fixed counts as one image.
 */
#ifndef TINCA_SESSION_ONNX_IMPORTER_H
#define TINCA_SESSION_ONNX_IMPORTER_H

#include "base/error.h"
#include "engine/graph/graph.h"
#include "engine/graph/name_index.h"
#include "session/onnx/onnx.h"
#include "session/onnx/onnx_message.h"

enum { ONNX_MAX_RANK = 8, ONNX_MAX_DEPTH = 4 };

enum onnx_value_kind {
    ONNX_UNDEFINED, /* no node has computed it */
    ONNX_UNKNOWN,   /* a node has that tinca lacks */
    ONNX_INTEGERS,  /* a constant: `integers` */
    ONNX_FLOATS,    /* a constant: `floats` */
    ONNX_STORED,    /* a constant of the file that has not been read yet: `tensor` */
    ONNX_LAYER      /* values of `node`, in the order of `integers` */
};

/* What the values of a layer mean while they are on the way to a local response normalisation,
 * which PyTorch writes as x / (mean of squares * alpha + k)^beta. */
enum onnx_meaning { ONNX_PLAIN, ONNX_SQUARES, ONNX_MEANS, ONNX_POWERS, ONNX_ROUNDED };

struct onnx_value {
    const char *name;
    enum onnx_value_kind kind;
    size_t rank, dims[ONNX_MAX_RANK], count;
    int64_t *integers; /* of a layer: which of its values; -1: 0; NULL: all in order */
    const float *floats;
    bool stored; /* a constant whose values are still in a file: onnx_load, onnx_read_stored */
    const struct onnx_value *step,
        *zero;    /* of stored integers that were dequantized (step: scale) */
    size_t inner; /* values for one of their scales */
    Onnx__Tensor *tensor;
    enum onnx_type type; /* of a constant, in the file */
    size_t node;
    enum onnx_meaning meaning;
    struct lrn_attributes lrn;
    struct quantization grid;       /* of ONNX_ROUNDED */
    bool direct;                    /* its node was made for it */
    const float *scales;            /* of dequantized weights: one for each */
    size_t scale_axis, scale_count; /* index of this axis; count 1: one for all; 0: none */
    size_t readers;
    bool read_by_layer; /* by a node that does not only move values */
    const char *producer;
};

struct onnx_model;

/* Where a parameter's values come from; neither: it begins as the layer says. */
struct onnx_source {
    const float *floats;
    const struct onnx_value *stored; /* instead of floats */
    bool transposed;                 /* of [I, O], for [O, I] */
    float factor;
};

struct onnx_importer {
    const char *path, *folder; /* of the file */
    struct onnx_model *model;
    struct error *error;
    bool failed; /* error is set: the file is damaged */
    struct onnx_builder memory;
    size_t budget; /* bytes that may still be allocated */
    struct onnx_value **values;
    size_t value_count, value_capacity;
    struct name_index names;
    struct graph graph;
    struct onnx_source *sources; /* by parameter of the graph */
    size_t source_capacity;
    size_t batch;
    int64_t opset;
    bool log_softmax; /* a LogSoftmax was imported as a softmax, which must be left out */
    size_t depth;
    size_t half[3]; /* arrays of weights of 32 bits, bf16 and float16 */
    struct onnx_import_result *result;
};

/* --- onnx_values.c --- */

/* Returns memory of the import, or NULL: then the import has failed. */
void *onnx_import_memory(struct onnx_importer *im, size_t count, size_t size);

/* Sets the error about a part of the file, once; returns false. `why` is marked N_. */
bool onnx_damaged(struct onnx_importer *im, const char *what, const char *why);

/* Returns the value of this name, which is added if there is none; NULL if memory runs out. */
struct onnx_value *onnx_find_value(struct onnx_importer *im, const char *name);

/* Returns input `k` of a node, read if it was stored; NULL if the node has no such input. */
struct onnx_value *onnx_input(struct onnx_importer *im, const Onnx__Node *node, size_t k);
struct onnx_value *onnx_output(struct onnx_importer *im, const Onnx__Node *node);

/* Set kind and shape. They return false if the import has failed. */
bool onnx_set_shape(struct onnx_importer *im, struct onnx_value *value, const size_t *dims,
                    size_t rank);
bool onnx_set_integers(struct onnx_importer *im, struct onnx_value *value, const size_t *dims,
                       size_t rank); /* then fill value->integers */
void onnx_set_alias(struct onnx_value *value, const struct onnx_value *of);

/* Attributes of a node. */
const Onnx__Attribute *onnx_attribute(const Onnx__Node *node, const char *name);
int64_t onnx_get_int(const Onnx__Node *node, const char *name, int64_t otherwise);
float onnx_get_float(const Onnx__Node *node, const char *name, float otherwise);
bool onnx_get_is(const Onnx__Node *node, const char *name, const char *text);

/* Returns the integers that are an attribute or input `k`, and their number; NULL: neither. */
const int64_t *onnx_get_list(struct onnx_importer *im, const Onnx__Node *node, const char *name,
                             size_t k, size_t *count);

/* Notes that tinca lacks a node, whose outputs are then unknown; returns false. `why` is marked N_.
 */
bool onnx_lacks(struct onnx_importer *im, const Onnx__Node *node, const char *why);

/* --- onnx_tensor.c --- */

/* Reads a stored constant into floats or integers. The values of large arrays, which may be the
 * weights of a layer, stay in their file. Returns false if the import has failed. */
bool onnx_read_tensor(struct onnx_importer *im, struct onnx_value *value);

/* Reads the values of an array that stayed in its file, if it did. Returns false if the import has
 * failed. */
bool onnx_load(struct onnx_importer *im, struct onnx_value *value);

/* Reads the values of an array that is still in its file, in their order; or those of [I, O] as
 * [O, I]. Return false if the import has failed. */
bool onnx_read_stored(struct onnx_importer *im, const struct onnx_value *value, float *floats);
bool onnx_read_transposed(struct onnx_importer *im, const struct onnx_value *value, float *floats);

/* Finds the smallest of the integers of such an array. Returns false if the import has failed. */
bool onnx_find_smallest(struct onnx_importer *im, const struct onnx_value *value,
                        int64_t *smallest);

/* Returns the number of values that a tensor says it has. */
size_t onnx_tensor_count(const Onnx__Tensor *tensor);

/* --- onnx_fold.c, onnx_move.c: return whether they know the operator --- */

/* Computes a node that reads constants only. */
bool onnx_fold(struct onnx_importer *im, const Onnx__Node *node);
bool onnx_is_fold(const char *type);

/* Computes a node that moves values. */
bool onnx_move(struct onnx_importer *im, const Onnx__Node *node);
bool onnx_is_move(const char *type);

/* --- onnx_settle.c --- */

/* Adds a node to the graph, called after the weights, or the node of the file. `data` has its
 * parameters' values. Returns false, and notes that the node is missing, if it does not fit. */
bool onnx_add_layer(struct onnx_importer *im, const Onnx__Node *node, const char *name_of,
                    const struct op *op, const struct onnx_value *const *inputs, size_t count,
                    const union attributes *attributes, const float *const *data);

/* Writes the name of a new node into name[NODE_NAME_SIZE]. */
void onnx_choose_name(struct onnx_importer *im, const char *wanted, char *name);

/* Makes the value the whole output of one node, of the shape that it has, by adding a node that
 * moves values as it does. A reader of vectors (`vector`) reads an image as one. Returns false with
 * a reason (N_) if no operator does. */
bool onnx_settle(struct onnx_importer *im, struct onnx_value *value, bool vector, const char **why);

/* --- onnx_import_layers.c --- */

/* Adds the layer that computes a node; returns whether it knows the operator. */
bool onnx_import_layer(struct onnx_importer *im, const Onnx__Node *node);
bool onnx_is_layer(const char *type);

/* --- onnx_import_weights.c: layers with weights --- */

bool onnx_import_conv(struct onnx_importer *im, const Onnx__Node *node);
bool onnx_import_gemm(struct onnx_importer *im, const Onnx__Node *node);
bool onnx_import_norm(struct onnx_importer *im, const Onnx__Node *node);
bool onnx_import_prelu(struct onnx_importer *im, const Onnx__Node *node);

/* Multiplies each channel by `factor` and adds `term`, constants of which one is NULL. */
bool onnx_import_line(struct onnx_importer *im, const Onnx__Node *node, struct onnx_value *input,
                      const struct onnx_value *factor, const struct onnx_value *term);

/* --- onnx_import_pool.c --- */

bool onnx_import_pool(struct onnx_importer *im, const Onnx__Node *node);
bool onnx_import_mean(struct onnx_importer *im, const Onnx__Node *node); /* ReduceMean */

/* Reads kernel, strides and padding, for an image of this size. Returns false with a reason if
 * tinca has no such window; *ceil is NULL for convolutions. */
bool onnx_read_window(const Onnx__Node *node, const size_t *kernel, struct shape shape,
                      const size_t *dilation, struct window *window, bool *ceil, const char **why);

/* --- onnx_import_rounding.c --- */

bool onnx_import_quantize(struct onnx_importer *im, const Onnx__Node *node);
bool onnx_import_dequantize(struct onnx_importer *im, const Onnx__Node *node);

/* --- onnx_import_save.c --- */

/* Writes the network that ends with `output` and its weights. Returns false with an error. */
bool onnx_import_save(struct onnx_importer *im, const Onnx__Model *model,
                      const struct onnx_import_request *request, size_t output);

/* --- onnx_read.c --- */

/* Unpacks a file; NULL with an error. onnx_model_free frees it. */
struct onnx_model *onnx_model_read(const char *path, struct error *error);
void onnx_model_free(struct onnx_model *model);
const Onnx__Model *onnx_model_message(const struct onnx_model *model);

/* Returns the descriptor of the file, which has the arrays that are not in the message. */
int onnx_model_file(const struct onnx_model *model);

/* Unpacks the graph inside a node, which the import frees. NULL if it is damaged. */
Onnx__Graph *onnx_graph_read(struct onnx_model *model, const ProtobufCBinaryData *bytes);

#endif
