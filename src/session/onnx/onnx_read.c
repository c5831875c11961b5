/* Messages that contain themselves are not in the schema, so nothing is nested deeply. */
#include "session/onnx/onnx_importer.h"

#include "base/files/file.h"
#include "base/host/memory_room.h"
#include "base/memory.h"
#include "session/protobuf/message_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GRAPHS = 4096 };
#define FILE_LIMIT  ((size_t)INT32_MAX)
#define SMALL_LIMIT ((size_t)512 << 20)

struct onnx_model {
    struct message_memory memory;
    Onnx__Model *message;
    Onnx__Graph *graphs[MAX_GRAPHS];
    size_t graph_count;
};

struct onnx_model *onnx_model_read(const char *path, struct error *error)
{
    size_t size;
    /* the file and its arrays, and then these and the weights of the network */
    if (!memory_room_check(path, 2 * message_file_size(path), error))
        return NULL;
    char *bytes = file_read(path, FILE_LIMIT, &size, error);
    struct onnx_model *model = bytes ? memory_new(1, sizeof *model, path, error) : NULL;
    if (!model) {
        free(bytes);
        return NULL;
    }
    message_memory_prepare(&model->memory, message_memory_of_file(size, SMALL_LIMIT));
    model->message = onnx__model__unpack(&model->memory.allocator, size, (const uint8_t *)bytes);
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
        onnx__graph__free_unpacked(model->graphs[i], &model->memory.allocator);
    if (model->message)
        onnx__model__free_unpacked(model->message, &model->memory.allocator);
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
    Onnx__Graph *graph = onnx__graph__unpack(&model->memory.allocator, bytes->len, bytes->data);
    if (graph)
        model->graphs[model->graph_count++] = graph;
    return graph;
}
