/* The tree is made by walking through protobuf-c's descriptors, which
 * have the names of fields and the words of enumerations. */
#include "exchange/caffe/internal.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/host/memory_room.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/protobuf/message_memory.h"
#include "base/protobuf/message_outline.h"

#include <caffe.pb-c.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CAFFE_FILE_LIMIT  ((size_t)INT32_MAX) /* of protobuf, in bytes */
#define CAFFE_SMALL_LIMIT ((size_t)256 << 20) /* of memory beside the arrays, in bytes */

/* Returns the bytes of one value of a repeated field. */
static size_t caffe_value_size(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT64:
        return sizeof(int64_t);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    default:
        return sizeof(int32_t);
    }
}

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

/* --- writing --- */

/* Writing a .caffemodel file. The network's text, which is written beside it, is parsed to a tree,
 * and protobuf-c's descriptors tell which member of a message a field of the tree is. So both files
 * have the same layers, with the input and all settings, as Caffe's own snapshots. */

/* --- from the tree to messages --- */

static bool fill_message(struct caffe_tree *memory, ProtobufCMessage *message,
                         const struct caffe_field *from);

static bool set_message(struct caffe_tree *memory, const ProtobufCMessageDescriptor *descriptor,
                        const struct caffe_field *from, void *to)
{
    ProtobufCMessage *message = caffe_tree_memory(memory, descriptor->sizeof_message);
    if (!message)
        return false;
    protobuf_c_message_init(descriptor, message);
    *(ProtobufCMessage **)to = message;
    return fill_message(memory, message, from);
}

static bool set_word(const ProtobufCEnumDescriptor *descriptor, const char *word, int *to)
{
    const ProtobufCEnumValue *value =
        protobuf_c_enum_descriptor_get_value_by_name(descriptor, word);
    if (value)
        *to = value->value;
    return value;
}

/* Stores the value of a field. Returns false if it is none of the field's type. */
static bool set_value(struct caffe_tree *memory, const ProtobufCFieldDescriptor *field,
                      const struct caffe_field *from, void *to)
{
    double number = 0;
    bool flag;
    switch (field->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        return set_message(memory, field->descriptor, from, to);
    case PROTOBUF_C_TYPE_STRING:
        *(const char **)to = from->text;
        return true;
    case PROTOBUF_C_TYPE_ENUM:
        return set_word(field->descriptor, from->text, to);
    case PROTOBUF_C_TYPE_BOOL:
        if (!caffe_read_flag(from, &flag))
            return false;
        *(protobuf_c_boolean *)to = flag;
        return true;
    default:
        break;
    }
    if (!caffe_read_number(from, &number))
        return false;
    switch (field->type) {
    case PROTOBUF_C_TYPE_FLOAT:
        *(float *)to = (float)number;
        return true;
    case PROTOBUF_C_TYPE_INT64:
        *(int64_t *)to = (int64_t)number;
        return true;
    case PROTOBUF_C_TYPE_INT32:
        *(int32_t *)to = (int32_t)number;
        return true;
    case PROTOBUF_C_TYPE_UINT32:
        *(uint32_t *)to = (uint32_t)number;
        return true;
    default:
        return false;
    }
}

/* Stores a field of the tree, whose message has `count` of this name, in its member. */
static bool set_field(struct caffe_tree *memory, ProtobufCMessage *message,
                      const struct caffe_field *from, size_t count)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(message->descriptor, from->name);
    if (!field)
        return false;
    char *base = (char *)message, *member = base + field->offset;
    void *quantifier = base + field->quantifier_offset;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        size_t *stored = quantifier;
        char **values = (char **)(void *)member;
        if (*stored == 0)
            *values = caffe_tree_memory(memory, count * caffe_value_size(field->type));
        return *values && set_value(memory, field, from,
                                    *values + (*stored)++ * caffe_value_size(field->type));
    }
    if (field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_MESSAGE)
        *(protobuf_c_boolean *)quantifier = true;
    return set_value(memory, field, from, member);
}

