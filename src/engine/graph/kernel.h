/* kernel.h: one implementation of one operator, and how it is called.
 *
 * A device offers an ordered list of kernels per operator, best first. The plan takes the first one
 * that supports the site; if that one predicts its time, it takes the fastest by prediction of
 * those that support the site. Pointers in a call point into device memory.
 */
#ifndef TINCA_ENGINE_GRAPH_KERNEL_H
#define TINCA_ENGINE_GRAPH_KERNEL_H

#include "engine/graph/graph.h"
#include "engine/graph/soft_target.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct micro_batch;
struct machine_model;
struct pool;
struct profile;

enum { KERNEL_MAX_NORMS = 2, NORM_PARAMETERS = 4 };

/* A place in a plan where a kernel is used: everything about it that is known when the plan is
 * built. */
struct kernel_site {
    const struct node *node;
    struct shape inputs[NODE_MAX_INPUTS];
    size_t batch;
    size_t ranks; /* GPUs that work at once, each on `batch` images of the same global batch */
    /* Training: blocks of images over which sums are taken (image_blocks.h). 0 counts as 1. Kernels
     * of operators that read the whole batch use it; others are called for each block. */
    size_t image_blocks;
    bool training;
    bool bf16; /* channel-blocked arrays hold bf16, and products have operands of bf16 (rounding.h)
                */
    /* The kernel computes with integers of 8 bits (KERNEL_INT8); the quantizations are then those
     * of the values that it reads and writes. That of a fused add is its node's. */
    bool int8;
    struct quantization quantizations[NODE_MAX_INPUTS], output_quantization;
    size_t threads; /* may change the size of the workspace, must not change results */
    /* The state of the device that will execute the plan (device->state), whose libraries a kernel
     * may ask what they support. NULL: no device is open. */
    void *context;
    bool only_forecast;   /* the plan will not run: nothing is measured for it */
    bool spare_workspace; /* the memory limit leaves no room for a library's large workspace */
    /* The figures of this machine (machine_model.h), with which a kernel divides its work
     * and predicts its time. NULL: none are known. */
    const struct machine_model *machine;
    /* The name of the kernel that an earlier plan chose for this node by prediction. It is chosen
     * again if it supports the site. "": the first kernel of the list. NULL: the plan predicts.
     * Only set while the kernel is chosen. */
    const char *recorded_kernel;
    bool input_gradient[NODE_MAX_INPUTS]; /* training: which inputs need a gradient */
    /* The channel_shift or channel_shuffle before this kernel that is fused into it, or NULL. The
     * call's inputs[0] and input_gradients[0] are then those of the fused node, and the kernel
     * loads and stores each channel where the move takes it from. Only for kernels with the trait
     * KERNEL_FUSES_CHANNEL_MOVES. */
    const struct node *fused_move;
    /* The add and the relu after this kernel that are fused into it, or NULL. The second summand is
     * inputs[1], its gradient input_gradients[1]; output and output_gradient are those of the last
     * fused node. Only for kernels with the trait KERNEL_FUSES_EPILOGUE, or for a relu alone
     * KERNEL_FUSES_ACTIVATION. */
    const struct node *fused_add, *fused_activation;
    bool activation_first; /* the relu comes before the add; only with KERNEL_BLOCKED */
    /* In inference: the batch norms after this kernel, before add and relu, that are fused into it.
     * Only for kernels with the trait KERNEL_FUSES_NORMS. */
    struct fused_norm {
        const struct node *node;
        size_t first_channel; /* the norm's channel that belongs to the kernel's channel 0 */
    } fused_norms[KERNEL_MAX_NORMS];
    size_t fused_norm_count;
    /* The layouts of inputs and output; those of training have no padding. The device chooses
     * between kernels for channel-blocked and for plain layouts; the latter have no trait
     * KERNEL_BLOCKED and only see plain layouts. */
    struct tensor_layout layouts[NODE_MAX_INPUTS], output_layout;
};

