/* mirror.h: floats that lie both in the host's memory and in a device's own, and which are newer.
 *
 * To be freed before the device is closed. Of the device's thread.
 */
#ifndef TINCA_ENGINE_DEVICES_MIRROR_H
#define TINCA_ENGINE_DEVICES_MIRROR_H

#include "base/error.h"
#include "engine/devices/device.h"

#include <stddef.h>
#include <stdint.h>

enum mirror_newer { MIRROR_SAME, MIRROR_HERE, MIRROR_THERE };

struct mirror {
    struct device *device;
    float *here, *there; /* host, device */
    size_t count;
    enum mirror_newer newer;
    bool owns;        /* the device's copy */
    uint64_t changes; /* how often the host's floats were changed */
};

/* A copy of here[0..count), which is borrowed, on a device whose memory is not the host's; the
 * host's are newer. */
struct mirror *mirror_create(struct device *device, float *here, size_t count, const char *what,
                             struct error *error);
/* The same with floats there that are the caller's and, as those here, zero. */
struct mirror *mirror_borrow(struct device *device, float *here, float *there, size_t count,
                             struct error *error);
void mirror_free(struct mirror *mirror); /* may be NULL */

/* The host's floats were changed; the device's are going to be. */
void mirror_touch(struct mirror *mirror);
void mirror_touch_there(struct mirror *mirror);

/* Sends the host's floats to the device if they are newer. */
void mirror_send(struct mirror *mirror);
/* Brings the device's here if those are newer. False when the device failed: the host's floats are
 * then worth nothing. */
bool mirror_fetch(struct mirror *mirror, struct error *error);

#endif
