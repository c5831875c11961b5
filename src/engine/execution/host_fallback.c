/* Runs nodes without a device kernel on the host. One allocation of host memory has two parts. The
 * first holds the arrays and the workspace of the node that runs now, and is as large as the
 * largest pass needs, so that an iteration allocates nothing. The second has a separate place for
 * what each node saves for its backward pass: the forward pass and its recomputation write it, and
 * the backward pass reads it.
 *
 * Arrays that share device memory also share host memory. So kernels that work in place, and sums
 * of gradients that arrive through two inputs, give the same bits. */
#include "engine/execution/internal.h"

#include "base/language.h"
#include "base/memory.h"
#include "engine/devices/device_backend.h"
#include "engine/plan/fallback.h"

#include <stdlib.h>

struct host_fallback {
    const struct plan *plan;
    struct device *device;
    char *memory;
    size_t *saved; /* by step: offset of its saved values in `memory`, if it runs on the host */
};

struct host_fallback *host_fallback_create(const struct plan *plan, struct device *device,
                                           struct error *error)
{
    static const char what[] = N_("the nodes that run on the host");
    struct host_fallback *fallback = memory_new(1, sizeof *fallback, what, error);
    if (!fallback)
        return NULL;
    fallback->plan = plan;
    fallback->device = device;
    fallback->memory = memory_new_aligned(fallback_host_bytes(plan), 1, what, error);
    fallback->saved = memory_new(plan->step_count, sizeof *fallback->saved, what, error);
    if (!fallback->memory || !fallback->saved) {
        host_fallback_free(fallback);
        return NULL;
    }
    size_t used = fallback_scratch_bytes(plan);
    for (size_t s = 0; s < plan->step_count; s++) {
        fallback->saved[s] = used;
        used += fallback_saved_bytes(plan, &plan->steps[s]);
    }
    return fallback;
}

void host_fallback_free(struct host_fallback *fallback)
{
    if (!fallback)
        return;
    free(fallback->memory);
    free(fallback->saved);
    free(fallback);
}

/* --- a call --- */

/* An array of a call, in device and host memory. */
struct copied {
    struct fallback_array array;
    void *device_memory, *host_memory;
};

static void *device_memory_of(const struct kernel_call *call, const struct fallback_array *array)
{
    switch (array->slot) {
    case FALLBACK_INPUT:
        return (void *)call->inputs[array->index];
    case FALLBACK_OUTPUT:
        return call->output;
    case FALLBACK_OUTPUT_GRADIENT:
        return (void *)call->output_gradient;
    case FALLBACK_INPUT_GRADIENT:
        return call->input_gradients[array->index];
    case FALLBACK_PARAMETER:
        return call->parameters[array->index];
    case FALLBACK_PARAMETER_GRADIENT:
        return call->parameter_gradients[array->index];
    case FALLBACK_LABELS:
        return (void *)call->labels;
    case FALLBACK_SOFT_TARGETS:
        return (void *)call->soft_targets;
    case FALLBACK_CLASS_WEIGHTS:
        return (void *)call->class_weights;
    }
    return NULL;
}

static void set_host_memory(struct kernel_call *call, const struct copied *copied)
{
    void *memory = copied->host_memory;
    const size_t index = copied->array.index;
    switch (copied->array.slot) {
    case FALLBACK_INPUT:
        call->inputs[index] = memory;
        break;
    case FALLBACK_OUTPUT:
        call->output = memory;
        break;
    case FALLBACK_OUTPUT_GRADIENT:
        call->output_gradient = memory;
        break;
    case FALLBACK_INPUT_GRADIENT:
        call->input_gradients[index] = memory;
        break;
    case FALLBACK_PARAMETER:
        call->parameters[index] = memory;
        break;
    case FALLBACK_PARAMETER_GRADIENT:
        call->parameter_gradients[index] = memory;
        break;
    case FALLBACK_LABELS:
        call->labels = memory;
        break;
    case FALLBACK_SOFT_TARGETS:
        call->soft_targets = memory;
        break;
    case FALLBACK_CLASS_WEIGHTS:
        call->class_weights = memory;
        break;
    }
}

/* Sets the host memory of list[i]: if an earlier entry has the same device memory, the host memory
 * of that entry, else the next free bytes. */
static void place(struct copied *list, size_t i, char *memory, size_t *used)
{
    for (size_t k = 0; k < i; k++)
        if (list[k].device_memory == list[i].device_memory &&
            list[k].array.bytes == list[i].array.bytes) {
            list[i].host_memory = list[k].host_memory;
            return;
        }
    list[i].host_memory = memory + *used;
    *used += memory_round_up(list[i].array.bytes);
}

/* Fills list[] with the arrays of the call that exist and returns how many; *used grows by their
 * bytes of host memory. */
static size_t list_copied(const struct host_fallback *fallback,
                          const struct plan_order_entry *entry, const struct kernel_call *call,
                          struct copied *list, size_t *used)
{
    struct fallback_array arrays[FALLBACK_MAX_ARRAYS];
    const size_t count = fallback_list_arrays(fallback->plan, &fallback->plan->steps[entry->step],
                                              entry->pass, call->site->batch, arrays);
    size_t listed = 0;
    for (size_t i = 0; i < count; i++) {
        list[listed] = (struct copied){.array = arrays[i],
                                       .device_memory = device_memory_of(call, &arrays[i])};
        if (list[listed].device_memory)
            place(list, listed++, fallback->memory, used);
    }
    return listed;
}

/* Returns the call with pointers into host memory; NULL for arrays that the pass does not use. */
static struct kernel_call host_call(const struct host_fallback *fallback,
                                    const struct plan_order_entry *entry,
                                    const struct kernel_call *call, const struct copied *list,
                                    size_t count, size_t used)
{
    struct kernel_call host = {.site = call->site,
                               .seed = call->seed,
                               .iteration = call->iteration,
                               .node_number = call->node_number,
                               .recomputing = call->recomputing,
                               .pool = call->pool,
                               .profile = call->profile,
                               .saved = fallback->memory + fallback->saved[entry->step],
                               .workspace = fallback->memory + used};
    for (size_t k = 0; k < NODE_MAX_INPUTS; k++)
        host.accumulate[k] = call->accumulate[k];
    for (size_t i = 0; i < count; i++)
        set_host_memory(&host, &list[i]);
    return host;
}

void host_fallback_run(struct host_fallback *fallback, const struct plan_order_entry *entry,
                       const struct kernel_call *call)
{
    struct device *device = fallback->device;
    const struct device_backend *backend = device->driver->backend;
    const struct kernel *kernel = fallback->plan->steps[entry->step].kernel;
    struct copied list[FALLBACK_MAX_ARRAYS];
    size_t used = 0;
    const size_t count = list_copied(fallback, entry, call, list, &used);
    const struct kernel_call host = host_call(fallback, entry, call, list, count, used);
    for (size_t i = 0; i < count; i++)
        if (list[i].array.fetched)
            backend->copy_out(device, list[i].host_memory, list[i].device_memory,
                              list[i].array.bytes);
    if (!backend->check(device, NULL))
        return;
    if (entry->pass == PLAN_BACKWARD)
        kernel->backward(&host);
    else
        kernel->forward(&host);
    for (size_t i = 0; i < count; i++)
        if (list[i].array.stored)
            backend->copy_in(device, list[i].device_memory, list[i].host_memory,
                             list[i].array.bytes);
}
