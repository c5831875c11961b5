/* The device `cuda`: finds and loads the module, and turns its reports into messages.
 *
 * The module is searched in the folder of the program, where the build puts it, and then where it
 * is installed. It is loaded at most once, when a CUDA device is first opened or listed, and never
 * without a driver, because its libraries are large. */
#include "config.h"

#include "engine/devices/cuda/cuda.h"

#include "base/language.h"
#include "base/program_file.h"
#include "base/text.h"
#include "engine/devices/device.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the module --- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct {
    const struct cuda_module *module; /* NULL: it could not be loaded; `reason` says why */
    size_t ranks;
    char reason[256];
    struct device_backend backend; /* the module's backend, with errors as messages */
} cuda;

/* Writes a reason in English and returns NULL. The function that shows it translates it. */
__attribute__((format(printf, 3, 4))) static const void *set_reason(char *reason, size_t size,
                                                                    const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, size, format, arguments);
    va_end(arguments);
    return NULL;
}

static const struct cuda_module *check_module(const struct cuda_module *module, const char *path,
                                              char *reason, size_t size)
{
    if (!module)
        return set_reason(reason, size,
                          "%s has no table of functions: build and install tinca again", path);
    if (module->abi != CUDA_MODULE_ABI)
        return set_reason(
            reason, size,
            "%s was built for another version of tinca (its interface is number %u, this "
            "one needs %u)",
            path, (unsigned)module->abi, (unsigned)CUDA_MODULE_ABI);
    if (module->bytes != sizeof *module)
        return set_reason(reason, size, "%s was built from other sources than this tinca", path);
    if (strcmp(module->version, PACKAGE_VERSION) != 0)
        return set_reason(reason, size, "%s was built for tinca %s, but this is %s", path,
                          module->version, PACKAGE_VERSION);
    return module;
}

const struct cuda_module *cuda_load_module(const char *path, char *reason, size_t size)
{
    if (access(path, F_OK) != 0)
        return set_reason(reason, size, "there is no %s; was it installed?", path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return set_reason(reason, size, "the CUDA module cannot be loaded: %s", dlerror());
    cuda_module_function *function;
    void *symbol = dlsym(library, CUDA_MODULE_FUNCTION);
    memcpy(&function, &symbol,
           sizeof function); /* ISO C cannot convert an object pointer to a function */
    const struct cuda_module *module =
        symbol ? check_module(function(), path, reason, size)
               : set_reason(reason, size, "%s is not a CUDA module of tinca", path);
    if (!module)
        dlclose(library);
    return module;
}

/* Returns whether the NVIDIA driver is installed; without it the module is not loaded. */
static bool has_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (driver)
        dlclose(driver);
    return driver;
}

static const struct cuda_module *find_module(void)
{
    char path[4096];
    if (!CUDA_TOOLKIT_VERSION[0])
        return set_reason(cuda.reason, sizeof cuda.reason, N_("this build has no CUDA device (%s)"),
                          CUDA_MISSING);
    if (!program_file_beside(CUDA_MODULE_FILE, path, sizeof path))
        snprintf(path, sizeof path, "%s/%s", PKGLIBDIR, CUDA_MODULE_FILE);
    if (access(path, F_OK) != 0)
        return set_reason(cuda.reason, sizeof cuda.reason, "there is no %s; was it installed?",
                          path);
    if (!has_driver())
        return set_reason(cuda.reason, sizeof cuda.reason,
                          N_("there is no NVIDIA driver on this machine (libcuda.so.1)"));
    return cuda_load_module(path, cuda.reason, sizeof cuda.reason);
}

static unsigned major_of(unsigned version)
{
    return version / 1000;
}

static unsigned minor_of(unsigned version)
{
    return version % 1000 / 10;
}

static void set_absence_reason(const struct cuda_report *report)
{
    switch (report->failure_kind) {
    case CUDA_NO_DRIVER:
        set_reason(cuda.reason, sizeof cuda.reason,
                   N_("there is no NVIDIA driver on this machine"));
        break;
    case CUDA_OLD_DRIVER:
        set_reason(cuda.reason, sizeof cuda.reason,
                   "the NVIDIA driver is too old: it has CUDA %u.%u, and %u.%u is needed",
                   major_of(report->driver_version), minor_of(report->driver_version),
                   major_of(report->needed_version), minor_of(report->needed_version));
        break;
    case CUDA_NO_GPU:
        set_reason(cuda.reason, sizeof cuda.reason,
                   N_("there is an NVIDIA driver, but no GPU that it lets this process see"));
        break;
    default:
        set_reason(cuda.reason, sizeof cuda.reason, "the NVIDIA driver said: %s", report->text);
    }
}

/* --- messages --- */

/* Writes the name of one GPU, which differs from the device's name if that lists several. */
static const char *name_of(const struct device *device, char *text, size_t size)
{
    if (device->other_count == 0)
        return device->name;
    snprintf(text, size, "%s:%zu", device->driver->name, device->number);
    return text;
}

