/* watch_tail.h: reads a file that another program writes, as it grows. Internal to this folder.
 *
 * It notices that the file was cut, that it was written anew under the same name, and that another
 * file has taken its name (rotation). A pipe is read until its other end is closed. */
#ifndef TINCA_SESSION_WATCH_WATCH_TAIL_H
#define TINCA_SESSION_WATCH_WATCH_TAIL_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { WATCH_HEAD = 256 };

struct watch_tail {
    char *path; /* NULL: a pipe without a name */
    int descriptor;
    bool pipe;
    dev_t device;
    ino_t inode;
    uint64_t offset, old; /* bytes read; bytes that were there when it was opened */
    char head[WATCH_HEAD];
    size_t head_length; /* the first bytes, to recognise a file that was written anew */
};

enum watch_news {
    WATCH_FAILED,
    WATCH_NOTHING, /* nothing new at present */
    WATCH_BYTES,
    WATCH_ANOTHER, /* the next bytes are the beginning of another file */
    WATCH_END      /* the other end of the pipe is closed */
};

/* Opens a file or a named pipe. Returns false with an error. */
bool watch_tail_open(struct watch_tail *tail, const char *path, struct error *error);

/* Takes an open pipe or file, which is closed at the end. */
bool watch_tail_take(struct watch_tail *tail, int descriptor, struct error *error);

/* Reads up to `size` bytes and sets *count. *old: they were there when the file was opened. */
enum watch_news watch_tail_read(struct watch_tail *tail, char *bytes, size_t size, size_t *count,
                                bool *old, struct error *error);

/* Closes the file. {0} with a descriptor of -1 is allowed. */
void watch_tail_close(struct watch_tail *tail);

#endif
