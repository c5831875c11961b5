#include "engine/devices/host/host_memory.h"

#include "base/memory.h"

#include <stdlib.h>

void *device_allocate_host(struct device *device, size_t bytes, const char *what,
                           struct error *error)
{
    (void)device;
    return memory_new_aligned(bytes, 1, what, error);
}

void device_release_host(struct device *device, void *memory)
{
    (void)device;
    free(memory);
}