static bool set_nccl_error(const struct device *device, const struct cuda_report *report,
                           struct error *error)
{
    if (report->text[0])
        return error_set(error, ERROR_UNSUPPORTED, device->name,
                         "install it (Debian: libnccl2), or choose one GPU, as in cuda:0",
                         "several GPUs need NVIDIA's library NCCL (%s)", report->text);
    return error_set(
        error, ERROR_UNSUPPORTED, device->name,
        "install it (Debian: libnccl-dev) and build tinca again, or choose one GPU, as "
        "in cuda:0",
        "several GPUs need NVIDIA's library NCCL, and this build was made without "
        "(there was no nccl.h)");
}

static bool set_report_error(struct device *device, const char *what, size_t bytes,
                             const struct cuda_report *report, struct error *error)
{
    char size[32], text[32];
    const char *name = name_of(device, text, sizeof text);
    switch (report->failure_kind) {
    case CUDA_NO_MEMORY:
        if (bytes == 0)
            return error_set(error, ERROR_MEMORY, what,
                             "choose a smaller batch, or end what else uses the GPU",
                             "%s has no memory left (%s)", name, report->text);
        return error_set(error, ERROR_MEMORY, what,
                         "choose a smaller batch, or end what else uses the GPU",
                         "%s has no %s of memory left", name, text_bytes(bytes, size, sizeof size));
    case CUDA_LOST:
        return error_set(error, ERROR_SYSTEM, name,
                         "look at the system's log; tinca resume goes on from the last checkpoint",
                         "the GPU was lost (%s)", report->text);
    case CUDA_NO_CODE:
        return error_set(error, ERROR_UNSUPPORTED, name,
                         "configure --with-cuda-arch=sm_NN for it, and build again",
                         "the CUDA module has code for the architectures %s, but none for this "
                         "GPU",
                         cuda.module->architectures);
    case CUDA_OLD_CODE:
        return error_set(error, ERROR_UNSUPPORTED, name,
                         "choose --precision float32, or configure --with-cuda-arch=sm_NN for this "
                         "GPU, from sm_80 on, and build again",
                         "the CUDA module's code for this GPU (%s) does not have this precision",
                         report->text);
    case CUDA_NO_NCCL:
        return set_nccl_error(device, report, error);
    case CUDA_NOT_JOINED:
        return error_set(error, ERROR_SYSTEM, device->name,
                         "NCCL_DEBUG=WARN makes it say more; or choose one GPU, as in cuda:0",
                         "the GPUs could not be joined (%s)", report->text);
    default:
        return error_set(error, ERROR_SYSTEM, name,
                         "tinca resume goes on from the last checkpoint; if it happens again, "
                         "report it, and use the device cpu",
                         "the GPU failed (%s)", report->text);
    }
}

static bool cuda_check(struct device *device, struct error *error)
{
    struct cuda_report report;
    if (cuda.module->check(device->state, &report))
        return true;
    char name[32];
    return set_report_error(device, name_of(device, name, sizeof name), 0, &report, error);
}

static void *cuda_allocate(struct device *device, size_t bytes, const char *what,
                           struct error *error)
{
    struct cuda_report report;
    void *memory = cuda.module->allocate(device->state, bytes, &report);
    if (!memory)
        set_report_error(device, what, bytes, &report, error);
    return memory;
}

static void cuda_release(struct device *device, void *memory)
{
    cuda.module->release(device->state, memory);
}

static void *cuda_allocate_pinned(struct device *device, size_t bytes, const char *what,
                                  struct error *error)
{
    struct cuda_report report;
    void *pinned = cuda.module->allocate_pinned(device->state, bytes, &report);
    if (!pinned && report.failure_kind == CUDA_NO_MEMORY)
        error_set_memory(error, what, bytes); /* pinned memory is host memory */
    else if (!pinned)
        set_report_error(device, what, bytes, &report, error);
    return pinned;
}

static void cuda_release_pinned(struct device *device, void *pinned)
{
    cuda.module->release_pinned(device->state, pinned);
}

static struct device_staging *
cuda_staging_create(struct device *device, const struct staging_sizes *sizes, struct error *error)
{
    struct cuda_report report;
    struct device_staging *stage = cuda.module->staging_create(device->state, sizes, &report);
    if (!stage)
        set_report_error(device, "the staging buffers of batches", 2 * sizes->on_device, &report,
                         error);
    return stage;
}

static struct device_event *cuda_event_create(struct device *device, struct error *error)
{
    struct cuda_report report;
    struct device_event *event = cuda.module->event_create(device->state, &report);
    if (!event)
        set_report_error(device, "an event", 0, &report, error);
    return event;
}

static bool cuda_join_ranks(struct device *device, struct error *error)
{
    struct cuda_report report;
    void *states[DEVICE_MAX_RANKS] = {device->state};
    for (size_t i = 0; i < device->other_count; i++)
        states[i + 1] = device->others[i]->state;
    return cuda.module->join(states, device->other_count + 1, &report) ||
           set_report_error(device, device->name, 0, &report, error);
}

