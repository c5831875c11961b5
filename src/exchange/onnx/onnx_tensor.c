/* A constant's values lie in one of seven places, and none is trusted: the number of values must be
 * that of the shape. Float32 in a small raw_data is used where it lies; large arrays of bytes are
 * read from their file when a node wants them, block by block, into the values that they become.
 *
 * A file of values beside the model is read only if it lies in the model's folder: its name is
 * relative, without "..", and where it leads to, through symbolic links, is below that folder. */
#include "exchange/onnx/internal.h"

#include "base/files/file.h"
#include "base/float16.h"
#include "base/host/memory_room.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- onnx values --- */

/* The values of an import by their names, and the small helpers that all parts use. */

void *onnx_import_memory(struct onnx_importer *im, size_t count, size_t size)
{
    void *memory = NULL;
    if (im->base.failed)
        return NULL;
    if (count > 0 && size > im->budget / count) {
        error_set(im->base.error, ERROR_MEMORY, im->base.path, NULL,
                  "its constants and moves take more memory than such a file may");
        im->base.failed = true;
        return NULL;
    }
    if (!memory_room_check(im->base.path, count * size, im->base.error)) {
        im->base.failed = true;
        return NULL;
    }
    memory = onnx_memory(&im->memory, count > 0 ? count * size : 1);
    im->budget -= count * size;
    if (!memory) {
        error_set_memory(im->base.error, "the ONNX model", count * size);
        im->base.failed = true;
    }
    return memory;
}

bool onnx_damaged(struct onnx_importer *im, const char *what, const char *why)
{
    return importer_damaged(&im->base, 0, what, why);
}

static const char *value_name(const void *values, size_t number)
{
    return ((struct onnx_value *const *)values)[number]->name;
}

struct onnx_value *onnx_find_value(struct onnx_importer *im, const char *name)
{
    size_t number;
    if (name_index_find(&im->names, im->values, value_name, name, &number))
        return im->values[number];
    struct onnx_value *value = onnx_import_memory(im, 1, sizeof *value);
    if (!value)
        return NULL;
    if (!memory_grow(&im->values, &im->value_capacity, im->value_count + 1, sizeof *im->values,
                     "the ONNX model", im->base.error) ||
        !name_index_add(&im->names, name, im->value_count, im->base.error)) {
        im->base.failed = true;
        return NULL;
    }
    value->name = name;
    im->values[im->value_count++] = value;
    return value;
}

struct onnx_value *onnx_input(struct onnx_importer *im, const Onnx__Node *node, size_t k)
{
    if (k >= node->n_input || !node->input[k][0])
        return NULL;
    struct onnx_value *value = onnx_find_value(im, node->input[k]);
    if (value && value->kind == ONNX_STORED && !onnx_read_tensor(im, value))
        return NULL;
    return value;
}

struct onnx_value *onnx_output(struct onnx_importer *im, const Onnx__Node *node)
{
    struct onnx_value *value = node->n_output > 0 ? onnx_find_value(im, node->output[0]) : NULL;
    if (!value && !im->base.failed)
        onnx_damaged(im, node->op_type, N_("the node has no output"));
    if (value)
        value->producer = node->name ? node->name : "";
    return value;
}

bool onnx_set_shape(struct onnx_importer *im, struct onnx_value *value, const size_t *dims,
                    size_t rank)
{
    value->count = 1;
    if (rank > ONNX_MAX_RANK)
        return onnx_damaged(im, value->name, N_("an array has at most 8 dimensions"));
    value->rank = rank;
    for (size_t i = 0; i < rank; i++) {
        value->dims[i] = dims[i];
        if (dims[i] > 0 && value->count > SHAPE_MAX_VALUES / dims[i])
            return onnx_damaged(im, value->name, N_("the array is too large"));
        value->count *= dims[i];
    }
    return true;
}

bool onnx_set_integers(struct onnx_importer *im, struct onnx_value *value, const size_t *dims,
                       size_t rank)
{
    if (!onnx_set_shape(im, value, dims, rank))
        return false;
    value->kind = ONNX_INTEGERS;
    value->type = ONNX_INT64;
    value->integers = onnx_import_memory(im, value->count, sizeof *value->integers);
    return value->integers;
}

void onnx_set_alias(struct onnx_value *value, const struct onnx_value *of)
{
    struct onnx_value copy = *of;
    copy.name = value->name;
    copy.readers = value->readers;
    copy.read_by_layer = value->read_by_layer;
    copy.producer = value->producer;
    copy.direct = false;
    *value = copy;
}

