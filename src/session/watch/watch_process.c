/* Reads /proc. Where there is none (other systems than Linux), only a signal 0 tells whether the
 * process runs, and its memory stays unknown. */
#include "session/watch/internal.h"

#include "base/host/spawn.h"
#include "session/measure/device_meter.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static uint64_t read_resident(long pid)
{
    char path[64];
    unsigned long long pages = 0;
    snprintf(path, sizeof path, "/proc/%ld/statm", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    if (fscanf(file, "%*u %llu", &pages) != 1)
        pages = 0;
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool runs(const struct watch_process *process)
{
    struct process_stat own, stat;
    if (!process_stat_read((long)getpid(), &own))
        return kill((pid_t)process->pid, 0) == 0 || errno == EPERM;
    return process_stat_read(process->pid, &stat) && stat.state != 'Z' && stat.state != 'X' &&
           stat.started == process->started;
}

bool watch_process_open(struct watch_process *process, long pid, struct error *error)
{
    *process = (struct watch_process){.pid = pid};
    if (pid == 0)
        return true;
    struct process_stat stat = {0};
    process_stat_read(pid, &stat);
    process->started = stat.started;
    if (!runs(process))
        return error_set(error, ERROR_USAGE, "--pid",
                         "give the number of the process that trains, as ps prints it",
                         "there is no process %ld", pid);
    process->meter = gpu_meter_open(NULL, NULL);
    watch_process_measure(process);
    return true;
}

void watch_process_close(struct watch_process *process)
{
    gpu_meter_close(process->meter);
    *process = (struct watch_process){0};
}

bool watch_process_measure(struct watch_process *process)
{
    if (!runs(process))
        return false;
    struct import_memory *memory = &process->memory, *most = &process->most;
    memory->resident = read_resident(process->pid);
    memory->on_gpus = process->meter ? gpu_meter_process_memory(process->meter, process->pid) : 0;
    most->resident = memory->resident > most->resident ? memory->resident : most->resident;
    most->on_gpus = memory->on_gpus > most->on_gpus ? memory->on_gpus : most->on_gpus;
    return true;
}
