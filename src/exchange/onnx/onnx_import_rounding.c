/* QuantizeLinear and DequantizeLinear. A pair behind a layer that nothing else reads says that the
 * layer's values lie on that grid; any other pair is a fake_quantize. A DequantizeLinear of a
 * constant gives weights that keep their scales, or a bias. Signed integers become unsigned ones:
 * q + 128 with the zero point + 128 is the same grid. */
#include "exchange/onnx/internal.h"

#include "base/language.h"
#include "engine/ops/op.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Reads scale and zero point of a node, for values of a layer. */
static bool read_grid(struct onnx_importer *im, const Onnx__Node *node, struct quantization *grid)
{
    const struct onnx_value *scale = onnx_input(im, node, 1), *zero = onnx_input(im, node, 2);
    if (!scale || scale->kind != ONNX_FLOATS || scale->count != 1 ||
        !(scale->floats[0] >= FLT_MIN) || !(scale->floats[0] <= FLT_MAX))
        return false;
    grid->scale = scale->floats[0];
    grid->zero_point = 0;
    if (!zero)
        return true;
    if (zero->kind != ONNX_INTEGERS || zero->count != 1 ||
        (zero->type != ONNX_UINT8 && zero->type != ONNX_INT8))
        return false;
    grid->zero_point = (int)zero->integers[0] + (zero->type == ONNX_INT8 ? ONNX_OFFSET : 0);
    return true;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t length = text ? strlen(text) : 0, size = strlen(end);
    return length >= size && strcmp(text + length - size, end) == 0;
}

bool onnx_import_quantize(struct onnx_importer *im, const Onnx__Node *node)
{
    const char *why = N_("an input is missing");
    struct onnx_value *input = onnx_input(im, node, 0), *out = onnx_output(im, node);
    struct quantization grid;
    if (!input || !out || !onnx_settle(im, input, false, &why))
        return !im->failed && onnx_lacks(im, node, why);
    if (!read_grid(im, node, &grid))
        return onnx_lacks(im, node, N_("tinca rounds to integers of 8 bits, with one scale"));
    struct quantization *own = &im->graph.nodes[input->node].quantization;
    const bool whole =
        input->direct && input->readers == 1 && !ends_with(node->name, "/fake_quantize");
    if (whole && !quantization_is_set(*own))
        *own = grid;
    if (!whole || !quantization_equal(*own, grid)) {
        const union attributes attributes = {.fake_quantize = grid};
        if (!onnx_add_layer(im, node, NULL, &op_fake_quantize,
                            (const struct onnx_value *const[]){input}, 1, &attributes, NULL))
            return false;
        input = out;
    }
    if (input != out)
        onnx_set_alias(out, input);
    out->meaning = ONNX_ROUNDED;
    out->grid = grid;
    return true;
}

/* Returns whether integers and zero points are those of tinca's weights: symmetric, of 8 bits,
 * signed or with 128 added. */
static bool is_symmetric(struct onnx_importer *im, const struct onnx_value *in,
                         const struct onnx_value *zero)
{
    const int64_t middle = in->type == ONNX_UINT8 ? ONNX_OFFSET : 0;
    int64_t smallest = middle;
    bool symmetric = in->type == ONNX_INT8 || (in->type == ONNX_UINT8 && zero);
    for (size_t i = 0; symmetric && zero && i < zero->count; i++)
        symmetric = zero->integers[i] == middle;
    if (symmetric && in->stored && !onnx_find_smallest(im, in, &smallest))
        return false;
    for (size_t i = 0; symmetric && !in->stored && i < in->count; i++)
        smallest = in->integers[i] < smallest ? in->integers[i] : smallest;
    return symmetric && smallest >= middle - QUANTIZED_WEIGHT_MAX;
}

/* Computes (q - zero point) * scale, with one scale or one along an axis. */
static bool dequantize_constant(struct onnx_importer *im, const Onnx__Node *node,
                                const struct onnx_value *in, struct onnx_value *out)
{
    const struct onnx_value *scale = onnx_input(im, node, 1), *zero = onnx_input(im, node, 2);
    int64_t axis = onnx_get_int(node, "axis", 1);
    size_t inner = 1;
    axis = axis < 0 ? axis + (int64_t)in->rank : axis;
    if (!scale || scale->kind != ONNX_FLOATS || onnx_get_int(node, "block_size", 0) ||
        (zero && (zero->kind != ONNX_INTEGERS || zero->count != scale->count)) ||
        (scale->count != 1 &&
         (axis < 0 || axis >= (int64_t)in->rank || in->dims[axis] != scale->count)))
        return onnx_lacks(im, node, N_("scales that are not one for each output"));
    for (size_t i = (size_t)axis + 1; scale->count > 1 && i < in->rank; i++)
        inner *= in->dims[i];
    float *floats = in->stored ? NULL : onnx_import_memory(im, in->count, sizeof *floats);
    bool positive = true;
    for (size_t i = 0; floats && i < in->count; i++) {
        const size_t k = scale->count == 1 ? 0 : i / inner % scale->count;
        floats[i] = scale->floats[k] * (float)(in->integers[i] - (zero ? zero->integers[k] : 0));
    }
    for (size_t k = 0; k < scale->count; k++)
        positive &= scale->floats[k] > 0 && isfinite(scale->floats[k]);
    onnx_set_alias(out, in);
    out->kind = ONNX_FLOATS;
    out->integers = NULL;
    out->floats = floats;
    out->type = ONNX_FLOAT;
    out->scales = positive && is_symmetric(im, in, zero) ? scale->floats : NULL;
    out->scale_axis = (size_t)axis;
    out->scale_count = scale->count;
    out->step = scale;
    out->zero = zero;
    out->inner = inner;
    return !im->failed && (floats || in->stored);
}

bool onnx_import_dequantize(struct onnx_importer *im, const Onnx__Node *node)
{
    const struct onnx_value *input = onnx_input(im, node, 0);
    struct onnx_value *out = onnx_output(im, node);
    struct quantization grid;
    if (!input || !out)
        return !im->failed && onnx_lacks(im, node, N_("an input is missing"));
    if (input->kind == ONNX_INTEGERS)
        return dequantize_constant(im, node, input, out);
    if (input->kind != ONNX_LAYER || input->meaning != ONNX_ROUNDED ||
        !read_grid(im, node, &grid) || !quantization_equal(grid, input->grid))
        return onnx_lacks(im, node, N_("it does not undo a QuantizeLinear before it"));
    const bool direct = input->direct;
    onnx_set_alias(out, input);
    out->meaning = ONNX_PLAIN;
    out->direct = direct;
    return true;
}