/* --- attributes --- */

const Onnx__Attribute *onnx_attribute(const Onnx__Node *node, const char *name)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->name && strcmp(node->attribute[i]->name, name) == 0)
            return node->attribute[i];
    return NULL;
}

int64_t onnx_get_int(const Onnx__Node *node, const char *name, int64_t otherwise)
{
    const Onnx__Attribute *attribute = onnx_attribute(node, name);
    return attribute && attribute->has_i ? attribute->i : attribute ? 0 : otherwise;
}

float onnx_get_float(const Onnx__Node *node, const char *name, float otherwise)
{
    const Onnx__Attribute *attribute = onnx_attribute(node, name);
    return attribute && attribute->has_f ? attribute->f : attribute ? 0 : otherwise;
}

bool onnx_get_is(const Onnx__Node *node, const char *name, const char *text)
{
    const Onnx__Attribute *attribute = onnx_attribute(node, name);
    return attribute && attribute->has_s && attribute->s.len == strlen(text) &&
           memcmp(attribute->s.data, text, attribute->s.len) == 0;
}

const int64_t *onnx_get_list(struct onnx_importer *im, const Onnx__Node *node, const char *name,
                             size_t k, size_t *count)
{
    const Onnx__Attribute *attribute = name ? onnx_attribute(node, name) : NULL;
    *count = 0;
    if (attribute) {
        *count = attribute->n_ints;
        return attribute->ints;
    }
    const struct onnx_value *value = onnx_input(im, node, k);
    if (!value || value->kind != ONNX_INTEGERS)
        return NULL;
    *count = value->count;
    return value->integers;
}

/* --- what tinca lacks --- */

bool onnx_lacks(struct onnx_importer *im, const Onnx__Node *node, const char *why)
{
    for (size_t i = 0; i < node->n_output; i++) {
        struct onnx_value *value = onnx_find_value(im, node->output[i]);
        if (value)
            value->kind = ONNX_UNKNOWN;
    }
    return importer_lacks(&im->base,
                          node->name && node->name[0] ? node->name
                          : node->n_output > 0        ? node->output[0]
                                                      : "",
                          node->op_type, why);
}

/* --- tensors --- */

enum {
    READ_BLOCK = 1 << 16,
    STORED = 1024 /* arrays of so many values stay in their file */
};

static const char wrong_count[] = N_("the number of its values is not that of its shape");

static size_t type_size(int32_t type)
{
    switch (type) {
    case ONNX_FLOAT:
    case ONNX_INT32:
        return 4;
    case ONNX_UINT8:
    case ONNX_INT8:
    case ONNX_BOOL:
        return 1;
    case ONNX_INT64:
    case ONNX_DOUBLE:
        return 8;
    case ONNX_FLOAT16:
    case ONNX_BF16:
        return 2;
    default:
        return 0;
    }
}

/* --- external data --- */

static const char *external_entry(const Onnx__Tensor *tensor, const char *key)
{
    for (size_t i = 0; i < tensor->n_external_data; i++)
        if (tensor->external_data[i]->key && strcmp(tensor->external_data[i]->key, key) == 0)
            return tensor->external_data[i]->value;
    return NULL;
}

static bool is_inside(const char *location)
{
    const char *part = location;
    if (!location[0] || location[0] == '/' || strchr(location, '\\'))
        return false;
    for (; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || !part[2]))
            return false;
    return true;
}

/* Returns a descriptor of the file, or -1. */
static int open_inside(const struct onnx_importer *im, const char *location, struct stat *status)
{
    char folder[PATH_MAX], target[PATH_MAX];
    char *path = is_inside(location) ? file_join(im->folder, location) : NULL;
    const bool resolved = path && realpath(im->folder, folder) && realpath(path, target);
    free(path);
    if (!resolved)
        return -1;
    const size_t length = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    if (strncmp(target, folder, length) != 0 || target[length] != '/')
        return -1;
    return file_open_if_regular(target, O_RDONLY | O_CLOEXEC, status);
}

/* --- values --- */

