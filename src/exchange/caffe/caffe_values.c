/* Serves the functions of the layers: errors, the values that names stand for, new nodes, and the
 * values of fields. After the first error nothing is added, and fields have their defaults. */
#include "exchange/caffe/internal.h"

#include "base/language.h"
#include "base/memory.h"

#include <string.h>

/* --- errors --- */

const char *caffe_layer_name(const struct caffe_field *layer)
{
    return caffe_text(layer, "name", "");
}

bool caffe_damaged(struct caffe_importer *im, const struct caffe_field *field, const char *what,
                   const char *why)
{
    return importer_damaged(&im->base, field ? field->line : 0, what, why);
}

bool caffe_lacks(struct caffe_importer *im, const struct caffe_field *layer, const char *why)
{
    for (const struct caffe_field *f = caffe_first(layer, "top"); f && !im->base.failed;
         f = caffe_next(f))
        caffe_set_value(im, f->text, CAFFE_UNKNOWN, 0);
    return importer_lacks(&im->base, caffe_layer_name(layer), caffe_text(layer, "type", ""), why);
}

/* --- values --- */

static const char *name_of(const void *owner, size_t number)
{
    const struct caffe_importer *im = owner;
    return im->values[number].name;
}

struct caffe_value *caffe_find_value(const struct caffe_importer *im, const char *name)
{
    size_t number;
    return name_index_find(&im->names, im, name_of, name, &number) ? &im->values[number] : NULL;
}

bool caffe_set_value(struct caffe_importer *im, const char *name, enum caffe_value_kind kind,
                     size_t node)
{
    struct caffe_value *value = caffe_find_value(im, name);
    if (!value) {
        if (!memory_grow(&im->values, &im->value_capacity, im->value_count + 1, sizeof *im->values,
                         "the Caffe model", im->base.error) ||
            !name_index_add(&im->names, name, im->value_count, im->base.error)) {
            return importer_fail(&im->base);
        }
        value = &im->values[im->value_count++];
        value->name = name;
    }
    value->kind = kind;
    value->node = node;
    return true;
}

bool caffe_input(struct caffe_importer *im, const struct caffe_field *layer, size_t k, size_t *node)
{
    const struct caffe_field *bottom = caffe_nth(layer, "bottom", k);
    const struct caffe_value *value = bottom ? caffe_find_value(im, bottom->text) : NULL;
    if (!value || value->kind != CAFFE_NODE)
        return caffe_damaged(im, layer, caffe_layer_name(layer),
                             value ? N_("it reads labels or a loss, and needs an image")
                                   : N_("an input (bottom) is missing"));
    *node = value->node;
    if (!memory_grow(&im->read, &im->read_capacity, *node + 1, sizeof *im->read, "the Caffe model",
                     im->base.error))
        return importer_fail(&im->base);
    im->read[*node] = true;
    return true;
}

struct shape caffe_shape(const struct caffe_importer *im, size_t node)
{
    return im->base.graph.nodes[node].output;
}

/* --- nodes --- */

bool caffe_add(struct caffe_importer *im, const struct caffe_field *layer, const char *suffix,
               const struct op *op, const size_t *inputs, size_t count,
               const union attributes *attributes, size_t *added)
{
    char name[NODE_NAME_SIZE];
    if (im->base.failed)
        return false;
    importer_choose_name(&im->base, caffe_layer_name(layer), suffix ? suffix : "", name);
    if (graph_add(&im->base.graph, op, name, inputs, count, attributes, added, im->base.error) &&
        memory_grow(&im->sources, &im->source_capacity, im->base.graph.parameter_count + 1,
                    sizeof *im->sources, "the Caffe model", im->base.error))
        return true;
    return importer_fail(&im->base);
}

bool caffe_add_top(struct caffe_importer *im, const struct caffe_field *layer, const struct op *op,
                   const size_t *inputs, size_t count, const union attributes *attributes,
                   size_t *added)
{
    size_t unused;
    const struct caffe_field *top = caffe_first(layer, "top");
    if (!top || caffe_next(top))
        return caffe_damaged(im, layer, caffe_layer_name(layer), N_("it must have one top"));
    added = added ? added : &unused;
    return caffe_add(im, layer, NULL, op, inputs, count, attributes, added) &&
           caffe_set_value(im, top->text, CAFFE_NODE, *added);
}

