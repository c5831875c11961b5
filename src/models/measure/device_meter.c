/* The thread fills `next` without the lock and copies it to `sample` with the lock, so readers
 * never wait for /proc or the GPU's driver. */
#include "models/measure/device_meter.h"

#include "base/memory.h"
#include "base/threads/condition.h"
#include "base/threads/thread.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- GPUs --- */

/* Loads NVML with dlopen and looks up its functions by name. Functions that only some versions have
 * are optional; without them their metrics are not valid. */

/* --- NVML's types, from its reference manual --- */

typedef struct nvml_card *nvml_device;
struct nvml_memory {
    unsigned long long total, free, used; /* bytes */
};
struct nvml_utilisation {
    unsigned gpu, memory; /* percent */
};
struct nvml_pci {
    char old_text[16];
    unsigned domain, bus, device, identifier, subsystem;
    char text[32];
};
struct nvml_process {
    unsigned pid;
    unsigned long long memory; /* bytes; all ones: not known */
    unsigned gpu_instance, compute_instance;
};
enum { NVML_SUCCESS = 0, NVML_CORE_TEMPERATURE = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2 };

struct gpu_meter {
    void *library;
    bool begun;
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *count);
    int (*handle)(unsigned index, nvml_device *device);
    /* these may be NULL */
    const char *(*error_text)(int code);
    int (*name)(nvml_device device, char *name, unsigned length);
    int (*pci)(nvml_device device, struct nvml_pci *pci);
    int (*memory)(nvml_device device, struct nvml_memory *memory);
    int (*utilisation)(nvml_device device, struct nvml_utilisation *utilisation);
    int (*temperature)(nvml_device device, int sensor, unsigned *degrees);
    int (*power)(nvml_device device, unsigned *milliwatts);
    int (*clock)(nvml_device device, int kind, unsigned *megahertz);
    int (*energy)(nvml_device device, unsigned long long *millijoules);
    int (*processes)(nvml_device device, unsigned *count, struct nvml_process *processes);
};

const char *gpu_metric_name(enum gpu_metric metric)
{
    static const char *const names[GPU_METRICS] = {
        "memory_used_bytes", "memory_total_bytes", "utilisation_percent", "temperature_celsius",
        "power_watts",       "clock_mhz",          "memory_clock_mhz",    "energy_joules"};
    return names[metric];
}

/* --- the library --- */

/* Looks up a function and stores its address in *function. POSIX permits this conversion from
 * dlsym's void pointer to a function pointer. */
static bool find(struct gpu_meter *meter, const char *symbol, void *function)
{
    *(void **)function = dlsym(meter->library, symbol);
    return *(void **)function;
}

static bool find_all(struct gpu_meter *meter, const char *library, struct error *error)
{
    const struct {
        const char *symbol;
        void *function;
    } needed[] = {{"nvmlInit_v2", &meter->init},
                  {"nvmlShutdown", &meter->shutdown},
                  {"nvmlDeviceGetCount_v2", &meter->count},
                  {"nvmlDeviceGetHandleByIndex_v2", &meter->handle}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!find(meter, needed[i].symbol, needed[i].function))
            return error_set(error, ERROR_UNSUPPORTED, library, "install a newer driver",
                             "it has no %s", needed[i].symbol);
    find(meter, "nvmlErrorString", &meter->error_text);
    find(meter, "nvmlDeviceGetName", &meter->name);
    find(meter, "nvmlDeviceGetPciInfo_v3", &meter->pci);
    find(meter, "nvmlDeviceGetMemoryInfo", &meter->memory);
    find(meter, "nvmlDeviceGetUtilizationRates", &meter->utilisation);
    find(meter, "nvmlDeviceGetTemperature", &meter->temperature);
    find(meter, "nvmlDeviceGetPowerUsage", &meter->power);
    find(meter, "nvmlDeviceGetClockInfo", &meter->clock);
    find(meter, "nvmlDeviceGetTotalEnergyConsumption", &meter->energy);
    find(meter, "nvmlDeviceGetComputeRunningProcesses_v3", &meter->processes);
    return true;
}

static bool refuse(const struct gpu_meter *meter, const char *what, int code, struct error *error)
{
    return error_set(error, ERROR_UNSUPPORTED, what,
                     "check that the driver is loaded and matches its library",
                     "NVIDIA's driver refuses: %s (code %d)",
                     meter->error_text ? meter->error_text(code) : "it does not say why", code);
}

static bool begin(struct gpu_meter *meter, const char *library, struct error *error)
{
    int code = meter->init();
    meter->begun = code == NVML_SUCCESS;
    return meter->begun || refuse(meter, library, code, error);
}

