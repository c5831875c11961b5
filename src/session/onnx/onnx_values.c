/* The values of an import by their names, and the small helpers that all parts use. */
#include "session/onnx/onnx_importer.h"

#include "base/character.h"
#include "base/host/memory_room.h"
#include "base/language.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

void *onnx_import_memory(struct onnx_importer *im, size_t count, size_t size)
{
    void *memory = NULL;
    if (im->failed)
        return NULL;
    if (count > 0 && size > im->budget / count) {
        error_set(im->error, ERROR_MEMORY, im->path, NULL,
                  "its constants and moves take more memory than such a file may");
        im->failed = true;
        return NULL;
    }
    if (!memory_room_check(im->path, count * size, im->error)) {
        im->failed = true;
        return NULL;
    }
    memory = onnx_memory(&im->memory, count > 0 ? count * size : 1);
    im->budget -= count * size;
    if (!memory) {
        error_set_memory(im->error, "the ONNX model", count * size);
        im->failed = true;
    }
    return memory;
}

bool onnx_damaged(struct onnx_importer *im, const char *what, const char *why)
{
    if (!im->failed)
        error_set(im->error, ERROR_INPUT, im->path, "export the model again", "%.100s: %s", what,
                  language_text(why));
    im->failed = true;
    return false;
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
                     "the ONNX model", im->error) ||
        !name_index_add(&im->names, name, im->value_count, im->error)) {
        im->failed = true;
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
    if (!value && !im->failed)
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
    struct onnx_import_result *result = im->result;
    for (size_t i = 0; i < node->n_output; i++) {
        struct onnx_value *value = onnx_find_value(im, node->output[i]);
        if (value)
            value->kind = ONNX_UNKNOWN;
    }
    if (!memory_grow(&result->missing, &result->missing_capacity, result->missing_count + 1,
                     sizeof *result->missing, "the ONNX model", im->error)) {
        im->failed = true;
        return false;
    }
    struct onnx_missing *missing = &result->missing[result->missing_count++];
    const char *name = node->name && node->name[0] ? node->name
                       : node->n_output > 0        ? node->output[0]
                                                   : "";
    snprintf(missing->node, sizeof missing->node, "%s", name);
    snprintf(missing->type, sizeof missing->type, "%s", node->op_type);
    snprintf(missing->why, sizeof missing->why, "%s", language_text(why));
    character_replace_hidden(missing->node);
    character_replace_hidden(missing->type);
    return false;
}
