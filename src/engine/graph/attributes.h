/* attributes.h: what a network file can say about a layer, one small struct an operator. */
#ifndef TINCA_ENGINE_GRAPH_ATTRIBUTES_H
#define TINCA_ENGINE_GRAPH_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>

/* A window that slides over height and width: convolution and pooling. */
struct window {
    size_t kernel_height, kernel_width;
    size_t stride_height, stride_width;
    size_t pad_height, pad_width; /* on both sides */
};

enum initialiser_kind {
    INITIALISE_CONSTANT, /* value */
    INITIALISE_GAUSSIAN, /* mean 0, deviation = value */
    INITIALISE_XAVIER,   /* uniform in +-sqrt(3 / fan_in), as Caffe does (Glorot & Bengio 2010) */
    INITIALISE_HE,       /* gaussian, deviation sqrt(2 / fan_in) (He et al. 2015) */
};

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
};

struct linear_attributes {
    size_t outputs;
    bool bias;
    struct initialiser weight_init, bias_init;
};

struct pool_attributes {
    struct window window; /* filled by shape inference when global */
    bool ceil_mode;       /* round the output size up; a window never starts in the far padding */
    bool global;          /* one window over the whole image */
};

struct leaky_relu_attributes {
    float slope; /* for negative inputs */
};

struct batch_norm_attributes {
    float epsilon;
    float momentum; /* running = (1 - momentum) * running + momentum * batch, as in PyTorch */
    bool instance;  /* in inference, the statistics of each image instead of the running ones */
};

struct lrn_attributes {
    size_t size; /* channels, odd */
    float alpha, beta, k;
};

struct dropout_attributes {
    float rate;  /* probability of zero; the kept are scaled by 1 / (1 - rate) */
    bool always; /* in inference too */
};

struct shuffle_attributes {
    size_t groups;
};

struct loss_attributes {
    float weight;    /* in the sum of losses that is minimised */
    bool has_target; /* binary_cross_entropy: one constant target instead of a second input */
    float target;
};

union attributes {
    struct conv_attributes conv;
    struct linear_attributes linear;
    struct pool_attributes pool;
    struct leaky_relu_attributes leaky_relu;
    struct batch_norm_attributes batch_norm;
    struct lrn_attributes lrn;
    struct dropout_attributes dropout;
    struct shuffle_attributes shuffle;
    struct loss_attributes loss;
};

#endif
