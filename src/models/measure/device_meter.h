/* device_meter.h: samples processor, memory and GPUs in a separate thread while a screen shows
 * them.
 *
 * NVIDIA's library may take seconds to open, so no reader waits: device_meter_read copies the
 * latest sample. */
#ifndef TINCA_MODELS_MEASURE_DEVICE_METER_H
#define TINCA_MODELS_MEASURE_DEVICE_METER_H

#include "base/error.h"
#include "base/host/host_load.h"
#include "base/host/pci_address.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- GPUs --- */

/* Reads the state of NVIDIA GPUs through the NVIDIA Management Library (NVML).
 *
 * The library is part of the driver and is opened at run time; device_meter.c declares the few
 * types that it needs. If a GPU or an older library lacks a metric, the metric's bit in `valid` is
 * 0 and its value is undefined. Not thread-safe. */

enum gpu_metric {
    GPU_MEMORY_USED,  /* bytes */
    GPU_MEMORY_TOTAL, /* bytes */
    GPU_UTILISATION,  /* percent of the time in which a kernel ran */
    GPU_TEMPERATURE,  /* degrees Celsius */
    GPU_POWER,        /* watts */
    GPU_CLOCK,        /* MHz, of the multiprocessors */
    GPU_CLOCK_MEMORY, /* MHz */
    GPU_ENERGY,       /* joules since the driver was loaded */
    GPU_METRICS
};

/* Returns the name of a metric in JSON, such as "memory_used_bytes". */
const char *gpu_metric_name(enum gpu_metric metric);

struct gpu_reading {
    char name[96]; /* "" if unknown */
    struct pci_address pci;
    unsigned valid; /* one bit for each metric */
    double values[GPU_METRICS];
};

/* Returns whether a reading has this metric. */
static inline bool gpu_has(const struct gpu_reading *reading, enum gpu_metric metric)
{
    return reading->valid >> metric & 1;
}

enum { GPU_MAX = 16 };

struct gpu_meter;

/* Opens the library, which may take seconds; NULL is the driver's "libnvidia-ml.so.1". Returns NULL
 * with an error if there is no driver or it fails. */
struct gpu_meter *gpu_meter_open(const char *library, struct error *error);
void gpu_meter_close(struct gpu_meter *meter); /* NULL is allowed */

/* Reads up to GPU_MAX GPUs and sets *read to their number. Returns false with an error, and none,
 * if the driver fails. */
bool gpu_meter_read(struct gpu_meter *meter, struct gpu_reading *readings, size_t *read,
                    struct error *error);

/* Returns the bytes that a process has on all GPUs; 0 if it has none, or if that is not known. */
uint64_t gpu_meter_process_memory(struct gpu_meter *meter, long process);

/* --- samples --- */

struct device_sample {
    struct host_load load;
    bool gpus_known;      /* the driver has been opened, or has failed */
    char why_no_gpu[600]; /* why no GPU could be read; "" if they could */
    size_t gpu_count;
    struct gpu_reading gpus[GPU_MAX];
};

enum { DEVICE_METER_MILLISECONDS = 1000 }; /* between two samples */

struct device_meter;

/* Starts the thread and begins to sample. Returns NULL with an error. */
struct device_meter *device_meter_start(struct error *error);

/* Pauses or resumes sampling. */
void device_meter_enable(struct device_meter *meter, bool enabled);

/* Copies the latest sample. Returns false if there is none yet. */
bool device_meter_read(struct device_meter *meter, struct device_sample *sample);

/* Waits for the current sample, ends the thread and frees the meter. NULL is allowed. */
void device_meter_stop(struct device_meter *meter);

#endif
