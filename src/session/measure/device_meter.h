/* device_meter.h: samples processor, memory and GPUs in a separate thread while a screen shows
 * them.
 *
 * NVIDIA's library may take seconds to open, so no reader waits: device_meter_read copies the
 * latest sample. */
#ifndef TINCA_SESSION_MEASURE_DEVICE_METER_H
#define TINCA_SESSION_MEASURE_DEVICE_METER_H

#include "base/error.h"
#include "base/host/host_load.h"
#include "session/measure/gpu_meter.h"

#include <stdbool.h>

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
