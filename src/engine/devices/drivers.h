/* drivers.h: the drivers that device.c lists. */
#ifndef TINCA_ENGINE_DEVICES_DRIVERS_H
#define TINCA_ENGINE_DEVICES_DRIVERS_H

#include "engine/devices/device.h"

extern const struct device_driver device_reference, device_cpu, device_cuda;

#endif
