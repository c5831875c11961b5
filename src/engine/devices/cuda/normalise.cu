/* Converts 8-bit samples to normalised float32 values, as the data loader does on the host for
 * other devices: (sample - mean) / deviation, by channel.
 *
 * The values have the host's bits: both operations are rounded to the nearest float32, whatever the
 * compiler's settings (no fused multiply-add, no approximate division). A thread converts four
 * samples, which it loads and stores at once; the planes may have any number of pixels, so each of
 * the four may belong to another channel. */
#include "engine/devices/cuda/launch.h"

enum { VALUES = 4 }; /* of a thread */

static __device__ __forceinline__ float normalised(uint32_t sample, uint32_t channel,
                                                   const struct sample_scale &scale)
{
    return __fdiv_rn(__fsub_rn((float)sample, scale.mean[channel]), scale.deviation[channel]);
}

/* Converts values[0..count), count < 2^31. Both arrays are aligned for four values. */
static __global__ void normalise_samples(float *values, const uint8_t *samples, uint32_t count,
                                         struct divisor area, struct divisor channels,
                                         struct sample_scale scale)
{
    for (uint32_t i = stride_first(); i < (count + VALUES - 1) / VALUES; i += stride_step()) {
        const uint32_t first = i * VALUES, left = count - first;
        uint32_t pixel, channel, packed = 0;
        const uint32_t plane = divide_rest(first, area, &pixel);
        float converted[VALUES];
        divide_rest(plane, channels, &channel);
        if (left >= VALUES)
            packed = *(const uint32_t *)(samples + first);
        for (uint32_t k = 0; left < VALUES && k < VALUES - 1; k++)
            if (k < left)
                packed |= (uint32_t)samples[first + k] << 8 * k;
#pragma unroll
        for (uint32_t k = 0; k < VALUES; k++) {
            converted[k] = normalised(packed >> 8 * k & 0xff, channel, scale);
            if (++pixel == area.value) {
                pixel = 0;
                channel = channel + 1 == channels.value ? 0 : channel + 1;
            }
        }
        if (left >= VALUES)
            *(float4 *)(values + first) =
                make_float4(converted[0], converted[1], converted[2], converted[3]);
#pragma unroll
        for (uint32_t k = 0; k < VALUES - 1; k++)
            if (left < VALUES && k < left)
                values[first + k] = converted[k];
    }
}

/* Indices have 32 bits, so a large batch takes several launches. Each begins with the first channel
 * of an image and at an aligned address: at a multiple of four images. Four images have less than
 * 2^31 values (IMAGE_MAX_PIXELS). */
void cuda_normalise(struct cuda_context *context, const struct batch_array *array,
                    const uint8_t *samples, const struct sample_scale *scale)
{
    const size_t image = array->channels * array->area, most = ((size_t)1 << 31) - 1;
    const size_t images = most / image / VALUES * VALUES;
    const size_t launched = images > 0 ? images * image : array->bytes;
    for (size_t first = 0; first < array->bytes; first += launched) {
        const size_t left = array->bytes - first;
        const uint32_t count = (uint32_t)(left < launched ? left : launched);
        launch(context, "normalise", normalise_samples,
               stride_blocks((count + VALUES - 1) / VALUES), BLOCK, 0,
               (float *)array->on_device + first, samples + first, count, divisor_of(array->area),
               divisor_of(array->channels), *scale);
    }
}
