/* Constants that a file computes: shapes, ranges, indices. Programs that trace a network write them
 * where the sizes of images enter it. */
#include "exchange/onnx/internal.h"

#include "base/language.h"

#include <math.h>
#include <string.h>

static bool is_constant(const struct onnx_value *value)
{
    return value && (value->kind == ONNX_INTEGERS || value->kind == ONNX_FLOATS);
}

static double number_of(const struct onnx_value *value, size_t i)
{
    return value->kind == ONNX_INTEGERS ? (double)value->integers[i] : (double)value->floats[i];
}

/* --- constants and shapes --- */

static void fold_constant(struct onnx_importer *im, const Onnx__Node *node, struct onnx_value *out)
{
    const Onnx__Attribute *attribute = node->n_attribute == 1 ? node->attribute[0] : NULL;
    const char *name = attribute && attribute->name ? attribute->name : "";
    if (strcmp(name, "value") == 0 && attribute->t) {
        out->tensor = attribute->t;
        onnx_read_tensor(im, out);
    } else if (strcmp(name, "value_int") == 0 && onnx_set_integers(im, out, NULL, 0)) {
        out->integers[0] = attribute->i;
    } else if (strcmp(name, "value_ints") == 0 &&
               onnx_set_integers(im, out, &attribute->n_ints, 1)) {
        memcpy(out->integers, attribute->ints, out->count * sizeof *out->integers);
    } else if (strcmp(name, "value_float") == 0 && onnx_set_shape(im, out, NULL, 0)) {
        out->kind = ONNX_FLOATS;
        out->floats = &attribute->f;
    } else if (strcmp(name, "value_floats") == 0 &&
               onnx_set_shape(im, out, &attribute->n_floats, 1)) {
        out->kind = ONNX_FLOATS;
        out->floats = attribute->floats;
    } else if (!im->failed) {
        onnx_lacks(im, node, N_("a constant of this type"));
    }
}

/* Copies a list of integers as sizes. */
static bool read_dims(const struct onnx_value *list, size_t *dims)
{
    if (!list || list->kind != ONNX_INTEGERS || list->count > ONNX_MAX_RANK)
        return false;
    for (size_t i = 0; i < list->count; i++) {
        if (list->integers[i] < 0)
            return false;
        dims[i] = (size_t)list->integers[i];
    }
    return true;
}

static void fold_filled(struct onnx_importer *im, const Onnx__Node *node, struct onnx_value *out)
{
    const struct onnx_value *list = onnx_input(im, node, 0);
    const Onnx__Attribute *attribute = onnx_attribute(node, "value");
    struct onnx_value element = {.name = out->name, .tensor = attribute ? attribute->t : NULL};
    size_t dims[ONNX_MAX_RANK];
    if (!read_dims(list, dims) || (element.tensor && !onnx_read_tensor(im, &element)) ||
        (element.tensor && (!is_constant(&element) || element.count < 1))) {
        if (!im->failed)
            onnx_lacks(im, node, N_("a shape that is not constant"));
        return;
    }
    if (element.kind == ONNX_INTEGERS) {
        if (onnx_set_integers(im, out, dims, list->count))
            for (size_t i = 0; i < out->count; i++)
                out->integers[i] = element.integers[0];
        return;
    }
    float *floats = onnx_set_shape(im, out, dims, list->count)
                        ? onnx_import_memory(im, out->count, sizeof *floats)
                        : NULL;
    for (size_t i = 0; floats && i < out->count; i++)
        floats[i] = element.tensor ? element.floats[0] : 0;
    out->kind = ONNX_FLOATS;
    out->type = ONNX_FLOAT;
    out->floats = floats;
}

static void fold_shape(struct onnx_importer *im, const Onnx__Node *node, struct onnx_value *out)
{
    const struct onnx_value *of = onnx_input(im, node, 0);
    const int64_t rank = of ? (int64_t)of->rank : 0;
    int64_t start = onnx_get_int(node, "start", 0), end = onnx_get_int(node, "end", rank);
    if (!of || (of->kind != ONNX_LAYER && !is_constant(of))) {
        out->kind = ONNX_UNKNOWN;
        return;
    }
    start = start < 0 ? start + rank : start;
    end = end < 0 ? end + rank : end;
    end = end > rank ? rank : end;
    const size_t count = start >= 0 && end > start ? (size_t)(end - start) : 0;
    if (onnx_set_integers(im, out, &count, 1))
        for (size_t i = 0; i < count; i++)
            out->integers[i] = (int64_t)of->dims[(size_t)start + i];
}

