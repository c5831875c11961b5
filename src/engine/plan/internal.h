/* internal.h: the stages in which a plan is built (plan_build.c). */
#ifndef TINCA_ENGINE_PLAN_INTERNAL_H
#define TINCA_ENGINE_PLAN_INTERNAL_H

#include "base/error.h"
#include "engine/plan/plan.h"

#include <stddef.h>
#include <stdint.h>

/* --- packing arrays with live ranges into one arena --- */

/* A block of memory that is in use from position `first` of the execution order to position `last`,
 * both included. */
struct arena_block {
    size_t bytes;
    size_t first, last;
    size_t offset; /* result of arena_pack, a multiple of MEMORY_ALIGNMENT */
};

/* Sets the offset of each block so that no two blocks that are in use at the same time overlap, and
 * rounds their sizes up to the alignment. Returns the arena's bytes in *total. Returns false with
 * an error if out of memory or the arena does not fit the address space. */
bool arena_pack(struct arena_block *blocks, size_t count, size_t *total, struct error *error);

/* Returns the largest number of bytes that are in use at one position; no packing needs less. All
 * positions are at most `last`; `scratch` has room for last + 2 numbers. */
size_t arena_lower_bound(const struct arena_block *blocks, size_t count, int64_t *scratch,
                         size_t last);

/* --- the steps of a plan and their kernels --- */

/* Writes plan->steps: one for each node that the output or a loss needs, with its kernel. The array
 * has room for all nodes. Returns false with an error if the network cannot be trained, the device
 * lacks an operator, a node is too large or out of memory. */
bool steps_build(struct plan *plan, const struct plan_settings *settings, struct error *error);

/* Divides the workspace of each step; returns the bytes of the largest one, rounded up. */
size_t steps_place_workspace(struct plan *plan);

/* Gives every step its place in the memory that kernels prepare; returns the bytes of the whole. */
size_t steps_place_prepared(struct plan *plan);

/* --- how the values of a plan lie in memory --- */

/* Sets plain[] (by node) to true for the nodes whose value must have the plain layout, because the
 * caller reads it. */
void layouts_mark_plain(const struct plan *plan, bool *plain);

/* Returns whether channel-blocked values make this training faster: most of their lanes must be
 * used, since channels that do not fill their last block cost as much as full ones. */
bool layouts_pay(const struct plan *plan);

/* Offers a step the layouts of its site, before its kernel is chosen: its inputs have the layouts
 * of the steps before it, and its output may be channel-blocked unless `plain` is set. */
void layouts_offer(const struct plan *plan, struct plan_step *step, bool plain);

/* Records the layout of the step's value that follows from its kernel. */
void layouts_settle(struct plan *plan, struct plan_step *step);

/* Returns whether the kernel of a step of a training plan supports the layouts of its inputs. In
 * inference it need not, since the plan provides plain copies. */
bool layouts_agree(const struct plan *plan, const struct plan_step *step);

/* Makes values channels-last where the kernel that writes them and all that read them work on such
 * values, and sets the layouts of the sites. The steps have the kernels that they would have with
 * plain values; plain[] comes from layouts_mark_plain. Returns whether any value is channels-last.
 */
bool layouts_put_channels_last(struct plan *plan, const bool *plain);

/* Completes the layouts of all values, after fusion: which parts of a concatenation are written in
 * place, how much padding each value has, and which inputs a kernel reads as a plain copy. */
void layouts_complete(struct plan *plan);

/* Returns the bytes of a node's value in the arena. */
size_t layouts_value_bytes(const struct plan *plan, size_t node);

/* Returns the bytes of the copy of an input that the kernel of a step reads. */
size_t layouts_copy_bytes(const struct plan *plan, const struct plan_step *step, size_t input);

/* Returns how many values kernels read as copies. */
size_t layouts_copy_count(const struct plan *plan);

/* --- nodes whose work is fused into the kernel of another node --- */

/* Fuses channel moves into the kernel that reads them and, if `epilogues` is set, additions and
 * activations into the kernel before them, wherever that kernel supports it. The steps of fused
 * nodes become views. Call it once kernels are chosen and before the order of execution is made.
 * Returns false with an error if out of memory. */
bool fusion_apply(struct plan *plan, bool epilogues, struct error *error);

/* Returns whether an addition or activation is fused into a kernel of this plan. */
bool fusion_has_epilogues(const struct plan *plan);

/* The order of execution, with the recomputations that it needs. */

/* Facts about the values of a plan whose steps are complete. */
struct step_order {
    struct plan *plan; /* borrowed; step_order_make writes its order and its steps' positions */
    size_t *root;    /* by node: the node whose memory has its value: itself, or a view's source */
    size_t *writer;  /* by node: its step; PLAN_NONE for inputs */
    bool *read_late; /* by node: its value is read after the forward pass */
    bool *pending;   /* by node: scratch, to be recomputed before the next backward pass */
};

/* Allocates `order` and plan->order.entries; step_order_free releases the former. Returns false
 * with an error if out of memory. */
bool step_order_create(struct step_order *order, struct plan *plan, struct error *error);

/* Frees what step_order_create allocated, but not plan->order.entries. */
void step_order_free(struct step_order *order);

/* Returns whether the node's value may be recomputed: it is no input, view, loss or output, and
 * computing it twice does not change running statistics. */
bool step_order_can_recompute(const struct step_order *order, size_t node);

