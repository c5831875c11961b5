/* Windows. tinca pads both sides of an image alike. Padding of the far side that differs is the
 * same if as many windows fit, or if it is what ceil mode adds. */
#include "exchange/onnx/internal.h"

#include "base/language.h"
#include "engine/ops/op.h"
#include "engine/ops/rules.h"

#include <string.h>

/* The window along one axis. */
struct side {
    size_t size, kernel, stride, before, after; /* kernel: with dilation */
    bool ceil;
};

/* Reads number `i` of a list of `count` values of 0 to 65536. */
static bool read_side(const Onnx__Attribute *list, size_t count, size_t i, size_t *value)
{
    if (!list)
        return true;
    if (list->n_ints != count || list->ints[i] < 0 || list->ints[i] > 65536)
        return false;
    *value = (size_t)list->ints[i];
    return true;
}

/* Sets the padding that keeps size / stride outputs. */
static void pad_same(struct side *side, bool upper)
{
    const size_t outputs = (side->size + side->stride - 1) / side->stride;
    const size_t covered = (outputs - 1) * side->stride + side->kernel;
    const size_t pads = covered > side->size ? covered - side->size : 0;
    side->before = upper ? pads / 2 : pads - pads / 2;
    side->after = pads - side->before;
}

/* Sets what tinca needs in place of two paddings: ceil mode or not. Returns false if nothing does.
 */
static bool make_even(struct side *side, bool pool)
{
    const size_t reach = side->size + side->before + side->after;
    const size_t outputs = reach < side->kernel ? 0 : (reach - side->kernel) / side->stride + 1;
    const size_t same = window_output(side->size, side->kernel, side->stride, side->before, false);
    const size_t more = window_output(side->size, side->kernel, side->stride, side->before, true);
    if (side->before == side->after)
        return true;
    if (side->ceil)
        return false;
    side->ceil = same != outputs && more == outputs;
    return outputs > 0 && (same == outputs || (pool && side->ceil));
}

bool onnx_read_window(const Onnx__Node *node, const size_t *kernel, struct shape shape,
                      const size_t *dilation, struct window *window, bool *ceil, const char **why)
{
    const Onnx__Attribute *strides = onnx_attribute(node, "strides");
    const Onnx__Attribute *pads = onnx_attribute(node, "pads");
    const bool upper = onnx_get_is(node, "auto_pad", "SAME_UPPER");
    const bool same = upper || onnx_get_is(node, "auto_pad", "SAME_LOWER");
    const bool transposed = !dilation && !ceil;
    struct side sides[2];
    *why = N_("a window that tinca does not know");
    for (size_t i = 0; i < 2; i++) {
        struct side *side = &sides[i];
        *side = (struct side){.size = i == 0 ? shape.height : shape.width,
                              .kernel = kernel[i],
                              .stride = 1,
                              .ceil = ceil && *ceil};
        if (kernel[i] < 1 || kernel[i] > 65536 || !read_side(strides, 2, i, &side->stride) ||
            side->stride < 1 || !read_side(pads, 4, i, &side->before) ||
            !read_side(pads, 4, i + 2, &side->after) || (same && (pads || transposed)))
            return false;
        side->kernel = dilated_size(side->kernel, dilation ? dilation[i] : 1);
        if (same)
            pad_same(side, upper);
        *why = N_("its padding is not the same on both sides");
        if (transposed ? side->before != side->after : !make_even(side, ceil))
            return false;
    }
    if (ceil && sides[0].ceil != sides[1].ceil) { /* ceil mode adds nothing along one axis */
        const struct side *one = &sides[sides[0].ceil ? 1 : 0];
        if (window_output(one->size, one->kernel, one->stride, one->before, false) !=
            window_output(one->size, one->kernel, one->stride, one->before, true))
            return false;
    }
    if (ceil)
        *ceil = sides[0].ceil || sides[1].ceil;
    *window = (struct window){kernel[0],       kernel[1],       sides[0].stride,
                              sides[1].stride, sides[0].before, sides[1].before};
    return true;
}

