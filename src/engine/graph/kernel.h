/* kernel.h: one implementation of one operator, and how it is called.
 *
 * A device offers an ordered list of kernels, best first; the plan takes the first whose supports()
 * agrees and keeps its name where people can see it. Pointers in a call are in the device's memory.
 */
#ifndef TINCA_ENGINE_GRAPH_KERNEL_H
#define TINCA_ENGINE_GRAPH_KERNEL_H

#include "engine/graph/graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool;
struct profile;

/* Where a kernel is to work: all that is known when the plan is made. */
struct kernel_site {
    const struct node *node;
    struct shape inputs[NODE_MAX_INPUTS];
    size_t batch;
    size_t ranks; /* above 1: that work at once, each on so many images of the same batch */
    bool training;
    size_t threads;                       /* may size the workspace; must not change results */
    bool input_gradient[NODE_MAX_INPUTS]; /* training: which inputs need a gradient */
    /* The channel_shift or channel_shuffle that makes this kernel's only input, to be read through:
     * inputs[0] and input_gradients[0] are then those of that node, which is not executed. NULL:
     * none, and always so without KERNEL_FUSES_CHANNEL_MOVES. */
    const struct node *fused_move;
    /* The nodes behind this one that its kernel finishes: an add, whose other summand is then
     * inputs[1] with its gradient in input_gradients[1], and a relu. Output and output_gradient
     * are those of the last of them. NULL: none, and always so without KERNEL_FUSES_EPILOGUE. */
    const struct node *sum, *activation;
};

struct kernel_call {
    const struct kernel_site *site; /* site->batch images; fewer than planned at an epoch's end */
    const float *inputs[NODE_MAX_INPUTS];
    float *output;
    const float *output_gradient;            /* backward; NULL for a loss */
    float *input_gradients[NODE_MAX_INPUTS]; /* backward; NULL: not wanted */
    bool accumulate[NODE_MAX_INPUTS];        /* add to the gradient there, do not overwrite it */
    float *parameters[NODE_MAX_PARAMETERS];
    float *parameter_gradients[NODE_MAX_PARAMETERS]; /* overwritten; NULL: not learnable */
    void *saved;              /* written by forward (training), read by backward */
    void *workspace;          /* scratch, undefined at entry */
    const int32_t *labels;    /* [N], losses over classes */
    uint64_t seed, iteration; /* dropout: see random.h */
    size_t node_number;       /* the stream of this node's random numbers */
    bool again; /* forward, for the second time in this iteration: the output was given up to save
                   memory. The same bits; no parameter is written */
    struct pool *pool;
    void *context;           /* the device's state: device->state */
    struct profile *profile; /* NULL: nobody wants to know */
};

enum kernel_traits {
    KERNEL_IN_PLACE = 1 << 0,              /* output may be the memory of inputs[0] */
    KERNEL_BACKWARD_READS_INPUT = 1 << 1,  /* backward reads inputs[], so they are kept */
    KERNEL_BACKWARD_READS_OUTPUT = 1 << 2, /* backward reads output, so it is kept */
    KERNEL_GRADIENT_IN_PLACE = 1 << 3,     /* input_gradients[0] may be output_gradient's memory,
                                              unless accumulate[0] */
    KERNEL_FUSES_CHANNEL_MOVES = 1 << 4,   /* takes its input through site->fused_move */
    KERNEL_REUSES_SAVED = 1 << 5,          /* a forward pass `again` reads saved as the first one
                                             left it; of others it is made anew. Needed where
                                             forward moves running statistics */
    KERNEL_FUSES_EPILOGUE = 1 << 6, /* does site->fused_add and site->fused_activation in its own
                                 pass. KERNEL_IN_PLACE and KERNEL_GRADIENT_IN_PLACE then go for
                                 inputs[1] too; backward reads the output where both are done, and
                                 never inputs[1]; input_gradients[1] may be the output's memory,
                                 unless accumulate[1] */
};

struct kernel {
    const char *name;            /* "conv im2col+sgemm" */
    const char *instruction_set; /* "any", "avx2", "avx512" */
    const struct op *op;
    unsigned traits;
    /* NULL: everything. Else false with a printable reason in English, marked N_. */
    bool (*supports)(const struct kernel_site *site, const char **reason);
    size_t (*saved_bytes)(const struct kernel_site *site);     /* NULL: none */
    size_t (*workspace_bytes)(const struct kernel_site *site); /* NULL: none */
    /* Forward writes all of output. Backward is NULL only for operators without gradient. */
    void (*forward)(const struct kernel_call *call);
    void (*backward)(const struct kernel_call *call);
};

#endif
