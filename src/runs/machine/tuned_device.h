/* tuned_device.h: opens devices with the figures of this machine, with which their plans choose
 * kernels and divide work.
 *
 * The figures are read from the cache (machine_file.h). If it lacks them they are measured once,
 * which takes about 0.15 s, and stored. If they cannot be stored the device has none,
 * and its plans follow fixed rules: two runs must not differ because each has measured for itself.
 * With tuned_device_measure_again (--tune) they are measured even so, and hold for this process.
 * Plans of a GPU measure each layer's algorithms instead, with a cache of their own
 * (autotune_file.h), under the same rules. Nothing of this makes opening a device fail. Thread
 * safe.
 */
#ifndef TINCA_RUNS_MACHINE_TUNED_DEVICE_H
#define TINCA_RUNS_MACHINE_TUNED_DEVICE_H

#include "engine/devices/device.h"

/* The origins of the figures of a device. */
enum machine_source {
    MACHINE_UNUSED,   /* the device does not use figures */
    MACHINE_FIXED,    /* they cannot be stored, or not be measured: fixed rules */
    MACHINE_STORED,   /* from the cache */
    MACHINE_MEASURED, /* measured now, and stored */
    MACHINE_UNSTORED, /* measured in this process, but not stored */
    MACHINE_SOURCES
};
/* The names of the sources in JSON: "unused", "fixed", ... */
extern const char *const machine_source_names[MACHINE_SOURCES];

struct machine_origin {
    enum machine_source source;
    struct error error; /* MACHINE_FIXED and MACHINE_UNSTORED: what failed */
};

/* Opens a device as device_open does and sets its figures. *origin may be NULL. */
struct device *tuned_device_open(const char *name, size_t threads, struct machine_origin *origin,
                                 struct error *error);

/* Returns the figures that tuned_device_open would set without measuring; not measured if there are
 * none. Opens no device. */
struct machine_model tuned_device_figures(const struct device_driver *driver, size_t threads);

/* Measures the figures if tuned_device_open would, so that what is planned next has them. */
void tuned_device_measure(const char *name, size_t threads);

/* Makes the next tuned_device_open of this process measure, whatever the cache has. */
void tuned_device_measure_again(void);

/* Returns a sentence about the origin in the user's language. */
const char *machine_origin_text(const struct machine_origin *origin);

#endif
