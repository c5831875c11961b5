/* A node falls back when no kernel of the device supports it. The plan notes that in the step; the
 * rest of the plan treats the reference kernel as any other. Only two things differ on a device
 * with memory of its own: the arrays that a pass reads or writes are copied, and what the kernel
 * saves for its backward pass stays on the host. */
#include "engine/plan/fallback.h"

#include "base/language.h"
#include "base/memory.h"
#include "engine/ops/op.h"

#include <stdio.h>

bool fallback_choose_kernel(const struct device_driver *driver, struct plan_step *step,
                            struct error *error)
{
    struct error refusal;
    const struct kernel_site *site = &step->site;
    step->kernel = device_choose_kernel(driver, site, step->choice, sizeof step->choice, &refusal);
    if (step->kernel)
        return true;
    if (site->int8) {
        if (error)
            *error = refusal;
        return false;
    }
    step->kernel = device_reference_kernel(driver, site, step->choice, sizeof step->choice);
    step->falls_back = step->kernel;
    if (!step->kernel && error)
        *error = refusal;
    return step->kernel;
}

static bool refuse(const struct device_driver *driver, const struct plan_step *step,
                   const char *advice, struct error *error)
{
    struct error refusal;
    device_choose_kernel(driver, &step->site, NULL, 0, &refusal);
    snprintf(refusal.advice, sizeof refusal.advice, "%s", advice);
    if (error)
        *error = refusal;
    return false;
}

bool fallback_check(const struct plan *plan, bool strict, struct error *error)
{
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        if (!step->falls_back)
            continue;
        if (strict)
            return refuse(plan->driver, step,
                          _("leave --strict-device out, so that the reference kernel computes it, "
                            "or choose another device"),
                          error);
        /* the host of one GPU sees only that GPU's micro-batch */
        if (plan->ranks > 1 && (step->site.node->op->traits & OP_READS_WHOLE_BATCH))
            return refuse(plan->driver, step, _("choose one GPU"), error);
    }
    return true;
}

bool fallback_leaves_device(const struct device_driver *driver, const struct plan_step *step)
{
    return step->falls_back && !driver->computes_on_host;
}

/* --- arrays --- */

struct array_list {
    struct fallback_array *arrays;
    size_t count;
};

static void add(struct array_list *list, struct fallback_array array)
{
    list->arrays[list->count++] = array;
}

static size_t value_bytes(struct shape shape, size_t batch)
{
    return shape_count(shape) * batch * sizeof(float);
}

static void add_inputs(struct array_list *list, const struct plan_step *step, size_t batch)
{
    for (size_t k = 0; k < step->input_count; k++)
        add(list, (struct fallback_array){.slot = FALLBACK_INPUT,
                                          .index = k,
                                          .bytes = value_bytes(step->site.inputs[k], batch),
                                          .fetched = true});
}

/* Adds the parameters. In training the forward pass changes those that are not learnt, such as
 * running statistics; a recomputation does not. */
static void add_parameters(struct array_list *list, const struct plan *plan,
                           const struct plan_step *step, enum plan_pass pass)
{
    const struct node *node = step->site.node;
    const bool changes = pass == PLAN_FORWARD && step->site.training;
    for (size_t p = 0; p < node->parameter_count; p++) {
        const struct parameter *parameter = &plan->graph->parameters[node->parameters[p]];
        const size_t bytes = parameter->count * sizeof(float);
        add(list, (struct fallback_array){.slot = FALLBACK_PARAMETER,
                                          .index = p,
                                          .bytes = bytes,
                                          .fetched = true,
                                          .stored = changes && !parameter->learnable});
        if (pass == PLAN_BACKWARD && parameter->learnable && !plan->frozen)
            add(list, (struct fallback_array){.slot = FALLBACK_PARAMETER_GRADIENT,
                                              .index = p,
                                              .bytes = bytes,
                                              .stored = true});
    }
}

static void add_gradients(struct array_list *list, const struct plan_step *step, size_t batch)
{
    if (!(step->site.node->op->traits & OP_LOSS))
        add(list, (struct fallback_array){.slot = FALLBACK_OUTPUT_GRADIENT,
                                          .bytes = value_bytes(step->site.node->output, batch),
                                          .fetched = true});
    for (size_t k = 0; k < step->input_count; k++)
        if (step->site.input_gradient[k])
            add(list, (struct fallback_array){.slot = FALLBACK_INPUT_GRADIENT,
                                              .index = k,
                                              .bytes = value_bytes(step->site.inputs[k], batch),
                                              .fetched = step->accumulate[k],
                                              .stored = true});
}

