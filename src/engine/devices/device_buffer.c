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

struct device_buffer *device_buffer_create(struct device *device, float *here, size_t count,
                                           const char *what, struct error *error)
{
    struct device_buffer values = {
        .device = device, .here = here, .count = count, .newer = BUFFER_HOST_NEWER, .owns = true};
    values.there = device->driver->allocate(device, count * sizeof *here, what, error);
    struct device_buffer *buffer = values.there ? make(&values, what, error) : NULL;
    if (!buffer)
        device->driver->release(device, values.there);
    return buffer;
}

struct device_buffer *device_buffer_borrow(struct device *device, float *here, float *there,
                                           size_t count, struct error *error)
{
    const struct device_buffer values = {
        .device = device, .here = here, .there = there, .count = count};
    return make(&values, "the solver's state", error);
}

void device_buffer_free(struct device_buffer *buffer)
{
    if (buffer && buffer->owns)
        buffer->device->driver->release(buffer->device, buffer->there);
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
    device->driver->backend->copy_in(device, buffer->there, buffer->here,
                                     buffer->count * sizeof *buffer->here);
    buffer->newer = BUFFER_SAME;
}

bool device_buffer_fetch(struct device_buffer *buffer, struct error *error)
{
    struct device *device = buffer->device;
    if (buffer->newer == BUFFER_DEVICE_NEWER)
        device->driver->backend->copy_out(device, buffer->here, buffer->there,
                                          buffer->count * sizeof *buffer->here);
    if (!device_check(device, error))
        return false;
    if (buffer->newer == BUFFER_DEVICE_NEWER)
        buffer->newer = BUFFER_SAME;
    return true;
}
