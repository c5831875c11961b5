/* Stand-ins for tinca-cuda.so: FAKE_OLD offers the table of another interface, FAKE_VERSION that of
 * another tinca, FAKE_NOTHING no table, FAKE_OTHER another function. */
#include "engine/devices/cuda/module.h"

#include <stddef.h>

const struct cuda_module *tinca_cuda_module(void);
const struct cuda_module *something_else(void);

static const struct cuda_module table = {
#ifdef FAKE_OLD
    .abi = CUDA_MODULE_ABI + 41,
#else
    .abi = CUDA_MODULE_ABI,
#endif
    .bytes = sizeof table,
    .version = "0.0.7",
};

#ifdef FAKE_OTHER
const struct cuda_module *something_else(void)
#else
const struct cuda_module *tinca_cuda_module(void)
#endif
{
#ifdef FAKE_NOTHING
    return NULL;
#else
    return &table;
#endif
}
