#include "session/measure/measured_on.h"

#include "base/clock.h"
#include "base/host/host.h"

#include <stdio.h>
#include <string.h>

struct measured_on measured_on_here(const char *device, size_t threads)
{
    struct host host;
    struct measured_on on = {.threads = threads};
    host_describe(&host);
    if (threads == 0)
        on.threads = host.cores;
    snprintf(on.device, sizeof on.device, "%s", device);
    snprintf(on.host, sizeof on.host, "%s", host.name);
    snprintf(on.cpu, sizeof on.cpu, "%s", host.cpu);
    return on;
}

struct measured_on measured_on_now(const struct device *device)
{
    struct measured_on on = measured_on_here(device->name, device->threads);
    snprintf(on.precision, sizeof on.precision, "%s", device_precision_names[device->precision]);
    clock_now_rfc3339(on.created, sizeof on.created);
    return on;
}

static bool is_same_machine(const struct measured_on *a, const struct measured_on *b)
{
    return strcmp(a->host, b->host) == 0 && strcmp(a->cpu, b->cpu) == 0 && a->threads == b->threads;
}

bool measured_on_same(const struct measured_on *a, const struct measured_on *b)
{
    return strcmp(a->device, b->device) == 0 && is_same_machine(a, b);
}

bool measured_on_is(const struct measured_on *on, const struct measured_on *wanted)
{
    return measured_on_device(on->device, wanted->device) && is_same_machine(on, wanted);
}

bool measured_on_device(const char *name, const char *wanted)
{
    const size_t length = strlen(wanted);
    return strncmp(name, wanted, length) == 0 && (name[length] == '\0' || name[length] == ':');
}