/* Reads number `i` of raw bytes. */
static double raw_number(const uint8_t *raw, enum onnx_type type, size_t i)
{
    union {
        float f;
        double d;
        int32_t i;
        uint16_t h;
    } value;
    memcpy(&value, raw + i * type_size((int32_t)type), type_size((int32_t)type));
    switch (type) {
    case ONNX_FLOAT:
        return (double)value.f;
    case ONNX_DOUBLE:
        return value.d;
    case ONNX_FLOAT16:
        return (double)float16_to_float(value.h);
    case ONNX_BF16:
        return (double)bf16_to_float(value.h);
    case ONNX_INT32:
        return value.i;
    case ONNX_INT8:
        return (int8_t)raw[i];
    default:
        return raw[i];
    }
}

static bool is_real(enum onnx_type type)
{
    return type == ONNX_FLOAT || type == ONNX_DOUBLE || type == ONNX_FLOAT16 || type == ONNX_BF16;
}

/* --- values that stay in a file --- */

/* A file that is read from `offset` on. */
struct place {
    int file;
    bool own; /* it was opened for this */
    uint64_t offset;
};

static void leave(const struct place *place)
{
    if (place->own)
        close(place->file);
}

/* Opens the file of a tensor with external data, which has `bytes` bytes. Returns false if the
 * import has failed. */
static bool open_external(struct onnx_importer *im, const Onnx__Tensor *tensor, size_t bytes,
                          struct place *place)
{
    const char *location = external_entry(tensor, "location");
    const char *offset_text = external_entry(tensor, "offset");
    const char *length_text = external_entry(tensor, "length");
    uint64_t length = bytes;
    struct stat status;
    *place = (struct place){location ? open_inside(im, location, &status) : -1, true, 0};
    if (place->file < 0) {
        error_set(im->base.error, ERROR_INPUT, im->base.path,
                  "copy it there, or export the model again",
                  "%.100s: its values are in another file, %.100s, which is not in the model's "
                  "folder",
                  tensor->name, location ? location : "?");
        im->base.failed = true;
        return false;
    }
    if ((!offset_text || text_to_uint64(offset_text, &place->offset)) &&
        (!length_text || text_to_uint64(length_text, &length)) && length == bytes &&
        place->offset <= (uint64_t)status.st_size &&
        length <= (uint64_t)status.st_size - place->offset)
        return true;
    leave(place);
    return onnx_damaged(im, tensor->name, N_("its values do not fit the file that they are in"));
}

static bool is_external(const Onnx__Tensor *tensor)
{
    return tensor->has_data_location && tensor->data_location == ONNX_EXTERNAL;
}

/* Finds the values of a tensor that is external or has its place in the file. */
static bool find_place(struct onnx_importer *im, const struct onnx_value *value,
                       struct place *place)
{
    const Onnx__Tensor *tensor = value->tensor;
    const size_t bytes = value->count * type_size(tensor->data_type);
    if (is_external(tensor))
        return open_external(im, tensor, bytes, place);
    *place = (struct place){onnx_model_file(im->model), false, tensor->raw_offset};
    return tensor->raw_length == bytes || onnx_damaged(im, value->name, wrong_count);
}

/* Calls `take` with blocks of raw numbers, in their order, from number `first` on. */
static bool read_blocks(const struct onnx_value *value, const struct place *place, size_t first,
                        size_t count,
                        void (*take)(void *context, const uint8_t *raw, size_t first, size_t count),
                        void *context)
{
    uint8_t block[READ_BLOCK];
    const size_t size = type_size(value->tensor->data_type), most = sizeof block / size;
    for (size_t i = 0; i < count; i += most) {
        const size_t part = count - i < most ? count - i : most;
        if (!file_read_at(place->file, (char *)block, part * size,
                          place->offset + (first + i) * size))
            return false;
        take(context, block, first + i, part);
    }
    return true;
}

struct taking {
    const struct onnx_value *value;
    float *floats; /* of number `from` and those that follow */
    size_t from;
    int64_t *integers, smallest;
};

static void take_floats(void *context, const uint8_t *raw, size_t first, size_t count)
{
    const struct taking *taking = context;
    const struct onnx_value *value = taking->value, *step = value->step, *zero = value->zero;
    const enum onnx_type type = (enum onnx_type)value->tensor->data_type;
    float *to = taking->floats + (first - taking->from);
    for (size_t i = 0; i < count; i++) {
        const double number = raw_number(raw, type, i);
        const size_t k = step && step->count > 1 ? (first + i) / value->inner % step->count : 0;
        to[i] = step ? step->floats[k] * (float)((int64_t)number - (zero ? zero->integers[k] : 0))
                     : (float)number;
    }
}

