/* Lists the kernels of this device, and checks the limit on sizes that all of them share. */
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
#define CUDA_KERNEL(name) &cuda_##name,
#include "engine/devices/cuda/kernels.inc"
};

extern "C" size_t cuda_kernels(const struct op *op, const struct kernel **list, size_t capacity)
{
    size_t count = 0;
    for (struct cuda_kernel *k : kernels) {
        if (count == capacity || strcmp(k->op, op->name) != 0)
            continue;
        /* atomic, because two threads may store the same value at once */
        __atomic_store_n(&k->kernel.op, op, __ATOMIC_RELAXED);
        list[count++] = &k->kernel;
    }
    return count;
}
