/* weights.h: the values of a graph's parameters, and files of them.
 *
 * Files have the safetensors format: the header's length as 8 bytes little-endian, a JSON header
 * {"name": {"dtype": "F32", "shape": [...], "data_offsets": [begin, end]}, "__metadata__": {text:
 * text}}, then the data. Names and layouts are those of PyTorch, whose `safetensors` package reads
 * such a file as a state_dict.
 */
#ifndef TINCA_ENGINE_WEIGHTS_WEIGHTS_H
#define TINCA_ENGINE_WEIGHTS_WEIGHTS_H

#include "base/error.h"
#include "engine/graph/graph.h"
#include "engine/weights/safetensors.h"

#include <stddef.h>
#include <stdint.h>

struct device;
struct device_buffer;
struct pool;

/* The values are in host memory. A device with separate memory works on a copy, which is
 * created when the first execution needs it. Call weights_fetch before reading `values` and
 * weights_mark_changed after writing them. */
struct weights {
    const struct graph *graph;    /* borrowed */
    float *values;                /* graph->total_floats; padding is zero */
    struct device_buffer *buffer; /* the copy in the device's memory, or NULL */
    uint64_t version;             /* increases with every change; begins with 1 */
};

/* Allocates the values, all zero; weights_free releases them. Returns false with an error if
 * out of memory. */
bool weights_create(struct weights *weights, const struct graph *graph, struct error *error);

/* Frees the values and the device's copy. Call it before that device is closed. */
void weights_free(struct weights *weights);

/* Returns where the device's kernels find the values. Creates a copy if the device has separate
 * memory. Returns NULL with an error if out of memory or another such device has a copy. */
float *weights_on_device(struct weights *weights, struct device *device, struct error *error);

/* Updates `values` from the device's copy. Returns false with an error if the device failed. */
bool weights_fetch(const struct weights *weights, struct error *error);

/* Records that `values` have changed: they are copied to the device before its next computation. */
void weights_mark_changed(struct weights *weights);

/* Records that a device has changed its copy, or values in host memory that it computes with. */
static inline void weights_mark_updated(struct weights *weights)
{
    weights->version++;
}

/* Draws the initial values from `seed`. The bits do not depend on `pool`, which may be NULL. */
void weights_initialise(struct weights *weights, uint64_t seed, struct pool *pool);

/* Copies the values of the parameters that both graphs have, with one name and shape; others of
 * `to` stay as they are. Returns false with an error if the values cannot be fetched from a device.
 */
bool weights_copy_common(struct weights *to, const struct weights *from, struct error *error);

/* The formats of weights in a file, and their names by value, then NULL. */
enum weights_format { WEIGHTS_FLOAT32, WEIGHTS_BF16, WEIGHTS_FLOAT16, WEIGHTS_FORMATS };
extern const char *const weights_format_names[WEIGHTS_FORMATS + 1];

/* Returns the format in which a file has its weights. */
enum weights_format weights_format_of(const struct safetensors *file);

/* Fetches all parameters and running statistics and writes them to a file with a checksum. Weights
 * are rounded to `format`; running statistics, and an array of weights that float16 cannot hold,
 * stay float32. In a quantized layer the weights are rounded to int8, whatever the format, unless
 * one is NaN or infinite, and everything else stays float32. `metadata` alternates keys and values
 * and ends with NULL. Returns false with an error if out of memory or writing fails. */
bool weights_save(const struct weights *weights, enum weights_format format, const char *path,
                  const char *const *metadata, struct error *error);

/* The values of a parameter that are written in fewer bits. */
struct weights_rounding {
    const float *values, *scales; /* scales: of integers, one for each `row` of values */
    size_t row;
};

/* Implements safetensors_source with a struct weights_rounding as context; the type is the array's.
 */
bool weights_rounding_source(const struct safetensors_array *array, uint64_t first, size_t count,
                             void *out, struct error *error);

/* Returns the type in which weights_save writes a parameter in this format. */
enum safetensors_type weights_stored_type(const struct weights *weights,
                                          const struct parameter *parameter,
                                          enum weights_format format);

/* Returns whether the values, if they are the scales of a quantized layer's weights, are above 0,
 * and the largest weights finite; otherwise sets an error about the file `path`. */
bool weights_check_scales(const struct parameter *parameter, const float *values, const char *path,
                          struct error *error);

/* Reads every parameter of the graph from a file, in the format that it has there, and marks the
 * values as changed. Returns false with an error if a name is missing, a shape differs, or the
 * file's checksum, if it has one, is wrong. */
bool weights_load(struct weights *weights, const char *path, struct error *error);

/* Does the same with an open file. */
bool weights_read(struct weights *weights, struct safetensors *file, struct error *error);

#endif
