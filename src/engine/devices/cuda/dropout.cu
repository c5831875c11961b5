/* Dropout. Both passes draw the mask from the same Philox blocks as every other device
 * (base/random.h); a thread takes the four values of a block. If several GPUs share a batch, values
 * are counted over all images of the batch. */
#include "engine/devices/cuda/kernels.h"
#include "engine/devices/cuda/launch.h"

#include "base/language.h"
#include "base/random.h"

/* Returns what random_philox() of base/random.h returns. */
static __device__ __forceinline__ struct random_block philox(uint64_t seed, uint32_t purpose,
                                                             uint32_t stream, uint64_t index)
{
    uint32_t c0 = (uint32_t)index, c1 = (uint32_t)(index >> 32), c2 = purpose, c3 = stream;
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
#pragma unroll
    for (int round = 0; round < 10; round++) {
        const uint32_t high0 = __umulhi(0xD2511F53u, c0), low0 = 0xD2511F53u * c0;
        const uint32_t high1 = __umulhi(0xCD9E8D57u, c2), low1 = 0xCD9E8D57u * c2;
        c0 = high1 ^ c1 ^ k0;
        c2 = high0 ^ c3 ^ k1;
        c1 = low1;
        c3 = low0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return {{c0, c1, c2, c3}};
}

struct draws {
    uint64_t seed;
    uint32_t node;
    float rate, scale;
    uint32_t first,
        skipped; /* the block of the first value, and the values before it in that block */
};

static __device__ __forceinline__ float factor(const struct draws *draws, uint32_t word)
{
    const float unit = (float)(word >> 8) * (1.0f / 16777216.0f); /* random_to_unit() */
    return unit >= draws->rate ? draws->scale : 0.0f;
}

/* Writes in * mask to `out`, or adds it if `accumulate` is set, in blocks of four. `out` may be
 * `in`. */
static __global__ void mask(const float *in, float *out, bool accumulate, uint32_t count,
                            bool aligned, struct draws draws, const struct cuda_iteration *now)
{
    const uint64_t iteration = now->iteration << 32;
    const uint32_t skipped = draws.skipped;
    for (uint32_t i = stride_first(); i < (skipped + count + 3) / 4; i += stride_step()) {
        const struct random_block block =
            philox(draws.seed, RANDOM_DROPOUT, draws.node, iteration | (draws.first + i));
        if (aligned && !accumulate && 4 * i + 4 <= count) {
            const float4 v = ((const float4 *)in)[i];
            ((float4 *)out)[i] = make_float4(
                v.x * factor(&draws, block.word[0]), v.y * factor(&draws, block.word[1]),
                v.z * factor(&draws, block.word[2]), v.w * factor(&draws, block.word[3]));
            continue;
        }
#pragma unroll
        for (uint32_t k = 0; k < 4; k++) {
            const uint32_t at = 4 * i + k - skipped; /* wraps to a huge number before value 0 */
            if (at < count)
                gradient_store(&out[at], accumulate, in[at] * factor(&draws, block.word[k]));
        }
    }
}

static void apply(const struct kernel_call *call, const char *what, const float *in, float *out,
                  bool accumulate)
{
    const struct dropout_attributes *dropout = &call->site->node->attributes.dropout;
    const size_t count = output_values(call);
    const bool on = call->site->training || dropout->always;
    const uint64_t first = (uint64_t)context_of(call)->rank * count;
    const struct draws draws = {call->seed,
                                (uint32_t)call->node_number,
                                on ? dropout->rate : 0,
                                on ? 1.0f / (1.0f - dropout->rate) : 1.0f,
                                (uint32_t)(first / 4),
                                (uint32_t)(first % 4)};
    launch(context_of(call), what, mask, stride_blocks(count / 4 + 1), BLOCK, 0, in, out,
           accumulate, (uint32_t)count, draws.skipped == 0 && aligned16(in) && aligned16(out),
           draws, (const struct cuda_iteration *)context_of(call)->now);
}

static void forward_dropout(const struct kernel_call *call)
{
    apply(call, "dropout forward", call->inputs[0], call->output, false);
}

static void backward_dropout(const struct kernel_call *call)
{
    if (call->input_gradients[0])
        apply(call, "dropout backward", call->output_gradient, call->input_gradients[0],
              call->accumulate[0]);
}

static bool supports_dropout(const struct kernel_site *site, const char **reason)
{
    *reason = N_("a mask of whole channels");
    return !site->node->attributes.dropout.channels && supports_counts(site, reason);
}

struct cuda_kernel cuda_dropout = {
    .op = "dropout",
    .kernel =
        {
            .name = "dropout",
            .instruction_set = "cuda",
            .traits = KERNEL_IN_PLACE | KERNEL_GRADIENT_IN_PLACE,
            .supports = supports_dropout,
            .forward = forward_dropout,
            .backward = backward_dropout,
        },
};
