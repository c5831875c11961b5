/* The device `cuda` as this version knows it: a name that is understood, and the reason why it
 * cannot be opened. The toolkit that configure found is reported with it. */
#include "config.h"

#include "engine/devices/drivers.h"

#include <stdio.h>

static bool cuda_available(char *reason, size_t size)
{
    if (CUDA_TOOLKIT_VERSION[0])
        snprintf(reason, size, "this build has no CUDA device (CUDA toolkit %s was found)",
                 CUDA_TOOLKIT_VERSION);
    else
        snprintf(reason, size, "this build has no CUDA device (no CUDA toolkit was found)");
    return false;
}

const struct device_driver device_cuda = {
    .name = "cuda",
    .description = "NVIDIA GPUs",
    .available = cuda_available,
};