static bool cuda_make_id(struct device *device, unsigned char *id, struct error *error)
{
    struct cuda_report report;
    return cuda.module->make_group_id(id, &report) ||
           set_report_error(device, device->name, 0, &report, error);
}

static bool cuda_join_ranks_of_processes(struct device *device,
                                         const struct device_process_group *group,
                                         struct error *error)
{
    struct cuda_report report;
    return cuda.module->join_processes(device->state, group, &report) ||
           set_report_error(device, device->name, 0, &report, error);
}

static bool cuda_limits(struct device *device, struct device_limits *limits, struct error *error)
{
    struct cuda_report report;
    return cuda.module->limits(device->state, limits, &report) ||
           set_report_error(device, "the GPU's limits", 0, &report, error);
}

/* --- the driver's table --- */

static void use_module(const struct cuda_module *module)
{
    struct cuda_report report;
    cuda.module = module;
    cuda.backend = module->backend;
    cuda.backend.check = cuda_check;
    cuda.backend.allocate_pinned = cuda_allocate_pinned;
    cuda.backend.release_pinned = cuda_release_pinned;
    cuda.backend.staging_create = cuda_staging_create;
    cuda.backend.event_create = cuda_event_create;
    cuda.backend.join = cuda_join_ranks;
    cuda.backend.make_group_id = cuda_make_id;
    cuda.backend.join_processes = cuda_join_ranks_of_processes;
    cuda.ranks = module->count(&report);
    if (cuda.ranks == 0)
        set_absence_reason(&report);
}

static void initialise_module(void)
{
    const struct cuda_module *module = cuda.module ? cuda.module : find_module();
    if (module)
        use_module(module);
}

void cuda_use_module(const struct cuda_module *module)
{
    cuda.module = module;
}

static bool cuda_available(char *reason, size_t size)
{
    pthread_once(&once, initialise_module);
    snprintf(reason, size, "%s", cuda.reason);
    return cuda.ranks > 0;
}

static size_t cuda_count(void)
{
    pthread_once(&once, initialise_module);
    return cuda.ranks;
}

static bool cuda_describe(size_t number, struct device_facts *facts)
{
    return number < cuda_count() && cuda.module->describe(number, facts);
}

static uint64_t cuda_memory_free(size_t number)
{
    return number < cuda_count() ? cuda.module->memory_free(number) : 0;
}

static bool cuda_open(struct device *device, struct error *error)
{
    struct cuda_report report;
    device->state = cuda.module->open(device->number, &report);
    return device->state || set_report_error(device, device->name, 0, &report, error);
}

static void cuda_close(struct device *device)
{
    cuda.module->close(device->state);
}

static bool cuda_set_precision(struct device *device, enum device_precision precision,
                               struct error *error)
{
    struct cuda_report report;
    return cuda.module->set_precision(device->state, precision, &report) ||
           set_report_error(device, device->name, 0, &report, error);
}

/* Returns whether tensor cores are used, which need the fewest loads for channels-last values.
 * TINCA_CUDA_LAYOUT=nchw keeps the plain layout, for comparisons. */
static bool cuda_prefers_channels_last(enum device_precision precision)
{
    const char *wanted = getenv("TINCA_CUDA_LAYOUT");
    return precision != PRECISION_FLOAT32 && !(wanted && strcmp(wanted, "nchw") == 0);
}

static size_t cuda_list_kernels(const struct op *op, const struct kernel **list, size_t capacity)
{
    return cuda_count() ? cuda.module->kernels(op, list, capacity) : 0;
}

/* Sets the hardware for which measured times are valid: one model of GPU, its libraries, and the
 * kernels of this version. */
static void cuda_use_autotune(struct device *device)
{
    struct device_facts facts = {0};
    cuda_describe(device->number, &facts);
    snprintf(device->autotune.hardware, sizeof device->autotune.hardware,
             "%s, CUDA %s, cuDNN %s, tinca %s", facts.name, cuda.module->toolkit,
             facts.cudnn[0] ? facts.cudnn : "-", PACKAGE_VERSION);
    cuda.module->use_autotune(device->state, &device->autotune);
}

static void cuda_run_update(struct device *device, const struct solver_update *update)
{
    cuda.module->update(device, update);
}

const struct device_driver device_cuda = {
    .name = "cuda",
    .description = N_("NVIDIA GPUs"),
    .available = cuda_available,
    .open = cuda_open,
    .close = cuda_close,
    .kernels = cuda_list_kernels,
    .update = cuda_run_update,
    .limits = cuda_limits,
    .allocate = cuda_allocate,
    .release = cuda_release,
    .count = cuda_count,
    .describe = cuda_describe,
    .memory_free = cuda_memory_free,
    .backend = &cuda.backend,
    .set_precision = cuda_set_precision,
    .prefers_channels_last = cuda_prefers_channels_last,
    .use_autotune = cuda_use_autotune,
};