static void fold_range(struct onnx_importer *im, const Onnx__Node *node, struct onnx_value *out)
{
    const struct onnx_value *in[3];
    for (size_t k = 0; k < 3; k++) {
        in[k] = onnx_input(im, node, k);
        if (!in[k] || in[k]->kind != ONNX_INTEGERS || in[k]->count != 1) {
            onnx_lacks(im, node, N_("a range that is not constant"));
            return;
        }
    }
    const double first = number_of(in[0], 0), step = number_of(in[2], 0);
    const double steps = step == 0 ? 0 : ceil((number_of(in[1], 0) - first) / step);
    const size_t count = steps > 0 && steps < 1e9 ? (size_t)steps : 0;
    if (onnx_set_integers(im, out, &count, 1))
        for (size_t i = 0; i < count; i++)
            out->integers[i] = (int64_t)(first + (double)i * step);
}

/* --- arithmetic --- */

static double saturate(double value)
{
    return isnan(value) ? 0 : fmin(fmax(value, -0x1p62), 0x1p62);
}

static void fold_cast(struct onnx_importer *im, const Onnx__Node *node, struct onnx_value *out)
{
    struct onnx_value *in = onnx_input(im, node, 0);
    const int64_t to = onnx_get_int(node, "to", 0);
    const bool real =
        to == ONNX_FLOAT || to == ONNX_DOUBLE || to == ONNX_FLOAT16 || to == ONNX_BF16;
    if ((in->kind == ONNX_FLOATS) == real) {
        onnx_set_alias(out, in); /* the type is the one in the file */
        return;
    }
    if (!onnx_load(im, in))
        return;
    if (!real) {
        if (onnx_set_integers(im, out, in->dims, in->rank))
            for (size_t i = 0; i < out->count; i++)
                out->integers[i] = (int64_t)saturate((double)in->floats[i]);
        return;
    }
    float *floats = onnx_set_shape(im, out, in->dims, in->rank)
                        ? onnx_import_memory(im, out->count, sizeof *floats)
                        : NULL;
    for (size_t i = 0; floats && i < out->count; i++)
        floats[i] = (float)in->integers[i];
    out->kind = ONNX_FLOATS;
    out->floats = floats;
}

static const char *const arithmetic[] = {"Add", "Sub",   "Mul",     "Div",  "Mod",
                                         "Pow", "Equal", "Greater", "Less", NULL};

static double compute(size_t kind, double a, double b, bool integers)
{
    switch (kind) {
    case 0:
        return a + b;
    case 1:
        return a - b;
    case 2:
        return a * b;
    case 3:
        return integers ? (b == 0 ? 0 : trunc(a / b)) : a / b;
    case 4:
        return b == 0 ? 0 : a - b * floor(a / b);
    case 5:
        return pow(a, b);
    case 6:
        return a == b;
    case 7:
        return a > b;
    default:
        return a < b;
    }
}

/* Returns the shape that arrays have together, each repeated along sides of 1. */
static bool broadcast(const struct onnx_value *const *in, size_t count, size_t *dims, size_t *rank)
{
    *rank = 0;
    for (size_t k = 0; k < count; k++)
        *rank = in[k]->rank > *rank ? in[k]->rank : *rank;
    for (size_t i = 0; i < *rank; i++) {
        dims[i] = 1;
        for (size_t k = 0; k < count; k++) {
            const size_t missing = *rank - in[k]->rank;
            const size_t side = i < missing ? 1 : in[k]->dims[i - missing];
            if (side != 1 && dims[i] != 1 && dims[i] != side)
                return false;
            dims[i] = side != 1 ? side : dims[i];
        }
    }
    return true;
}

