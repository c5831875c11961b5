/* Lists and parses names of devices, and opens devices. device_kernels.c chooses their kernels. */
#include "engine/devices/device.h"

#include "base/clock.h"
#include "base/host/host.h"
#include "base/json/json.h"
#include "base/language.h"
#include "base/memory.h"
#include "engine/devices/device_backend.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct device_driver *const device_drivers[] = {&device_reference, &device_cpu, &device_cuda,
                                                      NULL};

/* --- names --- */

/* A parsed device name, such as cuda:0,1. */
struct parsed_name {
    const struct device_driver *driver; /* NULL: no driver has this name */
    size_t numbers[DEVICE_MAX_RANKS], count;
};

/* Parses a list of numbers such as "0,1". */
static bool read_numbers(const char *list, struct parsed_name *named)
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

/* Parses `name` as a name of this driver, with numbers (cuda:0,1) if it can have several devices.
 * Returns whether it is one. */
static bool names_driver(const char *name, const struct device_driver *driver,
                         struct parsed_name *named)
{
    const size_t length = strlen(driver->name);
    *named = (struct parsed_name){.driver = driver};
    if (strncmp(name, driver->name, length) != 0)
        return false;
    const char *rest = name + length;
    if (*rest == ':' && driver->count)
        return read_numbers(rest + 1, named);
    named->count = 1; /* number 0 */
    return *rest == '\0';
}

static struct parsed_name parse_name(const char *name)
{
    struct parsed_name named;
    for (const struct device_driver *const *driver = device_drivers; *driver; driver++)
        if (names_driver(name, *driver, &named))
            return named;
    return (struct parsed_name){.count = 1};
}

size_t device_ranks(const char *name)
{
    return parse_name(name).count;
}

static bool refuse_number(const char *name, size_t count, struct error *error)
{
    return error_set(error, ERROR_UNSUPPORTED, name, "tinca devices lists them",
                     ngettext("there is only %zu such device here",
                              "there are only %zu such devices here", count),
                     count);
}

static bool check_numbers(const char *name, const struct parsed_name *named, struct error *error)
{
    const size_t available = named->driver->count ? named->driver->count() : 1;
    for (size_t i = 0; i < named->count; i++) {
        for (size_t k = 0; k < i; k++)
            if (named->numbers[k] == named->numbers[i])
                return error_set(error, ERROR_USAGE, name, "name each GPU once, as in cuda:0,1",
                                 "it names the GPU %zu twice", named->numbers[i]);
        if (named->numbers[i] >= available)
            return refuse_number(name, available, error);
    }
    return true;
}

/* Parses a name and checks that its devices exist; `driver` is NULL, with an error, if not. */
static struct parsed_name find(const char *name, struct error *error)
{
    char reason[256] = "";
    struct parsed_name named = parse_name(name);
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
    const struct parsed_name named = find(name, error);
    if (named.driver && number)
        *number = named.numbers[0];
    return named.driver;
}

uint64_t device_memory_free(const char *name)
{
    const struct parsed_name named = find(name, NULL);
    uint64_t least = 0;
    for (size_t i = 0; named.driver && named.driver->memory_free && i < named.count; i++) {
        const uint64_t bytes = named.driver->memory_free(named.numbers[i]);
        if (bytes > 0 && (least == 0 || bytes < least))
            least = bytes;
    }
    return least;
}

/* Returns the instruction set that multiplies in a precision. */
static const char *host_computes_with(const struct device_driver *driver,
                                      enum device_precision precision)
{
    const bool bf16 = driver == &device_cpu && precision == PRECISION_BF16;
    const bool int8 = driver == &device_cpu && precision == PRECISION_INT8;
    if ((bf16 && host_has_amx()) || (int8 && host_has_amx_int8()))
        return "amx";
    if (int8 && host_vnni() != VNNI_NONE)
        return host_vnni() == VNNI_AVX512 ? "avx512-vnni" : "avx-vnni";
    return instruction_set_name(host_instruction_set());
}

char *device_computes_with(const char *name, enum device_precision precision, char *text,
                           size_t size)
{
    struct device_facts facts;
    char cudnn[40] = "";
    const struct parsed_name named = find(name, NULL);
    const bool last = named.driver && named.driver->prefers_channels_last &&
                      named.driver->prefers_channels_last(precision);
    const char *layout = last ? ", NHWC" : "";
    if (!named.driver || !named.driver->describe ||
        !named.driver->describe(named.numbers[0], &facts))
        snprintf(text, size, "%s", host_computes_with(named.driver, precision));
    else {
        if (facts.cudnn[0])
            snprintf(cudnn, sizeof cudnn, ", cuDNN %s", facts.cudnn);
        if (named.count == 1)
            snprintf(text, size, "%s%s%s", facts.name, cudnn, layout);
        else
            snprintf(text, size, "%zu x %s%s%s", named.count, facts.name, cudnn, layout);
    }
    return text;
}

/* --- opening --- */

size_t device_threads(size_t threads)
{
    struct host host;
    if (threads)
        return threads;
    host_describe(&host);
    return host.cores;
}

static struct device *open_one(const struct device_driver *driver, const char *name, size_t number,
                               size_t threads, struct error *error)
{
    struct device *device = memory_new(1, sizeof *device, "the device", error);
    if (!device)
        return NULL;
    *device =
        (struct device){.driver = driver, .number = number, .threads = device_threads(threads)};
    snprintf(device->name, sizeof device->name, "%s", name);
    if (driver->open(device, error))
        return device;
    free(device);
    return NULL;
}

/* Opens the GPUs after the first one. Until all are open, device->name names the first one only, so
 * that an error names the right GPU. */
