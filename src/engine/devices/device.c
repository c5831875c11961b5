/* Which devices there are, how they are named, and how a device's kernel is chosen for a site. */
#include "engine/devices/device.h"

#include "base/host/host.h"
#include "base/language.h"
#include "base/memory.h"
#include "engine/devices/choice.h"
#include "engine/devices/device_backend.h"
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

/* A name that was taken apart. */
struct named {
    const struct device_driver *driver; /* NULL: it is no device's */
    size_t numbers[DEVICE_MAX_RANKS], count;
};

/* "0,1" */
static bool read_numbers(const char *list, struct named *named)
{
    do {
        const size_t digits = strspn(list, "0123456789");
        if (digits < 1 || digits > 4 || named->count == DEVICE_MAX_RANKS)
            return false;
        named->numbers[named->count++] = strtoul(list, NULL, 10);
        list += digits;
    } while (*list++ == ',');
    return list[-1] == '\0';
}

/* True when `name` is the driver's, with numbers (`cuda:0,1`) where there can be several. */
static bool names_driver(const char *name, const struct device_driver *driver, struct named *named)
{
    const size_t length = strlen(driver->name);
    *named = (struct named){.driver = driver};
    if (strncmp(name, driver->name, length) != 0)
        return false;
    const char *rest = name + length;
    if (*rest == ':' && driver->count)
        return read_numbers(rest + 1, named);
    named->count = 1; /* number 0 */
    return *rest == '\0';
}

static struct named take_apart(const char *name)
{
    struct named named;
    for (const struct device_driver *const *driver = device_drivers; *driver; driver++)
        if (names_driver(name, *driver, &named))
            return named;
    return (struct named){.count = 1};
}

size_t device_ranks(const char *name)
{
    return take_apart(name).count;
}

static bool refuse_number(const char *name, size_t count, struct error *error)
{
    return error_set(error, ERROR_UNSUPPORTED, name, "tinca devices lists them",
                     ngettext("there is only %zu such device here",
                              "there are only %zu such devices here", count),
                     count);
}

static bool check_numbers(const char *name, const struct named *named, struct error *error)
{
    const size_t there = named->driver->count ? named->driver->count() : 1;
    for (size_t i = 0; i < named->count; i++) {
        for (size_t k = 0; k < i; k++)
            if (named->numbers[k] == named->numbers[i])
                return error_set(error, ERROR_USAGE, name, "name each GPU once, as in cuda:0,1",
                                 "it names the GPU %zu twice", named->numbers[i]);
        if (named->numbers[i] >= there)
            return refuse_number(name, there, error);
    }
    return true;
}

/* driver NULL: it cannot be used. */
static struct named find(const char *name, struct error *error)
{
    char reason[256] = "";
    struct named named = take_apart(name);
    if (!named.driver)
        error_set(error, ERROR_USAGE, name, "choose reference, cpu or cuda[:N[,N...]]",
                  "there is no such device");
    else if (!named.driver->available(reason, sizeof reason))
        error_set(error, ERROR_UNSUPPORTED, name, "use the device cpu", "%s",
                  language_text(reason));
    else if (check_numbers(name, &named, error))
        return named;
    named.driver = NULL;
    return named;
}

const struct device_driver *device_find(const char *name, size_t *number, struct error *error)
{
    const struct named named = find(name, error);
    if (named.driver && number)
        *number = named.numbers[0];
    return named.driver;
}

uint64_t device_memory_free(const char *name)
{
    const struct named named = find(name, NULL);
    uint64_t least = 0;
    for (size_t i = 0; named.driver && named.driver->memory_free && i < named.count; i++) {
        const uint64_t bytes = named.driver->memory_free(named.numbers[i]);
        if (bytes > 0 && (least == 0 || bytes < least))
            least = bytes;
    }
    return least;
}

char *device_computes_with(const char *name, char *text, size_t size)
{
    struct device_facts facts;
    const struct named named = find(name, NULL);
    if (!named.driver || !named.driver->describe ||
        !named.driver->describe(named.numbers[0], &facts))
        snprintf(text, size, "%s", instruction_set_name(host_instruction_set()));
    else if (named.count == 1)
        snprintf(text, size, "%s", facts.name);
    else
        snprintf(text, size, "%zu x %s", named.count, facts.name);
    return text;
}

/* --- opening --- */

static size_t all_cores(void)
{
    struct host host;
    host_describe(&host);
    return host.cores;
}

static struct device *open_one(const struct device_driver *driver, const char *name, size_t number,
                               size_t threads, struct error *error)
{
    struct device *device = memory_new(1, sizeof *device, "the device", error);
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

/* Until all are there the first one has its own name, for errors. */
static bool open_others(struct device *device, const struct named *named, struct error *error)
{
    while (device->other_count + 1 < named->count) {
        char name[sizeof device->name];
        const size_t number = named->numbers[device->other_count + 1];
        snprintf(name, sizeof name, "%s:%zu", named->driver->name, number);
        struct device *other = open_one(named->driver, name, number, device->threads, error);
        if (!other)
            return false;
        device->others[device->other_count++] = other;
    }
    return true;
}

struct device *device_open(const char *name, size_t threads, struct error *error)
{
    char first[sizeof((struct device *)0)->name];
    const struct named named = find(name, error);
    if (!named.driver)
        return NULL;
    snprintf(first, sizeof first, "%s", name);
    first[strcspn(first, ",")] = '\0';
    struct device *device = open_one(named.driver, first, named.numbers[0], threads, error);
    if (device && !open_others(device, &named, error)) {
        device_close(device);
        return NULL;
    }
    if (device)
        snprintf(device->name, sizeof device->name, "%s", name);
    return device;
}

void device_close(struct device *device)
{
    if (!device)
        return;
    while (device->other_count > 0)
        device_close(device->others[--device->other_count]);
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
    for (size_t i = 0; i < device->other_count; i++)
        if (!device_set_precision(device->others[i], precision, error))
            return false;
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
    const struct device_backend *remote = device->driver->backend;
    for (size_t i = 0; i < device->other_count; i++)
        if (!device_check(device->others[i], error))
            return false;
    return !remote || remote->check(device, error);
}

uint64_t device_memory_used(struct device *device)
{
    const struct device_backend *remote = device->driver->backend;
    uint64_t most = remote ? remote->memory_used(device) : 0;
    for (size_t i = 0; i < device->other_count; i++) {
        const uint64_t bytes = device_memory_used(device->others[i]);
        most = bytes > most ? bytes : most;
    }
    return most;
}

void device_clear(struct device *device, void *memory, size_t bytes)
{
    const struct device_backend *remote = device->driver->backend;
    if (remote)
        remote->clear(device, memory, bytes);
    else
        memset(memory, 0, bytes);
}

void device_copy_rows(struct device *device, void *to, size_t to_pitch, const void *from,
                      size_t from_pitch, size_t width, size_t rows)
{
    const struct device_backend *remote = device->driver->backend;
    if (remote)
        remote->copy_rows(device, to, to_pitch, from, from_pitch, width, rows);
    for (size_t row = 0; !remote && row < rows; row++)
        memcpy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
}

void device_copy_in(struct device *device, void *to, const void *from, size_t bytes)
{
    const struct device_backend *remote = device->driver->backend;
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
