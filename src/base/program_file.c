#include "base/program_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <mach-o/dyld.h>
#include <stdint.h>
#elif defined(__FreeBSD__)
#include <sys/sysctl.h>
#endif

bool program_file_path(char *path, size_t size)
{
#if defined(__APPLE__)
    uint32_t length = (uint32_t)size;
    return _NSGetExecutablePath(path, &length) == 0;
#elif defined(__FreeBSD__)
    int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PATHNAME, -1};
    size_t length = size;
    return sysctl(name, sizeof name / sizeof *name, path, &length, NULL, 0) == 0;
#else
    const ssize_t length = readlink("/proc/self/exe", path, size - 1);
    path[length > 0 ? length : 0] = '\0';
    return length > 0;
#endif
}

bool program_file_executable(char *path, size_t size)
{
#if defined(__linux__)
    return snprintf(path, size, "%s", "/proc/self/exe") < (int)size;
#else
    return program_file_path(path, size);
#endif
}

bool program_file_beside(const char *name, char *path, size_t size)
{
    if (!program_file_path(path, size))
        return false;
    char *slash = strrchr(path, '/');
    if (!slash || (size_t)(slash + 1 - path) + strlen(name) >= size)
        return false;
    strcpy(slash + 1, name);
    return access(path, F_OK) == 0;
}
