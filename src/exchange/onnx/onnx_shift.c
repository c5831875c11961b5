#include "exchange/onnx/internal.h"

#include <string.h>

/* The channel's offset is (k / 3 - 1, k % 3 - 1), and output[y] = input[y - offset]: the kernel's
 * element that is 1 lies opposite. */
void onnx_shift_kernels(size_t channels, float *kernels)
{
    const size_t group = channels / 9;
    memset(kernels, 0, channels * 9 * sizeof *kernels);
    for (size_t c = 0; c < channels; c++)
        kernels[c * 9 + (c < 9 * group ? 8 - c / group : 4)] = 1;
}
