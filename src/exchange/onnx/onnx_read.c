/* Messages that contain themselves are not in the schema, so nothing is nested deeply. */
#include "exchange/onnx/internal.h"

#include "base/files/file.h"
#include "base/host/memory_room.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/protobuf/message_memory.h"
#include "base/protobuf/message_outline.h"

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

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

struct onnx_model *onnx_model_read(const char *path, struct error *error)
{
    struct message_outline outline;
    const char *what = N_("an ONNX model");
    struct onnx_model *model = memory_new(1, sizeof *model, path, error);
    if (!model || (model->file = file_open_regular(path, error)) < 0 ||
        !message_outline_read(&outline, path, &paths, check_outline, what, error)) {
        onnx_model_free(model);
        return NULL;
    }
    message_memory_prepare(&model->memory, message_memory_of_file(outline.count, SMALL_LIMIT));
    model->message = onnx__model__unpack(&model->memory.allocator, outline.count, outline.bytes);
    free(outline.bytes);
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
