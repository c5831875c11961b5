/* The counters of a device are read at the beginning and at the end of a lap. The counters of
 * processors are microjoules of each package and start again at 0 after some minutes at full load;
 * the counter of a GPU is in millijoules since its driver was loaded. */
#include "models/measure/energy_meter.h"

#include "base/clock.h"
#include "base/host/powercap.h"
#include "base/language.h"
#include "base/memory.h"
#include "models/measure/device_meter.h"

#include <stdio.h>
#include <stdlib.h>

struct energy_meter {
    const struct device *device;
    struct powercap powercap;
    struct gpu_meter *gpus; /* NULL: the processors are measured */
    double gpu_joules;      /* the GPUs' counters at the beginning of the lap */
    uint64_t start;         /* of the lap, nanoseconds */
    bool opened;
    struct error error; /* why it could not be opened */
};

/* --- GPUs --- */

/* Returns the reading of a device's GPU, or NULL with an error. CUDA may number the GPUs in another
 * order than NVML, and may hide some (CUDA_VISIBLE_DEVICES), so their addresses are compared. */
static const struct gpu_reading *find_gpu(const struct gpu_reading *readings, size_t count,
                                          const struct device *device, struct error *error)
{
    struct device_facts facts = {0};
    if (device->driver->describe)
        device->driver->describe(device->number, &facts);
    for (size_t i = 0; i < count; i++)
        if (pci_address_equals(&readings[i].pci, &facts.pci))
            return &readings[i];
    error_set(error, ERROR_UNSUPPORTED, "NVML", NULL,
              "the driver's library does not say which of the GPUs GPU %zu is", device->number);
    return NULL;
}

static bool add_gpu(const struct gpu_reading *readings, size_t count, const struct device *device,
                    double *joules, struct error *error)
{
    const struct gpu_reading *reading = find_gpu(readings, count, device, error);
    if (!reading)
        return false;
    if (!gpu_has(reading, GPU_ENERGY))
        return error_set(error, ERROR_UNSUPPORTED, "NVML", NULL,
                         "GPU %zu does not report its energy", device->number);
    *joules += reading->values[GPU_ENERGY];
    return true;
}

/* Adds up the energy that the GPUs of the device have used so far. */
static bool read_gpus(struct energy_meter *meter, double *joules, struct error *error)
{
    struct gpu_reading readings[GPU_MAX];
    const struct device *device = meter->device;
    size_t count;
    *joules = 0;
    bool good = gpu_meter_read(meter->gpus, readings, &count, error) &&
                add_gpu(readings, count, device, joules, error);
    for (size_t i = 0; good && i < device->other_count; i++)
        good = add_gpu(readings, count, device->others[i], joules, error);
    return good;
}

static bool open_gpus(struct energy_meter *meter, const char *library)
{
    meter->gpus = gpu_meter_open(library, &meter->error);
    return meter->gpus && read_gpus(meter, &meter->gpu_joules, &meter->error);
}

/* --- laps --- */

static const char *powercap_folder(const struct energy_sources *sources)
{
    return sources && sources->powercap ? sources->powercap : getenv("TINCA_POWERCAP");
}

struct energy_meter *energy_meter_begin(const struct device *device,
                                        const struct energy_sources *sources)
{
    struct energy_meter *meter = memory_new(1, sizeof *meter, "the meter of the energy", NULL);
    if (!meter)
        return NULL;
    meter->device = device;
    meter->opened = device->driver->computes_on_host
                        ? powercap_open(&meter->powercap, powercap_folder(sources), &meter->error)
                        : open_gpus(meter, sources ? sources->nvml : NULL);
    meter->start = clock_nanoseconds();
    return meter;
}

/* Sets *joules to the energy used in the lap. Returns false with an error. */
static bool read_lap(struct energy_meter *meter, double *joules, struct error *error)
{
    if (!meter->gpus)
        return powercap_read(&meter->powercap, joules, error);
    const double before = meter->gpu_joules;
    if (!read_gpus(meter, &meter->gpu_joules, error))
        return false;
    *joules = meter->gpu_joules - before;
    return true;
}

struct energy energy_meter_lap(struct energy_meter *meter)
{
    struct energy energy = {0};
    if (!meter) {
        snprintf(energy.why_unknown, sizeof energy.why_unknown, "%s", _("out of memory"));
        return energy;
    }
    energy.known = meter->opened && read_lap(meter, &energy.joules, &meter->error);
    if (!energy.known)
        error_format(&meter->error, energy.why_unknown, sizeof energy.why_unknown);
    const uint64_t now = clock_nanoseconds();
    energy.seconds = clock_seconds(meter->start, now);
    meter->start = now;
    return energy;
}

double energy_meter_least_seconds(const struct energy_meter *meter)
{
    return meter->gpus ? ENERGY_LEAST_GPU_SECONDS : ENERGY_LEAST_SECONDS;
}

/* Marks a result as unknown if the lap was too short for the counters, or if none changed during
 * it. */
static void refuse_unmeasured(const struct energy_meter *meter, struct energy *energy)
{
    struct error error;
    if (!energy->known)
        return;
    const bool is_short = energy->seconds < energy_meter_least_seconds(meter);
    if (is_short && meter->gpus)
        error_set(&error, ERROR_UNSUPPORTED, "the energy", "measure more iterations",
                  "%.3f s are too short for the counter of a GPU, which changes about ten times a "
                  "second",
                  energy->seconds);
    else if (is_short)
        error_set(&error, ERROR_UNSUPPORTED, "the energy", "measure more iterations",
                  "%.3f s are too short for counters that change once in a millisecond",
                  energy->seconds);
    else if (!(energy->joules > 0))
        error_set(&error, ERROR_UNSUPPORTED, "the energy", "measure more iterations",
                  "the counters did not change within %.3f s", energy->seconds);
    else
        return;
    error_format(&error, energy->why_unknown, sizeof energy->why_unknown);
    energy->known = false;
}

struct energy energy_meter_end(struct energy_meter *meter)
{
    struct energy energy = energy_meter_lap(meter);
    if (meter)
        refuse_unmeasured(meter, &energy);
    if (meter)
        gpu_meter_close(meter->gpus);
    free(meter);
    return energy;
}
