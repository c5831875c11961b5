/* device_meter.h: processor, memory and GPUs, sampled by a thread of its own while somebody looks.
 *
 * Opening NVIDIA's library may take seconds, so a reader never waits for it: it copies the last
 * sample. */
#ifndef TINCA_SESSION_MEASURE_DEVICE_METER_H
#define TINCA_SESSION_MEASURE_DEVICE_METER_H

#include "base/error.h"
#include "base/host/host_load.h"
#include "session/measure/gpu_meter.h"

#include <stdbool.h>

struct device_sample {
    struct host_load load;
    bool gpus_known;      /* the driver has been asked */
    char why_no_gpu[600]; /* "": it answered */
    size_t gpu_count;
    struct gpu_reading gpus[GPU_MAX];
};

enum { DEVICE_METER_MILLISECONDS = 1000 }; /* between two samples */

struct device_meter;

/* Begins to sample. NULL: an error. */
struct device_meter *device_meter_start(struct error *error);

/* Whether somebody looks: else the thread sleeps. */
void device_meter_enable(struct device_meter *meter, bool looked_at);

/* Copies the last sample; false: there is none yet. */
bool device_meter_read(struct device_meter *meter, struct device_sample *sample);

/* Waits for the thread's last sample to end. May be NULL. */
void device_meter_stop(struct device_meter *meter);

#endif
