/* relu, leaky_relu, add and batch_norm on channel-blocked arrays, for inference, where no
 * convolution before them computes them. All are loops over the positions of a row. */
#include "base/language.h"
#include "engine/devices/cpu/blocked.h"

struct elementwise {
    const struct kernel_call *call;
    struct blocked in[NODE_MAX_INPUTS], out;
    size_t inputs;
    struct epilogue epilogue;
    struct blocked_tasks tasks;
};

/* Computes a row of `count` vectors of block `plane` from the rows of all inputs. */
typedef void row_function(const struct elementwise *e, size_t plane, const element *const *from,
                          element *to, size_t count);

static inline __attribute__((always_inline)) void
run_row_blocks(const struct elementwise *e, size_t task, row_function *function)
{
    struct row_block block = blocked_first(&e->tasks, task);
    while (blocked_next(&e->tasks, &block)) {
        for (size_t y = block.begin; y < block.end; y++) {
            const element *from[NODE_MAX_INPUTS] = {
                blocked_at(&e->in[0], block.image, block.plane, y)};
            for (size_t k = 1; k < e->inputs; k++)
                from[k] = blocked_at(&e->in[k], block.image, block.plane, y);
            function(e, block.plane, from, blocked_at(&e->out, block.image, block.plane, y),
                     e->out.shape.width);
        }
        blocked_pad(&e->out, block.image, block.plane, block.begin, block.end);
    }
}

static void run(const struct kernel_call *call, pool_task *task)
{
    struct elementwise e = {.call = call,
                            .out = blocked_output(call),
                            .inputs = call->site->node->input_count,
                            .epilogue = epilogue_of(call)};
    for (size_t k = 0; k < e.inputs; k++)
        e.in[k] = blocked_input(call, k);
    if (e.epilogue.summand.values)
        e.in[e.inputs++] = e.epilogue.summand;
    e.tasks = blocked_tasks_of(call, &e.out, e.out.shape.width * (e.inputs + 1));
    run_tasks(call, e.tasks.count, task, &e);
}

/* Returns whether all inputs are channel-blocked, and the output may be. */
static bool supports_all(const struct kernel_site *site, const char **reason)
{
    for (size_t k = 1; k < site->node->input_count; k++)
        if (site->layouts[k].block != LANES) {
            *reason = N_("a plain layout");
            return false;
        }
    return KERNEL(blocked_supports)(site, reason);
}

/* --- relu and leaky_relu --- */

static void relu_row(const struct elementwise *e, size_t plane, const element *const *from,
                     element *to, size_t count)
{
    (void)e;
    (void)plane;
    for (size_t i = 0; i < count * LANES; i += LANES)
        element_store(to + i, vector_relu(element_load(from[0] + i)));
}

static void relu_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct elementwise *e = context;
    run_row_blocks(e, task, relu_row);
}

static void forward_relu(const struct kernel_call *call)
{
    run(call, relu_task);
}

static void leaky_row(const struct elementwise *e, size_t plane, const element *const *from,
                      element *to, size_t count)
{
    (void)plane;
    const float slope = e->call->site->node->attributes.leaky_relu.slope;
    for (size_t i = 0; i < count * LANES; i += LANES) {
        const vector value = element_load(from[0] + i), scaled = value * slope;
        const vector_indices negative = value < 0;
        element_store(to + i, (vector)((negative & (vector_indices)scaled) |
                                       (~negative & (vector_indices)value)));
    }
}

static void leaky_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct elementwise *e = context;
    run_row_blocks(e, task, leaky_row);
}

static void forward_leaky(const struct kernel_call *call)
{
    run(call, leaky_task);
}

/* --- add --- */

static void add_row(const struct elementwise *e, size_t plane, const element *const *from,
                    element *to, size_t count)
{
    const struct epilogue epilogue = e->epilogue;
    const size_t inputs = e->inputs;
    (void)plane;
    for (size_t i = 0; i < count * LANES; i += LANES) {
        vector sum = element_load(from[0] + i);
        for (size_t k = 1; k < inputs; k++)
            sum += element_load(from[k] + i);
        element_store(to + i, epilogue_apply(&epilogue, sum, NULL));
    }
}

static void add_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct elementwise *e = context;
    run_row_blocks(e, task, add_row);
}

static void forward_add(const struct kernel_call *call)
{
    run(call, add_task);
}

/* --- batch_norm --- */

static size_t prepared_norm(const struct kernel_site *site)
{
    return 2 * round_up(site->inputs[0].channels, LANES) * sizeof(float);
}

/* Writes the scale and the shift of each channel, block by block. */
static void prepare_norm(const struct kernel_call *call)
{
    const size_t channels = call->site->inputs[0].channels;
    const float *const parameters[NORM_PARAMETERS] = {call->parameters[0], call->parameters[1],
                                                      call->parameters[2], call->parameters[3]};
    float *prepared = call->prepared;
    for (size_t c = 0; c < round_up(channels, LANES); c++) {
        float *block = prepared + c / LANES * 2 * LANES;
        const struct affine affine = c < channels
                                         ? KERNEL(norm_affine)(call->site->node, parameters, c)
                                         : (struct affine){0};
        block[c % LANES] = affine.scale;
        block[LANES + c % LANES] = affine.shift;
    }
}

static void norm_row(const struct elementwise *e, size_t plane, const element *const *from,
                     element *to, size_t count)
{
    const float *block = (const float *)e->call->prepared + plane * 2 * LANES;
    const vector scale = vector_load(block), shift = vector_load(block + LANES);
    const element *values = from[0], *summand = e->inputs > 1 ? from[1] : NULL;
    const struct epilogue epilogue = e->epilogue;
    for (size_t i = 0; i < count * LANES; i += LANES)
        element_store(to + i, epilogue_apply(&epilogue, element_load(values + i) * scale + shift,
                                             summand ? summand + i : NULL));
}

static void norm_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct elementwise *e = context;
    run_row_blocks(e, task, norm_row);
}

static void forward_norm(const struct kernel_call *call)
{
    run(call, norm_task);
}

static bool supports_norm(const struct kernel_site *site, const char **reason)
{
    *reason = N_("the statistics of each image");
    return !site->node->attributes.batch_norm.instance && supports_all(site, reason);
}

/* --- the kernels --- */

const struct kernel KERNEL(relu_blocked) = {
    .name = "relu blocked",
    .instruction_set = ISA_NAME,
    .op = &op_relu,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS | KERNEL_IN_PLACE,
    .supports = supports_all,
    .forward = forward_relu,
};

const struct kernel KERNEL(leaky_relu_blocked) = {
    .name = "leaky_relu blocked",
    .instruction_set = ISA_NAME,
    .op = &op_leaky_relu,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS | KERNEL_IN_PLACE,
    .supports = supports_all,
    .forward = forward_leaky,
};

const struct kernel KERNEL(add_blocked) = {
    .name = "add blocked",
    .instruction_set = ISA_NAME,
    .op = &op_add,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS | KERNEL_IN_PLACE,
    .supports = supports_all,
    .forward = forward_add,
};

const struct kernel KERNEL(batch_norm_blocked) = {
    .name = "batch_norm blocked",
    .instruction_set = ISA_NAME,
    .op = &op_batch_norm,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS | KERNEL_IN_PLACE | KERNEL_FUSES_EPILOGUE,
    .supports = supports_norm,
    .prepared_bytes = prepared_norm,
    .prepare = prepare_norm,
    .forward = forward_norm,
};
