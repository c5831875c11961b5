#include "runs/machine/module_file.h"

#include "base/files/file.h"
#include "base/program_file.h"

#include <stdio.h>

bool module_file_find(const char *name, char *path, size_t size)
{
    if (program_file_beside(name, path, size))
        return true;
    snprintf(path, size, "%s/%s", PKGLIBDIR, name);
    return file_exists(path);
}
