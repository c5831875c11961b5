#include "base/host/host_software.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

enum { LINE = 512, COMMAND_LIMIT = 1 << 16 };

/* Reads the microcode's revision of the first processor. */
static void read_microcode(char *microcode, size_t size)
{
    char line[LINE];
    FILE *file = fopen("/proc/cpuinfo", "re");
    microcode[0] = '\0';
    while (file && !microcode[0] && fgets(line, sizeof line, file)) {
        const char *value = strncmp(line, "microcode", 9) == 0 ? strchr(line, ':') : NULL;
        if (value)
            snprintf(microcode, size, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
    }
    if (file)
        fclose(file);
}

void host_software_describe(struct host_software *software)
{
    struct utsname system;
    *software = (struct host_software){0};
#if defined(__clang__)
    snprintf(software->compiler, sizeof software->compiler, "clang %s", __clang_version__);
#else
    snprintf(software->compiler, sizeof software->compiler, "gcc %s", __VERSION__);
#endif
    if (uname(&system) == 0)
        snprintf(software->kernel, sizeof software->kernel, "%.60s %.90s", system.sysname,
                 system.release);
    read_microcode(software->microcode, sizeof software->microcode);
}

char *host_command_line(size_t *size)
{
    FILE *file = fopen("/proc/self/cmdline", "re");
    char *text = file ? memory_new(COMMAND_LIMIT + 1, 1, "the command line", NULL) : NULL;
    *size = text ? fread(text, 1, COMMAND_LIMIT, file) : 0;
    if (file)
        fclose(file);
    if (*size > 0)
        return text;
    free(text);
    return NULL;
}
