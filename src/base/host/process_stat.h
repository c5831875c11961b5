/* process_stat.h: what the system says about another process. */
#ifndef TINCA_BASE_HOST_PROCESS_STAT_H
#define TINCA_BASE_HOST_PROCESS_STAT_H

#include <stdbool.h>

struct process_stat {
    char state;                 /* as ps prints it: 'R', 'S', 'Z', ... */
    int terminal;               /* device number of its controlling terminal; 0: none */
    unsigned long long started; /* clock ticks after the system's start */
};

/* Reads /proc/PID/stat (proc(5)). Returns false if there is no such process, or no /proc. */
bool process_stat_read(long pid, struct process_stat *stat);

#endif