/* --- the mean of squares of a local response normalisation --- */

/* Takes the means over windows of channels of values [batch, 1, channels + size - 1, ...]. */
static bool import_squares(struct onnx_importer *im, const Onnx__Node *node,
                           const struct onnx_value *in)
{
    const Onnx__Attribute *kernel = onnx_attribute(node, "kernel_shape");
    const struct shape shape = im->graph.nodes[in->node].output;
    const size_t size =
        kernel && kernel->n_ints > 0 && kernel->ints[0] > 0 && kernel->ints[0] < 1024
            ? (size_t)kernel->ints[0]
            : 0;
    const size_t area = shape_area(shape), padded = shape.channels + size - 1;
    const size_t dims[5] = {im->batch, 1, shape.channels, shape.height, shape.width};
    bool fits = in->integers && in->rank == 5 && in->dims[1] == 1 && size % 2 == 1 &&
                in->count == im->batch * padded * area && in->dims[2] == padded &&
                in->dims[0] == im->batch;
    for (size_t i = 1; kernel && i < kernel->n_ints; i++)
        fits &= kernel->ints[i] == 1;
    const Onnx__Attribute *pads = onnx_attribute(node, "pads");
    const Onnx__Attribute *strides = onnx_attribute(node, "strides");
    for (size_t i = 0; pads && i < pads->n_ints; i++)
        fits &= pads->ints[i] == 0;
    for (size_t i = 0; strides && i < strides->n_ints; i++)
        fits &= strides->ints[i] == 1;
    for (size_t at = 0; fits && at < in->count; at++) {
        const size_t c = at / area % padded, image = at / area / padded;
        const bool inside = c >= size / 2 && c - size / 2 < shape.channels;
        fits =
            in->integers[at] ==
            (inside ? (int64_t)((image * shape.channels + c - size / 2) * area + at % area) : -1);
    }
    if (!fits)
        return onnx_lacks(im, node, N_("means that are no part of a local response normalisation"));
    struct onnx_value *out = onnx_output(im, node);
    onnx_set_alias(out, in);
    out->integers = NULL;
    out->meaning = ONNX_MEANS;
    out->lrn = (struct lrn_attributes){.size = size, .alpha = 1};
    return onnx_set_shape(im, out, dims, 5);
}

/* --- pooling --- */

static bool add_pool(struct onnx_importer *im, const Onnx__Node *node,
                     const struct onnx_value *input, bool mean, const union attributes *attributes)
{
    return onnx_add_layer(im, node, NULL, mean ? &op_average_pool : &op_max_pool,
                          (const struct onnx_value *const[]){input}, 1, attributes, NULL);
}

/* Takes the padding that stands before an average pooling back: returns whether the value is an
 * image of a node with zeros around it, alike on both sides. */
static bool unpad(const struct onnx_importer *im, struct onnx_value *value, size_t *high,
                  size_t *wide)
{
    const struct shape shape = im->graph.nodes[value->node].output;
    if (value->rank != 4 || !value->integers || value->dims[1] != shape.channels ||
        value->dims[2] < shape.height || value->dims[3] < shape.width)
        return false;
    *high = (value->dims[2] - shape.height) / 2;
    *wide = (value->dims[3] - shape.width) / 2;
    if (shape.height + 2 * *high != value->dims[2] || shape.width + 2 * *wide != value->dims[3])
        return false;
    for (size_t at = 0; at < value->count; at++) {
        const size_t x = at % value->dims[3], y = at / value->dims[3] % value->dims[2];
        const size_t plane = at / value->dims[3] / value->dims[2];
        const bool inside =
            y >= *high && y - *high < shape.height && x >= *wide && x - *wide < shape.width;
        const int64_t from =
            inside ? (int64_t)((plane * shape.height + y - *high) * shape.width + x - *wide) : -1;
        if (value->integers[at] != from)
            return false;
    }
    return true;
}

