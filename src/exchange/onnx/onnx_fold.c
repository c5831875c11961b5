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
    } else if (!im->base.failed) {
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
        if (!im->base.failed)
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

/* --- moves --- */

/* Operators that move values, of constants and of layers alike: for each element of the output they
 * say which one of the input it is. Most are a view: element [i0, i1, ...] of the output is element
 * [offset + i0 step0 + i1 step1 + ...] of the input, unless it lies outside. */

/* A view of an array: one axis of the output after another. */
struct view {
    size_t rank, dims[ONNX_MAX_RANK];
    int64_t offset, step[ONNX_MAX_RANK];
    int64_t low[ONNX_MAX_RANK], size[ONNX_MAX_RANK]; /* inside: 0 <= index - low < size */
};

static void steps_of(const struct onnx_value *value, int64_t *step)
{
    int64_t product = 1;
    for (size_t i = value->rank; i-- > 0;) {
        step[i] = product;
        product *= (int64_t)value->dims[i];
    }
}

static struct view view_of(const struct onnx_value *value)
{
    struct view view = {.rank = value->rank};
    memcpy(view.dims, value->dims, sizeof view.dims);
    steps_of(value, view.step);
    for (size_t i = 0; i < value->rank; i++)
        view.size[i] = INT64_MAX;
    return view;
}

/* Gives the output kind and shape, and room for its elements. */
static bool begin(struct onnx_importer *im, const struct onnx_value *from, struct onnx_value *to,
                  const size_t *dims, size_t rank)
{
    onnx_set_alias(to, from);
    to->scales = NULL;
    to->scale_count = 0;
    if (!onnx_set_shape(im, to, dims, rank))
        return false;
    void *memory = onnx_import_memory(im, to->count,
                                      from->kind == ONNX_FLOATS ? sizeof(float) : sizeof(int64_t));
    to->floats = from->kind == ONNX_FLOATS ? memory : NULL;
    to->integers = from->kind == ONNX_FLOATS ? NULL : memory;
    return memory;
}

/* Sets an element of the output to one of the input; -1: to 0. */
static void move(const struct onnx_value *from, struct onnx_value *to, size_t at, int64_t source)
{
    if (from->kind == ONNX_FLOATS)
        ((float *)to->floats)[at] = source < 0 ? 0 : from->floats[source];
    else if (from->kind == ONNX_INTEGERS)
        to->integers[at] = source < 0 ? 0 : from->integers[source];
    else
        to->integers[at] = source < 0 || !from->integers ? source : from->integers[source];
}

static bool take_view(struct onnx_importer *im, const struct onnx_value *from,
                      struct onnx_value *to, const struct view *view)
{
    if (!begin(im, from, to, view->dims, view->rank))
        return false;
    for (size_t at = 0; at < to->count; at++) {
        int64_t source = view->offset;
        size_t rest = at;
        bool inside = true;
        for (size_t i = view->rank; i-- > 0;) {
            const int64_t index = (int64_t)(rest % view->dims[i]) - view->low[i];
            inside &= index >= 0 && index < view->size[i];
            source += index * view->step[i];
            rest /= view->dims[i];
        }
        move(from, to, at, inside ? source : -1);
    }
    return true;
}

static bool find_axis(int64_t axis, size_t rank, size_t *found)
{
    axis = axis < 0 ? axis + (int64_t)rank : axis;
    *found = (size_t)axis;
    return axis >= 0 && axis < (int64_t)rank;
}

/* --- the same elements in another shape --- */

static bool reshape(struct onnx_importer *im, const struct onnx_value *from, struct onnx_value *to,
                    const size_t *dims, size_t rank)
{
    const size_t count = from->count;
    onnx_set_alias(to, from);
    to->scale_count = 0;
    return onnx_set_shape(im, to, dims, rank) && to->count == count;
}

static bool move_reshape(struct onnx_importer *im, const Onnx__Node *node, struct onnx_value *in,
                         struct onnx_value *out)
{
    size_t count, dims[ONNX_MAX_RANK], known = 1, free_axis = SIZE_MAX;
    const int64_t *shape = onnx_get_list(im, node, "shape", 1, &count);
    const bool zeros = onnx_get_int(node, "allowzero", 0);
    if (!shape || count > ONNX_MAX_RANK)
        return false;
    for (size_t i = 0; i < count; i++) {
        dims[i] = (size_t)shape[i];
        if (shape[i] == 0 && !zeros)
            dims[i] = i < in->rank ? in->dims[i] : 0;
        if (shape[i] < -1 || (shape[i] == -1 && free_axis != SIZE_MAX))
            return false;
        if (shape[i] == -1)
            free_axis = i;
        else if (dims[i] > SHAPE_MAX_VALUES || (known > 0 && dims[i] > SHAPE_MAX_VALUES / known))
            return false;
        else
            known *= dims[i];
    }
    if (free_axis != SIZE_MAX)
        dims[free_axis] = known > 0 ? in->count / known : 0;
    return reshape(im, in, out, dims, count);
}

static bool move_unsqueeze(struct onnx_importer *im, const Onnx__Node *node, struct onnx_value *in,
                           struct onnx_value *out)
{
    size_t count, dims[ONNX_MAX_RANK];
    bool added[ONNX_MAX_RANK] = {false};
    const int64_t *axes = onnx_get_list(im, node, "axes", 1, &count);
    if (!axes || count + in->rank > ONNX_MAX_RANK)
        return false;
    const size_t rank = count + in->rank;
    for (size_t i = 0, axis; i < count; i++) {
        if (!find_axis(axes[i], rank, &axis) || added[axis])
            return false;
        added[axis] = true;
    }
    for (size_t i = 0, k = 0; i < rank; i++)
        dims[i] = added[i] ? 1 : in->dims[k++];
    return reshape(im, in, out, dims, rank);
}

static bool move_squeeze(struct onnx_importer *im, const Onnx__Node *node, struct onnx_value *in,
                         struct onnx_value *out)
{
    size_t count, dims[ONNX_MAX_RANK], rank = 0;
    bool removed[ONNX_MAX_RANK] = {false};
    const int64_t *axes = onnx_get_list(im, node, "axes", 1, &count);
    for (size_t i = 0; i < in->rank; i++)
        removed[i] = !axes && in->dims[i] == 1;
    for (size_t i = 0, axis; i < count; i++) {
        if (!find_axis(axes[i], in->rank, &axis) || in->dims[axis] != 1)
            return false;
        removed[axis] = true;
    }
    for (size_t i = 0; i < in->rank; i++)
        if (!removed[i])
            dims[rank++] = in->dims[i];
    return reshape(im, in, out, dims, rank);
}

static bool move_identity(struct onnx_importer *im, const Onnx__Node *node, struct onnx_value *in,
                          struct onnx_value *out)
{
    if (strcmp(node->op_type, "Cast") == 0 && onnx_get_int(node, "to", 0) != ONNX_FLOAT)
        return false;
    onnx_set_alias(out, in);
    return !im->base.failed;
}

/* --- views --- */

static bool move_transpose(struct onnx_importer *im, const Onnx__Node *node, struct onnx_value *in,
                           struct onnx_value *out)
{
    const Onnx__Attribute *perm = onnx_attribute(node, "perm");
    struct view view = view_of(in);
    const struct view before = view;
    if (perm && perm->n_ints != in->rank)
        return false;
    for (size_t i = 0, axis; i < in->rank; i++) {
        if (!find_axis(perm ? perm->ints[i] : (int64_t)(in->rank - 1 - i), in->rank, &axis))
            return false;
        view.dims[i] = before.dims[axis];
        view.step[i] = before.step[axis];
    }
    return take_view(im, in, out, &view);
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Narrows one axis of a view to start, start + step, ... before end. */
static bool slice_axis(struct view *view, size_t axis, int64_t start, int64_t end, int64_t step)
{
    const int64_t size = (int64_t)view->dims[axis];
    if (step == 0)
        return false;
    step = step < -size - 1 ? -size - 1 : step;
    start = start < 0 ? (start < -size ? -1 : start + size) : start;
    end = end < 0 ? (end < -size ? -1 : end + size) : end;
    if (step > 0) {
        start = clamp(start, 0, size);
        end = clamp(end, 0, size);
        step = step > size ? size + 1 : step;
    } else {
        start = clamp(start, -1, size - 1);
        end = clamp(end, -1, size - 1);
    }
    const int64_t distance = step > 0 ? end - start : start - end, by = step > 0 ? step : -step;
    view->dims[axis] = distance > 0 ? (size_t)((distance + by - 1) / by) : 0;
    view->offset += view->dims[axis] > 0 ? start * view->step[axis] : 0;
    view->step[axis] *= step;
    return true;
}

static bool move_slice(struct onnx_importer *im, const Onnx__Node *node, struct onnx_value *in,
                       struct onnx_value *out)
{
    size_t starts, ends, count, strides;
    const int64_t *start = onnx_get_list(im, node, "starts", 1, &starts);
    const int64_t *end = onnx_get_list(im, node, "ends", 2, &ends);
    const int64_t *axes = onnx_get_list(im, node, "axes", 3, &count);
    const int64_t *step = onnx_get_list(im, node, NULL, 4, &strides);
    struct view view = view_of(in);
    bool seen[ONNX_MAX_RANK] = {false};
    if (!start || !end || starts != ends || (axes && count != starts) ||
        (step && strides != starts))
        return false;
    for (size_t i = 0, axis; i < starts; i++) {
        if (!find_axis(axes ? axes[i] : (int64_t)i, in->rank, &axis) || seen[axis] ||
            !slice_axis(&view, axis, start[i], end[i], step ? step[i] : 1))
            return false;
        seen[axis] = true;
    }
    return take_view(im, in, out, &view);
}

static bool move_expand(struct onnx_importer *im, const Onnx__Node *node, struct onnx_value *in,
                        struct onnx_value *out)
{
    size_t count;
    const int64_t *shape = onnx_get_list(im, node, NULL, 1, &count);
    if (!shape || count > ONNX_MAX_RANK)
        return false;
    const size_t rank = count > in->rank ? count : in->rank, added = rank - in->rank;
    struct view view = {.rank = rank};
    int64_t steps[ONNX_MAX_RANK];
    steps_of(in, steps);
    for (size_t i = 0; i < rank; i++) {
        const int64_t wanted = i < rank - count ? 1 : shape[i - (rank - count)];
        const size_t side = i < added ? 1 : in->dims[i - added];
        if (wanted < 0 || (side != 1 && wanted != 1 && (size_t)wanted != side))
            return false;
        view.dims[i] = side == 1 ? (size_t)wanted : side;
        view.step[i] = side == 1 ? 0 : steps[i - added];
        view.size[i] = INT64_MAX;
    }
    return take_view(im, in, out, &view);
}

static bool move_pad(struct onnx_importer *im, const Onnx__Node *node, struct onnx_value *in,
                     struct onnx_value *out)
{
    size_t count;
    const int64_t *pads = onnx_get_list(im, node, "pads", 1, &count);
    const struct onnx_value *fill = onnx_input(im, node, 2);
    struct view view = view_of(in);
    const bool zero =
        !fill || (fill->kind == ONNX_FLOATS && fill->count == 1 && fill->floats[0] == 0);
    if (!pads || count != 2 * in->rank || !zero || onnx_input(im, node, 3) ||
        (onnx_attribute(node, "mode") && !onnx_get_is(node, "mode", "constant")))
        return false;
    for (size_t i = 0; i < in->rank; i++) {
        const int64_t before = pads[i], after = pads[i + in->rank];
        if (before < 0 || after < 0 || before > 65536 || after > 65536)
            return false;
        view.low[i] = before;
        view.size[i] = (int64_t)in->dims[i];
        view.dims[i] += (size_t)(before + after);
    }
    return take_view(im, in, out, &view);
}

/* --- indices --- */

static bool move_gather(struct onnx_importer *im, const Onnx__Node *node, struct onnx_value *in,
                        struct onnx_value *out)
{
    const struct onnx_value *indices = onnx_input(im, node, 1);
    size_t axis, dims[ONNX_MAX_RANK], inner = 1;
    if (!indices || indices->kind != ONNX_INTEGERS ||
        !find_axis(onnx_get_int(node, "axis", 0), in->rank, &axis) ||
        in->rank + indices->rank > ONNX_MAX_RANK + 1)
        return false;
    for (size_t i = axis + 1; i < in->rank; i++)
        inner *= in->dims[i];
    const size_t rank = in->rank - 1 + indices->rank, side = in->dims[axis];
    for (size_t i = 0; i < rank; i++)
        dims[i] = i < axis                   ? in->dims[i]
                  : i < axis + indices->rank ? indices->dims[i - axis]
                                             : in->dims[i - indices->rank + 1];
    if (!begin(im, in, out, dims, rank))
        return false;
    for (size_t at = 0; at < out->count; at++) {
        int64_t index = indices->integers[at / inner % indices->count];
        index = index < 0 ? index + (int64_t)side : index;
        if (index < 0 || index >= (int64_t)side)
            return false;
        move(in, out, at,
             (int64_t)((at / inner / indices->count * side + (size_t)index) * inner + at % inner));
    }
    return true;
}

/* Writes updates over elements of the data. The data may be zeros and the updates a layer's. */
static bool move_scatter(struct onnx_importer *im, const Onnx__Node *node, struct onnx_value *in,
                         struct onnx_value *out)
{
    const struct onnx_value *indices = onnx_input(im, node, 1), *updates = onnx_input(im, node, 2);
    int64_t steps[ONNX_MAX_RANK];
    if (!indices || !updates || indices->kind != ONNX_INTEGERS || indices->rank < 1 ||
        (onnx_attribute(node, "reduction") && !onnx_get_is(node, "reduction", "none")))
        return false;
    const size_t depth = indices->dims[indices->rank - 1];
    size_t inner = 1;
    if (depth < 1 || depth > in->rank)
        return false;
    for (size_t i = depth; i < in->rank; i++)
        inner *= in->dims[i];
    const bool mixed = updates->kind == ONNX_LAYER && in->kind == ONNX_FLOATS;
    if ((!mixed && updates->kind != in->kind) ||
        (in->kind == ONNX_LAYER &&
         (updates->node != in->node || updates->meaning != in->meaning)) ||
        updates->count != indices->count / depth * inner ||
        !begin(im, mixed ? updates : in, out, in->dims, in->rank))
        return false;
    for (size_t at = 0; at < out->count; at++)
        if (!mixed)
            move(in, out, at, (int64_t)at);
        else if (in->floats[at] == 0)
            out->integers[at] = -1;
        else
            return false;
    steps_of(in, steps);
    for (size_t u = 0; u < updates->count; u += inner) {
        int64_t at = 0;
        for (size_t i = 0; i < depth; i++) {
            int64_t index = indices->integers[u / inner * depth + i];
            index = index < 0 ? index + (int64_t)in->dims[i] : index;
            if (index < 0 || index >= (int64_t)in->dims[i])
                return false;
            at += index * steps[i];
        }
        for (size_t i = 0; i < inner; i++)
            move(updates, out, (size_t)at + i, (int64_t)(u + i));
    }
    return true;
}

/* Joins constants, or parts of one layer's values. */
static bool move_concat(struct onnx_importer *im, const Onnx__Node *node, struct onnx_value *in,
                        struct onnx_value *out)
{
    size_t axis, dims[ONNX_MAX_RANK], inner = 1, first = 0;
    memcpy(dims, in->dims, sizeof dims);
    if (!find_axis(onnx_get_int(node, "axis", 0), in->rank, &axis))
        return false;
    for (size_t k = 1; k < node->n_input; k++) {
        const struct onnx_value *other = onnx_input(im, node, k);
        for (size_t i = 0; i < in->rank; i++)
            if (other->rank != in->rank || (i != axis && other->dims[i] != in->dims[i]))
                return false;
        dims[axis] += other->dims[axis];
    }
    for (size_t i = axis + 1; i < in->rank; i++)
        inner *= in->dims[i];
    if (!begin(im, in, out, dims, in->rank))
        return false;
    for (size_t k = 0; k < node->n_input; k++) {
        const struct onnx_value *part = onnx_input(im, node, k);
        const size_t row = part->dims[axis] * inner;
        for (size_t i = 0; i < part->count; i++)
            move(part, out, i / row * dims[axis] * inner + first + i % row, (int64_t)i);
        first += row;
    }
    return true;
}

/* --- the table --- */

static const struct {
    const char *type;
    bool (*move)(struct onnx_importer *im, const Onnx__Node *node, struct onnx_value *in,
                 struct onnx_value *out);
} moves[] = {
    {"Reshape", move_reshape},   {"Unsqueeze", move_unsqueeze}, {"Squeeze", move_squeeze},
    {"Identity", move_identity}, {"Cast", move_identity},       {"Transpose", move_transpose},
    {"Slice", move_slice},       {"Expand", move_expand},       {"Pad", move_pad},
    {"Gather", move_gather},     {"ScatterND", move_scatter},   {"Concat", move_concat}};

bool onnx_is_move(const char *type)
{
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (strcmp(moves[i].type, type) == 0)
            return strcmp(type, "Concat") != 0;
    return strcmp(type, "Shape") == 0;
}

/* A concat is a move if it joins constants, or parts of one layer's values that have been moved. */
static bool concat_moves(struct onnx_importer *im, const Onnx__Node *node)
{
    const struct onnx_value *first = onnx_input(im, node, 0);
    bool moved = first && first->kind != ONNX_LAYER;
    for (size_t k = 0; k < node->n_input; k++) {
        const struct onnx_value *value = onnx_input(im, node, k);
        if (!value || !first || value->kind != first->kind || value->rank != first->rank ||
            (value->kind == ONNX_LAYER &&
             (value->node != first->node || value->meaning != first->meaning)))
            return false;
        moved |= value->integers != NULL;
    }
    return moved;
}

bool onnx_move(struct onnx_importer *im, const Onnx__Node *node)
{
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        if (strcmp(moves[i].type, node->op_type) != 0)
            continue;
        struct onnx_value *in = onnx_input(im, node, 0), *out = onnx_output(im, node);
        if (!in || !out || (strcmp(node->op_type, "Concat") == 0 && !concat_moves(im, node)))
            return false;
        if (!moves[i].move(im, node, in, out) && !im->base.failed)
            onnx_lacks(im, node, N_("values are moved in a way that tinca does not know"));
        return true;
    }
    return false;
}