void caffe_set_source(struct caffe_importer *im, size_t node, size_t k,
                      const struct caffe_field *layer, size_t blob, enum caffe_copy copy)
{
    im->sources[im->base.graph.nodes[node].parameters[k]] =
        (struct caffe_source){caffe_layer_name(layer), blob, copy};
}

/* --- fields --- */

size_t caffe_get_count(struct caffe_importer *im, const struct caffe_field *message,
                       const char *name, size_t otherwise, size_t low, size_t high)
{
    const struct caffe_field *field = caffe_first(message, name);
    size_t count = otherwise;
    if (!field)
        return otherwise;
    if (caffe_read_count(field, &count) && count >= low && count <= high)
        return count;
    caffe_damaged(im, field, name, N_("the number is none that can be used here"));
    return otherwise;
}

float caffe_get_float(struct caffe_importer *im, const struct caffe_field *message,
                      const char *name, float otherwise)
{
    const struct caffe_field *field = caffe_first(message, name);
    double number;
    if (!field)
        return otherwise;
    if (caffe_read_number(field, &number) && number >= -1e30 && number <= 1e30)
        return (float)number;
    caffe_damaged(im, field, name, N_("a number was expected"));
    return otherwise;
}

bool caffe_get_flag(struct caffe_importer *im, const struct caffe_field *message, const char *name,
                    bool otherwise)
{
    const struct caffe_field *field = caffe_first(message, name);
    bool flag = otherwise;
    if (field && !caffe_read_flag(field, &flag))
        caffe_damaged(im, field, name, N_("true or false was expected"));
    return flag;
}

bool caffe_other_axis(const struct caffe_field *message, const char *name, int wanted)
{
    const struct caffe_field *field = caffe_first(message, name);
    double number;
    return field &&
           (!caffe_read_number(field, &number) || (number != wanted && number != wanted - 4));
}

/* --- the input of a network --- */

/* Caffe's files give its shape in one of four ways; data layers whose images lie in a database say
 * only how large a crop of them is. */

enum { MAX_INPUTS = 16 };

/* Reads a list of numbers, of which the first is the batch. */
static bool read_dims(struct caffe_importer *im, const struct caffe_field *message,
                      const char *name, size_t first, size_t count, struct shape *shape)
{
    size_t dims[4] = {1, 1, 1, 1};
    const struct caffe_field *field = caffe_nth(message, name, first);
    for (size_t i = 0; i < count && i < 4; i++, field = field ? caffe_next(field) : NULL)
        if (!field || !caffe_read_count(field, &dims[i]) || dims[i] < (i > 0) ||
            dims[i] > CAFFE_MAX_SIDE)
            return caffe_damaged(im, field ? field : message, name,
                                 N_("sizes of 1 to 65536 were expected"));
    *shape = (struct shape){dims[1], dims[2], dims[3]};
    im->batch = dims[0];
    return true;
}

/* Reads a shape of two or four sizes. */
static bool read_shape(struct caffe_importer *im, const struct caffe_field *message,
                       struct shape *shape)
{
    const size_t count = caffe_count(message, "dim");
    if (count != 2 && count != 4)
        return caffe_damaged(im, message, "shape",
                             N_("an input has four sizes: batch, channels, height and width"));
    return read_dims(im, message, "dim", 0, count, shape);
}

/* Creates the graph with the input `name`. */
static bool begin_graph(struct caffe_importer *im, const struct caffe_field *at, const char *name,
                        struct shape shape)
{
    if (im->has_input)
        return caffe_damaged(im, at, name,
                             N_("a network of tinca has one input, and this is another"));
    if (im->request->input.channels > 0)
        shape = im->request->input;
    if (!graph_create(&im->base.graph, shape, im->base.error)) {
        im->base.failed = true;
        return false;
    }
    im->has_input = true;
    return caffe_set_value(im, name, CAFFE_NODE, 0);
}

/* Returns whether an input holds labels: by its name, or since an image came before it and it has
 * one value. */
static bool is_label(const struct caffe_importer *im, const char *name, struct shape shape)
{
    return strcmp(name, "label") == 0 || (im->has_input && shape_count(shape) == 1);
}

static bool add_input(struct caffe_importer *im, const struct caffe_field *at, const char *name,
                      struct shape shape)
{
    return is_label(im, name, shape) ? caffe_set_value(im, name, CAFFE_LABEL, 0)
                                     : begin_graph(im, at, name, shape);
}

