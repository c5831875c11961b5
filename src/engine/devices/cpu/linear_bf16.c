/* Fully connected layers in bf16, for inference: y = x W^T + b, with x [N, I], W [O, I], y [N, O].
 *
 * The weights are rounded once, which halves what a product with one image reads from memory: that
 * bounds its speed. A tile holds the dot products of a few rows of W with a few images, so that
 * each loaded vector is used several times.
 */
#include "base/language.h"
#include "engine/devices/cpu/elements.h"
#include "engine/ops/op.h"

#include <string.h>

enum {
    ROWS = 4,         /* rows of W, and images, of a tile: 24 sums and the loaded vectors fit */
    IMAGES = 6,       /* into 32 registers */
    ROW_BLOCK = 32,   /* outputs in a task */
    STEP = 2 * LANES, /* bf16 in a vector */
};

struct linear {
    const struct kernel_call *call;
    size_t inputs, outputs, batch;
    size_t stride;          /* elements of a row: `inputs`, filled up with zeros to whole steps */
    const element *weights; /* [O, stride] */
    element *images;        /* [N, stride] */
};

static size_t stride_of(const struct kernel_site *site)
{
    return round_up(shape_count(site->inputs[0]), STEP);
}

static struct linear linear_of(const struct kernel_call *call)
{
    return (struct linear){
        .call = call,
        .inputs = shape_count(call->site->inputs[0]),
        .outputs = call->site->node->output.channels,
        .batch = call->site->batch,
        .stride = stride_of(call->site),
        .weights = call->prepared,
        .images = call->workspace,
    };
}

static size_t prepared_bytes(const struct kernel_site *site)
{
    return site->node->output.channels * stride_of(site) * sizeof(element);
}

static size_t workspace_bytes(const struct kernel_site *site)
{
    return site->batch * stride_of(site) * sizeof(element);
}

/* Rounds a row of l->inputs values, and fills it up with zeros. */
static void round_row(const struct linear *l, const float *from, element *to)
{
    elements_store(to, from, l->inputs, false);
    memset(to + l->inputs, 0, (l->stride - l->inputs) * sizeof *to);
}

static void prepare_rows(void *context, size_t task, size_t thread)
{
    const struct linear *l = context;
    const size_t end = min_size(l->outputs, (task + 1) * ROW_BLOCK);
    (void)thread;
    for (size_t o = task * ROW_BLOCK; o < end; o++)
        round_row(l, l->call->parameters[0] + o * l->inputs,
                  (element *)l->call->prepared + o * l->stride);
}

static void prepare(const struct kernel_call *call)
{
    const struct linear l = linear_of(call);
    run_tasks(call, divide_up(l.outputs, ROW_BLOCK), prepare_rows, &l);
}

/* Returns the bias of an output. */
static float bias_of(const struct linear *l, size_t output)
{
    return l->call->site->node->attributes.linear.bias ? l->call->parameters[1][output] : 0;
}

/* Writes the dot products of `rows` rows of W with `images` images, at most ROWS and IMAGES. With
 * fewer than ROWS the last row is read several times. The compiler makes a version of it for every
 * number of images. */
static inline __attribute__((always_inline)) void
multiply_tile(const struct linear *l, size_t row, size_t rows, size_t image, size_t images)
{
    const element *w[ROWS], *x = l->images + image * l->stride;
    vector sums[ROWS][IMAGES];
    for (size_t r = 0; r < ROWS; r++)
        w[r] = l->weights + (row + min_size(r, rows - 1)) * l->stride;
    for (size_t r = 0; r < ROWS; r++)
        for (size_t n = 0; n < images; n++)
            sums[r][n] = vector_splat(0);
    for (size_t i = 0; i < l->stride; i += STEP)
        for (size_t r = 0; r < ROWS; r++) {
            const vector weights = term_load_many(w[r] + i);
            for (size_t n = 0; n < images; n++)
                sums[r][n] = term_add(sums[r][n], weights, term_load_many(x + n * l->stride + i));
        }
    for (size_t n = 0; n < images; n++)
        for (size_t r = 0; r < rows; r++)
            l->call->output[(image + n) * l->outputs + row + r] =
                vector_sum(sums[r][n]) + bias_of(l, row + r);
}

static void multiply_rows(void *context, size_t task, size_t thread)
{
    const struct linear *l = context;
    const size_t begin = task * ROW_BLOCK, end = min_size(l->outputs, begin + ROW_BLOCK);
    const uint64_t start = profile_start(l->call->profile);
    for (size_t o = begin; o < end; o += ROWS) {
        const size_t rows = min_size(ROWS, end - o);
        size_t n = 0;
        for (; n + IMAGES <= l->batch; n += IMAGES)
            multiply_tile(l, o, rows, n, IMAGES);
        for (; n + 2 <= l->batch; n += 2)
            multiply_tile(l, o, rows, n, 2);
        if (n < l->batch)
            multiply_tile(l, o, rows, n, 1);
    }
    profile_add_gemm(l->call->profile, thread, GEMM_NT, l->batch, end - begin, l->inputs, start);
}

static void forward(const struct kernel_call *call)
{
    const struct linear l = linear_of(call);
    for (size_t n = 0; n < l.batch; n++)
        round_row(&l, call->inputs[0] + n * l.inputs, l.images + n * l.stride);
    run_tasks(call, divide_up(l.outputs, ROW_BLOCK), multiply_rows, &l);
}

static bool supports(const struct kernel_site *site, const char **reason)
{
    *reason = N_("its input is channel-blocked");
    return site->layouts[0].block == 0;
}

const struct kernel KERNEL(linear_bf16) = {
    .name = "linear rows",
    .instruction_set = ISA_NAME,
    .op = &op_linear,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS,
    .supports = supports,
    .workspace_bytes = workspace_bytes,
    .prepared_bytes = prepared_bytes,
    .prepare = prepare,
    .forward = forward,
};
