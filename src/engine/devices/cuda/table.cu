/* All kernels of this device, the better before the more general. */
#include "engine/devices/cuda/kernels.h"
#include "engine/devices/cuda/launch.h"

#include "base/language.h"

#include <string.h>

unsigned cuda_busy_blocks = 264;

bool supports_counts(const struct kernel_site *site, const char **reason)
{
    const size_t limit = (size_t)1 << 31;
    bool fits = site->batch * shape_count(site->node->output) < limit;
    for (size_t k = 0; k < site->node->input_count; k++)
        fits = fits && site->batch * shape_count(site->inputs[k]) < limit;
    if (!fits)
        *reason = N_("more than 2^31 values in a batch");
    return fits;
}

static struct cuda_kernel *const kernels[] = {
    &cuda_conv_depthwise,
#if HAVE_CUDNN
    &cuda_conv_cudnn,
#endif
    &cuda_conv_pointwise,
    &cuda_conv,
    &cuda_conv_transpose,
    &cuda_linear,
    &cuda_max_pool,
    &cuda_average_pool,
    &cuda_relu,
    &cuda_leaky_relu,
    &cuda_sigmoid,
    &cuda_tanh,
    &cuda_softmax,
    &cuda_batch_norm,
    &cuda_lrn,
    &cuda_dropout,
    &cuda_concat,
    &cuda_add,
    &cuda_channel_shuffle,
    &cuda_channel_shift,
    &cuda_softmax_cross_entropy,
    &cuda_binary_cross_entropy,
    &cuda_l1_loss,
    &cuda_l2_loss,
};

extern "C" size_t cuda_kernels(const struct op *op, const struct kernel **list, size_t capacity)
{
    size_t count = 0;
    for (struct cuda_kernel *k : kernels) {
        if (count == capacity || strcmp(k->op, op->name) != 0)
            continue;
        /* the same value whoever writes it: two threads may ask at once */
        __atomic_store_n(&k->kernel.op, op, __ATOMIC_RELAXED);
        list[count++] = &k->kernel;
    }
    return count;
}
