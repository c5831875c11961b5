/* Which devices there are, how they are named, and how a device's kernel is chosen for a site. */
#include "engine/device.h"

#include "base/host.h"
#include "base/language.h"
#include "base/memory.h"
#include "engine/choice.h"
#include "engine/devices/drivers.h"
#include "engine/ops/op.h"
#include "engine/remote.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct device_driver *const device_drivers[] = {&device_reference, &device_cpu, &device_cuda,
                                                      NULL};

enum { MAX_KERNELS = 16 }; /* that one device offers for one operator */

/* --- names --- */

/* True when `name` is the driver's, with a number (`cuda:1`) where there can be several. */
static bool names_driver(const char *name, const struct device_driver *driver, size_t *number)
{
    const size_t length = strlen(driver->name);
    *number = 0;
    if (strncmp(name, driver->name, length) != 0)
        return false;
    const char *rest = name + length;
    if (*rest == '\0')
        return true;
    if (!driver->count || *rest != ':')
        return false;
    const size_t digits = strspn(rest + 1, "0123456789");
    if (digits < 1 || digits > 4 || rest[1 + digits] != '\0')
        return false;
    *number = strtoul(rest + 1, NULL, 10);
    return true;
}

static const struct device_driver *named_driver(const char *name, size_t *number)
{
    for (const struct device_driver *const *driver = device_drivers; *driver; driver++)
        if (names_driver(name, *driver, number))
            return *driver;
    return NULL;
}

/* `cuda:0,1` is understood, so that it can be said that it does not work. */
static bool refuse_name(const char *name, struct error *error)
{
    if (strncmp(name, "cuda:", 5) == 0 && strchr(name, ',') &&
        name[5 + strspn(name + 5, "0123456789,")] == '\0')
        return error_set(error, ERROR_UNSUPPORTED, name,
                         "choose one, as in cuda:0, and start other runs on the others",
                         "a run on several devices at once is not part of this version");
    return error_set(error, ERROR_USAGE, name, "choose reference, cpu or cuda[:N]",
                     "there is no such device");
}

static bool refuse_number(const char *name, size_t count, struct error *error)
{
    return error_set(error, ERROR_UNSUPPORTED, name, "tinca devices lists them",
                     ngettext("there is only %zu such device here",
                              "there are only %zu such devices here", count),
                     count);
}

const struct device_driver *device_find(const char *name, size_t *number, struct error *error)
{
    char reason[256] = "";
    size_t which;
    const struct device_driver *driver = named_driver(name, &which);
    if (!driver) {
        refuse_name(name, error);
        return NULL;
    }
    if (!driver->available(reason, sizeof reason)) {
        error_set(error, ERROR_UNSUPPORTED, name, "use the device cpu", "%s",
                  language_text(reason));
        return NULL;
    }
    if (driver->count && which >= driver->count()) {
        refuse_number(name, driver->count(), error);
        return NULL;
    }
    if (number)
        *number = which;
    return driver;
}

uint64_t device_memory_free(const char *name)
{
    size_t number;
    const struct device_driver *driver = device_find(name, &number, NULL);
    return driver && driver->memory_free ? driver->memory_free(number) : 0;
}

char *device_computes_with(const char *name, char *text, size_t size)
{
    struct device_facts facts;
    size_t number;
    const struct device_driver *driver = device_find(name, &number, NULL);
    const bool is_card = driver && driver->describe && driver->describe(number, &facts);
    snprintf(text, size, "%s", is_card ? facts.name : instruction_set_name(host_instruction_set()));
    return text;
}

/* --- opening --- */

static size_t all_cores(void)
{
    struct host host;
    host_describe(&host);
    return host.cores;
}

struct device *device_open(const char *name, size_t threads, struct error *error)
{
    size_t number;
    const struct device_driver *driver = device_find(name, &number, error);
    struct device *device = driver ? memory_new(1, sizeof *device, "the device", error) : NULL;
    if (!device)
        return NULL;
    *device = (struct device){
        .driver = driver, .number = number, .threads = threads ? threads : all_cores()};
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

/* --- precision --- */

static const char *const precision_names[PRECISIONS] = {"float32", "tf32", "bf16", "fp16"};

const char *device_precision_name(enum device_precision precision)
{
    return precision_names[precision];
}

bool device_precision_parse(const char *name, enum device_precision *precision)
{
    for (size_t i = 0; i < PRECISIONS; i++)
        if (strcmp(name, precision_names[i]) == 0) {
            *precision = (enum device_precision)i;
            return true;
        }
    return false;
}

bool device_set_precision(struct device *device, enum device_precision precision,
                          struct error *error)
{
    if (device->driver->set_precision)
        return device->driver->set_precision(device, precision, error);
    return precision == PRECISION_FLOAT32 ||
           error_set(error, ERROR_UNSUPPORTED, device_precision_name(precision),
                     "choose the precision float32, or the device cuda",
                     "the device %s computes in float32 only", device->driver->name);
}

/* --- memory that may not be the host's --- */

bool device_check(struct device *device, struct error *error)
{
    const struct device_remote *remote = device->driver->remote;
    return !remote || remote->check(device, error);
}

uint64_t device_memory_used(struct device *device)
{
    const struct device_remote *remote = device->driver->remote;
    return remote ? remote->memory_used(device) : 0;
}

void device_clear(struct device *device, void *memory, size_t bytes)
{
    const struct device_remote *remote = device->driver->remote;
    if (remote)
        remote->clear(device, memory, bytes);
    else
        memset(memory, 0, bytes);
}

void device_copy_rows(struct device *device, void *to, size_t to_pitch, const void *from,
                      size_t from_pitch, size_t width, size_t rows)
{
    const struct device_remote *remote = device->driver->remote;
    if (remote)
        remote->copy_rows(device, to, to_pitch, from, from_pitch, width, rows);
    for (size_t row = 0; !remote && row < rows; row++)
        memcpy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
}

void device_copy_in(struct device *device, void *to, const void *from, size_t bytes)
{
    const struct device_remote *remote = device->driver->remote;
    if (remote)
        remote->copy_in(device, to, from, bytes);
    else
        memcpy(to, from, bytes);
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
