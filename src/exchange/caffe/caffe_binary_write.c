/* Writing a .caffemodel file. The network's text, which is written beside it, is parsed to a tree,
 * and protobuf-c's descriptors tell which member of a message a field of the tree is. So both files
 * have the same layers, with the input and all settings, as Caffe's own snapshots. */
#include "exchange/caffe/internal.h"

#include "base/files/output_file.h"
#include "base/memory.h"
#include "base/protobuf/message_memory.h"
#include "exchange/caffe/caffe_message.h"

#include <stdint.h>
#include <string.h>

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