/* Creates the graph from the fields that name the network's input. Returns false with an error. */
bool caffe_import_fields(struct caffe_importer *im)
{
    const struct caffe_field *root = &im->tree.root, *input = caffe_first(root, "input");
    if (caffe_count(root, "input") > MAX_INPUTS)
        return caffe_damaged(im, input, "input", N_("it has too many inputs or outputs"));
    for (size_t i = 0; input && !im->base.failed; i++, input = caffe_next(input)) {
        const struct caffe_field *shape = caffe_nth(root, "input_shape", i);
        struct shape size = {1, 1, 1};
        if (shape ? !(caffe_count(shape, "dim") == 1 || read_shape(im, shape, &size))
                  : !read_dims(im, root, "input_dim", 4 * i, 4, &size))
            return false;
        if (!add_input(im, input, input->text, size))
            return false;
    }
    return !im->base.failed;
}

/* --- layers --- */

/* Returns the channels of the images of a database: 3, unless the layer says something else. */
static size_t channels_of(struct caffe_importer *im, const struct caffe_field *layer)
{
    const struct caffe_field *transform = caffe_first(layer, "transform_param");
    const struct caffe_field *images = caffe_first(layer, "image_data_param");
    const bool grey = caffe_get_flag(im, transform, "force_gray", false) ||
                      !caffe_get_flag(im, images, "is_color", true);
    return grey ? 1 : 3;
}

/* Reads the shape of a database's images: that of the crop. */
static bool read_crop(struct caffe_importer *im, const struct caffe_field *layer,
                      struct shape *shape)
{
    static const char *const places[] = {"transform_param", "data_param", "image_data_param"};
    size_t crop = 0;
    for (size_t i = 0; i < 3 && crop == 0; i++)
        crop =
            caffe_get_count(im, caffe_first(layer, places[i]), "crop_size", 0, 0, CAFFE_MAX_SIDE);
    *shape = (struct shape){channels_of(im, layer), crop, crop};
    if (crop > 0 || im->request->input.channels > 0 || im->base.failed)
        return !im->base.failed;
    im->base.failed = true;
    return error_set(im->base.error, ERROR_INPUT, im->base.path,
                     "give --input CxHxW, or the network's deploy.prototxt",
                     "layer %s does not say how large its images are", caffe_layer_name(layer));
}

/* Reads the shape of top `i` of a data layer. */
static bool read_data_shape(struct caffe_importer *im, const struct caffe_field *layer, size_t i,
                            struct shape *shape)
{
    const struct caffe_field *memory = caffe_first(layer, "memory_data_param");
    const struct caffe_field *input = caffe_first(layer, "input_param");
    const struct caffe_field *dummy = caffe_first(layer, "dummy_data_param");
    const struct caffe_field *holder = input ? input : dummy;
    const size_t shapes = caffe_count(holder, "shape");
    *shape = (struct shape){1, 1, 1};
    if (memory) {
        shape->channels = caffe_get_count(im, memory, "channels", 0, 1, CAFFE_MAX_SIDE);
        shape->height = caffe_get_count(im, memory, "height", 0, 1, CAFFE_MAX_SIDE);
        shape->width = caffe_get_count(im, memory, "width", 0, 1, CAFFE_MAX_SIDE);
        return !im->base.failed;
    }
    if (shapes > 0) {
        const struct caffe_field *given = caffe_nth(holder, "shape", shapes > 1 ? i : 0);
        return !given || caffe_count(given, "dim") == 1 || read_shape(im, given, shape);
    }
    return read_crop(im, layer, shape);
}

bool caffe_import_data(struct caffe_importer *im, const struct caffe_field *layer)
{
    const struct caffe_field *top = caffe_first(layer, "top");
    const bool several =
        caffe_first(layer, "input_param") || caffe_first(layer, "dummy_data_param");
    if (!im->transform)
        im->transform = caffe_first(layer, "transform_param");
    for (size_t i = 0; top && !im->base.failed; i++, top = caffe_next(top)) {
        struct shape shape = {1, 1, 1};
        const bool label = strcmp(top->text, "label") == 0 || (i > 0 && !several);
        if (label
                ? !caffe_set_value(im, top->text, CAFFE_LABEL, 0)
                : !read_data_shape(im, layer, i, &shape) || !add_input(im, layer, top->text, shape))
            return false;
    }
    return !im->base.failed;
}