static bool fill_message(struct caffe_tree *memory, ProtobufCMessage *message,
                         const struct caffe_field *from)
{
    bool filled = true;
    for (const struct caffe_field *field = from->first; filled && field; field = field->next)
        filled = set_field(memory, message, field, caffe_count(from, field->name));
    return filled;
}

/* --- arrays --- */

static bool fill_blob(struct caffe_tree *memory, Caffe__Blob *blob,
                      const struct caffe_written_blob *from)
{
    Caffe__BlobShape *shape = caffe_tree_memory(memory, sizeof *shape);
    int64_t *dims = caffe_tree_memory(memory, from->rank * sizeof *dims);
    size_t count = 1;
    if (!shape || !dims)
        return false;
    caffe__blob_shape__init(shape);
    for (size_t i = 0; i < from->rank; i++) {
        dims[i] = (int64_t)from->dims[i];
        count *= from->dims[i];
    }
    shape->dim = dims;
    shape->n_dim = from->rank;
    blob->shape = shape;
    blob->data = (float *)from->values;
    blob->n_data = count;
    return true;
}

static bool fill_layer(struct caffe_tree *memory, Caffe__Layer *layer,
                       const struct caffe_written_layer *from)
{
    layer->blobs =
        caffe_tree_memory(memory, sizeof from->blobs / sizeof *from->blobs * sizeof *layer->blobs);
    for (size_t i = 0; layer->blobs && i < from->blob_count; i++) {
        Caffe__Blob *blob = caffe_tree_memory(memory, sizeof *blob);
        if (!blob)
            return false;
        caffe__blob__init(blob);
        if (!fill_blob(memory, blob, &from->blobs[i]))
            return false;
        layer->blobs[layer->n_blobs++] = blob;
    }
    return layer->blobs;
}

/* Gives the layers of the network, which stand in the same order, their arrays. */
static bool fill_arrays(struct caffe_tree *memory, const Caffe__Net *net,
                        const struct caffe_written_layer *layers, size_t count)
{
    size_t next = 0;
    for (size_t i = 0; i < net->n_layer && next < count; i++)
        if (strcmp(net->layer[i]->name, layers[next].name) == 0 &&
            !fill_layer(memory, net->layer[i], &layers[next++]))
            return false;
    return next == count;
}

/* --- the file --- */

static bool write_net(const Caffe__Net *net, const char *path, struct error *error)
{
    struct message_stream buffer = {.base = {.append = message_stream_append}};
    struct output_file output;
    if (caffe__net__get_packed_size(net) > CAFFE_FILE_LIMIT)
        return error_set(error, ERROR_UNSUPPORTED, path, NULL,
                         "protobuf files are limited to 2 GiB, and this one would be larger");
    if (!output_file_open(&output, path, OUTPUT_BINARY, error))
        return false;
    buffer.stream = output.stream;
    caffe__net__pack_to_buffer(net, &buffer.base);
    return output_file_commit(&output, error);
}

bool caffe_binary_write(const char *text, size_t length, const struct caffe_written_layer *layers,
                        size_t count, const char *path, struct error *error)
{
    Caffe__Net net = CAFFE__NET__INIT;
    struct caffe_tree memory = {.left = CAFFE_SMALL_LIMIT}, tree;
    bool written = caffe_tree_parse(&tree, path, text, length, error);
    if (written) {
        const bool filled = fill_message(&memory, &net.base, &tree.root) &&
                            fill_arrays(&memory, &net, layers, count);
        written = filled          ? write_net(&net, path, error)
                  : memory.failed ? error_set_memory(error, "the Caffe model", 0)
                                  : error_set(error, ERROR_UNSUPPORTED, path,
                                              "export it with --format prototxt",
                                              "a setting of its text has no place in the file");
    }
    caffe_tree_free(&tree);
    caffe_tree_free(&memory);
    return written;
}
