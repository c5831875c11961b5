#include "engine/devices/device_timer.h"

#include "base/clock.h"
#include "engine/devices/device_backend.h"

#include <assert.h>

/* Odd stamps: no matrix products are measured behind them. */
static size_t stamp_of(size_t mark)
{
    assert(mark < DEVICE_TIMER_MARKS);
    return 2 * mark + 1;
}

void device_timer_mark(struct device_timer *timer, size_t i)
{
    const struct device_backend *backend = timer->device->driver->backend;
    if (backend)
        backend->stamp(timer->device, stamp_of(i));
    else
        timer->host[i] = clock_nanoseconds();
}

double device_timer_seconds(const struct device_timer *timer, size_t from, size_t to)
{
    const struct device_backend *backend = timer->device->driver->backend;
    return backend ? backend->stamp_seconds(timer->device, stamp_of(from), stamp_of(to))
                   : clock_seconds(timer->host[from], timer->host[to]);
}
