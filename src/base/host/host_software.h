/* host_software.h: what a result depends on besides the program and its libraries: the compiler
 * that built the program, the system's kernel, the processor's microcode; and how the program was
 * called. */
#ifndef TINCA_BASE_HOST_HOST_SOFTWARE_H
#define TINCA_BASE_HOST_HOST_SOFTWARE_H

#include <stddef.h>

struct host_software {
    char compiler[128]; /* "gcc 12.2.0" */
    char kernel[160];   /* "Linux 6.1.0-21-amd64" */
    char microcode[32]; /* "0xa20120a"; "": unknown */
};

/* Fills *software. */
void host_software_describe(struct host_software *software);

/* Returns the command line of this process, each argument followed by a NUL, in *size bytes that
 * the caller frees; NULL: it is unknown. */
char *host_command_line(size_t *size);

#endif
