/* A stand-in for NVIDIA's management library with two GPUs, of which the second reports little.
 * Compiled four times: complete; with FAKE_WITHOUT_COUNT a function is missing; with FAKE_REFUSES
 * the driver does not start; with FAKE_LOST it starts but cannot count its GPUs. The first GPU has
 * the process that the file FAKE_NVML_PROCESS (environment) names: its number and its bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, DRIVER_NOT_LOADED = 9, GPU_IS_LOST = 15 };

struct memory {
    unsigned long long total, free, used;
};
struct pci {
    char old_text[16];
    unsigned domain, bus, device, identifier, subsystem;
    char text[32];
};
struct utilisation {
    unsigned gpu, memory;
};

static int cards[2];

static int tells(const void *device)
{
    return device == &cards[0] ? SUCCESS : NOT_SUPPORTED;
}

int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
#ifdef FAKE_REFUSES
    return DRIVER_NOT_LOADED;
#else
    return SUCCESS;
#endif
}

int nvmlShutdown(void);
int nvmlShutdown(void)
{
    return SUCCESS;
}

const char *nvmlErrorString(int code);
const char *nvmlErrorString(int code)
{
    if (code == GPU_IS_LOST)
        return "GPU is lost";
    return code == DRIVER_NOT_LOADED ? "Driver Not Loaded" : "Unknown Error";
}

#ifndef FAKE_WITHOUT_COUNT
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 2;
#ifdef FAKE_LOST
    return GPU_IS_LOST;
#else
    return SUCCESS;
#endif
}
#endif

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = &cards[index];
    return SUCCESS;
}

int nvmlDeviceGetName(void *device, char *name, unsigned length);
int nvmlDeviceGetName(void *device, char *name, unsigned length)
{
    strncpy(name, device == &cards[0] ? "Fake Accelerator" : "Fake Card", length);
    return SUCCESS;
}

/* CUDA orders the cards by their buses, and NVML does not. */
int nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci);
int nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci)
{
    *pci = (struct pci){.bus = device == &cards[0] ? 2 : 1};
    return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory);
int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory)
{
    *memory = (struct memory){16ull << 30, 12ull << 30, 4ull << 30};
    return tells(device);
}

int nvmlDeviceGetUtilizationRates(void *device, struct utilisation *utilisation);
int nvmlDeviceGetUtilizationRates(void *device, struct utilisation *utilisation)
{
    *utilisation = (struct utilisation){0, 7}; /* an idle GPU has a value: 0 */
    return tells(device);
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *degrees);
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *degrees)
{
    (void)device;
    *degrees = sensor == 0 ? 41 : 0;
    return SUCCESS;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts);
int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    *milliwatts = 71500;
    return tells(device);
}
/* nvmlDeviceGetClockInfo is missing: an older library */

/* The energy grows by 1.5 J with every reading. */
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules)
{
    static unsigned long long used = 1000000;
    used += 1500;
    *millijoules = used;
    return tells(device);
}

struct process {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
};

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count,
                                            struct process *processes);
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count,
                                            struct process *processes)
{
    const char *path = getenv("FAKE_NVML_PROCESS");
    FILE *file = path ? fopen(path, "r") : NULL;
    processes[0] = (struct process){0};
    *count = file && fscanf(file, "%u %llu", &processes[0].pid, &processes[0].memory) == 2;
    if (file)
        fclose(file);
    return tells(device);
}