static bool open_others(struct device *device, const struct parsed_name *named, struct error *error)
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
    const struct parsed_name named = find(name, error);
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

bool device_measure_machine(struct device *device, struct error *error)
{
    struct machine_model model = {.measured = true};
    if (!device->driver->measure_machine)
        return error_set(error, ERROR_UNSUPPORTED, device->name, "use the device cpu",
                         "its plans do not depend on measured times");
    if (!device->driver->measure_machine(device, &model, error))
        return false;
    if (!machine_model_is_plausible(&model))
        return error_set(error, ERROR_SYSTEM, device->name, "measure once more",
                         "the measured times are not plausible");
    for (size_t i = 0; i < MACHINE_FIGURES; i++) /* a file then keeps them exactly */
        model.seconds[i] = json_float((float)model.seconds[i]);
    device->machine = model;
    return true;
}

void device_use_autotune(struct device *device, const struct device_autotune *autotune)
{
    if (!device->driver->use_autotune)
        return;
    device->autotune = *autotune;
    device->driver->use_autotune(device);
    for (size_t i = 0; i < device->other_count; i++)
        device_use_autotune(device->others[i], autotune);
}

/* --- precision --- */

const char *const device_precision_names[PRECISIONS + 1] = {"float32", "tf32", "bf16", "fp16",
                                                            "int8"};

/* Sets the error for a precision that a device which computes on the host does not have, and
 * returns false. */
static bool refuse_precision(const struct device_driver *driver, enum device_precision precision,
                             const char *reason, struct error *error)
{
    const char *name = device_precision_names[precision];
    if (precision == PRECISION_INT8)
        return error_set(error, ERROR_UNSUPPORTED, name, "choose the device cpu or reference",
                         "the device %s has no kernels for it", driver->name);
    if (precision != PRECISION_BF16)
        return error_set(error, ERROR_UNSUPPORTED, name,
                         "choose the precision float32 or bf16, or the device cuda",
                         "the device %s does not compute in it", driver->name);
    return error_set(error, ERROR_UNSUPPORTED, name,
                     "choose the precision float32, or the device reference, which rounds to bf16 "
                     "in plain C",
                     "the device %s cannot compute in it here: %s", driver->name,
                     language_text(reason));
}

bool device_check_precision(const struct device_driver *driver, enum device_precision precision,
                            struct error *error)
{
    const char *reason = "";
    if (precision == PRECISION_INT8)
        return driver->quantize || refuse_precision(driver, precision, reason, error);
    if (precision == PRECISION_FLOAT32 || driver->set_precision)
        return true;
    if (precision == PRECISION_BF16 && driver->plans_bf16 && driver->plans_bf16(&reason))
        return true;
    return refuse_precision(driver, precision, reason, error);
}

bool device_set_precision(struct device *device, enum device_precision precision,
                          struct error *error)
{
    if (precision == PRECISION_INT8 && !device_check_precision(device->driver, precision, error))
        return false;
    device->precision = precision;
    for (size_t i = 0; i < device->other_count; i++)
        if (!device_set_precision(device->others[i], precision, error))
            return false;
    return device->driver->set_precision ? device->driver->set_precision(device, precision, error)
                                         : device_check_precision(device->driver, precision, error);
}

/* --- device memory --- */

bool device_check(struct device *device, struct error *error)
{
    const struct device_backend *backend = device->driver->backend;
    for (size_t i = 0; i < device->other_count; i++)
        if (!device_check(device->others[i], error))
            return false;
    return !backend || backend->check(device, error);
}

uint64_t device_memory_used(struct device *device)
{
    const struct device_backend *backend = device->driver->backend;
    uint64_t most = backend ? backend->memory_used(device) : 0;
    for (size_t i = 0; i < device->other_count; i++) {
        const uint64_t bytes = device_memory_used(device->others[i]);
        most = bytes > most ? bytes : most;
    }
    return most;
}

bool device_refused_call(struct device *device, size_t i, struct device_refusal *refusal)
{
    const struct device_backend *backend = device->driver->backend;
    return backend && backend->refused_call(device, i, refusal);
}

bool device_provides_batches(const struct device *device)
{
    return device->driver->backend;
}

void *device_allocate_batch(void *owner, size_t bytes, const char *what, struct error *error)
{
    struct device *device = owner;
    return device->driver->backend->allocate_pinned(device, bytes, what, error);
}

void device_release_batch(void *owner, void *memory)
{
    struct device *device = owner;
    device->driver->backend->release_pinned(device, memory);
}

void device_await_batches(void *owner)
{
    struct device *device = owner;
    for (size_t i = 0; i < device->other_count; i++)
        device_await_batches(device->others[i]);
    device->driver->backend->await_batches(device);
}

void device_clear(struct device *device, void *memory, size_t bytes)
{
    const struct device_backend *backend = device->driver->backend;
    if (backend)
        backend->clear(device, memory, bytes);
    else
        memset(memory, 0, bytes);
}

void device_copy_rows(struct device *device, void *to, size_t to_pitch, const void *from,
                      size_t from_pitch, size_t width, size_t rows)
{
    const struct device_backend *backend = device->driver->backend;
    if (backend)
        backend->copy_rows(device, to, to_pitch, from, from_pitch, width, rows);
    for (size_t row = 0; !backend && row < rows; row++)
        memcpy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
}

void device_copy_in(struct device *device, void *to, const void *from, size_t bytes)
{
    const struct device_backend *backend = device->driver->backend;
    if (backend)
        backend->copy_in(device, to, from, bytes);
    else
        memcpy(to, from, bytes);
}

/* --- timer --- */

/* Returns an odd stamp: matrix products are only measured after even ones. */
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
