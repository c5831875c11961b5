/* device_timer.h: measures how long a device works, from marks in its own order of work.
 *
 * A device with separate memory only enqueues what it is asked for, so the host's clock tells when
 * it was asked and not when it was done. There a mark is an event on the device's stream; on a
 * device that computes in the host's memory it is the host's clock. The device must be open while
 * the timer is used, and no profile may be measured meanwhile.
 */
#ifndef TINCA_ENGINE_DEVICES_DEVICE_TIMER_H
#define TINCA_ENGINE_DEVICES_DEVICE_TIMER_H

#include "engine/devices/device.h"

#include <stddef.h>
#include <stdint.h>

enum { DEVICE_TIMER_MARKS = 3 };

struct device_timer {
    struct device *device;
    uint64_t host[DEVICE_TIMER_MARKS]; /* nanoseconds, if the device computes on the host */
};

/* Sets mark `i`, anew if it was set before, behind all work that is enqueued. Does not wait. */
void device_timer_mark(struct device_timer *timer, size_t i);

/* Returns the seconds between two marks that were set; waits until the device has reached the
 * second one. */
double device_timer_seconds(const struct device_timer *timer, size_t from, size_t to);

#endif
