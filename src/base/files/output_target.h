/* output_target.h: finds out where a document goes, from the name that the user gave (-o, --save,
 * --export).
 *
 * A name is resolved as the shell resolves `> name`: through symbolic links, to descriptors, FIFOs
 * and devices. Only regular files are ever replaced.
 */
#ifndef TINCA_BASE_FILES_OUTPUT_TARGET_H
#define TINCA_BASE_FILES_OUTPUT_TARGET_H

#include "base/error.h"

#include <sys/stat.h>

/* Binary documents are not written to terminals. */
enum output_content { OUTPUT_TEXT, OUTPUT_BINARY };

enum output_kind {
    OUTPUT_DESCRIPTOR, /* "-", /dev/stdout, /dev/stderr, /dev/fd/N, /proc/self/fd/N */
    OUTPUT_STREAM,     /* an existing FIFO or device, which the document is written to */
    OUTPUT_IN_PLACE,   /* an existing file with hard links, which is overwritten */
    OUTPUT_REPLACED,   /* an existing file: a new file takes its place, mode and owner */
    OUTPUT_NEW,        /* there is no such file yet */
};

struct output_target {
    enum output_kind kind;
    int descriptor;  /* the descriptor, if OUTPUT_DESCRIPTOR */
    char *path;      /* the file after all symbolic links, or else the name as given */
    struct stat old; /* status of the existing file */
};

/* Resolves `name` and checks that it can be written. Changes nothing on the disk. Returns false
 * with an error if it is a folder or a socket, or is not writable, or its folder does not exist. */
bool output_target_find(struct output_target *target, const char *name, enum output_content content,
                        struct error *error);
void output_target_free(struct output_target *target);

/* Returns the descriptor that `name` stands for: 1 for "-" and /dev/stdout, 2 for /dev/stderr, N
 * for /dev/fd/N and /proc/self/fd/N. Returns -1 for every other name. */
int output_descriptor(const char *name);

#endif
