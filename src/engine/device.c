/* Which devices there are, how they are named, and how a device's kernel is chosen for a site. */
#include "engine/device.h"

#include "base/host.h"
#include "base/language.h"
#include "base/memory.h"
#include "engine/choice.h"
#include "engine/devices/drivers.h"
#include "engine/ops/op.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct device_driver *const device_drivers[] = {&device_reference, &device_cpu, &device_cuda,
                                                      NULL};

enum { MAX_KERNELS = 16 }; /* that one device offers for one operator */

/* --- names --- */

/* True when `name` is the driver's, with a number (`cuda:1`) where there can be several. */
static bool names_driver(const char *name, const struct device_driver *driver)
{
    const size_t length = strlen(driver->name);
    if (strncmp(name, driver->name, length) != 0)
        return false;
    const char *rest = name + length;
    if (*rest == '\0')
        return true;
    if (driver != &device_cuda || *rest != ':')
        return false;
    const size_t digits = strspn(rest + 1, "0123456789");
    return digits >= 1 && digits <= 4 && rest[1 + digits] == '\0';
}

static const struct device_driver *find_driver(const char *name)
{
    for (const struct device_driver *const *driver = device_drivers; *driver; driver++)
        if (names_driver(name, *driver))
            return *driver;
    return NULL;
}

static size_t all_cores(void)
{
    struct host host;
    host_describe(&host);
    return host.cores;
}

struct device *device_open(const char *name, size_t threads, struct error *error)
{
    char reason[256] = "";
    const struct device_driver *driver = find_driver(name);
    if (!driver) {
        error_set(error, ERROR_USAGE, name, "choose reference, cpu or cuda[:N]",
                  "there is no such device");
        return NULL;
    }
    if (!driver->available(reason, sizeof reason)) {
        error_set(error, ERROR_UNSUPPORTED, name, "use the device cpu", "%s",
                  language_text(reason));
        return NULL;
    }
    struct device *device = memory_new(1, sizeof *device, "the device", error);
    if (!device)
        return NULL;
    *device = (struct device){.driver = driver, .threads = threads ? threads : all_cores()};
    snprintf(device->name, sizeof device->name, "%s", name);
    if (driver->open(device, error))
        return device;
    free(device);
    return NULL;
}

void device_close(struct device *device)
{
    if (!device)
        return;
    device->driver->close(device);
    free(device);
}

bool device_measure_limits(struct device *device, struct device_limits *limits, struct error *error)
{
    if (device->driver->limits)
        return device->driver->limits(device, limits, error);
    return error_set(error, ERROR_UNSUPPORTED, device->name, "use the device cpu",
                     "there is no measurement of this device's limits");
}

/* --- choosing a kernel --- */

/* Text that is cut where it no longer fits. */
struct text {
    char *at;
    size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void append(struct text *text, const char *format, ...)
{
    if (text->used >= text->size)
        return;
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(text->at + text->used, text->size - text->used, format, arguments);
    va_end(arguments);
    if (written > 0)
        text->used += (size_t)written;
}

static bool accepts(const struct kernel *kernel, const struct kernel_site *site,
                    const char **reason)
{
    *reason = N_("no reason given");
    return !kernel->supports || kernel->supports(site, reason);
}

const struct kernel *device_choose_kernel(const struct device_driver *driver,
                                          const struct kernel_site *site, char *why, size_t size,
                                          struct error *error)
{
    const struct kernel *list[MAX_KERNELS];
    const struct op *op = site->node->op;
    const size_t count = driver->kernels ? driver->kernels(op, list, MAX_KERNELS) : 0;
    char refusals[384] = "";
    struct text text = {refusals, sizeof refusals, 0};
    for (size_t i = 0; i < count; i++) {
        const char *reason;
        if (accepts(list[i], site, &reason)) {
            if (why)
                snprintf(why, size, "%s chosen%s", list[i]->name, refusals);
            return list[i];
        }
        append(&text, "; %s refused: %s", list[i]->name, reason);
    }
    char words[512];
    error_set(error, ERROR_UNSUPPORTED, site->node->name, "choose another device",
              "device %s cannot compute %s%s", driver->name, op->name,
              choice_translate(refusals, words, sizeof words));
    return NULL;
}

void *device_allocate_host(struct device *device, size_t bytes, const char *what,
                           struct error *error)
{
    (void)device;
    return memory_new_aligned(bytes, 1, what, error);
}

void device_release_host(struct device *device, void *memory)
{
    (void)device;
    free(memory);
}
