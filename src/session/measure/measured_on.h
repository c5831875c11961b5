/* measured_on.h: where, how and when times were measured. Every stored time has one description, so
 * that the same members decide everywhere whether two times are of the same machine and settings.
 */
#ifndef TINCA_SESSION_MEASURE_MEASURED_ON_H
#define TINCA_SESSION_MEASURE_MEASURED_ON_H

#include "engine/devices/device.h"

#include <stdbool.h>
#include <stddef.h>

enum { PRECISION_NAME_SIZE = 16 };

struct measured_on {
    char device[DEVICE_NAME_SIZE];
    char precision[PRECISION_NAME_SIZE]; /* of the computation; "": an older version measured, in
                                            float32 */
    char host[128], cpu[128];            /* the machine and its processor */
    char created[24];                    /* RFC 3339 */
    size_t threads;
};

/* Describes this machine and this moment, and the device as it computes now. */
struct measured_on measured_on_now(const struct device *device);

/* Describes this machine, for queries: no precision and no moment. `threads` 0: all cores. */
struct measured_on measured_on_here(const char *device, size_t threads);

/* Returns whether two times are of the same device, machine and number of threads. The precision is
 * a property of the model and not of the machine: a model in int8 may take turns with one in
 * float32. */
bool measured_on_same(const struct measured_on *a, const struct measured_on *b);

/* Returns whether a time is of the device, machine and threads that are wanted; "cuda" also stands
 * for "cuda:0". */
bool measured_on_is(const struct measured_on *on, const struct measured_on *wanted);

/* Returns whether a device's name is `wanted`; "cuda" also stands for "cuda:0". */
bool measured_on_device(const char *name, const char *wanted);

#endif
