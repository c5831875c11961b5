/* output_file.h: writing a document to the target that the user named.
 *
 * The document is complete before the target changes:
 * - A new file is written aside and renamed; its mode follows the umask.
 * - An existing file is replaced by one of the same mode, owner, group and extended attributes
 *   (access control lists). Where no such file can be made (the folder is not writable, the owner
 *   cannot be given away, the file has hard links), the finished document is written into the file.
 * - A descriptor, FIFO or device gets the finished document and is never replaced.
 *
 * Files of the program itself (a run's folder, the configuration) are written by file.h.
 */
#ifndef TINCA_BASE_FILES_OUTPUT_FILE_H
#define TINCA_BASE_FILES_OUTPUT_FILE_H

#include "base/error.h"
#include "base/files/file.h"
#include "base/files/output_target.h"

#include <stddef.h>
#include <stdio.h>

/* Returns whether a document could be written to `name` now. Changes nothing. */
bool output_file_check(const char *name, enum output_content content, struct error *error);

/* Returns whether `name` is written into: a descriptor, an existing FIFO or device. */
bool output_file_is_stream(const char *name);

/* Returns whether `name` is standard output: "-", /dev/stdout, or a link to that. */
bool output_file_is_stdout(const char *name);

/* A document being written through `stream`, which nobody checks but output_file_commit. */
struct output_file {
    FILE *stream;
    enum output_content content;
    struct output_target target;
    struct file_writer writer; /* the file aside, if there is one */
    FILE *collected;           /* else the document, collected in memory */
    char *document;
    size_t size;
};

bool output_file_open(struct output_file *output, const char *name, enum output_content content,
                      struct error *error);
/* Ends the document and brings it to the target. Frees in any case. Waits for the reader of a FIFO.
 */
bool output_file_commit(struct output_file *output, struct error *error);
/* Frees and leaves the target as it was; does nothing after a commit. */
void output_file_abandon(struct output_file *output);

/* Writes `size` bytes as one document. */
bool output_file_write(const char *name, const void *bytes, size_t size,
                       enum output_content content, struct error *error);

/* Writes what the regular file `source_path` holds as a binary document, without holding it in
 * memory. */
bool output_file_copy(const char *name, const char *source_path, struct error *error);

#endif
