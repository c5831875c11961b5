/* onnx_message.h: builds the messages of an ONNX graph. Internal to this folder.
 *
 * All messages and texts live in the builder's memory, until onnx_builder_free. After a failed
 * allocation `failed` stays true and further calls do nothing, so it is enough to check it once,
 * before the messages are written.
 */
#ifndef TINCA_SESSION_ONNX_MESSAGE_H
#define TINCA_SESSION_ONNX_MESSAGE_H

#include "session/onnx/onnx_schema.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
