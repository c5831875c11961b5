/* Bytes wait in `waiting` until a record is complete. The checksum of a length is 32 bits over 8
 * bytes, so a length that is right by chance among damaged bytes is rare, and the checksum of its
 * message then refuses it. */
#include "exchange/tensorboard/event_reader.h"

#include "base/float16.h"
#include "base/memory.h"
#include "base/protobuf/message_memory.h"
#include "base/text.h"
#include "training/tensorboard/internal.h"

#include <events.pb-c.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEAD = 12, /* the length and its checksum */
    TAIL = 4,
    RECORD_MOST = 64 << 20 /* bytes; longer ones count as damage */
};
#define UNPACKED_MOST ((size_t)256 << 20) /* bytes of the pieces of one message */

enum tensor_type {
    TENSOR_FLOAT = 1,
    TENSOR_DOUBLE = 2,
    TENSOR_INT32 = 3,
    TENSOR_INT64 = 9,
    TENSOR_BFLOAT16 = 14,
    TENSOR_HALF = 19
};

struct event_reader {
    struct crc32c crc;
    struct text waiting;
    size_t damaged;
    bool lost; /* among damaged bytes, which are counted */
    struct message_memory memory;
};

struct event_reader *event_reader_create(struct error *error)
{
    struct event_reader *reader = memory_new(1, sizeof *reader, "an event file", error);
    if (!reader)
        return NULL;
    crc32c_prepare(&reader->crc);
    message_memory_prepare(&reader->memory, UNPACKED_MOST);
    return reader;
}

void event_reader_free(struct event_reader *reader)
{
    if (reader)
        text_free(&reader->waiting);
    free(reader);
}

size_t event_reader_damaged(const struct event_reader *reader)
{
    return reader ? reader->damaged : 0;
}

/* --- values --- */

/* Returns the value at the beginning of a tensor's bytes; NaN if there is none. */
static double value_of_bytes(int32_t type, const ProtobufCBinaryData *content)
{
    union {
        float float32;
        double float64;
        int32_t int32;
        int64_t int64;
        uint16_t half;
    } value = {0};
    const size_t size = type == TENSOR_FLOAT || type == TENSOR_INT32    ? 4
                        : type == TENSOR_DOUBLE || type == TENSOR_INT64 ? 8
                                                                        : 2;
    if (content->len != size)
        return (double)NAN;
    memcpy(&value, content->data, size);
    switch (type) {
    case TENSOR_FLOAT:
        return (double)value.float32;
    case TENSOR_DOUBLE:
        return value.float64;
    case TENSOR_INT32:
        return (double)value.int32;
    case TENSOR_INT64:
        return (double)value.int64;
    case TENSOR_HALF:
        return (double)float16_to_float(value.half);
    case TENSOR_BFLOAT16:
        return (double)bf16_to_float(value.half);
    default:
        return (double)NAN;
    }
}

/* Returns the value of a tensor with a single element; NaN if it has another form. */
static double value_of_tensor(const Tb__Tensor *tensor)
{
    if (tensor->tensor_shape)
        for (size_t i = 0; i < tensor->tensor_shape->n_dim; i++)
            if (tensor->tensor_shape->dim[i]->size != 1)
                return (double)NAN;
    if (tensor->has_tensor_content && tensor->tensor_content.len > 0)
        return value_of_bytes(tensor->dtype, &tensor->tensor_content);
    if (tensor->n_float_val == 1)
        return (double)tensor->float_val[0];
    if (tensor->n_double_val == 1)
        return tensor->double_val[0];
    if (tensor->n_int_val == 1)
        return (double)tensor->int_val[0];
    if (tensor->n_int64_val == 1)
        return (double)tensor->int64_val[0];
    if (tensor->n_half_val == 1 && tensor->dtype == TENSOR_HALF)
        return (double)float16_to_float((uint16_t)tensor->half_val[0]);
    if (tensor->n_half_val == 1 && tensor->dtype == TENSOR_BFLOAT16)
        return (double)bf16_to_float((uint16_t)tensor->half_val[0]);
    return (double)NAN;
}

/* Returns whether a value is a scalar, and sets *number. */
static bool is_scalar(const Tb__SummaryValue *value, double *number)
{
    if (!value->tag)
        return false;
    if (value->has_simple_value) {
        *number = (double)value->simple_value;
        return true;
    }
    const Tb__SummaryMetadata *metadata = value->metadata;
    const char *plugin =
        metadata && metadata->plugin_data ? metadata->plugin_data->plugin_name : NULL;
    if (!value->tensor || value->tensor->n_string_val > 0 ||
        (plugin && strcmp(plugin, "scalars") != 0))
        return false;
    *number = value_of_tensor(value->tensor);
    return value->tensor->has_dtype;
}

/* --- records --- */

static bool visit_message(struct event_reader *reader, const char *bytes, size_t length,
                          event_visit *visit, void *context, struct error *error)
{
    bool good = true;
    reader->memory.left = UNPACKED_MOST;
    Tb__Event *event = tb__event__unpack(&reader->memory.allocator, length, (const uint8_t *)bytes);
    if (!event) {
        reader->damaged++;
        return true;
    }
    for (size_t i = 0; good && event->summary && i < event->summary->n_value; i++) {
        struct event_value scalar = {
            .tag = event->summary->value[i]->tag, .step = event->step, .wall = event->wall_time};
        if (is_scalar(event->summary->value[i], &scalar.value))
            good = visit(context, &scalar, error);
    }
    tb__event__free_unpacked(event, &reader->memory.allocator);
    return good;
}

static uint64_t read_little(const char *bytes, unsigned count)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < count; i++)
        value |= (uint64_t)(unsigned char)bytes[i] << 8 * i;
    return value;
}

/* Returns whether a record's length is right, and reads it. */
static bool read_length(const struct event_reader *reader, const char *bytes, uint64_t *length)
{
    *length = read_little(bytes, 8);
    return *length <= RECORD_MOST &&
           crc32c_mask(crc32c_of(&reader->crc, bytes, 8)) == read_little(bytes + 8, 4);
}

/* Visits the scalars of a whole record. Returns false with an error. */
static bool take_record(struct event_reader *reader, const char *at, uint64_t length,
                        event_visit *visit, void *context, struct error *error)
{
    const char *message = at + HEAD;
    const uint64_t stored = read_little(message + length, TAIL);
    reader->lost = false;
    if (crc32c_mask(crc32c_of(&reader->crc, message, (size_t)length)) == stored)
        return visit_message(reader, message, (size_t)length, visit, context, error);
    reader->damaged++;
    return true;
}

bool event_reader_feed(struct event_reader *reader, const char *bytes, size_t count,
                       event_visit *visit, void *context, struct error *error)
{
    struct text *waiting = &reader->waiting;
    size_t at = 0;
    bool good = true;
    text_append_bytes(waiting, bytes, count);
    if (waiting->failed)
        return error_set_memory(error, "an event file", 0);
    while (good && waiting->length - at >= HEAD) {
        uint64_t length;
        if (!read_length(reader, waiting->data + at, &length)) {
            reader->damaged += !reader->lost;
            reader->lost = true;
            at++;
            continue;
        }
        if (waiting->length - at < HEAD + length + TAIL)
            break;
        good = take_record(reader, waiting->data + at, length, visit, context, error);
        at += HEAD + (size_t)length + TAIL;
    }
    memmove(waiting->data, waiting->data + at, waiting->length - at);
    waiting->length -= at;
    return good;
}
