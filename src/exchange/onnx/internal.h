/* internal.h: what the files of this folder share; no other folder includes it.
 *
 * A file has the network in inference: without auxiliary heads, losses and discriminator. Every
 * operator of a network has an equivalent in ONNX; a channel shift is a convolution of each channel
 * with a fixed kernel, a channel shuffle a transposition. A quantized network has pairs of
 * QuantizeLinear and DequantizeLinear ("QDQ") where its values lie on grids (quantization.h).
 *
 * An import reads what tinca writes and what PyTorch writes (torch.onnx), and other files as far as
 * their operators are tinca's. Exporting, importing and exporting again gives the same bytes. */
#ifndef TINCA_EXCHANGE_ONNX_INTERNAL_H
#define TINCA_EXCHANGE_ONNX_INTERNAL_H

#include "base/error.h"
#include "engine/graph/graph.h"
#include "engine/graph/name_index.h"
#include "engine/network/network.h"
#include "engine/weights/weights.h"
#include "exchange/frame/importer.h"

#include <onnx.pb-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- names of the format --- */

/* The messages of an ONNX file, which protobuf-c generates from onnx.proto at build time, the
 * numbers of their enumerations, and the metadata that tinca adds. */

/* The types of a tensor's values. */
enum onnx_type {
    ONNX_FLOAT = 1,
    ONNX_UINT8 = 2,
    ONNX_INT8 = 3,
    ONNX_INT32 = 6,
    ONNX_INT64 = 7,
    ONNX_BOOL = 9,
    ONNX_FLOAT16 = 10,
    ONNX_DOUBLE = 11,
    ONNX_BF16 = 16
};

enum onnx_attribute_type {
    ONNX_ATTRIBUTE_FLOAT = 1,
    ONNX_ATTRIBUTE_INT = 2,
    ONNX_ATTRIBUTE_STRING = 3,
    ONNX_ATTRIBUTE_TENSOR = 4,
    ONNX_ATTRIBUTE_GRAPH = 5,
    ONNX_ATTRIBUTE_FLOATS = 6,
    ONNX_ATTRIBUTE_INTS = 7
};

/* The zero point of unsigned integers that stand for signed ones. */
enum { ONNX_OFFSET = 128 };

/* The data_location of an array that is not in the model's file. */
enum { ONNX_EXTERNAL = 1 };

/* The model's metadata: the head of its network file, a JSON object. The other keys are those of a
 * saved model (models/saved/model_file.h). */
#define ONNX_NETWORK_KEY "tinca.network"

/* --- onnx_message.c --- */

/* Builds the messages of an ONNX graph.
 *
 * All messages and texts live in the builder's memory, until onnx_builder_free. After a failed
 * allocation `failed` stays true and further calls do nothing, so it is enough to check it once,
 * before the messages are written. */

struct onnx_chunk;

struct onnx_builder { /* starts as {0} */
    struct onnx_chunk *chunks;
    Onnx__Node **nodes;
    Onnx__Tensor **initializers;
    Onnx__StringEntry **metadata;
    size_t node_count, node_capacity;
    size_t initializer_count, initializer_capacity;
    size_t metadata_count, metadata_capacity;
    bool failed;
};

void onnx_builder_free(struct onnx_builder *builder);

/* Returns zeroed memory of the builder, or NULL. */
void *onnx_memory(struct onnx_builder *builder, size_t bytes);