/* Fills plan->order. Values that are read after the forward pass stay in memory if keep[] (by node;
 * NULL: all) is set or if they cannot be recomputed; the others are recomputed. */
void step_order_make(struct step_order *order, const bool *keep);

/* Set chain_end of all steps. The first function finds the chains before the arena is laid out,
 * once fusion and layouts are complete; the second one splits chains whose steps share memory,
 * afterwards (step_order.c). */
void step_order_find_chains(struct plan *plan);
void step_order_split_chains(struct plan *plan);

/* Finds the values to recompute so that training fits a memory limit. */

struct recompute_search {
    struct step_order *order;
    /* Returns the arena's bytes if the values of keep[] (by node) stay in memory and the others are
     * recomputed: the exact number, or a lower bound in less time. Makes the order for it. */
    uint64_t (*measure)(void *context, const bool *keep, bool exact);
    void *context;
    uint64_t limit; /* bytes of the arena; 0: as few as possible */
};

/* Sets keep[] (by node) to the values that stay in memory. Chooses the least recomputation that
 * fits the limit or, if none fits, the least memory. The result depends on the plan and the limit
 * only. Returns false with an error if out of memory. */
bool recompute_choose(const struct recompute_search *search, bool *keep, struct error *error);

/* Sets keep[] (by node) so that only normalised values are recomputed: their statistics are saved,
 * so that one pass over the input writes them again. Ignores search->limit. Keeps all values if
 * that saves less than a tenth of the arena. Returns false with an error if out of memory. */
bool recompute_choose_norms(const struct recompute_search *search, bool *keep, struct error *error);

/* Finds the arrays that an iteration needs, the steps in which each is in use, and which of them
 * share memory. */

/* The number of a block that does not exist. */
#define LIVE_RANGES_NONE ((size_t)-1)

struct live_ranges {
    struct plan *plan;              /* borrowed; accumulate[] of its steps is written */
    const struct step_order *order; /* borrowed */
    bool input_gradient;            /* the caller reads the gradient of the input */
    size_t nodes;
    struct arena_block *blocks; /* a block that is merged into another one has 0 bytes */
    size_t block_count, block_capacity;
    size_t *value_block;    /* by node */
    size_t *backward_block; /* by node: the value after the forward pass; differs if recomputed */
    size_t *gradient_block; /* by node */
    size_t *saved_block, *backward_saved_block; /* by step */
    size_t (*copy_block)[NODE_MAX_INPUTS];      /* by step: the plain copies of its inputs */
    bool *written;                              /* by block: scratch, a pass wrote the gradient */
    /* Scratch: for each block the list of the nodes whose gradient it holds. */
    size_t *first_node, *next_node; /* by block, by node */
};

/* Allocates everything for a plan with an order; live_ranges_free releases it. Returns false with
 * an error if out of memory. */
bool live_ranges_create(struct live_ranges *ranges, struct plan *plan,
                        const struct step_order *order, const struct plan_settings *settings,
                        struct error *error);
void live_ranges_free(struct live_ranges *ranges);

/* Finds all blocks for the present order of the plan; offsets are not set. Also decides which
 * backward passes add to a gradient instead of overwriting it (step->accumulate). */
void live_ranges_find(struct live_ranges *ranges);

/* Returns the block of a node's value in the forward pass, following views; LIVE_RANGES_NONE if the
 * value is not in the arena. */
size_t live_ranges_value(const struct live_ranges *ranges, size_t node);

/* Returns the same for after the forward pass. */
size_t live_ranges_backward_value(const struct live_ranges *ranges, size_t node);

/* The blocks of an arena that already have an offset, and a fast search for gaps
 * between those whose live ranges overlap. */

struct placed_node;
struct placed_group;
struct occupied_range;

struct placed_blocks {
    struct placed_node *nodes;
    size_t count;
    struct placed_group *groups;
    size_t group_count, size_count; /* size_count: block sizes that have groups of their own */
    struct occupied_range *ranges;  /* scratch of a search */
    size_t visits;                  /* nodes and ranges that all searches have read, for tests */
};

/* Allocates room for `capacity` blocks; placed_blocks_free releases it. Returns false with an error
 * if out of memory. */
bool placed_blocks_create(struct placed_blocks *placed, size_t capacity, struct error *error);

/* Frees everything and leaves `placed` empty. */
void placed_blocks_free(struct placed_blocks *placed);

/* Returns the offset of the smallest gap that holds `block` between the placed blocks whose live
 * ranges overlap its own, the lowest among equals. Without such a gap, returns the end of the
 * highest of these blocks. */
size_t placed_blocks_find_gap(struct placed_blocks *placed, const struct arena_block *block);

/* Adds a block, which has an offset and is not empty. Searches are fast if blocks are added in the
 * order of their sizes. */
void placed_blocks_add(struct placed_blocks *placed, const struct arena_block *block);

/* --- a plan's arena, its arrays and its memory forecast --- */

/* Packs the blocks of `ranges` into the arena of their plan, followed by `workspace` bytes, and
 * sets plan->arena and the forecast. The first call, which is for a plan without recomputation,
 * also sets forecast.unlimited. plan->arena.arrays has room for ranges->block_capacity arrays.
 * Returns false with an error if out of memory or the arena is too large. */
bool placement_make(struct live_ranges *ranges, const struct plan_settings *settings,
                    size_t workspace, struct error *error);

#endif
