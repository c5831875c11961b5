#include "base/host/process_stat.h"

#include <stdio.h>
#include <string.h>

bool process_stat_read(long pid, struct process_stat *stat)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "r");
    const size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = '\0';
    const char *name_end = strrchr(text, ')'); /* the name may have spaces and brackets */
    return name_end && sscanf(name_end + 1,
                              " %c %*d %*d %*d %d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                              "%*d %*d %llu",
                              &stat->state, &stat->terminal, &stat->started) == 3;
}
