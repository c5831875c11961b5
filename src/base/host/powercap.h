/* powercap.h: the energy counters of the processors (RAPL, running average power limit), which
 * Linux shows in /sys/class/powercap (Documentation/power/powercap/powercap.rst of the kernel). */
#ifndef TINCA_BASE_HOST_POWERCAP_H
#define TINCA_BASE_HOST_POWERCAP_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { POWERCAP_MAX = 32, POWERCAP_PATH_SIZE = 256 };

/* The counters of all packages and, where they have their own, of their memory. They count whatever
 * runs on the machine. */
struct powercap {
    struct powercap_counter {
        char path[POWERCAP_PATH_SIZE];
        uint64_t last, range; /* microjoules; a counter starts again at 0 after `range` */
    } counters[POWERCAP_MAX];
    size_t count;
};

/* Finds the counters below `folder`; NULL: /sys/class/powercap. Returns false with an error that
 * says why, if there are none or they cannot be read. */
bool powercap_open(struct powercap *powercap, const char *folder, struct error *error);

/* Returns in *joules the energy used since the last call, or since powercap_open. A counter may
 * start again once between two calls, which at full load takes some minutes. Returns false with an
 * error if a counter cannot be read. */
bool powercap_read(struct powercap *powercap, double *joules, struct error *error);

#endif
