/* fallback.h: nodes that the device has no kernel for, which the reference kernel computes.
 *
 * On a device that computes in the host's memory such a node costs no copies. On a device with
 * memory of its own the execution fetches what the reference kernel reads, runs it on the host and
 * stores what it wrote. The list of those arrays is made here, so that the forecast of the copies
 * and the execution cannot disagree.
 */
#ifndef TINCA_ENGINE_PLAN_FALLBACK_H
#define TINCA_ENGINE_PLAN_FALLBACK_H

#include "engine/plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Chooses the kernel of step->site: the device's, else the operator's reference kernel. Sets
 * kernel, falls_back and choice of the step. Returns false with an error if neither supports the
 * site. */
bool fallback_choose_kernel(const struct device_driver *driver, struct plan_step *step,
                            struct error *error);

/* Checks the nodes that fall back, after fusion. Returns false with an error that names node,
 * operator and device if `strict` is set and there is one, or if one needs the whole batch but
 * several GPUs have a micro-batch each. */
bool fallback_check(const struct plan *plan, bool strict, struct error *error);

/* Returns whether the step's kernel runs on the host although the device has memory of its own. */
bool fallback_leaves_device(const struct device_driver *driver, const struct plan_step *step);

/* An array that a pass of a node copies between device and host. `slot` and `index` identify its
 * pointer in the kernel's call. */
enum fallback_slot {
    FALLBACK_INPUT,
    FALLBACK_OUTPUT,
    FALLBACK_OUTPUT_GRADIENT,
    FALLBACK_INPUT_GRADIENT,
    FALLBACK_PARAMETER,
    FALLBACK_PARAMETER_GRADIENT,
    FALLBACK_LABELS,
    FALLBACK_SOFT_TARGETS,
    FALLBACK_CLASS_WEIGHTS
};
struct fallback_array {
    enum fallback_slot slot;
    size_t index; /* index of the input or parameter */
    size_t bytes;
    bool fetched; /* from the device, before the kernel runs */
    bool stored;  /* to the device, afterwards */
};
enum { FALLBACK_MAX_ARRAYS = 2 * NODE_MAX_INPUTS + 2 * NODE_MAX_PARAMETERS + 5 };

/* Lists the arrays that this pass over `batch` images reads or writes. Returns how many. */
size_t fallback_list_arrays(const struct plan *plan, const struct plan_step *step,
                            enum plan_pass pass, size_t batch,
                            struct fallback_array list[FALLBACK_MAX_ARRAYS]);

/* Returns the bytes of host memory for arrays and workspace of the largest pass on the host; 0 if
 * no node leaves the device. */
size_t fallback_scratch_bytes(const struct plan *plan);

/* Returns the bytes of host memory that a node saves for its backward pass; 0 unless it leaves the
 * device. */
size_t fallback_saved_bytes(const struct plan *plan, const struct plan_step *step);

/* Returns the bytes of host memory for the whole plan: scratch and saved values. */
size_t fallback_host_bytes(const struct plan *plan);

/* The number of nodes that fall back, and the bytes that an iteration of the whole batch copies for
 * them. */
struct fallback_cost {
    size_t nodes;
    uint64_t bytes;
};

/* Returns the cost of the plan's fallbacks. */
struct fallback_cost fallback_cost(const struct plan *plan);

#endif
