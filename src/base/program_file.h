/* program_file.h: files that belong to the program: its modules and its catalogues of messages. */
#ifndef TINCA_BASE_PROGRAM_FILE_H
#define TINCA_BASE_PROGRAM_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the path of the file or folder `name` in the folder of the program that runs, where the
 * build puts it. Returns whether it exists; otherwise the program is installed, and the caller
 * looks in the folder that configure chose. */
bool program_file_beside(const char *name, char *path, size_t size);

#endif
