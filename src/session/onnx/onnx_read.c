/* protobuf-c allocates what a file asks for, through the allocator here, which gives at most a
 * multiple of the file's size: the smallest message takes two bytes in a file, and a hundred in
 * memory. Messages that contain themselves are not in the schema, so nothing is nested deeply. */
#include "session/onnx/onnx_importer.h"

#include "base/files/file.h"
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { GROWTH = 160, MARGIN = 1 << 20, MAX_GRAPHS = 4096 };
#define FILE_LIMIT  ((size_t)INT32_MAX)
#define SMALL_LIMIT ((size_t)512 << 20)

struct onnx_model {
    ProtobufCAllocator allocator;
    size_t left; /* bytes that may still be allocated */
    Onnx__Model *message;
    Onnx__Graph *graphs[MAX_GRAPHS];
    size_t graph_count;
};

static void *allocate(void *context, size_t size)
{
    struct onnx_model *model = context;
    if (size > model->left)
        return NULL;
    model->left -= size;
    return malloc(size > 0 ? size : 1);
}

static void release(void *context, void *memory)
{
    (void)context;
    free(memory);
}

struct onnx_model *onnx_model_read(const char *path, struct error *error)
{
    size_t size;
    char *bytes = file_read(path, FILE_LIMIT, &size, error);
    struct onnx_model *model = bytes ? memory_new(1, sizeof *model, path, error) : NULL;
    if (!model) {
        free(bytes);
        return NULL;
    }
    model->allocator = (ProtobufCAllocator){allocate, release, model};
    model->left = MARGIN + 2 * size + (size < SMALL_LIMIT / GROWTH ? GROWTH * size : SMALL_LIMIT);
    model->message = onnx__model__unpack(&model->allocator, size, (const uint8_t *)bytes);
    free(bytes);
    if (model->message)
        return model;
    error_set(error, ERROR_INPUT, path, "export the model again",
              "it is not an ONNX model, or ends too early");
    onnx_model_free(model);
    return NULL;
}

void onnx_model_free(struct onnx_model *model)
{
    if (!model)
        return;
    for (size_t i = 0; i < model->graph_count; i++)
        onnx__graph__free_unpacked(model->graphs[i], &model->allocator);
    if (model->message)
        onnx__model__free_unpacked(model->message, &model->allocator);
    free(model);
}

const Onnx__Model *onnx_model_message(const struct onnx_model *model)
{
    return model->message;
}

Onnx__Graph *onnx_graph_read(struct onnx_model *model, const ProtobufCBinaryData *bytes)
{
    if (model->graph_count == MAX_GRAPHS)
        return NULL;
    Onnx__Graph *graph = onnx__graph__unpack(&model->allocator, bytes->len, bytes->data);
    if (graph)
        model->graphs[model->graph_count++] = graph;
    return graph;
}