static void add_targets(struct array_list *list, const struct plan *plan,
                        const struct plan_step *step, size_t batch)
{
    add(list, (struct fallback_array){
                  .slot = FALLBACK_LABELS, .bytes = batch * sizeof(int32_t), .fetched = true});
    if (!plan->soft_targets)
        return;
    add(list, (struct fallback_array){.slot = FALLBACK_SOFT_TARGETS,
                                      .bytes = batch * sizeof(struct soft_target),
                                      .fetched = true});
    add(list, (struct fallback_array){.slot = FALLBACK_CLASS_WEIGHTS,
                                      .bytes = step->site.inputs[0].channels * sizeof(float),
                                      .fetched = true});
}

size_t fallback_list_arrays(const struct plan *plan, const struct plan_step *step,
                            enum plan_pass pass, size_t batch,
                            struct fallback_array arrays[FALLBACK_MAX_ARRAYS])
{
    struct array_list list = {.arrays = arrays};
    const bool backward = pass == PLAN_BACKWARD;
    const unsigned traits = plan_step_traits(step);
    const struct fallback_array output = {.slot = FALLBACK_OUTPUT,
                                          .bytes = value_bytes(step->site.node->output, batch),
                                          .fetched = backward,
                                          .stored = !backward};
    if (!backward || (traits & KERNEL_BACKWARD_READS_INPUT))
        add_inputs(&list, step, batch);
    if (step->site.node->op->traits & OP_READS_LABELS)
        add_targets(&list, plan, step, batch);
    if (!backward || (traits & KERNEL_BACKWARD_READS_OUTPUT))
        add(&list, output);
    if (backward)
        add_gradients(&list, step, batch);
    add_parameters(&list, plan, step, pass);
    return list.count;
}

/* --- costs --- */

static size_t memory_of_pass(const struct plan *plan, const struct plan_order_entry *entry)
{
    struct fallback_array list[FALLBACK_MAX_ARRAYS];
    const struct plan_step *step = &plan->steps[entry->step];
    const size_t count = fallback_list_arrays(plan, step, entry->pass, plan->batch, list);
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += memory_round_up(list[i].bytes);
    if (step->kernel->workspace_bytes)
        bytes += memory_round_up(step->kernel->workspace_bytes(&step->site));
    return bytes;
}

static bool is_run(const struct plan *plan, const struct plan_order_entry *entry)
{
    return entry->pass != PLAN_BACKWARD || plan->steps[entry->step].backward;
}

size_t fallback_scratch_bytes(const struct plan *plan)
{
    size_t most = 0;
    for (size_t a = 0; a < plan->order.count; a++) {
        const struct plan_order_entry *entry = &plan->order.entries[a];
        if (!fallback_leaves_device(plan->driver, &plan->steps[entry->step]) ||
            !is_run(plan, entry))
            continue;
        const size_t bytes = memory_of_pass(plan, entry);
        most = bytes > most ? bytes : most;
    }
    return most;
}

size_t fallback_saved_bytes(const struct plan *plan, const struct plan_step *step)
{
    return fallback_leaves_device(plan->driver, step) && step->kernel->saved_bytes
               ? memory_round_up(step->kernel->saved_bytes(&step->site))
               : 0;
}

size_t fallback_host_bytes(const struct plan *plan)
{
    size_t bytes = fallback_scratch_bytes(plan);
    for (size_t s = 0; s < plan->step_count; s++)
        bytes += fallback_saved_bytes(plan, &plan->steps[s]);
    return bytes;
}

static uint64_t bytes_copied(const struct plan *plan, const struct plan_order_entry *entry)
{
    struct fallback_array list[FALLBACK_MAX_ARRAYS];
    const size_t count =
        fallback_list_arrays(plan, &plan->steps[entry->step], entry->pass, plan->batch, list);
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += (uint64_t)list[i].bytes * ((size_t)list[i].fetched + (size_t)list[i].stored);
    return bytes;
}

struct fallback_cost fallback_cost(const struct plan *plan)
{
    struct fallback_cost cost = {0};
    for (size_t s = 0; s < plan->step_count; s++)
        cost.nodes += plan->steps[s].falls_back;
    for (size_t a = 0; a < plan->order.count; a++)
        if (fallback_leaves_device(plan->driver, &plan->steps[plan->order.entries[a].step]) &&
            is_run(plan, &plan->order.entries[a]))
            cost.bytes += plan->ranks * bytes_copied(plan, &plan->order.entries[a]);
    return cost;
}
