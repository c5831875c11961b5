/* Batch normalisation of channel-blocked arrays in training (formulas in ops/batch_norm.c), with an
 * addition and a relu behind it if they are fused.
 *
 * The channels of a block are in the lanes. The mean and the squares of a plane are taken in one
 * pass, around the mean of its first row: M2 = sum of d^2 - (sum of d)^2 / n with d = x - centre.
 * Rows are summed in float32, planes in double; the planes of a channel are joined as in
 * batch_norm.c.
 */
#include "base/language.h"
#include "engine/devices/cpu/blocked.h"
#include "engine/devices/cpu/norm.h"

typedef double doubles __attribute__((vector_size(LANES * sizeof(double))));

/* The factors of a block of channels, by lane; 0 in unused lanes. */
struct factors {
    float mean[LANES], scale[LANES], bias[LANES]; /* y = (x - mean) scale + bias */
    float gradient_scale[LANES], slope[LANES], offset[LANES];
};

struct blocked_norm {
    struct norm norm;
    struct factors *factors; /* by block */
    struct blocked x, y, summand, g, x_gradient, summand_gradient;
    struct blocked_tasks tasks;
    bool relu, reads_output; /* backward: the relu's mask comes from y, or from x if not */
};

static size_t workspace_norm(const struct kernel_site *site)
{
    return round_up(KERNEL(norm_workspace)(site), 64) +
           divide_up(site->inputs[0].channels, LANES) * sizeof(struct factors);
}

static struct blocked_norm blocked_norm_of(const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    struct blocked_norm b = {.norm = KERNEL(norm_of)(call)};
    b.factors =
        (struct factors *)((char *)call->workspace + round_up(KERNEL(norm_workspace)(site), 64));
    b.x = blocked_input(call, 0);
    b.y = blocked_output(call);
    b.relu = site->fused_activation;
    b.reads_output = site->fused_activation && site->fused_add;
    b.tasks = blocked_tasks_of(call, &b.y, 4 * b.y.shape.width);
    /* statistics need whole planes */
    b.tasks.divides_rows = false;
    b.tasks.count = min_size(b.tasks.batch * b.tasks.planes, 8 * pool_threads(call->pool));
    return b;
}

/* Calls function(b, image, plane) for the planes of a task. */
static inline __attribute__((always_inline)) void
for_planes(const struct blocked_norm *b, size_t task,
           void (*function)(const struct blocked_norm *b, size_t image, size_t plane))
{
    struct row_block block = blocked_first(&b->tasks, task);
    while (blocked_next(&b->tasks, &block))
        function(b, block.image, block.plane);
}

/* --- the lanes of a block --- */

static void fill(const struct norm *norm, size_t plane, const float *from, float *to)
{
    for (size_t lane = 0; lane < LANES; lane++) {
        const size_t c = plane * LANES + lane;
        to[lane] = c < norm->shape.channels ? from[c] : 0;
    }
}

static void set_factors(const struct blocked_norm *b)
{
    const struct norm *norm = &b->norm;
    const struct kernel_call *call = norm->call;
    const float *saved = call->saved;
    for (size_t plane = 0; plane < b->tasks.planes; plane++) {
        struct factors *factors = &b->factors[plane];
        fill(norm, plane, saved, factors->mean);
        fill(norm, plane, saved + norm->shape.channels, factors->scale);
        fill(norm, plane, call->parameters[BIAS], factors->bias);
        for (size_t lane = 0; lane < LANES; lane++)
            if (plane * LANES + lane < norm->shape.channels)
                factors->scale[lane] *= call->parameters[WEIGHT][plane * LANES + lane];
    }
}

static void set_gradient_factors(const struct blocked_norm *b)
{
    for (size_t plane = 0; plane < b->tasks.planes; plane++) {
        fill(&b->norm, plane, b->norm.scale, b->factors[plane].gradient_scale);
        fill(&b->norm, plane, b->norm.slope, b->factors[plane].slope);
        fill(&b->norm, plane, b->norm.offset, b->factors[plane].offset);
    }
}