/* The arguments of one forward or backward call. Shapes are [N, C, H, W] with N = site->batch. */
struct kernel_call {
    const struct kernel_site *site; /* its batch may be smaller than planned at an epoch's end */
    /* Arrays with a layout of bf16 are passed as pointers to float too; the kernel casts them. */
    const float *inputs[NODE_MAX_INPUTS];
    float *output;
    const float *output_gradient;            /* backward; NULL for a loss */
    float *input_gradients[NODE_MAX_INPUTS]; /* backward; NULL: not needed */
    bool accumulate[NODE_MAX_INPUTS]; /* add to this input gradient instead of overwriting it */
    float *parameters[NODE_MAX_PARAMETERS];
    float *parameter_gradients[NODE_MAX_PARAMETERS]; /* overwritten; NULL: not learnable */
    /* The parameters of the fused norms: weight, bias, mean and variance, from first_channel on. */
    const float *norm_parameters[KERNEL_MAX_NORMS][NORM_PARAMETERS];
    void *prepared;         /* written by prepare, read by forward */
    void *saved;            /* written by forward in training, read by backward */
    void *workspace;        /* scratch, undefined at entry */
    size_t workspace_bytes; /* of the plan: at least what the kernel asked for */
    const int32_t *labels;  /* [N], for losses over classes */
    /* [N] and [classes], in training; NULL: the targets are the labels alone, the weights 1. */
    const struct soft_target *soft_targets;
    const float *class_weights;
    uint64_t seed, iteration; /* seed dropout's random numbers (random.h) */
    size_t node_number;       /* the stream of this node's random numbers */
    /* Training: the batch is a micro-batch of a larger one, over which losses are means, dropout
     * numbers its values and batch norms take statistics (micro_batch.h). NULL: it is the whole
     * batch. */
    const struct micro_batch *micro_batch;
    /* This forward call recomputes an output that was freed after the forward pass of this
     * iteration. It gives the same bits as the first one and writes no parameters. */
    bool recomputing;
    struct pool *pool;
    void *context;           /* the device's state: device->state */
    struct profile *profile; /* NULL: no profiling */
};

enum kernel_traits {
    /* `output` may be the memory of inputs[0]. */
    KERNEL_IN_PLACE = 1 << 0,
    /* Backward reads inputs[] or output, so these must be in memory until then. */
    KERNEL_BACKWARD_READS_INPUT = 1 << 1,
    KERNEL_BACKWARD_READS_OUTPUT = 1 << 2,
    /* input_gradients[0] may be the memory of output_gradient, unless accumulate[0]. */
    KERNEL_GRADIENT_IN_PLACE = 1 << 3,
    /* Supports site->fused_move. */
    KERNEL_FUSES_CHANNEL_MOVES = 1 << 4,
    /* A recomputing forward call reads `saved` as the first one wrote it; other kernels write it
     * once more. Required if forward updates running statistics. */
    KERNEL_REUSES_SAVED = 1 << 5,
    /* Supports site->fused_add and site->fused_activation. KERNEL_IN_PLACE and
     * KERNEL_GRADIENT_IN_PLACE then hold for inputs[1] too. Backward reads the output if both are
     * fused, and never reads inputs[1]; input_gradients[1] may be the memory of the output, unless
     * accumulate[1]. */
    KERNEL_FUSES_EPILOGUE = 1 << 6,
    /* Supports site->fused_norms. */
    KERNEL_FUSES_NORMS = 1 << 7,
    /* Writes site->output_layout with its padding, and reads the layouts of the inputs that
     * supports() accepts. An output of one position, a vector, has a plain layout. Gradients have
     * the layouts of their values. Training uses only such kernels that have `backward`. */
    KERNEL_BLOCKED = 1 << 8,
    KERNEL_TRAINS_ONLY = 1 << 9, /* inference does not use the kernel */
    /* In training, works on channel-blocked arrays as on plain ones, if all have the same layout:
     * it does the same with every value, and counts values by the layout. */
    KERNEL_ANY_LAYOUT = 1 << 10,
    /* Channel-blocked arrays hold bf16. Products round their operands as rounding.h says. With
     * neither KERNEL_BLOCKED nor KERNEL_ANY_LAYOUT, the kernel's arrays are plain float32, and only
     * its products are of bf16. */
    KERNEL_BF16 = 1 << 11,
    /* Supports site->fused_activation without site->fused_add. Backward then first applies the
     * relu's mask to the output's gradient, in place, for which it reads the output: workspace and
     * input gradients may be the memory of the output. */
    KERNEL_FUSES_ACTIVATION = 1 << 12,
    /* Reads arrays of integers of 8 bits, with the trait KERNEL_BLOCKED channel-blocked ones, and
     * writes such an array, or a plain one of float32. For inference only. All kernels of an
     * operator give the same bits (ops/int8.h). */
    KERNEL_INT8 = 1 << 15,
    /* Also works on channels-last arrays, if inputs and output all are. */
    KERNEL_CHANNELS_LAST = 1 << 13,
    /* Also works on channels-last arrays, whether or not inputs and output have one layout. */
    KERNEL_CONVERTS_LAYOUT = 1 << 14,
};

