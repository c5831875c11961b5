/* module_file.h: where the modules of the program are, which are loaded when they are needed. */
#ifndef TINCA_RUNS_MACHINE_MODULE_FILE_H
#define TINCA_RUNS_MACHINE_MODULE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the path that the module `name` (such as "tinca-mpi.so") would be loaded from: beside the
 * program, or where modules are installed. Returns whether the file exists. */
bool module_file_find(const char *name, char *path, size_t size);

#endif
