/* attributes.h: the attributes of a layer in a network file, with one small struct per operator. */
#ifndef TINCA_ENGINE_GRAPH_ATTRIBUTES_H
#define TINCA_ENGINE_GRAPH_ATTRIBUTES_H

#include "engine/graph/quantization.h"
#include "engine/graph/tensor.h"

#include <stdbool.h>
#include <stddef.h>

/* The sliding window of a convolution or pooling. */
struct window {
    size_t kernel_height, kernel_width;
    size_t stride_height, stride_width;
    size_t pad_height, pad_width; /* on both sides */
};

enum initialiser_kind {
    INITIALISE_CONSTANT, /* all equal to `value` */
    INITIALISE_GAUSSIAN, /* mean 0, standard deviation `value` */
    INITIALISE_XAVIER,   /* uniform in +-sqrt(3 / fan_in), as Caffe does (Glorot & Bengio 2010) */
    INITIALISE_HE,       /* gaussian, standard deviation sqrt(2 / fan_in) (He et al. 2015) */
};

/* The distribution from which the initial values of a parameter are drawn. */
struct initialiser {
    enum initialiser_kind kind;
    float value;
};

struct conv_attributes {
    struct window window;
    size_t outputs; /* channels */
    size_t groups;
    bool bias;
    struct initialiser weight_init, bias_init;
    /* Positions of the input from one element of the kernel to the next; 0 counts as 1. Shape
     * inference sets it to 1 along an axis on which the kernel has one element. */
    size_t dilation_height, dilation_width;
    bool int8_weights; /* the weights are quantized (quantization.h) */
};

struct linear_attributes {
    size_t outputs;
    bool bias;
    struct initialiser weight_init, bias_init;
    bool int8_weights; /* the weights are quantized (quantization.h) */
};

struct pool_attributes {
    struct window window; /* if global, set by shape inference */
    bool ceil_mode;       /* round the output size up, but no window starts in the far padding */
    bool global;          /* one window over the whole image */
};

struct leaky_relu_attributes {
    float slope; /* for negative inputs */
};

struct prelu_attributes {
    float slope; /* for negative inputs, before training; each channel learns one */
};

struct elu_attributes {
    float alpha; /* minus the limit for small inputs; not negative */
};

struct batch_norm_attributes {
    float epsilon;
    float momentum; /* running = (1 - momentum) * running + momentum * batch, as in PyTorch */
    bool instance;  /* inference uses the statistics of each image, not the running ones */
};

struct lrn_attributes {
    size_t size; /* number of channels in the window, odd */
    float alpha, beta, k;
};

struct dropout_attributes {
    float rate;    /* probability of a zero; the other values are scaled by 1 / (1 - rate) */
    bool always;   /* also in inference */
    bool channels; /* whole channels of an image become zero, not single values */
};

struct softmax_attributes {
    bool image; /* one softmax over all values of an image, not one at each position */
};

struct shuffle_attributes {
    size_t groups;
};

struct loss_attributes {
    float weight;    /* factor in the sum of losses that training minimises */
    float smoothing; /* softmax_cross_entropy in training: the label's share that all classes get */
    bool has_target; /* binary_cross_entropy: the constant `target` replaces the second input */
    float target;
    float temperature; /* divides the logits of student and teacher (distillation) */
};

/* Returns the positions of the input that a kernel of `size` elements covers along an axis. */
static inline size_t dilated_size(size_t size, size_t dilation)
{
    return dilation > 1 && size > 0 ? (size - 1) * dilation + 1 : size;
}

/* Returns whether the kernel of a convolution leaves positions of the input out. */
static inline bool conv_is_dilated(const struct conv_attributes *conv)
{
    return conv->dilation_height > 1 || conv->dilation_width > 1;
}

/* The attributes of a node; the operator determines which member is valid. */
union attributes {
    struct conv_attributes conv;
    struct linear_attributes linear;
    struct pool_attributes pool;
    struct leaky_relu_attributes leaky_relu;
    struct prelu_attributes prelu;
    struct elu_attributes elu;
    struct batch_norm_attributes batch_norm;
    struct lrn_attributes lrn;
    struct dropout_attributes dropout;
    struct softmax_attributes softmax;
    struct shuffle_attributes shuffle;
    struct loss_attributes loss;
    struct quantization fake_quantize; /* the grid */
};

/* Returns the shape in which a softmax across the channels is that of the attributes: an image as
 * it is, or all of its values as the channels of one position. */
static inline struct shape softmax_shape(const struct softmax_attributes *softmax,
                                         struct shape image)
{
    struct shape shape = image;
    if (softmax->image) {
        shape.channels = shape_count(image);
        shape.height = shape.width = 1;
    }
    return shape;
}

#endif
