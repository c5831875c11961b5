/* onnx_exporter.h: the state of an export, and its parts. Internal to this folder. */
#ifndef TINCA_SESSION_ONNX_EXPORTER_H
#define TINCA_SESSION_ONNX_EXPORTER_H

#include "engine/network/network.h"
#include "engine/weights/weights.h"
#include "session/onnx/onnx_message.h"

/* tinca writes the operator set 17, which every runtime of the last years reads, and 20 if the
 * network has an operator that is newer. */
enum { ONNX_OPSET = 17, ONNX_OPSET_GELU = 20 };

struct onnx_exporter {
    struct onnx_builder out;
    const struct graph *graph;
    const struct weights *weights;
    enum weights_format format;
    bool signed_weights; /* of quantized layers: int8, not uint8 */
    bool *wanted;        /* by node: the output needs it */
    bool *flat;          /* by node: its value is [batch, channels]; else [batch, channels, H, W] */
    int64_t opset;
    bool noise_left_out; /* a dropout that is active in inference became one that is not */
};

/* Returns the name of a node's value. */
const char *onnx_value_of(struct onnx_exporter *exporter, size_t node);

/* --- onnx_export_weights.c --- */

/* Appends the values of parameter `p` of a node and returns the name of the float32 array. Weights
 * of 16 bits are followed by a conversion, those of 8 bits by their scales. */
const char *onnx_export_parameter(struct onnx_exporter *exporter, const struct node *node,
                                  size_t p);

/* Appends the rounding of `from` to a grid, as an integer and back, to the value `to`. `name` is
 * the layer's. */
void onnx_export_rounding(struct onnx_exporter *exporter, const char *name, const char *from,
                          const char *to, struct quantization quantization, const char *kind);

/* --- onnx_export_layers.c --- */

/* Appends what computes a node, whose inputs have been appended, as the value `output`. */
void onnx_export_layer(struct onnx_exporter *exporter, size_t node, const char *output);

/* --- onnx_export_windows.c: convolutions and pooling, which read an image --- */

void onnx_export_conv(struct onnx_exporter *exporter, const struct node *node, const char *input,
                      const char *output);
void onnx_export_pool(struct onnx_exporter *exporter, const struct node *node, struct shape shape,
                      const char *input, const char *output);
void onnx_export_shift(struct onnx_exporter *exporter, const struct node *node, const char *input,
                       const char *output);

/* --- onnx_shift.c --- */

/* Writes the kernels [channels, 1, 3, 3] of a convolution of each channel by itself that moves the
 * channels as channel_shift does. */
void onnx_shift_kernels(size_t channels, float *kernels);

#endif
