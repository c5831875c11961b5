/* plan.h: graph x batch x device x mode -> a schedule and one arena.
 *
 * The plan is made once a run and is constant afterwards. It chooses a kernel for every node,
 * decides what is computed in place, which moves of channels are only read through and which sums
 * and activations the kernel before them finishes, finds when each array is first written and last
 * read, and packs the arrays into one arena so that two that live at the same time never overlap.
 * Its size is the memory forecast: an iteration allocates nothing else.
 */
#ifndef TINCA_ENGINE_PLAN_PLAN_H
#define TINCA_ENGINE_PLAN_PLAN_H

#include "base/error.h"
#include "engine/devices/device.h"
#include "engine/graph/graph.h"
#include "engine/graph/kernel.h"

#include <stddef.h>
#include <stdint.h>

#define PLAN_NONE ((size_t)-1)

enum plan_mode { PLAN_INFERENCE, PLAN_TRAINING };

/* Bytes, by kind. `activations` holds values, their gradients and what backward needs besides.
 * `unlimited` is the total without a limit: the larger one where something is computed again. FLOPs
 * `tables`, besides the total: of a plan and its execution themselves. FLOPs
 * are a count, of one image in one iteration of training: of all that is done, and of the forward
 * passes among it that are run again. */
struct memory_forecast {
    uint64_t weights, gradients, solver, activations, workspace, total;
    uint64_t unlimited, tables;
    uint64_t flops, flops_again;
};

/* The part of the work that is there to save memory, in percent of what there is without it. */
double plan_recompute_overhead(const struct memory_forecast *forecast);

/* What an iteration does, one thing after the other. The forward passes of all steps come first,
 * then their backward passes from the last to the first, and before them what is to be computed
 * again. */
enum plan_pass { PLAN_FORWARD, PLAN_BACKWARD, PLAN_RECOMPUTE };
struct plan_order_entry {
    enum plan_pass pass;
    size_t step;
};

/* What lies in the arena, and when. Time i is the plan's action i; with their number the iteration
 * is over (what is kept for the caller). */
enum plan_array_kind { PLAN_VALUE, PLAN_GRADIENT, PLAN_SAVED, PLAN_VALUE_RECOMPUTED };
struct plan_array {
    enum plan_array_kind kind;
    size_t node; /* whose it is; views of it and results computed in place lie there too */
    size_t offset, bytes;
    size_t first, last; /* times, both included */
};

enum { PLAN_CHOICE_SIZE = 384 };

/* What happens at one node. Offsets are bytes into the arena, PLAN_NONE where there is nothing.
 */
struct plan_step {
    size_t node;
    const struct kernel *kernel; /* NULL: a view, nothing is executed */
    size_t reader;     /* a channel_shift or channel_shuffle that is not executed: the node
                          that reads through it. Else PLAN_NONE */
    size_t fused_into; /* an add or relu that is not executed: the node before it whose kernel does
                        it, and whose value and gradient are its own. Else PLAN_NONE */
    /* The nodes whose values it takes: its node's inputs and, after them, the other summand of an
     * add that it finishes. Of what is finished only the one whose value it shows. */
    size_t inputs[NODE_MAX_INPUTS], input_count;
    struct kernel_site site;
    bool backward; /* it takes part in the backward pass */
    bool accumulate[NODE_MAX_INPUTS];
    size_t saved; /* offset: where the forward pass writes it */
    size_t
        backward_saved;  /* and where the backward pass reads it: elsewhere when it is made again */
    size_t backward_at;  /* its action; PLAN_NONE in inference */
    size_t recompute_at; /* the same; PLAN_NONE: not computed again */
    char choice[PLAN_CHOICE_SIZE]; /* why this kernel: for people */
};

struct plan {
    const struct graph *graph;
    const struct device_driver *driver;
    enum plan_mode mode;
    bool frozen, seeds_output_gradient;
    size_t batch; /* images at once; of several cards, those of each */
    size_t ranks; /* that share an iteration's batch; 1 or more */
    size_t threads;
    struct plan_step *steps; /* in order of execution; the input is not among them */
    size_t step_count;
    struct plan_order_entry *actions; /* the first step_count: the forward pass */
    size_t order_count;
    size_t *values;            /* by node: offset of its output; the input's is PLAN_NONE */
    size_t *backward_values;   /* the same, after the forward pass: elsewhere when computed again */
    size_t *gradients;         /* by node: offset of the gradient of its output */
    struct plan_array *arrays; /* all of the arena but the workspace */
    size_t array_count;
    size_t workspace; /* offset; shared by all steps */
    size_t arena_bytes;
    struct memory_forecast forecast;
};

#define PLAN_LEAST_MEMORY UINT64_MAX

struct plan_settings {
    enum plan_mode mode;
    size_t batch, threads;
    size_t ranks; /* training: among which the batch is cut, each by a plan such as this one; 0 and
                     1: there is one */
    struct solver_settings solver; /* training: sizes the solver's state */
    uint64_t memory_limit;         /* training: bytes that the forecast's total may reach; 0: none;
                                      PLAN_LEAST_MEMORY: as few as computing again can bring about */
    /* Training of networks that are joined (gan.h). */
    bool needs_input_gradient;  /* the gradient of the input is wanted: gradients[0] */
    bool frozen;                /* the weights stay: no gradients of theirs, no solver */
    bool seeds_output_gradient; /* the output's gradient begins as what the caller writes there
                          after the forward pass; the losses' is added */
    bool with_loss; /* inference: evaluate the main loss too (labels or targets are bound) */
};

enum { PLAN_KERNEL_NAME_SIZE = NODE_NAME_SIZE + 32 };

/* What its kernel's traits are here: with a sum and a relu finished, backward reads the
 * output. 0: a view. */
unsigned plan_step_traits(const struct plan_step *step);

/* The step of a node, found in logarithmic time; NULL: the plan does without the node. */
const struct plan_step *plan_find_step(const struct plan *plan, size_t node);

/* Whether it does nothing and never would have: not one that another node's kernel does. */
bool plan_step_is_view(const struct plan_step *step);

/* What the column of kernels says: a kernel's name, "view", or "read through by NODE" and "done by
 * NODE", for which text[0..size) is used. */
const char *plan_step_kernel_name(const struct plan *plan, const struct plan_step *step, char *text,
                                  size_t size);

/* Multiply-adds x 2 of a pass of this step for one image. Of a backward pass each gradient that is
 * wanted, of the weights and of the input, costs what the forward pass does. */
uint64_t plan_step_flops(const struct plan *plan, const struct plan_step *step,
                         enum plan_pass pass);

/* Borrows graph and driver. NULL with an error: an operator that the device lacks, a batch that
 * cannot be cut into equal parts, sizes that do not fit a size_t, or a limit that even computing
 * again does not reach. */
struct plan *plan_build(const struct graph *graph, const struct device_driver *driver,
                        const struct plan_settings *settings, struct error *error);
void plan_free(struct plan *plan); /* may be NULL */

/* The words of a refusal: the limit of `settings` cannot be kept, `least` bytes can; `batch` images
 * would fit the limit (0: not even one). False. */
bool plan_set_limit_error(const struct plan_settings *settings, uint64_t least, size_t batch,
                          struct error *error);

/* The largest batch in [1, limit] whose forecast total is at most `bytes`, a multiple of the cards;
 * 0 when not even one image fits. */
size_t plan_largest_batch(const struct graph *graph, const struct device_driver *driver,
                          const struct plan_settings *settings, size_t limit, uint64_t bytes);

#endif
