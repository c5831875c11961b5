/* A constant's values lie in one of seven places, and none is trusted: the number of values must be
 * that of the shape. Float32 in raw_data is used where it lies.
 *
 * A file of values beside the model is read only if it lies in the model's folder: its name is
 * relative, without "..", and where it leads to, through symbolic links, is below that folder. */
#include "session/onnx/onnx_importer.h"

#include "base/files/file.h"
#include "base/float16.h"
#include "base/language.h"
#include "base/text.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Returns the bytes of a tensor in another file, or NULL: the import has failed. */
static const uint8_t *read_external(struct onnx_importer *im, const Onnx__Tensor *tensor,
                                    size_t bytes)
{
    const char *location = external_entry(tensor, "location");
    const char *offset_text = external_entry(tensor, "offset");
    const char *length_text = external_entry(tensor, "length");
    uint64_t offset = 0, length = bytes;
    struct stat status;
    const int file = location ? open_inside(im, location, &status) : -1;
    if (file < 0) {
        error_set(im->error, ERROR_INPUT, im->path, "copy it there, or export the model again",
                  "%.100s: its values are in another file, %.100s, which is not in the model's "
                  "folder",
                  tensor->name, location ? location : "?");
        im->failed = true;
        return NULL;
    }
    const bool fits = (!offset_text || text_to_uint64(offset_text, &offset)) &&
                      (!length_text || text_to_uint64(length_text, &length)) && length == bytes &&
                      offset <= (uint64_t)status.st_size &&
                      length <= (uint64_t)status.st_size - offset;
    char *data = fits ? onnx_import_memory(im, bytes, 1) : NULL;
    const bool read = data && file_read_at(file, data, bytes, offset);
    close(file);
    if (!read)
        onnx_damaged(im, tensor->name, N_("its values do not fit the file that they are in"));
    return read ? (const uint8_t *)data : NULL;
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

static bool read_raw(struct onnx_importer *im, struct onnx_value *value, const uint8_t *raw)
{
    if (value->type == ONNX_FLOAT && (uintptr_t)raw % sizeof(float) == 0) {
        value->floats = (const float *)raw;
        return true;
    }
    float *floats =
        is_real(value->type) ? onnx_import_memory(im, value->count, sizeof *floats) : NULL;
    int64_t *integers =
        is_real(value->type) ? NULL : onnx_import_memory(im, value->count, sizeof *integers);
    if (!floats && !integers)
        return false;
    for (size_t i = 0; i < value->count; i++)
        if (floats)
            floats[i] = (float)raw_number(raw, value->type, i);
        else if (value->type == ONNX_INT64)
            memcpy(&integers[i], raw + i * sizeof *integers, sizeof *integers);
        else
            integers[i] = (int64_t)raw_number(raw, value->type, i);
    value->floats = floats;
    value->integers = integers;
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
        return onnx_damaged(im, value->name,
                            N_("the number of its values is not that of its shape"));
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
    if (tensor->has_data_location && tensor->data_location == ONNX_EXTERNAL) {
        const uint8_t *raw = read_external(im, tensor, value->count * size);
        read = raw && read_raw(im, value, raw);
    } else if (tensor->has_raw_data) {
        read = tensor->raw_data.len == value->count * size
                   ? read_raw(im, value, tensor->raw_data.data)
                   : onnx_damaged(im, value->name,
                                  N_("the number of its values is not that of its shape"));
    } else {
        read = read_list(im, value);
    }
    value->kind = is_real(value->type) ? ONNX_FLOATS : ONNX_INTEGERS;
    return read;
}