static void take_integers(void *context, const uint8_t *raw, size_t first, size_t count)
{
    const struct taking *taking = context;
    const enum onnx_type type = (enum onnx_type)taking->value->tensor->data_type;
    int64_t *to = taking->integers + first;
    for (size_t i = 0; i < count; i++)
        if (type == ONNX_INT64)
            memcpy(&to[i], raw + i * sizeof *to, sizeof *to);
        else
            to[i] = (int64_t)raw_number(raw, type, i);
}

static void take_smallest(void *context, const uint8_t *raw, size_t first, size_t count)
{
    struct taking *taking = context;
    (void)first;
    for (size_t i = 0; i < count; i++) {
        const int64_t number =
            (int64_t)raw_number(raw, (enum onnx_type)taking->value->tensor->data_type, i);
        taking->smallest = number < taking->smallest ? number : taking->smallest;
    }
}

static bool read_floats(const struct onnx_value *value, const struct place *place, size_t first,
                        size_t count, float *floats)
{
    struct taking taking = {.value = value, .floats = floats, .from = first};
    if (value->tensor->data_type == ONNX_FLOAT)
        return file_read_at(place->file, (char *)floats, count * sizeof *floats,
                            place->offset + first * sizeof *floats);
    return read_blocks(value, place, first, count, take_floats, &taking);
}

static bool cannot_read(struct onnx_importer *im, const struct onnx_value *value)
{
    return onnx_damaged(im, value->name, N_("its values cannot be read from the file"));
}

bool onnx_read_stored(struct onnx_importer *im, const struct onnx_value *value, float *floats)
{
    struct place place;
    if (!find_place(im, value, &place))
        return false;
    const bool read = read_floats(value, &place, 0, value->count, floats);
    leave(&place);
    return read || cannot_read(im, value);
}

bool onnx_read_transposed(struct onnx_importer *im, const struct onnx_value *value, float *floats)
{
    const size_t inputs = value->dims[0], outputs = value->dims[1];
    struct place place;
    float *row = onnx_import_memory(im, outputs, sizeof *row);
    if (!row || !find_place(im, value, &place))
        return false;
    bool read = true;
    for (size_t i = 0; read && i < inputs; i++) {
        read = read_floats(value, &place, i * outputs, outputs, row);
        for (size_t o = 0; read && o < outputs; o++)
            floats[o * inputs + i] = row[o];
    }
    leave(&place);
    return read || cannot_read(im, value);
}

bool onnx_find_smallest(struct onnx_importer *im, const struct onnx_value *value, int64_t *smallest)
{
    struct taking taking = {.value = value, .smallest = INT64_MAX};
    struct place place;
    if (!find_place(im, value, &place))
        return false;
    const bool read = read_blocks(value, &place, 0, value->count, take_smallest, &taking);
    leave(&place);
    *smallest = taking.smallest;
    return read || cannot_read(im, value);
}

bool onnx_load(struct onnx_importer *im, struct onnx_value *value)
{
    struct place place;
    if (!value->stored)
        return true;
    const bool real = value->kind == ONNX_FLOATS;
    float *floats = real ? onnx_import_memory(im, value->count, sizeof *floats) : NULL;
    int64_t *integers = real ? NULL : onnx_import_memory(im, value->count, sizeof *integers);
    struct taking taking = {.value = value, .integers = integers};
    if ((!floats && !integers) || !find_place(im, value, &place))
        return false;
    const bool read = real ? read_floats(value, &place, 0, value->count, floats)
                           : read_blocks(value, &place, 0, value->count, take_integers, &taking);
    leave(&place);
    value->floats = floats;
    value->integers = integers;
    value->stored = false;
    return read || cannot_read(im, value);
}

/* Reads a tensor that is in a file: large arrays that may be weights when a node wants them. */
static bool read_placed(struct onnx_importer *im, struct onnx_value *value)
{
    struct place place;
    const bool weights =
        is_real(value->type) || value->type == ONNX_INT8 || value->type == ONNX_UINT8;
    if (!find_place(im, value, &place))
        return false;
    leave(&place);
    value->kind = is_real(value->type) ? ONNX_FLOATS : ONNX_INTEGERS;
    value->stored = true;
    return (weights && value->count >= STORED) || onnx_load(im, value);
}

