/* drivers.h: the drivers that device.c lists. */
#ifndef TINCA_ENGINE_DEVICES_DRIVERS_H
#define TINCA_ENGINE_DEVICES_DRIVERS_H

#include "engine/devices/device.h"

extern const struct device_driver device_reference, device_cpu, device_cuda;

/* Memory of devices that compute in the host's: the `allocate` and `release` of their drivers. */
void *device_allocate_host(struct device *device, size_t bytes, const char *what,
                           struct error *error);
void device_release_host(struct device *device, void *memory);

#endif