struct gpu_meter *gpu_meter_open(const char *library, struct error *error)
{
    const char *name = library ? library : "libnvidia-ml.so.1";
    struct gpu_meter *meter = memory_new(1, sizeof *meter, "the meter of the GPUs", error);
    if (!meter)
        return NULL;
    meter->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    bool opened = meter->library;
    if (!opened)
        error_set(error, ERROR_UNSUPPORTED, name,
                  "if this machine has an NVIDIA GPU, install its driver",
                  "there is no NVIDIA driver here: its library cannot be opened");
    if (opened && find_all(meter, name, error) && begin(meter, name, error))
        return meter;
    gpu_meter_close(meter);
    return NULL;
}

void gpu_meter_close(struct gpu_meter *meter)
{
    if (!meter)
        return;
    if (meter->begun)
        meter->shutdown();
    if (meter->library)
        dlclose(meter->library);
    free(meter);
}

/* --- one GPU --- */

static void put(struct gpu_reading *reading, enum gpu_metric metric, double value)
{
    reading->values[metric] = value;
    reading->valid |= 1u << metric;
}

static void read_memory(const struct gpu_meter *meter, nvml_device device,
                        struct gpu_reading *reading)
{
    struct nvml_memory memory;
    if (!meter->memory || meter->memory(device, &memory) != NVML_SUCCESS)
        return;
    put(reading, GPU_MEMORY_USED, (double)memory.used);
    put(reading, GPU_MEMORY_TOTAL, (double)memory.total);
}

static struct pci_address read_pci(const struct gpu_meter *meter, nvml_device device)
{
    struct nvml_pci pci;
    if (!meter->pci || meter->pci(device, &pci) != NVML_SUCCESS)
        return (struct pci_address){0};
    return (struct pci_address){true, pci.domain, pci.bus, pci.device};
}

static void read_gpu(const struct gpu_meter *meter, nvml_device device, struct gpu_reading *reading)
{
    struct nvml_utilisation utilisation;
    unsigned value;
    unsigned long long millijoules;
    *reading = (struct gpu_reading){0};
    if (!meter->name || meter->name(device, reading->name, sizeof reading->name) != NVML_SUCCESS)
        reading->name[0] = '\0';
    reading->name[sizeof reading->name - 1] = '\0';
    reading->pci = read_pci(meter, device);
    read_memory(meter, device, reading);
    if (meter->utilisation && meter->utilisation(device, &utilisation) == NVML_SUCCESS)
        put(reading, GPU_UTILISATION, utilisation.gpu);
    if (meter->temperature &&
        meter->temperature(device, NVML_CORE_TEMPERATURE, &value) == NVML_SUCCESS)
        put(reading, GPU_TEMPERATURE, value);
    if (meter->power && meter->power(device, &value) == NVML_SUCCESS)
        put(reading, GPU_POWER, value / 1000.0);
    if (meter->clock && meter->clock(device, NVML_CLOCK_SM, &value) == NVML_SUCCESS)
        put(reading, GPU_CLOCK, value);
    if (meter->clock && meter->clock(device, NVML_CLOCK_MEMORY, &value) == NVML_SUCCESS)
        put(reading, GPU_CLOCK_MEMORY, value);
    if (meter->energy && meter->energy(device, &millijoules) == NVML_SUCCESS)
        put(reading, GPU_ENERGY, (double)millijoules / 1000.0);
}

bool gpu_meter_read(struct gpu_meter *meter, struct gpu_reading *readings, size_t *read,
                    struct error *error)
{
    unsigned count = 0;
    int code = meter->count(&count);
    *read = 0;
    if (code != NVML_SUCCESS)
        return refuse(meter, "nvmlDeviceGetCount", code, error);
    for (unsigned i = 0; i < count && *read < GPU_MAX; i++) {
        nvml_device device;
        if (meter->handle(i, &device) == NVML_SUCCESS)
            read_gpu(meter, device, &readings[(*read)++]);
    }
    return true;
}

/* --- one process --- */

enum { PROCESSES_MOST = 256 };

static uint64_t memory_on(const struct gpu_meter *meter, nvml_device device, long process)
{
    struct nvml_process processes[PROCESSES_MOST];
    unsigned count = PROCESSES_MOST;
    uint64_t bytes = 0;
    if (meter->processes(device, &count, processes) != NVML_SUCCESS)
        return 0;
    for (unsigned i = 0; i < count && i < PROCESSES_MOST; i++)
        if ((long)processes[i].pid == process && processes[i].memory != ~0ull)
            bytes += processes[i].memory;
    return bytes;
}

