/* output_file.h: writes a document to the target that the user named.
 *
 * The target changes only after the document is complete:
 * - A new file is written under a temporary name and renamed; its mode follows the umask.
 * - An existing file is replaced by a new one with the same mode, owner, group and extended
 *   attributes (access control lists). If such a file cannot be made (the folder is not writable,
 *   the owner cannot be set, the file has hard links), the document is written into the old file.
 * - A descriptor, FIFO or device receives the document and is never replaced.
 * A document that takes long (output_file_open_part) is written to TARGET.part, which outlives an
 * interruption, so that a later process can go on with it.
 *
 * The program's private files (run directories, configuration) are written with file.h instead.
 */
#ifndef TINCA_BASE_FILES_OUTPUT_FILE_H
#define TINCA_BASE_FILES_OUTPUT_FILE_H

#include "base/error.h"
#include "base/files/file.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

/* --- where a document goes, from the name that the user gave (-o, --save, --export) ---
 *
 * A name is resolved as the shell resolves `> name`: through symbolic links, to descriptors, FIFOs
 * and devices. Only regular files are ever replaced.
 */

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

/* Returns whether a document could be written to `name` now; if not, the error says why. Changes
 * nothing. */
bool output_file_check(const char *name, enum output_content content, struct error *error);

/* Returns whether a document that is written to `name`, or to `name`.part first, leaves these files
 * as they are; if not, sets an error. */
bool output_file_spares(const char *name, char *const *inputs, size_t count, struct error *error);

/* Returns whether two documents, and their files .part, go to different files; if not, sets an
 * error. True of descriptors, FIFOs and devices. */
bool output_files_differ(const char *name, const char *other, struct error *error);

/* Returns whether `name` is a descriptor, or an existing FIFO or device. */
bool output_file_is_stream(const char *name);

/* Returns whether `name` is standard output: "-", /dev/stdout, or a link to it. */
bool output_file_is_stdout(const char *name);

/* A document that is being written. Write to `stream` and do not check for errors:
 * output_file_commit reports them. */
struct output_file {
    FILE *stream;
    enum output_content content;
    struct output_target target;
    struct file_writer writer; /* the temporary file, if one is used */
    FILE *collected;           /* otherwise a stream that collects the document in memory */
    char *document;
    size_t size;
    /* used by output_file_open_part: */
    bool lasting;
    char *part;          /* TARGET.part, which is locked; NULL: a file without a name */
    const char *earlier; /* the file with what an earlier process has written; NULL: none */
    uint64_t kept;       /* bytes that were copied from the target to TARGET.part */
    bool direct;         /* each flush goes to `descriptor`, which is the target's */
    int descriptor;
};

/* Begins a document. Returns false with an error if it cannot be written to `name`. */
bool output_file_open(struct output_file *output, const char *name, enum output_content content,
                      struct error *error);

/* Completes the document and brings it to the target; blocks until a FIFO has a reader. Frees
 * `output` in any case. Returns false with an error; TARGET.part is then left. */
bool output_file_commit(struct output_file *output, struct error *error);

/* Frees `output` and leaves the target unchanged. Does nothing after a commit. */
void output_file_abandon(struct output_file *output);

/* Begins a document that takes long. It is written to TARGET.part, and the target changes when it
 * is committed. With `continues`, TARGET.part or, if there is none, the target itself is `earlier`:
 * the caller reads it and calls output_file_cut. Where the folder of an existing target cannot be
 * written to, a file without a name takes the document. Descriptors, FIFOs and devices receive it
 * flush by flush. Returns false with an error, also if another process writes TARGET.part. */
bool output_file_open_part(struct output_file *output, const char *name,
                           enum output_content content, bool continues, struct error *error);

/* Keeps the first `end` bytes of `earlier`; the next output follows them. */
bool output_file_cut(struct output_file *output, uint64_t end, struct error *error);

/* Writes the buffered output. Returns false with an error. */
bool output_file_flush(struct output_file *output, struct error *error);

/* Closes the document and leaves TARGET.part for a later process, or deletes it if it has nothing
 * that the target lacks. Frees `output`. Does nothing after a commit. */
void output_file_leave(struct output_file *output);

/* Writes `size` bytes as a document. */
bool output_file_write(const char *name, const void *bytes, size_t size,
                       enum output_content content, struct error *error);

/* Writes a copy of the regular file `source_path` as a binary document, block by block. */
bool output_file_copy(const char *name, const char *source_path, struct error *error);

#endif
