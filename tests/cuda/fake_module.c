/* Stand-ins for tinca-cuda.so: FAKE_OLD has the table of a different interface, FAKE_VERSION that
 * of a different version of tinca, FAKE_NOTHING no table, FAKE_OTHER a different function. */
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
