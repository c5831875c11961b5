#include "engine/devices/mirror.h"

#include "base/memory.h"
#include "engine/devices/remote.h"

#include <stdlib.h>

static struct mirror *make(const struct mirror *values, const char *what, struct error *error)
{
    struct mirror *mirror = memory_new(1, sizeof *mirror, what, error);
    if (mirror)
        *mirror = *values;
    return mirror;
}

struct mirror *mirror_create(struct device *device, float *here, size_t count, const char *what,
                             struct error *error)
{
    struct mirror values = {
        .device = device, .here = here, .count = count, .newer = MIRROR_HERE, .owns = true};
    values.there = device->driver->allocate(device, count * sizeof *here, what, error);
    struct mirror *mirror = values.there ? make(&values, what, error) : NULL;
    if (!mirror)
        device->driver->release(device, values.there);
    return mirror;
}

struct mirror *mirror_borrow(struct device *device, float *here, float *there, size_t count,
                             struct error *error)
{
    const struct mirror values = {.device = device, .here = here, .there = there, .count = count};
    return make(&values, "the solver's state", error);
}

void mirror_free(struct mirror *mirror)
{
    if (mirror && mirror->owns)
        mirror->device->driver->release(mirror->device, mirror->there);
    free(mirror);
}

void mirror_touch(struct mirror *mirror)
{
    mirror->newer = MIRROR_HERE;
    mirror->changes++;
}

void mirror_touch_there(struct mirror *mirror)
{
    mirror->newer = MIRROR_THERE;
}

void mirror_send(struct mirror *mirror)
{
    struct device *device = mirror->device;
    if (mirror->newer != MIRROR_HERE)
        return;
    device->driver->remote->copy_in(device, mirror->there, mirror->here,
                                    mirror->count * sizeof *mirror->here);
    mirror->newer = MIRROR_SAME;
}

bool mirror_fetch(struct mirror *mirror, struct error *error)
{
    struct device *device = mirror->device;
    if (mirror->newer == MIRROR_THERE)
        device->driver->remote->copy_out(device, mirror->here, mirror->there,
                                         mirror->count * sizeof *mirror->here);
    if (!device_check(device, error))
        return false;
    if (mirror->newer == MIRROR_THERE)
        mirror->newer = MIRROR_SAME;
    return true;
}