/* Rows [begin, end) of the output of one image. `begin` is even. */
struct kernel_rows {
    size_t image, begin, end;
};

struct kernel {
    const char *name;            /* "conv im2col+sgemm" */
    const char *instruction_set; /* "any", "avx2", "avx512" */
    const struct op *op;
    unsigned traits; /* enum kernel_traits */
    /* Returns whether the kernel can work at this site; if not, sets a reason in English, marked
     * N_. NULL: it supports every site. */
    bool (*supports)(const struct kernel_site *site, const char **reason);
    /* Returns the name of the code that computes the site, for a kernel that hands some sites over
     * to others. The device is open, if it was when the plan was made. NULL: the kernel computes
     * all sites itself. */
    const char *(*runs_as)(const struct kernel_site *site);
    size_t (*saved_bytes)(const struct kernel_site *site);     /* NULL: none */
    size_t (*workspace_bytes)(const struct kernel_site *site); /* NULL: none */
    /* Returns whether the kernel can read its input through this channel move. NULL: it can, if it
     * has the trait. */
    bool (*fuses_move)(const struct kernel_site *site, const struct node *move);
    /* Returns the positions of padding that input 0 needs if it is channel-blocked. NULL: none. */
    size_t (*input_pad)(const struct kernel_site *site);
    /* Writes call->prepared, values that depend on the parameters alone, such as packed weights:
     * once before the first forward call, and again when parameters have changed. NULL: nothing is
     * prepared. Kernels that prepare are for inference only. */
    size_t (*prepared_bytes)(const struct kernel_site *site);
    void (*prepare)(const struct kernel_call *call);
    /* Returns the FLOPs of the forward pass of one image, for a kernel that needs fewer than the
     * operator's definition. NULL: it needs as many. */
    uint64_t (*flops)(const struct kernel_site *site);
    /* Returns the seconds that the forward pass of one image is predicted to take on one thread, by
     * site->machine. They depend neither on the batch nor on the threads of the site, so that the
     * choice does not, either. NULL: the kernel states no prediction. */
    double (*seconds)(const struct kernel_site *site);
    /* Writes all of the output. */
    void (*forward)(const struct kernel_call *call);
    /* In inference, does the same for some rows of one image, with the padding beside them, and
     * with that above the first row and below the last one. Several threads call it at once, for
     * other rows; `thread` is that of the pool. The bits do not depend on the division into rows.
     * NULL: the kernel cannot. */
    void (*forward_rows)(const struct kernel_call *call, const struct kernel_rows *rows,
                         size_t thread);
    /* Returns into how many row blocks `forward` would divide an image; 0 if it would rather
     * divide the output's channels. Required with forward_rows. */
    size_t (*row_blocks)(const struct kernel_site *site);
    /* Writes the gradients of inputs and parameters. NULL only for operators without gradient. */
    void (*backward)(const struct kernel_call *call);
};

/* Returns the label smoothing of a softmax_cross_entropy: that of its node in training, otherwise
 * 0, so that validation losses of runs with different smoothing can be compared. */
static inline float loss_smoothing(const struct kernel_site *site)
{
    return site->training ? site->node->attributes.loss.smoothing : 0;
}

/* Returns whether the kernel's arrays are plain float32, and its products of bf16. */
static inline bool kernel_multiplies_plain_bf16(const struct kernel *kernel)
{
    const unsigned knows = KERNEL_BF16 | KERNEL_BLOCKED | KERNEL_ANY_LAYOUT;
    return (kernel->traits & knows) == KERNEL_BF16;
}

#endif
