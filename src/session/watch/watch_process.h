/* watch_process.h: the memory of another process, and whether it still runs. Internal to this
 * folder. */
#ifndef TINCA_SESSION_WATCH_WATCH_PROCESS_H
#define TINCA_SESSION_WATCH_WATCH_PROCESS_H

#include "base/error.h"
#include "session/import/import_run.h"

#include <stdbool.h>
#include <stdint.h>

struct gpu_meter;

struct watch_process {
    long pid;                   /* 0: none */
    unsigned long long started; /* by which a later process of the same number is recognised */
    struct import_memory memory, most; /* at present, and the most that it had */
    struct gpu_meter *meter;           /* NULL: there is no GPU of NVIDIA */
};

/* Finds the process. Returns false with an error if there is none. */
bool watch_process_open(struct watch_process *process, long pid, struct error *error);
void watch_process_close(struct watch_process *process);

/* Measures its memory. Returns whether it still runs. */
bool watch_process_measure(struct watch_process *process);

#endif