/* --- forward --- */

static void measure_plane(const struct blocked_norm *b, size_t image, size_t plane)
{
    const size_t width = b->x.shape.width, height = b->x.shape.height;
    const size_t channels = b->x.shape.channels;
    const double count = (double)(width * height);
    vector centre = {0};
    doubles sums = {0}, squares = {0};
    const element *first = blocked_at(&b->x, image, plane, 0);
    for (size_t x = 0; x < width; x++)
        centre += element_load(first + x * LANES);
    centre /= (float)width;
    for (size_t y = 0; y < height; y++) {
        const element *row = blocked_at(&b->x, image, plane, y);
        vector sum = {0}, square = {0};
        for (size_t x = 0; x < width; x++) {
            const vector d = element_load(row + x * LANES) - centre;
            sum += d;
            square += d * d;
        }
        sums += __builtin_convertvector(sum, doubles);
        squares += __builtin_convertvector(square, doubles);
    }
    struct pair *to = b->norm.planes + image * channels + plane * LANES;
    for (size_t lane = 0; lane < min_size(LANES, channels - plane * LANES); lane++) {
        const double mean = sums[lane] / count, m2 = squares[lane] - sums[lane] * mean;
        to[lane] = (struct pair){(double)centre[lane] + mean, m2 < 0 ? 0 : m2};
    }
}

static void measure_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    for_planes(context, task, measure_plane);
}

static inline vector normalised(const struct factors *factors, vector x)
{
    return (x - vector_load(factors->mean)) * vector_load(factors->scale) +
           vector_load(factors->bias);
}

static void apply_plane(const struct blocked_norm *b, size_t image, size_t plane)
{
    const struct factors *factors = &b->factors[plane];
    const struct epilogue epilogue = {.relu_last = b->relu};
    for (size_t y = 0; y < b->y.shape.height; y++) {
        const element *from = blocked_at(&b->x, image, plane, y);
        const element *add = b->summand.values ? blocked_at(&b->summand, image, plane, y) : NULL;
        element *to = blocked_at(&b->y, image, plane, y);
        for (size_t i = 0; i < b->y.shape.width * LANES; i += LANES)
            element_store(to + i,
                          epilogue_apply(&epilogue, normalised(factors, element_load(from + i)),
                                         add ? add + i : NULL));
    }
}

static void apply_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    for_planes(context, task, apply_plane);
}

static void forward_norm(const struct kernel_call *call)
{
    struct blocked_norm b = blocked_norm_of(call);
    if (call->site->fused_add)
        b.summand = blocked_make(call->inputs[1], call->site->inputs[1], call->site->layouts[1]);
    if (!call->recomputing) {
        run_tasks(call, b.tasks.count, measure_task, &b);
        KERNEL(norm_keep)(&b.norm);
    }
    set_factors(&b);
    run_tasks(call, b.tasks.count, apply_task, &b);
}

/* --- backward --- */

/* Returns the gradient of the norm's output: 0 where the relu was. `y` is the relu's output, or
 * NULL if it is computed once more. */
static inline vector masked(const struct blocked_norm *b, const struct factors *factors, vector g,
                            vector x, const element *y)
{
    if (!b->relu)
        return g;
    const vector_indices positive = (y ? element_load(y) : normalised(factors, x)) > 0;
    return (vector)(positive & (vector_indices)g);
}

static void correlate_plane(const struct blocked_norm *b, size_t image, size_t plane)
{
    const struct factors *factors = &b->factors[plane];
    const vector mean = vector_load(factors->mean);
    const size_t channels = b->x.shape.channels;
    doubles sums = {0}, products = {0};
    for (size_t y = 0; y < b->x.shape.height; y++) {
        const element *x = blocked_at(&b->x, image, plane, y);
        const element *g = blocked_at(&b->g, image, plane, y);
        const element *out = b->reads_output ? blocked_at(&b->y, image, plane, y) : NULL;
        vector sum = {0}, product = {0};
        for (size_t i = 0; i < b->x.shape.width * LANES; i += LANES) {
            const vector value = element_load(x + i);
            const vector gradient =
                masked(b, factors, element_load(g + i), value, out ? out + i : NULL);
            sum += gradient;
            product += gradient * (value - mean);
        }
        sums += __builtin_convertvector(sum, doubles);
        products += __builtin_convertvector(product, doubles);
    }
    struct pair *to = b->norm.planes + image * channels + plane * LANES;
    for (size_t lane = 0; lane < min_size(LANES, channels - plane * LANES); lane++)
        to[lane] = (struct pair){sums[lane], products[lane]};
}

