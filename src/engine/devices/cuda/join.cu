/* add and concat: they join several inputs, element by element, in one launch.
 *
 * One thread handles an element of the output for all inputs, in order. Two inputs may be the same
 * node; its gradient is then first written and then added to.
 */
#include "engine/devices/cuda/kernels.h"
#include "engine/devices/cuda/launch.h"

struct sources {
    const float *at[NODE_MAX_INPUTS];
    uint32_t begin[NODE_MAX_INPUTS + 1]; /* concat: where each input begins in an output image */
    uint32_t count;
};
struct targets {
    float *at[NODE_MAX_INPUTS]; /* NULL: the gradient is not needed */
    bool accumulate[NODE_MAX_INPUTS];
    uint32_t begin[NODE_MAX_INPUTS + 1];
    uint32_t count;
};

static __device__ __forceinline__ float plus(float a, float b)
{
    return a + b;
}
static __device__ __forceinline__ float4 plus(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

/* --- add: T is float or float4 --- */

template <class T>
static __global__ void add(const __grid_constant__ struct sources from, float *out, uint32_t items)
{
    for (uint32_t i = stride_first(); i < items; i += stride_step()) {
        T sum = ((const T *)from.at[0])[i];
        for (uint32_t k = 1; k < from.count; k++)
            sum = plus(sum, ((const T *)from.at[k])[i]);
        ((T *)out)[i] = sum;
    }
}

template <class T>
static __global__ void add_back(const float *gradient, const __grid_constant__ struct targets to,
                                uint32_t items)
{
    for (uint32_t i = stride_first(); i < items; i += stride_step()) {
        const T g = ((const T *)gradient)[i];
        for (uint32_t k = 0; k < to.count; k++) {
            T *at = (T *)to.at[k];
            if (at)
                at[i] = to.accumulate[k] ? plus(at[i], g) : g;
        }
    }
}

/* --- concat --- */

/* Returns the input to which item `at` of an output image belongs. */
static __host__ __device__ __forceinline__ uint32_t part_of(const uint32_t *begin, uint32_t count,
                                                            uint32_t at)
{
    uint32_t k = 0;
    while (k + 1 < count && at >= begin[k + 1])
        k++;
    return k;
}

template <class T>
static __global__ void concat(const __grid_constant__ struct sources from, float *out,
                              struct divisor image, uint32_t items)
{
    for (uint32_t i = stride_first(); i < items; i += stride_step()) {
        uint32_t at;
        const uint32_t n = divide_rest(i, image, &at);
        const uint32_t k = part_of(from.begin, from.count, at);
        const uint32_t size = from.begin[k + 1] - from.begin[k];
        ((T *)out)[i] = ((const T *)from.at[k])[n * size + at - from.begin[k]];
    }
}

template <class T>
static __global__ void concat_back(const float *gradient, const __grid_constant__ struct targets to,
                                   struct divisor image, uint32_t items)
{
    for (uint32_t i = stride_first(); i < items; i += stride_step()) {
        uint32_t at;
        const uint32_t n = divide_rest(i, image, &at);
        const uint32_t k = part_of(to.begin, to.count, at);
        const uint32_t size = to.begin[k + 1] - to.begin[k];
        if (!to.at[k])
            continue;
        T *target = (T *)to.at[k] + n * size + at - to.begin[k];
        const T g = ((const T *)gradient)[i];
        *target = to.accumulate[k] ? plus(*target, g) : g;
    }
}

/* --- both --- */

/* Returns the values of an array that a concatenation keeps together: an image or, channels-last, a
 * position. */
static size_t values_together(const struct kernel_call *call, struct shape shape)
{
    return call->site->output_layout.channels_last ? shape.channels : shape_count(shape);
}

/* Returns the values of an item: four if every array is aligned and every input of an image has a
 * multiple of four values, or in channels-last arrays of channels, else one. */
static uint32_t item_values(const struct kernel_call *call)
{
    bool fours = aligned16(call->output ? call->output : call->output_gradient) &&
                 aligned16(call->output_gradient);
    for (size_t k = 0; k < call->site->node->input_count; k++)
        fours = fours && aligned16(call->inputs[k]) && aligned16(call->input_gradients[k]) &&
                values_together(call, call->site->inputs[k]) % 4 == 0;
    return fours ? 4 : 1;
}

static struct sources sources_of(const struct kernel_call *call, uint32_t values)
{
    struct sources from = {};
    from.count = (uint32_t)call->site->node->input_count;
    for (uint32_t k = 0; k < from.count; k++) {
        from.at[k] = call->inputs[k];
        from.begin[k + 1] =
            from.begin[k] + (uint32_t)values_together(call, call->site->inputs[k]) / values;
    }
    return from;
}

static struct targets targets_of(const struct kernel_call *call, uint32_t values)
{
    struct targets to = {};
    to.count = (uint32_t)call->site->node->input_count;
    for (uint32_t k = 0; k < to.count; k++) {
        to.at[k] = call->input_gradients[k];
        to.accumulate[k] = call->accumulate[k];
        to.begin[k + 1] =
            to.begin[k] + (uint32_t)values_together(call, call->site->inputs[k]) / values;
    }
    return to;
}

static void forward_add(const struct kernel_call *call)
{
    const uint32_t values = item_values(call), items = (uint32_t)output_values(call) / values;
    launch(context_of(call), "add forward", values == 4 ? add<float4> : add<float>,
           stride_blocks(items), BLOCK, 0, sources_of(call, values), call->output, items);
}

static void backward_add(const struct kernel_call *call)
{
    const uint32_t values = item_values(call), items = (uint32_t)output_values(call) / values;
    launch(context_of(call), "add backward", values == 4 ? add_back<float4> : add_back<float>,
           stride_blocks(items), BLOCK, 0, call->output_gradient, targets_of(call, values), items);
}

static void forward_concat(const struct kernel_call *call)
{
    const uint32_t values = item_values(call), items = (uint32_t)output_values(call) / values;
    launch(context_of(call), "concat forward", values == 4 ? concat<float4> : concat<float>,
           stride_blocks(items), BLOCK, 0, sources_of(call, values), call->output,
           divisor_of(values_together(call, call->site->node->output) / values), items);
}

static bool is_there_before(const struct targets *to, uint32_t k)
{
    for (uint32_t other = 0; other < k; other++)
        if (to->at[other] == to->at[k])
            return true;
    return false;
}

/* Queues the gradients of a concatenation. If a node is an input twice, they are added in separate
 * launches, because different threads handle them. */
static void backward_concat(const struct kernel_call *call)
{
    const uint32_t values = item_values(call), items = (uint32_t)output_values(call) / values;
    struct targets later = targets_of(call, values), now = later;
    for (bool left = true; left; now = later) {
        left = false;
        for (uint32_t k = 0; k < now.count; k++) {
            const bool wait = now.at[k] && is_there_before(&now, k);
            left = left || wait;
            if (!wait)
                later.at[k] = NULL;
        }
        for (uint32_t k = 0; k < now.count; k++)
            if (later.at[k])
                now.at[k] = NULL;
        launch(context_of(call), "concat backward",
               values == 4 ? concat_back<float4> : concat_back<float>, stride_blocks(items), BLOCK,
               0, call->output_gradient, now,
               divisor_of(values_together(call, call->site->node->output) / values), items);
    }
}

struct cuda_kernel cuda_add = {
    .op = "add",
    .kernel =
        {
            .name = "add",
            .instruction_set = "cuda",
            .traits = KERNEL_IN_PLACE | KERNEL_GRADIENT_IN_PLACE | KERNEL_CHANNELS_LAST,
            .supports = supports_counts,
            .forward = forward_add,
            .backward = backward_add,
        },
};
struct cuda_kernel cuda_concat = {
    .op = "concat",
    .kernel =
        {
            .name = "concat",
            .instruction_set = "cuda",
            .traits = KERNEL_CHANNELS_LAST,
            .supports = supports_counts,
            .forward = forward_concat,
            .backward = backward_concat,
        },
};
