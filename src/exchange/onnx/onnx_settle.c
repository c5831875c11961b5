/* Finds the operator of tinca that moves values as a value of the file says: none, channel_shift,
 * channel_shuffle, or flatten. All images of the batch must move alike, and none into another. */
#include "exchange/onnx/internal.h"

#include "base/language.h"
#include "base/memory.h"
#include "engine/ops/op.h"

#include <stdio.h>
#include <string.h>

/* --- adding a node --- */

/* Returns whether the values of a name belong to the array NAME.weight. */
static bool is_weight_name(const char *name)
{
    const size_t length = strlen(name);
    return length > 7 && strcmp(name + length - 7, ".weight") == 0;
}

/* Sets the output to all of what node `number` computes. */
static void set_layer(struct onnx_importer *im, struct onnx_value *out, size_t number, size_t rank)
{
    const struct shape shape = im->base.graph.nodes[number].output;
    const size_t dims[4] = {im->batch, shape.channels, shape.height, shape.width};
    out->kind = ONNX_LAYER;
    out->node = number;
    out->meaning = ONNX_PLAIN;
    out->integers = NULL;
    out->direct = true;
    onnx_set_shape(im, out, dims, rank);
}

bool onnx_add_layer(struct onnx_importer *im, const Onnx__Node *node, const char *name_of,
                    const struct op *op, const struct onnx_value *const *inputs, size_t count,
                    const union attributes *attributes, const float *const *data)
{
    char name[NODE_NAME_SIZE], stem[512];
    size_t from[NODE_MAX_INPUTS], added, rank = inputs[0]->rank;
    struct error error;
    struct onnx_value *out = onnx_output(im, node);
    if (!out)
        return false;
    if (name_of && is_weight_name(name_of))
        snprintf(stem, sizeof stem, "%.*s", (int)(strlen(name_of) - 7), name_of);
    else
        snprintf(stem, sizeof stem, "%s",
                 node->name && node->name[0] ? node->name : node->output[0]);
    char *end = op == &op_fake_quantize ? strstr(stem, "/fake_quantize") : NULL;
    if (end) /* as an export calls it, LAYER/fake_quantize */
        *end = '\0';
    importer_choose_name(&im->base, stem, "", name);
    for (size_t k = 0; k < count && k < NODE_MAX_INPUTS; k++)
        from[k] = inputs[k]->node;
    if (count > NODE_MAX_INPUTS)
        return onnx_lacks(im, node, N_("it has more than 8 inputs"));
    if (!graph_add(&im->base.graph, op, name, from, count, attributes, &added, &error))
        return onnx_lacks(im, node, error.why);
    const struct node *made = &im->base.graph.nodes[added];
    if (!memory_grow(&im->sources, &im->source_capacity, im->base.graph.parameter_count + 1,
                     sizeof *im->sources, "the weights", im->base.error)) {
        im->base.failed = true;
        return false;
    }
    for (size_t p = 0; p < made->parameter_count; p++)
        im->sources[made->parameters[p]] = (struct onnx_source){.floats = data ? data[p] : NULL};
    if (op == &op_linear || op == &op_flatten)
        rank = 2;
    set_layer(im, out, added, rank);
    return true;
}

/* --- moves --- */

/* A way of moving: returns the place in the input of place (c, y, x) of the output; -1: it is 0. */
struct moved {
    struct shape shape;
    size_t groups; /* of a shuffle */
};

static int64_t same_place(const struct moved *moved, size_t c, size_t y, size_t x)
{
    return (int64_t)((c * moved->shape.height + y) * moved->shape.width + x);
}

static int64_t shifted_place(const struct moved *moved, size_t c, size_t y, size_t x)
{
    const size_t group = moved->shape.channels / 9;
    const bool moves = c < 9 * group;
    const size_t fy = moves ? y + 1 - c / group / 3 : y, fx = moves ? x + 1 - c / group % 3 : x;
    return fy < moved->shape.height && fx < moved->shape.width ? same_place(moved, c, fy, fx) : -1;
}