static void correlate_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    for_planes(context, task, correlate_plane);
}

static void store_gradient(const struct blocked *array, size_t image, size_t plane, size_t y,
                           size_t i, vector value, bool accumulate)
{
    element *to = blocked_at(array, image, plane, y) + i;
    element_store(to, accumulate ? element_load(to) + value : value);
}

/* Writes the gradients of a plane. The input's gradient may overwrite g, and the summand's gradient
 * g or y: each position is read before it is written. If both are one array, the summand's gradient
 * is added. */
static void gradient_plane(const struct blocked_norm *b, size_t image, size_t plane)
{
    const struct factors *factors = &b->factors[plane];
    const bool *accumulate = b->norm.call->accumulate;
    const vector mean = vector_load(factors->mean), scale = vector_load(factors->gradient_scale);
    const vector slope = vector_load(factors->slope), offset = vector_load(factors->offset);
    for (size_t y = 0; y < b->x.shape.height; y++) {
        const element *x = blocked_at(&b->x, image, plane, y);
        const element *g = blocked_at(&b->g, image, plane, y);
        const element *out = b->reads_output ? blocked_at(&b->y, image, plane, y) : NULL;
        for (size_t i = 0; i < b->x.shape.width * LANES; i += LANES) {
            const vector value = element_load(x + i);
            const vector gradient =
                masked(b, factors, element_load(g + i), value, out ? out + i : NULL);
            if (b->x_gradient.values)
                store_gradient(&b->x_gradient, image, plane, y, i,
                               scale * gradient + slope * (value - mean) + offset, accumulate[0]);
            if (b->summand_gradient.values)
                store_gradient(&b->summand_gradient, image, plane, y, i, gradient, accumulate[1]);
        }
    }
}

static void gradient_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    for_planes(context, task, gradient_plane);
}

static void backward_norm(const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    struct blocked_norm b = blocked_norm_of(call);
    b.g = blocked_make(call->output_gradient, site->node->output, site->output_layout);
    b.x_gradient = blocked_make(call->input_gradients[0], site->inputs[0], site->layouts[0]);
    if (site->fused_add)
        b.summand_gradient =
            blocked_make(call->input_gradients[1], site->inputs[1], site->layouts[1]);
    set_factors(&b);
    run_tasks(call, b.tasks.count, correlate_task, &b);
    KERNEL(norm_finish)(&b.norm);
    set_gradient_factors(&b);
    if (b.x_gradient.values || b.summand_gradient.values)
        run_tasks(call, b.tasks.count, gradient_task, &b);
}

/* --- the kernel --- */

static bool supports_norm(const struct kernel_site *site, const char **reason)
{
    *reason = N_("the statistics of each image");
    return !site->node->attributes.batch_norm.instance && KERNEL(blocked_supports)(site, reason);
}

const struct kernel KERNEL(batch_norm_blocked_training) = {
    .name = "batch_norm blocked",
    .instruction_set = ISA_NAME,
    .op = &op_batch_norm,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS | KERNEL_TRAINS_ONLY | KERNEL_IN_PLACE |
              KERNEL_BACKWARD_READS_INPUT | KERNEL_GRADIENT_IN_PLACE | KERNEL_REUSES_SAVED |
              KERNEL_FUSES_EPILOGUE,
    .supports = supports_norm,
    .saved_bytes = KERNEL(norm_saved),
    .workspace_bytes = workspace_norm,
    .forward = forward_norm,
    .backward = backward_norm,
};
