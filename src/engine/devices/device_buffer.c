#include "engine/devices/device_buffer.h"

#include "base/memory.h"
#include "engine/devices/device_backend.h"

#include <stdlib.h>

static struct device_buffer *make(const struct device_buffer *values, const char *what,
                                  struct error *error)
{
    struct device_buffer *buffer = memory_new(1, sizeof *buffer, what, error);
    if (buffer)
        *buffer = *values;
    return buffer;
}

struct device_buffer *device_buffer_create(struct device *device, float *host, size_t count,
                                           const char *what, struct error *error)
{
    struct device_buffer values = {
        .device = device, .host = host, .count = count, .newer = BUFFER_HOST_NEWER, .owns = true};
    values.on_device = device->driver->allocate(device, count * sizeof *host, what, error);
    struct device_buffer *buffer = values.on_device ? make(&values, what, error) : NULL;
    if (!buffer)
        device->driver->release(device, values.on_device);
    return buffer;
}

struct device_buffer *device_buffer_borrow(struct device *device, float *host, float *on_device,
                                           size_t count, struct error *error)
{
    const struct device_buffer values = {
        .device = device, .host = host, .on_device = on_device, .count = count};
    return make(&values, "the solver's state", error);
}

void device_buffer_free(struct device_buffer *buffer)
{
    if (buffer && buffer->owns)
        buffer->device->driver->release(buffer->device, buffer->on_device);
    free(buffer);
}

void device_buffer_touch_host(struct device_buffer *buffer)
{
    buffer->newer = BUFFER_HOST_NEWER;
    buffer->changes++;
}

void device_buffer_touch_device(struct device_buffer *buffer)
{
    buffer->newer = BUFFER_DEVICE_NEWER;
}

void device_buffer_send(struct device_buffer *buffer)
{
    struct device *device = buffer->device;
    if (buffer->newer != BUFFER_HOST_NEWER)
        return;
    device->driver->backend->copy_in(device, buffer->on_device, buffer->host,
                                     buffer->count * sizeof *buffer->host);
    buffer->newer = BUFFER_SAME;
}

bool device_buffer_fetch(struct device_buffer *buffer, struct error *error)
{
    struct device *device = buffer->device;
    if (buffer->newer == BUFFER_DEVICE_NEWER)
        device->driver->backend->copy_out(device, buffer->host, buffer->on_device,
                                          buffer->count * sizeof *buffer->host);
    if (!device_check(device, error))
        return false;
    if (buffer->newer == BUFFER_DEVICE_NEWER)
        buffer->newer = BUFFER_SAME;
    return true;
}
