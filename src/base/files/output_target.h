/* output_target.h: where a document goes that the user named a target for (-o, --save, --export).
 *
 * A name is followed as the shell's `>` follows it: through symbolic links, into descriptors, FIFOs
 * and devices. Only a regular file is ever replaced.
 */
#ifndef TINCA_BASE_FILES_OUTPUT_TARGET_H
#define TINCA_BASE_FILES_OUTPUT_TARGET_H

#include "base/error.h"

#include <sys/stat.h>

/* Terminals refuse binary documents. */
enum output_content { OUTPUT_TEXT, OUTPUT_BINARY };

enum output_kind {
    OUTPUT_DESCRIPTOR, /* "-", /dev/stdout, /dev/stderr, /dev/fd/N, /proc/self/fd/N */
    OUTPUT_STREAM,     /* an existing FIFO or device: written into */
    OUTPUT_IN_PLACE,   /* an existing file with other names (hard links): written into */
    OUTPUT_REPLACED,   /* an existing file: a new one takes its place, mode and owner */
    OUTPUT_NEW,        /* no such file yet */
};

struct output_target {
    enum output_kind kind;
    int descriptor;  /* OUTPUT_DESCRIPTOR: its number */
    char *path;      /* the file behind all symbolic links, or else the name as it was given */
    struct stat old; /* the existing file's */
};

/* Finds where `name` leads and checks that it can be written to. Changes nothing on the disk.
 * False if it is a folder or a socket, is not writable, or if its folder does not exist. */
bool output_target_find(struct output_target *target, const char *name, enum output_content content,
                        struct error *error);
void output_target_free(struct output_target *target);

/* The descriptor that `name` stands for, or -1: 1 for "-" and /dev/stdout, 2 for /dev/stderr, N for
 * /dev/fd/N and /proc/self/fd/N. */
int output_descriptor(const char *name);

#endif
