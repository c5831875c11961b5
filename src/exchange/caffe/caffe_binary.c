/* The tree is made by walking through protobuf-c's descriptors, which
 * have the names of fields and the words of enumerations. */
#include "exchange/caffe/internal.h"

#include "base/files/file.h"
#include "base/host/memory_room.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/protobuf/message_memory.h"
#include "base/protobuf/message_outline.h"
#include "exchange/caffe/caffe_message.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_DEPTH = 8 };

struct caffe_model {
    struct message_memory memory;
    int file; /* which large arrays are read from */
    Caffe__Net *net;
};

bool caffe_binary_check(const char *path, struct error *error)
{
    (void)path;
    (void)error;
    return true;
}

/* The messages that lead to arrays; there are two forms of layers. */
enum { LAYER = MESSAGE_FILE + 1, LAYER1, BLOB };

static const struct message_step steps[] = {
    {MESSAGE_FILE, LAYER, 100}, {MESSAGE_FILE, LAYER1, 2}, {LAYER, BLOB, 7}, {LAYER1, BLOB, 6}};
static const struct message_paths paths = {steps, sizeof steps / sizeof *steps, BLOB, 5};

/* The arrays are read into the weights. */
static bool check_room(const char *path, size_t count, uint64_t arrays, struct error *error)
{
    return memory_room_check(path, 2 * (uint64_t)count + arrays, error);
}

struct caffe_model *caffe_model_read(const char *path, struct error *error)
{
    struct message_outline outline;
    struct caffe_model *model = memory_new(1, sizeof *model, path, error);
    if (!model || (model->file = file_open_regular(path, error)) < 0 ||
        !message_outline_read(&outline, path, &paths, check_room, N_("a Caffe model"), error)) {
        caffe_model_free(model);
        return NULL;
    }
    message_memory_prepare(&model->memory,
                           message_memory_of_file(outline.count, CAFFE_SMALL_LIMIT));
    model->net = caffe__net__unpack(&model->memory.allocator, outline.count, outline.bytes);
    free(outline.bytes);
    if (model->net && model->net->n_layer + model->net->n_layers > 0)
        return model;
    error_set(error, ERROR_INPUT, path, "copy the file again",
              "it is not a Caffe model, or ends too early");
    caffe_model_free(model);
    return NULL;
}

void caffe_model_free(struct caffe_model *model)
{
    if (!model)
        return;
    if (model->net)
        caffe__net__free_unpacked(model->net, &model->memory.allocator);
    if (model->file >= 0)
        close(model->file);
    free(model);
}

/* --- arrays --- */

/* Sets the arrays of the first layer of this name that has some. Returns their number. */
static size_t find_blobs(const struct caffe_model *model, const char *layer, Caffe__Blob ***blobs)
{
    const Caffe__Net *net = model->net;
    for (size_t i = 0; i < net->n_layer; i++)
        if (net->layer[i]->name && net->layer[i]->n_blobs > 0 &&
            strcmp(net->layer[i]->name, layer) == 0) {
            *blobs = net->layer[i]->blobs;
            return net->layer[i]->n_blobs;
        }
    for (size_t i = 0; i < net->n_layers; i++)
        if (net->layers[i]->name && net->layers[i]->n_blobs > 0 &&
            strcmp(net->layers[i]->name, layer) == 0) {
            *blobs = net->layers[i]->blobs;
            return net->layers[i]->n_blobs;
        }
    return 0;
}

size_t caffe_model_blobs(const struct caffe_model *model, const char *layer)
{
    Caffe__Blob **blobs;
    return find_blobs(model, layer, &blobs);
}

struct caffe_blob caffe_model_blob(const struct caffe_model *model, const char *layer, size_t n)
{
    Caffe__Blob **blobs;
    if (find_blobs(model, layer, &blobs) <= n)
        return (struct caffe_blob){.file = -1};
    const Caffe__Blob *blob = blobs[n];
    if (blob->has_raw_length)
        return (struct caffe_blob){.count = blob->raw_length / sizeof(float),
                                   .file = model->file,
                                   .offset = blob->raw_offset};
    return blob->n_data > 0
               ? (struct caffe_blob){blob->data, NULL, blob->n_data, -1, 0}
               : (struct caffe_blob){NULL, blob->double_data, blob->n_double_data, -1, 0};
}