static int64_t shuffled_place(const struct moved *moved, size_t c, size_t y, size_t x)
{
    const size_t from =
        c % moved->groups * (moved->shape.channels / moved->groups) + c / moved->groups;
    return same_place(moved, from, y, x);
}

static bool moves_like(const struct onnx_value *value, const struct moved *moved,
                       int64_t (*place)(const struct moved *moved, size_t c, size_t y, size_t x))
{
    const size_t count = shape_count(moved->shape);
    const int64_t *at = value->integers;
    for (size_t n = 0; n < value->count / count; n++)
        for (size_t c = 0; c < moved->shape.channels; c++)
            for (size_t y = 0; y < moved->shape.height; y++)
                for (size_t x = 0; x < moved->shape.width; x++, at++) {
                    const int64_t from = place(moved, c, y, x);
                    if (*at != (from < 0 ? -1 : from + (int64_t)(n * count)))
                        return false;
                }
    return true;
}

/* Returns the groups of a shuffle with these places: its second channel is the first one of the
 * second group. 0: it is none. */
static size_t groups_of(const struct onnx_value *value, struct shape shape)
{
    const size_t area = shape_area(shape);
    if (shape.channels < 2 || value->integers[area] <= 0)
        return 0;
    const size_t step = (size_t)value->integers[area] / area;
    return step > 0 && shape.channels % step == 0 ? shape.channels / step : 0;
}

/* Adds a node after the value's. */
static bool append(struct onnx_importer *im, struct onnx_value *value, const struct op *op,
                   const union attributes *attributes, const char **why)
{
    char name[NODE_NAME_SIZE];
    struct error error;
    importer_choose_name(
        &im->base, value->producer && value->producer[0] ? value->producer : value->name, "", name);
    *why = N_("it does not fit into a network of tinca");
    if (!graph_add(&im->base.graph, op, name, &value->node, 1, attributes, &value->node, &error))
        return false;
    value->integers = NULL;
    value->direct = true;
    return true;
}

static bool settle_moves(struct onnx_importer *im, struct onnx_value *value, const char **why)
{
    struct moved moved = {.shape = im->base.graph.nodes[value->node].output};
    if (!value->integers)
        return true;
    if (value->count != im->batch * shape_count(moved.shape))
        return false;
    if (moves_like(value, &moved, same_place)) {
        value->integers = NULL;
        return true;
    }
    if (moves_like(value, &moved, shifted_place))
        return append(im, value, &op_channel_shift, NULL, why);
    moved.groups = groups_of(value, moved.shape);
    const union attributes attributes = {.shuffle = {.groups = moved.groups}};
    return moved.groups > 0 && moves_like(value, &moved, shuffled_place) &&
           append(im, value, &op_channel_shuffle, &attributes, why);
}

bool onnx_settle(struct onnx_importer *im, struct onnx_value *value, bool vector, const char **why)
{
    *why = N_("it reads values that are moved as no operator of tinca moves them");
    if (value->kind != ONNX_LAYER) {
        *why = N_("it reads a constant where tinca reads a layer");
        return false;
    }
    if (value->meaning == ONNX_ROUNDED) {
        *why = N_("it reads integers of 8 bits without DequantizeLinear");
        return false;
    }
    if (value->meaning != ONNX_PLAIN || !settle_moves(im, value, why))
        return false;
    const struct shape shape = im->base.graph.nodes[value->node].output;
    *why = N_("it reads values in a shape that tinca does not know");
    if (value->rank < 2 || value->dims[0] != im->batch)
        return false;
    if (value->rank == 4)
        return value->dims[1] == shape.channels && value->dims[2] == shape.height &&
               value->dims[3] == shape.width;
    if (value->rank != 2 || value->dims[1] != shape_count(shape))
        return false;
    return vector || shape_area(shape) == 1 || append(im, value, &op_flatten, NULL, why);
}

struct onnx_value *onnx_layer_input(struct onnx_importer *im, const Onnx__Node *node, size_t k,
                                    bool vector)
{
    const char *why = N_("an input is missing");
    struct onnx_value *value = onnx_input(im, node, k);
    if (value && onnx_settle(im, value, vector, &why))
        return value;
    if (!im->base.failed)
        onnx_lacks(im, node, why);
    return NULL;
}
