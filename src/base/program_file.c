#include "base/program_file.h"

#include <string.h>
#include <unistd.h>

bool program_file_beside(const char *name, char *path, size_t size)
{
    const ssize_t length = readlink("/proc/self/exe", path, size - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash || (size_t)(slash + 1 - path) + strlen(name) >= size)
        return false;
    strcpy(slash + 1, name);
    return access(path, F_OK) == 0;
}
