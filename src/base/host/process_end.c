#include "base/host/process_end.h"

#include "base/host/control_group.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

uint64_t process_end_memory_kills(void)
{
    char line[128];
    uint64_t kills = 0;
    FILE *file = fopen("/proc/vmstat", "re");
    while (file && fgets(line, sizeof line, file) && sscanf(line, "oom_kill %" SCNu64, &kills) != 1)
        continue;
    if (file)
        fclose(file);
    return kills + control_group_memory_kills("");
}

enum process_end process_end_of(int signal, uint64_t kills_before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (signal == faults[i])
            return PROCESS_END_FAULT;
    return signal == SIGKILL && process_end_memory_kills() > kills_before ? PROCESS_END_MEMORY
                                                                          : PROCESS_END_KILLED;
}
