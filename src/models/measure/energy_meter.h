/* energy_meter.h: the energy that a device uses, from the counters of the hardware: those of the
 * processors for devices that compute on them, NVML's for GPUs. The counters of the processors
 * count whatever else runs on the machine. */
#ifndef TINCA_MODELS_MEASURE_ENERGY_METER_H
#define TINCA_MODELS_MEASURE_ENERGY_METER_H

#include "base/error.h"
#include "engine/devices/device.h"
#include "runs/values/run_snapshot.h"

/* The places of the counters; NULL: the usual ones. */
struct energy_sources {
    const char *powercap; /* a folder; NULL: that of TINCA_POWERCAP, or else of Linux */
    const char *nvml;     /* library */
};

struct energy_meter;

/* Opens the counters of a device and begins to measure. Returns a meter without counters, whose
 * result says why, if the machine has none or does not let them be read; NULL if out of memory. */
struct energy_meter *energy_meter_begin(const struct device *device,
                                        const struct energy_sources *sources);

/* Returns the energy used since the beginning or the last lap, and begins the next lap. The meter
 * may be NULL. A lap may be short: no energy is counted twice or lost between two laps. */
struct energy energy_meter_lap(struct energy_meter *meter);

/* Returns how long a measurement must be for the counters of the device: ENERGY_LEAST_SECONDS or
 * ENERGY_LEAST_GPU_SECONDS. */
double energy_meter_least_seconds(const struct energy_meter *meter);

/* Returns the last lap, and frees the meter, which may be NULL. The result is unknown if the lap is
 * too short, or if no counter has changed, since every computation takes energy. */
struct energy energy_meter_end(struct energy_meter *meter);

#endif
