/* Memory comes from chunks that are freed together: a message consists of many small pieces, and
 * none is freed before the file is written. */
#include "exchange/onnx/internal.h"

#include "base/files/content.h"
#include "base/files/file.h"
#include "base/host/memory_room.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/protobuf/message_memory.h"
#include "base/protobuf/message_outline.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 1 << 16, ALIGNMENT = 16 };

struct onnx_chunk {
    struct onnx_chunk *next;
    size_t used, size;
    _Alignas(ALIGNMENT) char bytes[];
};

void onnx_builder_free(struct onnx_builder *builder)
{
    for (struct onnx_chunk *chunk = builder->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(builder->nodes);
    free(builder->initializers);
    free(builder->metadata);
    *builder = (struct onnx_builder){0};
}

void *onnx_memory(struct onnx_builder *builder, size_t bytes)
{
    const size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct onnx_chunk *chunk = builder->chunks;
    if (builder->failed || rounded < bytes) {
        builder->failed = true;
        return NULL;
    }
    if (!chunk || chunk->size - chunk->used < rounded) {
        const size_t size = rounded > CHUNK ? rounded : CHUNK;
        chunk = memory_new(1, sizeof *chunk + size, "the ONNX model", NULL);
        if (!chunk) {
            builder->failed = true;
            return NULL;
        }
        chunk->next = builder->chunks;
        chunk->size = size;
        builder->chunks = chunk;
    }
    void *memory = chunk->bytes + chunk->used;
    chunk->used += rounded;
    return memory;
}

char *onnx_text(struct onnx_builder *builder, const char *format, ...)
{
    static char nothing[] = "";
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length < 0 ? NULL : onnx_memory(builder, (size_t)length + 1);
    if (!text)
        return nothing;
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

/* Makes room for one more pointer at the end of a list. */
static bool grow(struct onnx_builder *builder, void *list, size_t *capacity, size_t count)
{
    if (!builder->failed &&
        !memory_grow(list, capacity, count + 1, sizeof(void *), "the ONNX model", NULL))
        builder->failed = true;
    return !builder->failed;
}

/* --- nodes --- */

Onnx__Node *onnx_add_node_of(struct onnx_builder *builder, const char *type, const char *name,
                             const char *output, const char *const *inputs, size_t count)
{
    Onnx__Node *node = onnx_memory(builder, sizeof *node);
    char **names = onnx_memory(builder, (count + 1) * sizeof *names);
    if (!node || !names ||
        !grow(builder, &builder->nodes, &builder->node_capacity, builder->node_count))
        return NULL;
    onnx__node__init(node);
    for (size_t i = 0; i < count; i++)
        names[i] = (char *)inputs[i];
    names[count] = (char *)output;
    node->op_type = (char *)type;
    node->name = (char *)name;
    node->input = names;
    node->n_input = count;
    node->output = &names[count];
    node->n_output = 1;
    builder->nodes[builder->node_count++] = node;
    return node;
}

Onnx__Node *onnx_add_node(struct onnx_builder *builder, const char *type, const char *name,
                          const char *output, size_t inputs, ...)
{
    const char *names[8];
    va_list arguments;
    va_start(arguments, inputs);
    for (size_t i = 0; i < inputs; i++)
        names[i] = va_arg(arguments, const char *);
    va_end(arguments);
    return onnx_add_node_of(builder, type, name, output, names, inputs);
}

/* Returns a new attribute of the node, or NULL. A node has few: the list is copied each time. */
static Onnx__Attribute *add_attribute(struct onnx_builder *builder, Onnx__Node *node,
                                      const char *name, enum onnx_attribute_type type)
{
    Onnx__Attribute *attribute = onnx_memory(builder, sizeof *attribute);
    Onnx__Attribute **list =
        node ? onnx_memory(builder, (node->n_attribute + 1) * sizeof *list) : NULL;
    if (!attribute || !list)
        return NULL;
    onnx__attribute__init(attribute);
    attribute->name = (char *)name;
    attribute->has_type = true;
    attribute->type = (int32_t)type;
    if (node->n_attribute > 0)
        memcpy(list, node->attribute, node->n_attribute * sizeof *list);
    list[node->n_attribute++] = attribute;
    node->attribute = list;
    return attribute;
}

void onnx_set_int(struct onnx_builder *builder, Onnx__Node *node, const char *name, int64_t value)
{
    Onnx__Attribute *attribute = add_attribute(builder, node, name, ONNX_ATTRIBUTE_INT);
    if (!attribute)
        return;
    attribute->has_i = true;
    attribute->i = value;
}

void onnx_set_ints(struct onnx_builder *builder, Onnx__Node *node, const char *name,
                   const int64_t *values, size_t count)
{
    Onnx__Attribute *attribute = add_attribute(builder, node, name, ONNX_ATTRIBUTE_INTS);
    int64_t *copy = onnx_memory(builder, count * sizeof *copy);
    if (!attribute || !copy)
        return;
    memcpy(copy, values, count * sizeof *copy);
    attribute->ints = copy;
    attribute->n_ints = count;
}

void onnx_set_float(struct onnx_builder *builder, Onnx__Node *node, const char *name, float value)
{
    Onnx__Attribute *attribute = add_attribute(builder, node, name, ONNX_ATTRIBUTE_FLOAT);
    if (!attribute)
        return;
    attribute->has_f = true;
    attribute->f = value;
}

/* --- arrays, metadata, values --- */

const char *onnx_add_tensor(struct onnx_builder *builder, const char *name, enum onnx_type type,
                            const size_t *dims, size_t rank, const void *data, size_t bytes)
{
    Onnx__Tensor *tensor = onnx_memory(builder, sizeof *tensor);
    int64_t *sizes = onnx_memory(builder, rank * sizeof *sizes);
    if (!tensor || !sizes ||
        !grow(builder, &builder->initializers, &builder->initializer_capacity,
              builder->initializer_count))
        return name;
    onnx__tensor__init(tensor);
    for (size_t i = 0; i < rank; i++)
        sizes[i] = (int64_t)dims[i];
    tensor->name = (char *)name;
    tensor->has_data_type = true;
    tensor->data_type = (int32_t)type;
    tensor->dims = sizes;
    tensor->n_dims = rank;
    tensor->has_raw_data = true;
    tensor->raw_data = (ProtobufCBinaryData){bytes, (uint8_t *)data};
    builder->initializers[builder->initializer_count++] = tensor;
    return name;
}

const char *onnx_add_integers(struct onnx_builder *builder, const char *name, const int64_t *values,
                              size_t count)
{
    int64_t *copy = onnx_memory(builder, count * sizeof *copy);
    if (copy)
        memcpy(copy, values, count * sizeof *copy);
    return onnx_add_tensor(builder, name, ONNX_INT64, &count, 1, copy, count * sizeof *copy);
}

const char *onnx_add_number(struct onnx_builder *builder, const char *name, float value)
{
    float *copy = onnx_memory(builder, sizeof *copy);
    if (copy)
        *copy = value;
    return onnx_add_tensor(builder, name, ONNX_FLOAT, NULL, 0, copy, sizeof *copy);
}

void onnx_add_metadata(struct onnx_builder *builder, const char *key, const char *value)
{
    Onnx__StringEntry *entry = value ? onnx_memory(builder, sizeof *entry) : NULL;
    if (!entry ||
        !grow(builder, &builder->metadata, &builder->metadata_capacity, builder->metadata_count))
        return;
    onnx__string_entry__init(entry);
    entry->key = (char *)key;
    entry->value = (char *)value;
    builder->metadata[builder->metadata_count++] = entry;
}

static Onnx__Shape *describe_shape(struct onnx_builder *builder, const size_t *dims, size_t rank)
{
    static char batch[] = "batch";
    Onnx__Shape *shape = onnx_memory(builder, sizeof *shape);
    Onnx__Dimension **list = onnx_memory(builder, (rank + 1) * sizeof *list);
    for (size_t i = 0; i <= rank && list; i++) {
        list[i] = onnx_memory(builder, sizeof **list);
        if (!list[i])
            return NULL;
        onnx__dimension__init(list[i]);
        list[i]->has_dim_value = i > 0;
        list[i]->dim_value = i > 0 ? (int64_t)dims[i - 1] : 0;
        list[i]->dim_param = i > 0 ? NULL : batch;
    }
    if (!shape || !list)
        return NULL;
    onnx__shape__init(shape);
    shape->dim = list;
    shape->n_dim = rank + 1;
    return shape;
}

Onnx__ValueInfo *onnx_describe_value(struct onnx_builder *builder, const char *name,
                                     const size_t *dims, size_t rank)
{
    Onnx__ValueInfo *value = onnx_memory(builder, sizeof *value);
    Onnx__Type *type = onnx_memory(builder, sizeof *type);
    Onnx__TensorType *tensor = onnx_memory(builder, sizeof *tensor);
    Onnx__Shape *shape = describe_shape(builder, dims, rank);
    if (!value || !type || !tensor || !shape)
        return NULL;
    onnx__value_info__init(value);
    onnx__type__init(type);
    onnx__tensor_type__init(tensor);
    tensor->has_elem_type = true;
    tensor->elem_type = ONNX_FLOAT;
    tensor->shape = shape;
    type->tensor_type = tensor;
    value->name = (char *)name;
    value->type = type;
    return value;
}

/* --- reading --- */

/* Messages that contain themselves are not in the schema, so nothing is nested deeply. */

enum { MAX_GRAPHS = 4096 };
#define SMALL_LIMIT ((size_t)512 << 20)

struct onnx_model {
    struct message_memory memory;
    Onnx__Model *message;
    int file; /* which large arrays are read from */
    Onnx__Graph *graphs[MAX_GRAPHS];
    size_t graph_count;
};

/* The messages that lead to arrays. */
enum { GRAPH = MESSAGE_FILE + 1, NODE, ATTRIBUTE, TENSOR };

static const struct message_step steps[] = {{MESSAGE_FILE, GRAPH, 7},
                                            {GRAPH, NODE, 1},
                                            {GRAPH, TENSOR, 5},
                                            {NODE, ATTRIBUTE, 5},
                                            {ATTRIBUTE, TENSOR, 5}};
static const struct message_paths paths = {steps, sizeof steps / sizeof *steps, TENSOR, 9};

/* Checks that there is memory for the message. onnx_check_room does that for the arrays, whose size
 * is known once their types are. */
static bool check_outline(const char *path, size_t count, uint64_t arrays, struct error *error)
{
    (void)arrays;
    return memory_room_check(path, 2 * (uint64_t)count, error);
}

/* Frees a model that cannot be read, and names what the file is instead. Returns NULL. */
static struct onnx_model *refuse_file(struct onnx_model *model, const char *path,
                                      struct error *error)
{
    static const enum content read[] = {CONTENT_ONNX, CONTENT_UNKNOWN};
    onnx_model_free(model);
    content_explain(path, read, error);
    return NULL;
}

struct onnx_model *onnx_model_read(const char *path, struct error *error)
{
    struct message_outline outline;
    const char *what = N_("an ONNX model");
    struct onnx_model *model = memory_new(1, sizeof *model, path, error);
    if (!model || (model->file = file_open_regular(path, error)) < 0 ||
        !message_outline_read(&outline, path, &paths, check_outline, what, error))
        return refuse_file(model, path, error);
    message_memory_prepare(&model->memory, message_memory_of_file(outline.count, SMALL_LIMIT));
    model->message = onnx__model__unpack(&model->memory.allocator, outline.count, outline.bytes);
    free(outline.bytes);
    if (model->message)
        return model;
    error_set(error, ERROR_INPUT, path, "export the model again",
              "it is not an ONNX model, or ends too early");
    return refuse_file(model, path, error);
}

void onnx_model_free(struct onnx_model *model)
{
    if (!model)
        return;
    for (size_t i = 0; i < model->graph_count; i++)
        onnx__graph__free_unpacked(model->graphs[i], &model->memory.allocator);
    if (model->message)
        onnx__model__free_unpacked(model->message, &model->memory.allocator);
    if (model->file >= 0)
        close(model->file);
    free(model);
}

int onnx_model_file(const struct onnx_model *model)
{
    return model->file;
}

const Onnx__Model *onnx_model_message(const struct onnx_model *model)
{
    return model->message;
}

Onnx__Graph *onnx_graph_read(struct onnx_model *model, const ProtobufCBinaryData *bytes)
{
    if (model->graph_count == MAX_GRAPHS)
        return NULL;
    Onnx__Graph *graph = onnx__graph__unpack(&model->memory.allocator, bytes->len, bytes->data);
    if (graph)
        model->graphs[model->graph_count++] = graph;
    return graph;
}