size_t onnx_tensor_count(const Onnx__Tensor *tensor)
{
    const size_t size = tensor->has_data_type ? type_size(tensor->data_type) : 0;
    const char *length = external_entry(tensor, "length");
    uint64_t bytes = tensor->has_raw_length ? tensor->raw_length : tensor->raw_data.len;
    if (size == 0)
        return 0;
    if (is_external(tensor))
        return length && text_to_uint64(length, &bytes) ? (size_t)bytes / size : 0;
    return bytes > 0 ? (size_t)bytes / size
                     : tensor->n_float_data + tensor->n_double_data + tensor->n_int64_data +
                           tensor->n_int32_data;
}

/* --- values in the message --- */

static bool read_raw(struct onnx_importer *im, struct onnx_value *value, const uint8_t *raw)
{
    const bool real = is_real(value->type);
    if (value->type == ONNX_FLOAT && (uintptr_t)raw % sizeof(float) == 0) {
        value->floats = (const float *)raw;
        return true;
    }
    float *floats = real ? onnx_import_memory(im, value->count, sizeof *floats) : NULL;
    value->integers = real ? NULL : onnx_import_memory(im, value->count, sizeof *value->integers);
    struct taking taking = {.value = value, .floats = floats, .integers = value->integers};
    value->floats = floats;
    if (!floats && !value->integers)
        return false;
    (real ? take_floats : take_integers)(&taking, raw, 0, value->count);
    return true;
}

/* Reads values from the list for their type. */
static bool read_list(struct onnx_importer *im, struct onnx_value *value)
{
    const Onnx__Tensor *tensor = value->tensor;
    const size_t count = value->count;
    const bool narrow =
        value->type != ONNX_INT64 && !(value->type == ONNX_FLOAT) && value->type != ONNX_DOUBLE;
    const size_t given = value->type == ONNX_FLOAT    ? tensor->n_float_data
                         : value->type == ONNX_DOUBLE ? tensor->n_double_data
                         : value->type == ONNX_INT64  ? tensor->n_int64_data
                                                      : tensor->n_int32_data;
    if (given != count)
        return onnx_damaged(im, value->name, wrong_count);
    value->floats = value->type == ONNX_FLOAT ? tensor->float_data : NULL;
    value->integers = value->type == ONNX_INT64 ? tensor->int64_data : NULL;
    if (value->floats || value->integers || count == 0)
        return true;
    float *floats = is_real(value->type) ? onnx_import_memory(im, count, sizeof *floats) : NULL;
    int64_t *integers =
        is_real(value->type) ? NULL : onnx_import_memory(im, count, sizeof *integers);
    for (size_t i = 0; i < count && (floats || integers); i++)
        if (!floats)
            integers[i] = tensor->int32_data[i];
        else if (!narrow)
            floats[i] = (float)tensor->double_data[i];
        else
            floats[i] = value->type == ONNX_BF16
                            ? bf16_to_float((uint16_t)tensor->int32_data[i])
                            : float16_to_float((uint16_t)tensor->int32_data[i]);
    value->floats = floats;
    value->integers = integers;
    return floats || integers;
}

bool onnx_read_tensor(struct onnx_importer *im, struct onnx_value *value)
{
    const Onnx__Tensor *tensor = value->tensor;
    size_t dims[ONNX_MAX_RANK];
    const size_t size = tensor->has_data_type ? type_size(tensor->data_type) : 0;
    value->kind = ONNX_UNKNOWN;
    if (size == 0)
        return true; /* text, integers of 4 bits, ...: what reads it is missing */
    if (tensor->n_dims > ONNX_MAX_RANK)
        return onnx_damaged(im, value->name, N_("an array has at most 8 dimensions"));
    for (size_t i = 0; i < tensor->n_dims; i++) {
        if (tensor->dims[i] < 0)
            return onnx_damaged(im, value->name, N_("an array has a negative size"));
        dims[i] = (size_t)tensor->dims[i];
    }
    if (!onnx_set_shape(im, value, dims, tensor->n_dims))
        return false;
    value->type = (enum onnx_type)tensor->data_type;
    bool read;
    if (is_external(tensor) || tensor->has_raw_length)
        return read_placed(im, value);
    if (tensor->has_raw_data)
        read = tensor->raw_data.len == value->count * size
                   ? read_raw(im, value, tensor->raw_data.data)
                   : onnx_damaged(im, value->name, wrong_count);
    else
        read = read_list(im, value);
    value->kind = is_real(value->type) ? ONNX_FLOATS : ONNX_INTEGERS;
    return read;
}
