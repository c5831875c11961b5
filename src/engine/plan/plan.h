/* plan.h: how one graph is executed with one batch size on one device.
 *
 * A plan is built once per run and is constant afterwards. It chooses a kernel for every node,
 * fuses nodes into the kernels around them, fixes the order of execution, decides which results
 * share memory and which are recomputed, and packs all arrays into one arena. The size of the arena
 * is the memory forecast: an iteration allocates nothing else. Any number of threads may read a
 * plan.
 */
#ifndef TINCA_ENGINE_PLAN_PLAN_H
#define TINCA_ENGINE_PLAN_PLAN_H

#include "base/error.h"
#include "engine/devices/device.h"
#include "engine/graph/graph.h"
#include "engine/graph/kernel.h"

#include <stddef.h>
#include <stdint.h>

/* An offset, node or position that does not exist. */
#define PLAN_NONE ((size_t)-1)

enum plan_mode { PLAN_INFERENCE, PLAN_TRAINING };

/* The memory (bytes) and the work (FLOPs of one image) that an iteration takes. */
struct memory_forecast {
    uint64_t weights, gradients, solver;
    uint64_t activations; /* values, their gradients, and what kernels save for backward */
    uint64_t workspace;
    uint64_t teacher;  /* distillation: weights, values and the rest of the teacher */
    uint64_t prepared; /* inference: values that kernels compute from the weights once (kernel.h) */
    uint64_t total;    /* sum of the above */
    uint64_t unlimited;   /* the total without recomputation */
    uint64_t tables;      /* memory of the plan and its execution themselves; not in the total */
    uint64_t flops;       /* all passes of an iteration, recomputation included */
    uint64_t flops_again; /* the recomputed forward passes among them */
    /* Nodes that the reference kernel computes because the device has no kernel for them, and the
     * bytes that an iteration copies between device and host for them (fallback.h). */
    uint64_t fallback_nodes, fallback_bytes;
};

/* A step executes its node in up to three passes of an iteration. */
enum plan_pass { PLAN_FORWARD, PLAN_BACKWARD, PLAN_RECOMPUTE };

/* One entry of the execution order: all forward passes, then the backward passes from the last step
 * to the first, each preceded by the forward passes that it needs recomputed. */
struct plan_order_entry {
    enum plan_pass pass;
    size_t step;
};

/* An array in the arena and its live range. Positions are those of the execution order; a value
 * that the caller reads lives until position order.count, after the last pass. */
enum plan_array_kind { PLAN_VALUE, PLAN_GRADIENT, PLAN_SAVED, PLAN_VALUE_RECOMPUTED };
struct plan_array {
    enum plan_array_kind kind;
    size_t node; /* its first owner: views and results computed in place share the array */
    size_t offset, bytes;
    size_t first, last; /* positions, both included */
};

enum { PLAN_CHOICE_SIZE = 384, PLAN_KERNEL_SIZE = 32 };

/* The operands and results of a float32 kernel that the execution rounds to bf16 before and after a
 * call (rounding.h). */
struct step_rounding {
    bool input, weights, output_gradient;    /* operands, which are copied to the workspace */
    bool output, gradients[NODE_MAX_INPUTS]; /* results, rounded where they are */
    size_t workspace;                        /* bytes from the start of the workspace */
};

/* The execution of one node. Offsets are bytes into the arena, or PLAN_NONE. */
struct plan_step {
    size_t node;
    const struct kernel *kernel; /* NULL: a view or a fused node, nothing is executed */
    /* A node that is not executed because it is fused: a channel_shift or channel_shuffle into the
     * node that reads it, an add or relu into the node before it, whose value and gradient it
     * shares. The number of that node; else PLAN_NONE. */
    size_t fused_into;
    /* A concat whose inputs are written directly into its value, so that nothing is executed. */
    bool joins;
    /* The concat of which the step's value is a part, and its first channel there. PLAN_NONE: none.
     */
    size_t part_of, part_channel;
    /* The nodes whose values the kernel reads: the inputs of its node, then the second summand of a
     * fused add. A fused node has only the one whose value it shares. */
    size_t inputs[NODE_MAX_INPUTS], input_count;
    struct kernel_site site;
    bool predicted;  /* of several kernels that predict their times: results depend on the choice */
    bool falls_back; /* the device has no kernel: `kernel` is the reference's (fallback.h) */
    bool backward;   /* the step takes part in the backward pass */
    const char *float_reason; /* int8: why the kernel computes in float32, marked N_; NULL: it
                                 computes in int8 */
    struct step_rounding
        rounding; /* bf16: the operands and results to round around a kernel of float32 */
    /* The kernel is called for each block of images (image_blocks.h), and site.batch is that of the
     * largest block. */
    bool by_blocks;
    size_t
        partial_sums; /* parameter gradients of the blocks: bytes from the start of the workspace */
    /* The kernel reads a copy of this input in the layout of its site: a plain copy of a
     * channel-blocked array, or one of integers or of float32; the offset of the copy. PLAN_NONE:
     * it reads the input itself. */
    size_t copies[NODE_MAX_INPUTS];
    size_t prepared;                  /* bytes from the start of the prepared memory */
    bool accumulate[NODE_MAX_INPUTS]; /* backward adds to the gradient of this input */
    size_t saved;                     /* offset of what the forward pass saves */
    size_t backward_saved; /* where backward reads it: differs from `saved` if recomputed */
    size_t backward_at;    /* position of the backward pass; PLAN_NONE in inference */
    size_t recompute_at;   /* position of the recomputation; PLAN_NONE: not recomputed */
    /* Inference: the number of the step after the chain that begins with this one. The steps of a
     * chain run as one job, for one row block of an image after the other (step_order.c). A step
     * that begins no chain of several steps has the number of the next step. */
    size_t chain_end;
    bool in_chain;                 /* also if the chain has no other step */
    char choice[PLAN_CHOICE_SIZE]; /* why this kernel was chosen, in English (choice.h) */
};

