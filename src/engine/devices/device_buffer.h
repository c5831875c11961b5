/* device_buffer.h: an array of floats with one copy in host memory and one on a device.
 *
 * The buffer knows which copy is newer, so that an array is copied only when it must be. Free a
 * buffer before its device is closed. Only the thread that uses the device may use the buffer.
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
    float *host, *on_device; /* [count] each */
    size_t count;
    enum device_buffer_newer newer;
    bool owns;        /* device_buffer_free releases the device's copy */
    uint64_t changes; /* how often device_buffer_touch_host was called */
};

/* Returns a buffer for host[0..count), which it borrows, with a new copy on a device that has
 * separate memory. The host's copy counts as newer. Returns NULL with an error, which names the
 * array by `what`, if out of memory. */
struct device_buffer *device_buffer_create(struct device *device, float *host, size_t count,
                                           const char *what, struct error *error);

/* Returns a buffer that borrows both copies. Their values must be equal. NULL with an error if
 * out of memory. */
struct device_buffer *device_buffer_borrow(struct device *device, float *host, float *on_device,
                                           size_t count, struct error *error);

void device_buffer_free(struct device_buffer *buffer); /* may be NULL */

/* Marks the host's copy as newer. Call it after a change of host[]. */
void device_buffer_touch_host(struct device_buffer *buffer);

/* Marks the device's copy as newer. Call it when a kernel that changes it is enqueued. */
void device_buffer_touch_device(struct device_buffer *buffer);

/* Copies the host's floats to the device if they are newer. */
void device_buffer_send(struct device_buffer *buffer);

/* Copies the device's floats to the host if they are newer. Returns false with an error when the
 * device has failed; the host's floats must then not be used. */
bool device_buffer_fetch(struct device_buffer *buffer, struct error *error);

#endif
