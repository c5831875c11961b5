/* Copies the file's arrays into the weights. Caffe reads images with OpenCV, whose channels are
 * blue, green, red; tinca's are red, green, blue, so the weights that read the images change
 * places. */
#include "exchange/caffe/internal.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "engine/ops/op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static float value_at(const struct caffe_blob *blob, size_t i)
{
    return blob->floats ? blob->floats[i] : (float)blob->doubles[i];
}

static bool fail(struct caffe_importer *im, const char *layer, const char *why)
{
    im->path = im->request->weights;
    return caffe_damaged(im, NULL, layer, why);
}

/* Reads the array that a parameter comes from. */
static bool find_blob(struct caffe_importer *im, const struct caffe_source *source, size_t count,
                      struct caffe_blob *blob)
{
    const size_t blobs = caffe_model_blobs(im->model, source->layer);
    if (blobs <= source->blob)
        return fail(im, source->layer,
                    blobs ? N_("the layer lacks one of its arrays of weights")
                          : N_("there are no weights for this layer: the files do not belong to "
                               "each other"));
    *blob = caffe_model_blob(im->model, source->layer, source->blob);
    if (blob->count != (source->copy == CAFFE_REPEAT ? 1 : count))
        return fail(im, source->layer,
                    N_("an array of its weights has another size than the network says"));
    return true;
}

/* Returns what statistics are multiplied by. */
static bool find_factor(struct caffe_importer *im, const struct caffe_source *source, float *factor)
{
    const struct caffe_source last = {source->layer, 2, CAFFE_REPEAT};
    struct caffe_blob blob;
    if (!find_blob(im, &last, 1, &blob))
        return false;
    const float sum = value_at(&blob, 0);
    *factor = sum == 0 ? 0 : 1 / sum;
    return true;
}

/* Reads an array [I, O] of the file as [O, I], row by row. */
static bool read_transposed(struct caffe_importer *im, const struct caffe_blob *blob,
                            const struct parameter *to, float *values)
{
    const size_t outputs = to->dims[0], inputs = to->dims[1];
    float *row = memory_new(outputs, sizeof *row, "the weights", im->error);
    bool read = row;
    im->failed |= !row;
    for (size_t i = 0; read && i < inputs; i++) {
        read = file_read_at(blob->file, (char *)row, outputs * sizeof *row,
                            blob->offset + i * outputs * sizeof *row);
        for (size_t o = 0; read && o < outputs; o++)
            values[o * inputs + i] = row[o];
    }
    free(row);
    return read;
}

/* Writes the values of an array in the order of tinca's. */
static bool read_values(struct caffe_importer *im, const struct caffe_source *source,
                        const struct caffe_blob *blob, const struct parameter *to, float *values)
{
    const bool stored = !blob->floats && !blob->doubles;
    if (stored && source->copy == CAFFE_TRANSPOSE)
        return read_transposed(im, blob, to, values);
    if (stored)
        return file_read_at(blob->file, (char *)values, to->count * sizeof *values, blob->offset);
    for (size_t i = 0; i < to->count; i++) {
        size_t from = i;
        if (source->copy == CAFFE_REPEAT)
            from = 0;
        if (source->copy == CAFFE_TRANSPOSE) /* [O, I] of [I, O] */
            from = i % to->dims[1] * to->dims[0] + i / to->dims[1];
        values[i] = value_at(blob, from);
    }
    return true;
}

static bool copy_values(struct caffe_importer *im, const struct caffe_source *source,
                        const struct parameter *to, float *values)
{
    struct caffe_blob blob;
    float factor = 1;
    if (!find_blob(im, source, to->count, &blob) ||
        (source->copy == CAFFE_STATISTIC && !find_factor(im, source, &factor)))
        return false;
    if (!read_values(im, source, &blob, to, values))
        return fail(im, source->layer, N_("an array of its weights cannot be read"));
    for (size_t i = 0; i < to->count; i++) {
        values[i] *= factor;
        if (!isfinite(values[i]))
            return fail(im, source->layer, N_("a weight is NaN or infinite"));
    }
    return true;
}

/* --- the order of channels --- */

/* Swaps the first and the third part of each of `rows` rows of three parts. */
static void swap_parts(float *values, size_t rows, size_t part)
{
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < part; i++) {
            float *first = values + row * 3 * part + i, *third = first + 2 * part, kept = *first;
            *first = *third;
            *third = kept;
        }
}

/* Brings the weights of all layers that read the images from BGR to RGB. */
static bool reorder(struct caffe_importer *im, struct weights *weights)
{
    const struct graph *graph = weights->graph;
    for (size_t n = 1; n < graph->node_count; n++) {
        const struct node *node = &graph->nodes[n];
        bool reads = false;
        for (size_t k = 0; k < node->input_count; k++)
            reads |= node->inputs[k] == 0;
        if (!reads)
            continue;
        const bool conv = node->op == &op_conv && node->attributes.conv.groups == 1;
        if (!conv && node->op != &op_linear)
            return error_set(im->error, ERROR_UNSUPPORTED, node->name,
                             "give --channel-order rgb, and images whose channels are swapped",
                             "it reads the images, and its weights cannot be brought from BGR "
                             "to RGB");
        const struct parameter *weight = &graph->parameters[node->parameters[0]];
        swap_parts(weights->values + weight->offset, weight->dims[0],
                   weight->count / weight->dims[0] / 3);
        im->result->reordered = true;
    }
    return true;
}

/* Returns where a parameter of the network comes from; NULL: it begins as the layer says. */
static const struct caffe_source *source_of(const struct caffe_importer *im,
                                            const struct parameter *to)
{
    const struct parameter *from = graph_find_parameter(&im->graph, to->name);
    const struct caffe_source *source = from ? &im->sources[from - im->graph.parameters] : NULL;
    return source && source->layer && source->copy != CAFFE_DEFAULT ? source : NULL;
}

bool caffe_fill_weights(struct caffe_importer *im, struct weights *weights)
{
    const struct graph *graph = weights->graph;
    weights_initialise(weights, 0, NULL);
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const struct parameter *to = &graph->parameters[p];
        const struct caffe_source *source = source_of(im, to);
        if (source && !copy_values(im, source, to, weights->values + to->offset))
            return false;
    }
    if (graph->nodes[0].output.channels == 3 && !im->request->rgb && !reorder(im, weights))
        return false;
    weights_mark_changed(weights);
    return true;
}
