/* The operators that join several inputs: concat and add. */
#include "base/language.h"
#include "engine/devices/cpu/elements.h"

/* --- concat: a task is one input of one image --- */

/* Returns the elements of an image of input k. */
static size_t concat_count(const struct kernel_site *site, size_t k)
{
    return tensor_image(site->layouts[k], site->inputs[k]);
}

/* Returns where input k begins within an output image, in elements. */
static size_t concat_offset(const struct kernel_site *site, size_t k)
{
    size_t offset = 0;
    for (size_t i = 0; i < k; i++)
        offset += concat_count(site, i);
    return offset;
}

static size_t concat_image(const struct kernel_site *site)
{
    return tensor_image(site->output_layout, site->node->output);
}

/* Returns whether the inputs of a channel-blocked output begin at whole blocks, as they must in
 * training. In inference the kernel gets plain copies. */
static bool supports_concat(const struct kernel_site *site, const char **reason)
{
    *reason = N_("an input that does not fill its last block");
    for (size_t k = 0; site->training && k + 1 < site->node->input_count; k++)
        if (site->layouts[k].block && site->inputs[k].channels % site->layouts[k].block != 0)
            return false;
    return true;
}

static void concat_forward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const size_t k = task % call->site->node->input_count, n = task / call->site->node->input_count;
    const size_t count = concat_count(call->site, k);
    elements_copy((element *)call->output + n * concat_image(call->site) +
                      concat_offset(call->site, k),
                  (const element *)call->inputs[k] + n * count, count, false);
}

static void concat_backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const size_t k = task % call->site->node->input_count, n = task / call->site->node->input_count;
    const size_t count = concat_count(call->site, k);
    if (call->input_gradients[k])
        elements_copy((element *)call->input_gradients[k] + n * count,
                      (const element *)call->output_gradient + n * concat_image(call->site) +
                          concat_offset(call->site, k),
                      count, call->accumulate[k]);
}

/* Returns whether two inputs are the same node. They share one gradient, to which two tasks must
 * not add at the same time. */
static bool has_repeated_input(const struct kernel_call *call)
{
    const size_t count = call->site->node->input_count;
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++)
            if (call->input_gradients[i] && call->input_gradients[i] == call->input_gradients[k])
                return true;
    return false;
}

static void concat_forward(const struct kernel_call *call)
{
    run_tasks(call, call->site->batch * call->site->node->input_count, concat_forward_task, call);
}

static void concat_backward(const struct kernel_call *call)
{
    const size_t tasks = call->site->batch * call->site->node->input_count;
    if (!has_repeated_input(call)) {
        run_tasks(call, tasks, concat_backward_task, call);
        return;
    }
    for (size_t task = 0; task < tasks; task++)
        concat_backward_task((void *)call, task, 0);
}

const struct kernel KERNEL(concat) = {
    .name = "concat copy",
    .instruction_set = ISA_NAME,
    .op = &op_concat,
    .traits = KERNEL_ANY_LAYOUT | ELEMENT_TRAITS,
    .supports = supports_concat,
    .forward = concat_forward,
    .backward = concat_backward,
};

/* --- add --- */

/* Floats that are summed on the stack, because inputs, output and gradients may share memory. */
enum { CHUNK = 256 };

static void add_forward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const size_t end = block_end(output_values(call), task);
    float sum[CHUNK];
    for (size_t at = task * BLOCK; at < end; at += CHUNK) {
        const size_t count = min_size(CHUNK, end - at);
        for (size_t k = 0; k < call->site->node->input_count; k++)
            elements_load(sum, (const element *)call->inputs[k] + at, count, k > 0);
        elements_store((element *)call->output + at, sum, count, false);
    }
}

static void add_backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const size_t end = block_end(output_values(call), task);
    float gradient[CHUNK];
    for (size_t at = task * BLOCK; at < end; at += CHUNK) {
        const size_t count = min_size(CHUNK, end - at);
        elements_load(gradient, (const element *)call->output_gradient + at, count, false);
        for (size_t k = 0; k < call->site->node->input_count; k++)
            if (call->input_gradients[k])
                elements_store((element *)call->input_gradients[k] + at, gradient, count,
                               call->accumulate[k]);
    }
}

static void add_forward(const struct kernel_call *call)
{
    run_tasks(call, block_count(output_values(call)), add_forward_task, call);
}

static void add_backward(const struct kernel_call *call)
{
    run_tasks(call, block_count(output_values(call)), add_backward_task, call);
}

const struct kernel KERNEL(add) = {
    .name = "add simd",
    .instruction_set = ISA_NAME,
    .op = &op_add,
    .traits = KERNEL_IN_PLACE | KERNEL_GRADIENT_IN_PLACE | KERNEL_ANY_LAYOUT | ELEMENT_TRAITS,
    .forward = add_forward,
    .backward = add_backward,
};