uint64_t gpu_meter_process_memory(struct gpu_meter *meter, long process)
{
    unsigned count = 0;
    uint64_t bytes = 0;
    if (!meter->processes || meter->count(&count) != NVML_SUCCESS)
        return 0;
    for (unsigned i = 0; i < count && i < GPU_MAX; i++) {
        nvml_device device;
        if (meter->handle(i, &device) == NVML_SUCCESS)
            bytes += memory_on(meter, device, process);
    }
    return bytes;
}

struct device_meter {
    pthread_t thread;
    pthread_mutex_t lock; /* guards the next four members; never held during a measurement */
    pthread_cond_t changed;
    bool ending, enabled, sampled;
    struct device_sample sample;

    /* used by the thread alone */
    struct host_sampler sampler;
    struct gpu_meter *gpus;
    struct device_sample next;
};

static void read_gpus(struct device_meter *meter)
{
    struct error error;
    struct device_sample *next = &meter->next;
    next->why_no_gpu[0] = '\0';
    if (!gpu_meter_read(meter->gpus, next->gpus, &next->gpu_count, &error))
        error_format(&error, next->why_no_gpu, sizeof next->why_no_gpu);
}

/* Takes a sample and publishes it. Before the GPUs are open, it has the processor's load only. */
static void take_sample(struct device_meter *meter)
{
    host_sample(&meter->sampler, &meter->next.load);
    if (meter->gpus)
        read_gpus(meter);
    pthread_mutex_lock(&meter->lock);
    meter->sample = meter->next;
    meter->sampled = true;
    pthread_mutex_unlock(&meter->lock);
}

static void open_gpus(struct device_meter *meter)
{
    struct error error;
    meter->gpus = gpu_meter_open(NULL, &error);
    meter->next.gpus_known = true;
    if (!meter->gpus)
        error_format(&error, meter->next.why_no_gpu, sizeof meter->next.why_no_gpu);
}

/* Waits until the next sample is due and sampling is enabled. Returns false if the meter ends. */
static bool rest(struct device_meter *meter)
{
    struct timespec due;
    condition_now(&due);
    due.tv_sec += DEVICE_METER_MILLISECONDS / 1000;
    pthread_mutex_lock(&meter->lock);
    int code = 0;
    while (!meter->ending && (code == 0 || !meter->enabled))
        code = meter->enabled ? pthread_cond_timedwait(&meter->changed, &meter->lock, &due)
                              : pthread_cond_wait(&meter->changed, &meter->lock);
    bool ending = meter->ending;
    pthread_mutex_unlock(&meter->lock);
    return !ending;
}

static void *work(void *context)
{
    struct device_meter *meter = context;
    take_sample(meter);
    open_gpus(meter);
    do
        take_sample(meter);
    while (rest(meter));
    gpu_meter_close(meter->gpus);
    return NULL;
}

static void free_meter(struct device_meter *meter)
{
    pthread_cond_destroy(&meter->changed);
    pthread_mutex_destroy(&meter->lock);
    free(meter);
}

struct device_meter *device_meter_start(struct error *error)
{
    struct device_meter *meter = memory_new(1, sizeof *meter, "the meter of the devices", error);
    if (!meter)
        return NULL;
    meter->enabled = true;
    pthread_mutex_init(&meter->lock, NULL);
    condition_create(&meter->changed);
    int code = thread_start(&meter->thread, work, meter);
    if (code == 0)
        return meter;
    free_meter(meter);
    error_set(error, ERROR_SYSTEM, "the meter of the devices", "end other programs",
              "no thread can be made: %s", strerror(code));
    return NULL;
}

void device_meter_enable(struct device_meter *meter, bool enabled)
{
    pthread_mutex_lock(&meter->lock);
    if (meter->enabled != enabled) {
        meter->enabled = enabled;
        pthread_cond_signal(&meter->changed);
    }
    pthread_mutex_unlock(&meter->lock);
}

bool device_meter_read(struct device_meter *meter, struct device_sample *sample)
{
    pthread_mutex_lock(&meter->lock);
    bool sampled = meter->sampled;
    if (sampled)
        *sample = meter->sample;
    pthread_mutex_unlock(&meter->lock);
    return sampled;
}

void device_meter_stop(struct device_meter *meter)
{
    if (!meter)
        return;
    pthread_mutex_lock(&meter->lock);
    meter->ending = true;
    pthread_cond_signal(&meter->changed);
    pthread_mutex_unlock(&meter->lock);
    pthread_join(meter->thread, NULL);
    free_meter(meter);
}