/* The execution order. */
struct plan_order {
    struct plan_order_entry *entries; /* the first step_count are the forward pass */
    size_t count;
};

/* How the arena is laid out: the one allocation that holds all values of a plan. */
struct plan_arena {
    size_t *values;            /* by node: offset of its output; PLAN_NONE for inputs */
    size_t *backward_values;   /* the same after the forward pass: differs if recomputed */
    size_t *gradients;         /* by node: offset of the gradient of its output */
    struct plan_array *arrays; /* everything in the arena except the workspace */
    size_t array_count;
    size_t workspace; /* offset; one workspace serves all steps */
    size_t bytes;
};

struct plan {
    const struct graph *graph;
    const struct device_driver *driver;
    enum plan_mode mode;
    /* copied from struct plan_settings */
    bool frozen, seeds_output_gradient, soft_targets, sample_batches, device_batches;
    bool only_forecast;   /* copied from its settings */
    bool spare_workspace; /* kernels use no library with a large workspace */
    size_t batch;         /* images per iteration; with several ranks or processes, of each */
    size_t ranks;         /* GPUs that share an iteration's batch; 1 or more */
    size_t processes;     /* processes that share an iteration's batch (cluster.h); 1 or more */
    size_t image_blocks;  /* blocks for sums over images (image_blocks.h); 1 or more; with several
                             processes, of each */
    size_t subtrees; /* the most subtrees of a process (batch_subtrees.h), each with gradients */
    size_t threads;
    struct machine_model machine; /* to which the sites point */
    struct plan_step *steps;      /* in the order of their nodes; inputs have none */
    size_t step_count;
    struct plan_order order;
    size_t block;       /* channels of a block in channel-blocked layouts; 0: none */
    bool channels_last; /* values are channels-last where kernels allow it (layouts.c) */
    bool bf16;          /* values and products are rounded to bf16 (rounding.h) */
    bool int8;          /* quantized values are integers, where kernels compute with them */
    struct quantization
        *quantizations; /* by node, in int8: the quantization of its value; scale 0: none */
    bool *rounded;      /* by node, in bf16: its output and the gradient of it are rounded */
    struct tensor_layout *layouts; /* by node: the layout of its output */
    struct plan_arena arena;
    size_t prepared_bytes; /* prepared memory of the kernels, outside of the arena */
    struct memory_forecast forecast;
};

/* The memory limit that asks plan_build for the smallest possible arena. */
#define PLAN_LEAST_MEMORY UINT64_MAX

/* The kernels that an earlier plan chose by prediction. A plan that is given them chooses the same,
 * and follows fixed rules for other nodes. */
struct plan_choice {
    char node[NODE_NAME_SIZE], kernel[PLAN_KERNEL_SIZE];
};
struct plan_choices {
    struct plan_choice *list;
    size_t count;
};

struct distillation_settings;