/* --- the tree --- */

/* Prints a number or the word of an enumeration into memory of the tree. */
static const char *print_scalar(struct caffe_tree *tree, const ProtobufCFieldDescriptor *field,
                                const void *value)
{
    char text[64] = "";
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
        snprintf(text, sizeof text, "%ld", (long)*(const int32_t *)value);
        break;
    case PROTOBUF_C_TYPE_UINT32:
        snprintf(text, sizeof text, "%lu", (unsigned long)*(const uint32_t *)value);
        break;
    case PROTOBUF_C_TYPE_INT64:
        snprintf(text, sizeof text, "%lld", (long long)*(const int64_t *)value);
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        snprintf(text, sizeof text, "%.9g", (double)*(const float *)value);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        return *(const protobuf_c_boolean *)value ? "true" : "false";
    case PROTOBUF_C_TYPE_ENUM: {
        const int number = *(const int *)value;
        const ProtobufCEnumValue *word =
            protobuf_c_enum_descriptor_get_value(field->descriptor, number);
        if (word)
            return word->name;
        snprintf(text, sizeof text, "%d", number);
        break;
    }
    default:
        break;
    }
    char *copy = caffe_tree_memory(tree, strlen(text) + 1);
    return copy ? strcpy(copy, text) : NULL;
}

static bool add_message(struct caffe_tree *tree, struct caffe_field *to,
                        const ProtobufCMessage *message, size_t depth);

static bool add_value(struct caffe_tree *tree, struct caffe_field *to,
                      const ProtobufCFieldDescriptor *field, const void *value, size_t depth)
{
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        const ProtobufCMessage *message = *(const ProtobufCMessage *const *)value;
        if (!message || message->descriptor == &caffe__blob__descriptor)
            return true;
        struct caffe_field *added = caffe_tree_add(tree, to, field->name, CAFFE_MESSAGE, "");
        return added && depth < MAX_DEPTH && add_message(tree, added, message, depth + 1);
    }
    if (field->type == PROTOBUF_C_TYPE_BYTES)
        return caffe_tree_add(tree, to, field->name, CAFFE_MESSAGE, "");
    const bool string = field->type == PROTOBUF_C_TYPE_STRING;
    const char *text = string ? *(const char *const *)value : print_scalar(tree, field, value);
    return text && caffe_tree_add(tree, to, field->name, string ? CAFFE_STRING : CAFFE_WORD, text);
}

/* Returns whether an optional field has a value. */
static bool is_there(const ProtobufCFieldDescriptor *field, const char *base)
{
    if (field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_MESSAGE)
        return *(const void *const *)(const void *)(base + field->offset) != NULL;
    return *(const protobuf_c_boolean *)(const void *)(base + field->quantifier_offset);
}

static bool add_message(struct caffe_tree *tree, struct caffe_field *to,
                        const ProtobufCMessage *message, size_t depth)
{
    const char *base = (const char *)message;
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        const void *at = base + field->offset;
        if (field->label != PROTOBUF_C_LABEL_REPEATED) {
            if (is_there(field, base) && !add_value(tree, to, field, at, depth))
                return false;
            continue;
        }
        const size_t count = *(const size_t *)(const void *)(base + field->quantifier_offset);
        const char *values = *(const char *const *)at;
        for (size_t k = 0; k < count; k++)
            if (!add_value(tree, to, field, values + k * caffe_value_size(field->type), depth))
                return false;
    }
    return true;
}

bool caffe_model_tree(const struct caffe_model *model, const char *path, struct caffe_tree *tree,
                      struct error *error)
{
    *tree = (struct caffe_tree){.path = path, .root = {.name = "", .kind = CAFFE_MESSAGE}};
    tree->root.text = "";
    tree->left = CAFFE_SMALL_LIMIT;
    return add_message(tree, &tree->root, &model->net->base, 0) ||
           error_set(error, ERROR_INPUT, path, NULL, "the text needs too much memory");
}
