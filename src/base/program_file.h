/* program_file.h: the program's own file, and files that belong to it: its modules and its
 * catalogues of messages. */
#ifndef TINCA_BASE_PROGRAM_FILE_H
#define TINCA_BASE_PROGRAM_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the path of the program that runs. Returns false if the system does not tell it. */
bool program_file_path(char *path, size_t size);

/* Writes a path that executes this very program, on Linux also after its file was replaced. Returns
 * false if the system does not tell it. */
bool program_file_executable(char *path, size_t size);

/* Writes the path of the file or folder `name` in the folder of the program that runs, where the
 * build puts it. Returns whether it exists; otherwise the program is installed, and the caller
 * looks in the folder that configure chose. */
bool program_file_beside(const char *name, char *path, size_t size);

#endif