/* Returns which element of `in` stands at element `at` of the common shape. */
static size_t element_of(const struct onnx_value *in, const size_t *dims, size_t rank, size_t at)
{
    size_t index = 0, step = 1;
    for (size_t i = rank, k = in->rank; i-- > 0 && k-- > 0;) {
        index += in->dims[k] == 1 ? 0 : at % dims[i] * step;
        step *= in->dims[k];
        at /= dims[i];
    }
    return index;
}

static void fold_broadcast(struct onnx_importer *im, const Onnx__Node *node, struct onnx_value *out,
                           size_t kind)
{
    const bool where = strcmp(node->op_type, "Where") == 0;
    const size_t inputs = where ? 3 : 2;
    const struct onnx_value *in[3] = {NULL};
    size_t dims[ONNX_MAX_RANK], rank;
    bool integers = true;
    for (size_t k = 0; k < inputs; k++) {
        in[k] = onnx_input(im, node, k);
        integers &= in[k]->kind == ONNX_INTEGERS;
    }
    float *floats = NULL;
    if (!broadcast(in, inputs, dims, &rank)) {
        onnx_damaged(im, out->name, N_("the shapes of two constants do not fit each other"));
        return;
    }
    if (integers ? !onnx_set_integers(im, out, dims, rank)
                 : !onnx_set_shape(im, out, dims, rank) ||
                       !(floats = onnx_import_memory(im, out->count, sizeof *floats)))
        return;
    for (size_t i = 0; i < out->count; i++) {
        double a = number_of(in[0], element_of(in[0], dims, rank, i)), result;
        if (where)
            result = number_of(in[a != 0 ? 1 : 2], element_of(in[a != 0 ? 1 : 2], dims, rank, i));
        else
            result = compute(kind, a, number_of(in[1], element_of(in[1], dims, rank, i)), integers);
        if (floats)
            floats[i] = (float)result;
        else
            out->integers[i] = (int64_t)saturate(result);
    }
    if (floats) {
        out->kind = ONNX_FLOATS;
        out->type = ONNX_FLOAT;
        out->floats = floats;
    }
}

static bool all_constant(struct onnx_importer *im, const Onnx__Node *node)
{
    for (size_t k = 0; k < node->n_input; k++)
        if (!is_constant(onnx_input(im, node, k)))
            return false;
    return true;
}

bool onnx_is_fold(const char *type)
{
    static const char *const others[] = {"Constant", "ConstantOfShape", "Shape",
                                         "Range",    "Where",           NULL};
    for (const char *const *name = arithmetic; *name; name++)
        if (strcmp(*name, type) == 0)
            return true;
    for (const char *const *name = others; *name; name++)
        if (strcmp(*name, type) == 0)
            return true;
    return false;
}

bool onnx_fold(struct onnx_importer *im, const Onnx__Node *node)
{
    static const struct {
        const char *type;
        void (*fold)(struct onnx_importer *im, const Onnx__Node *node, struct onnx_value *out);
        bool any_input;
        size_t inputs;
    } folds[] = {{"Constant", fold_constant, true, 0},
                 {"ConstantOfShape", fold_filled, true, 1},
                 {"Shape", fold_shape, true, 1},
                 {"Range", fold_range, true, 3},
                 {"Cast", fold_cast, false, 1}};
    for (size_t i = 0; i < sizeof folds / sizeof *folds; i++)
        if (strcmp(folds[i].type, node->op_type) == 0 && node->n_input >= folds[i].inputs &&
            (folds[i].any_input || all_constant(im, node))) {
            struct onnx_value *out = onnx_output(im, node);
            if (out)
                folds[i].fold(im, node, out);
            return true;
        }
    if (!all_constant(im, node))
        return false;
    for (size_t kind = 0; arithmetic[kind]; kind++)
        if (strcmp(arithmetic[kind], node->op_type) == 0 && node->n_input == 2) {
            struct onnx_value *out = onnx_output(im, node);
            if (out)
                fold_broadcast(im, node, out, kind);
            return true;
        }
    if (strcmp(node->op_type, "Where") == 0 && node->n_input == 3) {
        struct onnx_value *out = onnx_output(im, node);
        if (out)
            fold_broadcast(im, node, out, 0);
        return true;
    }
    return false;
}
