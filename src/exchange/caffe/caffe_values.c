/* Serves the functions of the layers: errors, the values that names stand for, new nodes, and the
 * values of fields. After the first error nothing is added, and fields have their defaults. */
#include "exchange/caffe/internal.h"

#include "base/language.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
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
