/* gpu_meter.h: what NVIDIA's management library (NVML) tells of the graphics processors.
 *
 * The library belongs to the driver and is opened at run time; its few types are declared in
 * gpu_meter.c. A metric that a card, or an older library, does not have is not valid: its bit is
 * missing and its value means nothing. One thread at a time. */
#ifndef TINCA_SESSION_MEASURE_GPU_METER_H
#define TINCA_SESSION_MEASURE_GPU_METER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum gpu_metric {
    GPU_MEMORY_USED,  /* bytes */
    GPU_MEMORY_TOTAL, /* bytes */
    GPU_UTILISATION,  /* percent of the time in which something ran */
    GPU_TEMPERATURE,  /* degrees Celsius */
    GPU_POWER,        /* watts */
    GPU_CLOCK,        /* MHz, of the multiprocessors */
    GPU_CLOCK_MEMORY, /* MHz */
    GPU_METRICS
};

const char *gpu_metric_name(enum gpu_metric metric); /* "memory_used_bytes", for JSON */

struct gpu_reading {
    char name[96];  /* "": the card does not say */
    unsigned valid; /* a bit a metric */
    double values[GPU_METRICS];
};

static inline bool gpu_has(const struct gpu_reading *reading, enum gpu_metric metric)
{
    return reading->valid >> metric & 1;
}

enum { GPU_MAX = 16 };

struct gpu_meter;

/* Opens the library; NULL: the driver's own ("libnvidia-ml.so.1"). May take a second or two. NULL
 * with an error that says why no card can be read: there is no driver, or it refuses. */
struct gpu_meter *gpu_meter_open(const char *library, struct error *error);
void gpu_meter_close(struct gpu_meter *meter); /* may be NULL */

/* Reads at most GPU_MAX cards; *read is how many. False, and none: the driver does not count them.
 */
bool gpu_meter_read(struct gpu_meter *meter, struct gpu_reading *readings, size_t *read,
                    struct error *error);

#endif