struct plan_settings {
    enum plan_mode mode;
    size_t batch, threads; /* 0 counts as 1 */
    size_t ranks;          /* training: GPUs that share the batch; 0 counts as 1 */
    size_t image_blocks; /* training: blocks for sums over images (image_blocks.h); 0 counts as 1 */
    size_t processes;    /* training: processes that share batch and blocks (micro_batch.h); 0: 1 */
    struct solver_settings solver; /* training: gives the size of the solver's state */
    uint64_t memory_limit;         /* training: limit in bytes for the forecast's total; 0: none */
    /* for two networks that are trained together (gan.h): */
    bool needs_input_gradient;  /* compute the gradient of the input too: gradients[0] */
    bool frozen;                /* the weights do not change: no gradients and no solver state */
    bool seeds_output_gradient; /* the caller writes the output's gradient after the forward pass,
                                   and the losses add theirs */
    bool strict_device;  /* refuse a node that the device has no kernel for; otherwise the reference
                            kernel computes it (fallback.h) */
    bool soft_targets;   /* training: the losses over classes get soft targets (soft_target.h) */
    bool with_loss;      /* inference: evaluate the main loss too; labels or targets are bound */
    bool sample_batches; /* batches are of 8-bit samples, which the device normalises
                            (execution_batch); only for a device with separate memory */
    bool device_batches; /* batches are bound in device memory only (execution_bind_device), so
                            that the execution has no memory for them */
    /* The precision of a device that computes on the host: float32, bf16 or, for a quantized
     * network in inference, int8. A GPU's precision is that of the open device
     * (device_set_precision); layouts depend on it. */
    enum device_precision precision;
    /* The figures of the machine, which the plan copies: device->machine. NULL: fixed rules. */
    const struct machine_model *machine;
    /* Choices that an earlier plan has predicted, and that this plan takes as they are. NULL: there
     * are none. */
    const struct plan_choices *choices;
    /* The open device that will execute the plan and outlives it. Kernels of libraries are chosen
     * only if it is known, in the precision that is set. NULL: not known. */
    const struct device *device;
    bool only_forecast; /* the plan will not run: kernels measure nothing for it */
    /* Training beside a teacher (distillation.h), whose plan distillation_plan_build makes;
     * plan_build ignores it. NULL: there is no teacher. */
    const struct distillation_settings *distillation;
};

/* Builds a plan, which borrows graph and driver; plan_free releases it. Returns NULL with an error
 * if nothing can compute a node (with strict_device: if the device cannot), the device does not
 * compute in that precision or cannot add in blocks of images, the ranks cannot share the batch
 * evenly, sizes overflow, out of memory, or the limit cannot be met even with recomputation. */
struct plan *plan_build(const struct graph *graph, const struct device_driver *driver,
                        const struct plan_settings *settings, struct error *error);

/* Frees a plan; NULL is allowed. */
void plan_free(struct plan *plan);

/* Returns the largest batch up to `limit` whose forecast total is at most `bytes`; it is a multiple
 * of the number of ranks. Returns 0 if not even one image per rank fits. */
size_t plan_largest_batch(const struct graph *graph, const struct device_driver *driver,
                          const struct plan_settings *settings, size_t limit, uint64_t bytes);

/* Sets the error for a memory limit that cannot be met and returns false. `least` is the smallest
 * possible total in bytes; `batch` the largest batch that meets the limit, 0 if none does. */
bool plan_set_limit_error(const struct plan_settings *settings, uint64_t least, size_t batch,
                          struct error *error);

/* Returns the step of a node, or NULL if the plan has no step for it. Takes logarithmic time. */
const struct plan_step *plan_find_step(const struct plan *plan, size_t node);

/* Returns the traits (enum kernel_traits) of the step's kernel at this site; 0 without a kernel. A
 * kernel with a fused add and a fused relu also reads its output in backward. */
unsigned plan_step_traits(const struct plan_step *step);

/* Returns whether the step's node is a view; a fused node is not. */
bool plan_step_is_view(const struct plan_step *step);

/* Returns whether the step has a backward pass that reads its inputs or its output. */
bool plan_step_backward_reads_input(const struct plan_step *step);
bool plan_step_backward_reads_output(const struct plan_step *step);

/* Returns how many of step->inputs that backward pass reads: not the summand of a fused add. */
size_t plan_step_backward_input_count(const struct plan_step *step);

/* Returns whether a recomputed forward pass of this step writes what it saves once more. */
bool plan_step_rewrites_saved(const struct plan_step *step);

enum { PLAN_KERNEL_NAME_SIZE = NODE_NAME_SIZE + 48 };

/* Returns the step's kernel as tables show it: the name of the kernel that computes it, with NHWC
 * if it reads or writes channels-last values (then written into text[0..size)), "view", or "fused
 * into NODE", which is written into text[0..size). On a GPU it may change while the plan is
 * executed: a library may refuse a call, and another kernel then computes it. */
const char *plan_step_kernel_name(const struct plan *plan, const struct plan_step *step, char *text,
                                  size_t size);

/* Returns the FLOPs (multiply-adds x 2) of one pass of this step for one image. A backward pass
 * costs as much as the forward pass for each gradient it computes: of the weights, of the input. */
uint64_t plan_step_flops(const struct plan *plan, const struct plan_step *step,
                         enum plan_pass pass);

/* Returns the bytes that computing a plan takes besides the weights: the arrays and the tables. */
uint64_t plan_bytes_beside_weights(const struct plan *plan);

/* Returns the FLOPs of recomputation in percent of an iteration's FLOPs without it. */
double plan_recompute_overhead(const struct memory_forecast *forecast);

#endif