/* Returns whether a mean counts padding as tinca does: that of the window, but not what ceil mode
 * adds. */
static bool counts_alike(const Onnx__Node *node, const struct pool_attributes *pool)
{
    const bool padded = pool->window.pad_height > 0 || pool->window.pad_width > 0;
    const bool counts = onnx_get_int(node, "count_include_pad", 0);
    const bool explicit_ceil = pool->ceil_mode && !onnx_get_int(node, "ceil_mode", 0);
    return explicit_ceil ? !counts && !padded : counts || !padded;
}

bool onnx_import_pool(struct onnx_importer *im, const Onnx__Node *node)
{
    const bool global = strncmp(node->op_type, "Global", 6) == 0;
    const bool mean = strstr(node->op_type, "Average") != NULL;
    const char *why = N_("an input is missing");
    struct onnx_value *input = onnx_input(im, node, 0);
    union attributes attributes = {.pool = {.global = global}};
    struct pool_attributes *pool = &attributes.pool;
    size_t high = 0, wide = 0;
    if (input && input->kind == ONNX_LAYER && input->meaning == ONNX_SQUARES && mean && !global)
        return import_squares(im, node, input);
    const bool apart = input && input->kind == ONNX_LAYER && input->meaning == ONNX_PLAIN && mean &&
                       !global && unpad(im, input, &high, &wide);
    if (!input || (!apart && !onnx_settle(im, input, false, &why)))
        return !im->failed && onnx_lacks(im, node, why);
    const Onnx__Attribute *kernel = onnx_attribute(node, "kernel_shape");
    const Onnx__Attribute *dilations = onnx_attribute(node, "dilations");
    if (input->rank != 4 || (!global && (!kernel || kernel->n_ints != 2)) || node->n_output > 1)
        return onnx_lacks(im, node, N_("it is no pooling of images"));
    for (size_t i = 0; dilations && i < dilations->n_ints; i++)
        if (dilations->ints[i] != 1)
            return onnx_lacks(im, node, N_("tinca's pooling has no dilation"));
    if (global)
        return add_pool(im, node, input, mean, &attributes);
    const size_t sizes[2] = {(size_t)kernel->ints[0], (size_t)kernel->ints[1]};
    struct shape shape = im->graph.nodes[input->node].output;
    shape.height += 2 * high;
    shape.width += 2 * wide;
    pool->ceil_mode = onnx_get_int(node, "ceil_mode", 0);
    if (kernel->ints[0] < 1 || kernel->ints[1] < 1 ||
        !onnx_read_window(node, sizes, shape, NULL, &pool->window, &pool->ceil_mode, &why))
        return onnx_lacks(im, node, why);
    if (mean && !counts_alike(node, pool))
        return onnx_lacks(im, node, N_("a mean that does not count padding"));
    pool->window.pad_height += high;
    pool->window.pad_width += wide;
    return add_pool(im, node, input, mean, &attributes);
}

bool onnx_import_mean(struct onnx_importer *im, const Onnx__Node *node)
{
    const char *why = N_("an input is missing");
    struct onnx_value *input = onnx_input(im, node, 0), *out = onnx_output(im, node);
    const union attributes attributes = {.pool = {.global = true}};
    size_t count;
    bool seen[4] = {false};
    if (!input || !out || !onnx_settle(im, input, false, &why))
        return !im->failed && onnx_lacks(im, node, why);
    const int64_t *axes = onnx_get_list(im, node, "axes", 1, &count);
    for (size_t i = 0; axes && i < count && input->rank == 4; i++)
        if (axes[i] >= -4 && axes[i] < 4)
            seen[(axes[i] + 4) % 4] = true;
    if (count != 2 || !seen[2] || !seen[3])
        return onnx_lacks(im, node, N_("a mean of something else than the positions of an image"));
    if (!add_pool(im, node, input, true, &attributes) || onnx_get_int(node, "keepdims", 1))
        return true;
    return onnx_set_shape(im, out, (const size_t[]){im->batch, out->dims[1]}, 2);
}
