/* The device `cuda` as this version knows it: a name that is understood, and the reason why it
 * cannot be opened. It says too whether configure found a toolkit. */
#include "config.h"

#include "base/language.h"
#include "engine/devices/drivers.h"

#include <stdio.h>

static bool cuda_available(char *reason, size_t size)
{
    snprintf(reason, size, "%s",
             CUDA_TOOLKIT_VERSION[0]
                 ? N_("this build has no CUDA device (a CUDA toolkit was found)")
                 : N_("this build has no CUDA device (no CUDA toolkit was found)"));
    return false;
}

const struct device_driver device_cuda = {
    .name = "cuda",
    .description = N_("NVIDIA GPUs"),
    .available = cuda_available,
};
