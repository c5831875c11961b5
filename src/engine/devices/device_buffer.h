/* buffer.h: floats that lie both in the host's memory and in a device's own, and which are newer.
 *
 * To be freed before the device is closed. Of the device's thread.
 */
#ifndef TINCA_ENGINE_DEVICES_DEVICE_BUFFER_H
#define TINCA_ENGINE_DEVICES_DEVICE_BUFFER_H

#include "base/error.h"
#include "engine/devices/device.h"

#include <stddef.h>
#include <stdint.h>

enum device_buffer_newer { BUFFER_SAME, BUFFER_HOST_NEWER, BUFFER_DEVICE_NEWER };

struct device_buffer {
    struct device *device;
    float *here, *there; /* host, device */
    size_t count;
    enum device_buffer_newer newer;
    bool owns;        /* the device's copy */
    uint64_t changes; /* how often the host's floats were changed */
};

/* A copy of here[0..count), which is borrowed, on a device whose memory is not the host's; the
 * host's are newer. */
struct device_buffer *device_buffer_create(struct device *device, float *here, size_t count,
                                           const char *what, struct error *error);
/* The same with floats there that are the caller's and, as those here, zero. */
struct device_buffer *device_buffer_borrow(struct device *device, float *here, float *there,
                                           size_t count, struct error *error);
void device_buffer_free(struct device_buffer *buffer); /* may be NULL */

/* The host's floats were changed; the device's are going to be. */
void device_buffer_touch_host(struct device_buffer *buffer);
void device_buffer_touch_device(struct device_buffer *buffer);

/* Sends the host's floats to the device if they are newer. */
void device_buffer_send(struct device_buffer *buffer);
/* Brings the device's here if those are newer. False when the device failed: the host's floats are
 * then worth nothing. */
bool device_buffer_fetch(struct device_buffer *buffer, struct error *error);

#endif