/* Returns a text that printf would print; "" after a failure. */
char *onnx_text(struct onnx_builder *builder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends a node with one output and `inputs` inputs, whose names follow, and returns it; NULL
 * after a failure. Names are borrowed. */
Onnx__Node *onnx_add_node(struct onnx_builder *builder, const char *type, const char *name,
                          const char *output, size_t inputs, ...);

/* The same with a list of names. */
Onnx__Node *onnx_add_node_of(struct onnx_builder *builder, const char *type, const char *name,
                             const char *output, const char *const *inputs, size_t count);

/* Set an attribute of a node; NULL is allowed. */
void onnx_set_int(struct onnx_builder *builder, Onnx__Node *node, const char *name, int64_t value);
void onnx_set_ints(struct onnx_builder *builder, Onnx__Node *node, const char *name,
                   const int64_t *values, size_t count);
void onnx_set_float(struct onnx_builder *builder, Onnx__Node *node, const char *name, float value);

/* Appends an array of constants of `bytes` bytes, which are borrowed, and returns its name. */
const char *onnx_add_tensor(struct onnx_builder *builder, const char *name, enum onnx_type type,
                            const size_t *dims, size_t rank, const void *data, size_t bytes);

/* Append a copy of an array of integers, or of one number. */
const char *onnx_add_integers(struct onnx_builder *builder, const char *name, const int64_t *values,
                              size_t count);
const char *onnx_add_number(struct onnx_builder *builder, const char *name, float value);

/* Appends metadata. The texts are borrowed; NULL as the value adds nothing. */
void onnx_add_metadata(struct onnx_builder *builder, const char *key, const char *value);

/* Returns a message about an array of float32 [batch, dims...], where the batch is not fixed. */
Onnx__ValueInfo *onnx_describe_value(struct onnx_builder *builder, const char *name,
                                     const size_t *dims, size_t rank);

/* --- export --- */

/* The state of an export, and its parts. */

/* tinca writes the operator set 17, which every runtime of the last years reads, and 20 if the
 * network has an operator that is newer. */
enum { ONNX_OPSET = 17, ONNX_OPSET_GELU = 20 };

struct onnx_exporter {
    struct onnx_builder out;
    const struct graph *graph;
    const struct weights *weights;
    enum weights_format format;
    bool signed_weights; /* of quantized layers: int8, not uint8 */
    bool *wanted;        /* by node: the output needs it */
    bool *flat;          /* by node: its value is [batch, channels]; else [batch, channels, H, W] */
    int64_t opset;
    bool noise_left_out; /* a dropout that is active in inference became one that is not */
};

/* --- onnx_export.c --- */

/* Writes the kernels [channels, 1, 3, 3] of a convolution of each channel by itself that moves the
 * channels as channel_shift does. */
void onnx_shift_kernels(size_t channels, float *kernels);

/* --- import --- */

/* The state of an import, and its parts.
 *
 * An import goes through the file's nodes once, in their order, and computes with values of three
 * kinds. Constants are arrays. A layer's value is the output of a node of tinca's graph. What only
 * moves values (Reshape, Transpose, Slice, ScatterND, ...) makes no node: the result is an array
 * that says where each value comes from, and when a layer reads it, it is compared with what
 * channel_shift, channel_shuffle and flatten do. So it does not matter by which nodes a program
 * expresses them. A batch that is not fixed counts as one image. */

enum { ONNX_MAX_RANK = 8, ONNX_MAX_DEPTH = 4 };

enum onnx_value_kind {
    ONNX_UNDEFINED, /* no node has computed it */
    ONNX_UNKNOWN,   /* a node has that tinca lacks */
    ONNX_INTEGERS,  /* a constant: `integers` */
    ONNX_FLOATS,    /* a constant: `floats` */
    ONNX_STORED,    /* a constant of the file that has not been read yet: `tensor` */
    ONNX_LAYER      /* values of `node`, in the order of `integers` */
};

/* The meaning of a layer's values: plain; a step of a local response normalisation, which PyTorch
 * exports as the nodes of x / (mean of squares * alpha + k)^beta; or rounded to integers
 * (onnx_import_weights.c). */
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

/* The values of a parameter: `floats` or `stored`; if both are NULL, it begins as the layer says.
 */
struct onnx_source {
    const float *floats;
    const struct onnx_value *stored; /* instead of floats */
    bool transposed;                 /* of [I, O], for [O, I] */
    float factor;
};

struct onnx_importer {
    struct importer base;
    const char *folder; /* of the file */
    struct onnx_model *model;
    struct onnx_builder memory;
    size_t budget; /* bytes that may still be allocated */
    struct onnx_value **values;
    size_t value_count, value_capacity;
    struct name_index names;
    struct onnx_source *sources; /* by parameter of the graph */
    size_t source_capacity;
    size_t batch;
    int64_t opset;
    bool log_softmax; /* a LogSoftmax was imported as a softmax, which must be left out */
    size_t depth;
    size_t half[3];        /* arrays of weights of 32 bits, bf16 and float16 */
    const char *normalise; /* as the user has chosen; "": as the file says */
};

/* --- onnx_tensor.c: values --- */

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

/* --- onnx_fold.c: return whether they know the operator --- */

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

/* Makes the value the whole output of one node, of the shape that it has, by adding a node that
 * moves values as it does. A reader of vectors (`vector`) reads an image as one. Returns false with
 * a reason (N_) if no operator does. */
bool onnx_settle(struct onnx_importer *im, struct onnx_value *value, bool vector, const char **why);

/* Settles input `k`; NULL if that fails, and then notes that the node is missing. */
struct onnx_value *onnx_layer_input(struct onnx_importer *im, const Onnx__Node *node, size_t k,
                                    bool vector);

/* --- onnx_import_layers.c --- */

/* The operators whose layers are rows: they read one value and have no weights. */
extern const struct mapping onnx_rows[];

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

bool onnx_import_pool(struct onnx_importer *im, const Onnx__Node *node);
bool onnx_import_mean(struct onnx_importer *im, const Onnx__Node *node); /* ReduceMean */

/* --- onnx_message.c --- */

/* Unpacks a file; NULL with an error. onnx_model_free frees it. */
struct onnx_model *onnx_model_read(const char *path, struct error *error);
void onnx_model_free(struct onnx_model *model);
const Onnx__Model *onnx_model_message(const struct onnx_model *model);

/* Returns the descriptor of the file, which has the arrays that are not in the message. */
int onnx_model_file(const struct onnx_model *model);

/* Unpacks the graph inside a node, which the import frees. NULL if it is damaged. */
Onnx__Graph *onnx_graph_read(struct onnx_model *model, const ProtobufCBinaryData *bytes);

#endif
