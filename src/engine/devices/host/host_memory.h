/* host_memory.h: allocates memory for the devices that compute in the host's memory. Its folder
 * keeps the table of drivers and the drivers from depending on each other. */
#ifndef TINCA_ENGINE_DEVICES_HOST_HOST_MEMORY_H
#define TINCA_ENGINE_DEVICES_HOST_HOST_MEMORY_H

#include "base/error.h"

#include <stddef.h>

struct device;

/* Returns `bytes` bytes aligned to MEMORY_ALIGNMENT, or NULL: the `allocate` of such a driver. */
void *device_allocate_host(struct device *device, size_t bytes, const char *what,
                           struct error *error);
/* Frees such memory, which may be NULL: the `release` of such a driver. */
void device_release_host(struct device *device, void *memory);

#endif
