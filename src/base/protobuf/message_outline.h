/* message_outline.h: a file of protobuf without its large arrays.
 *
 * Models are small messages and large arrays. protobuf-c copies all of a message, so a file would
 * be in memory twice before its first array is read. The outline is the message without the arrays
 * of 4,096 bytes and more: in their place it has the fields MESSAGE_OFFSET and MESSAGE_LENGTH
 * (raw_offset, raw_length), which no file may have, and which say where they lie in the file. The
 * caller reads the arrays from there when it needs them. */
#ifndef TINCA_BASE_PROTOBUF_MESSAGE_OUTLINE_H
#define TINCA_BASE_PROTOBUF_MESSAGE_OUTLINE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MESSAGE_OFFSET = 100001, MESSAGE_LENGTH = 100002 };
enum { MESSAGE_FILE = 1 }; /* the number of the outermost message; others are the caller's */

/* The message types that lead to arrays: field `field` of type `outer` contains type `inner`. */
struct message_paths {
    const struct message_step {
        int outer, inner;
        uint64_t field;
    } * steps;
    size_t count;
    int array;      /* the message type with an array */
    uint64_t field; /* the array's field in it, bytes or packed numbers */
};

struct message_outline {
    uint8_t *bytes; /* owned by the caller */
    size_t count;
};

/* Returns whether there is room for an outline of `count` bytes and arrays of `arrays` bytes; if
 * not, sets an error. */
typedef bool message_room(const char *path, size_t count, uint64_t arrays, struct error *error);

/* Reads the outline of a file, once there is room for it. Returns false with an error; `what` (N_)
 * is what the file should be. */
bool message_outline_read(struct message_outline *outline, const char *path,
                          const struct message_paths *paths, message_room *room, const char *what,
                          struct error *error);

#endif
