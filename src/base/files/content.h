/* content.h: says what a file is by its first bytes, so that a file in the wrong place is named in
 * the message about it. Only looks: a file that is recognised may be damaged further on. */
#ifndef TINCA_BASE_FILES_CONTENT_H
#define TINCA_BASE_FILES_CONTENT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum content {
    CONTENT_UNKNOWN, /* other bytes, or a file that cannot be read */
#define CONTENT(id, name, offset, magic, probe) CONTENT_##id,
#include "base/files/content.inc"
#undef CONTENT
    CONTENTS
};

/* Returns what a regular file is. */
enum content content_of(const char *path);

/* Returns the name of a kind of file with its article, in English: "a PNG image"; NULL for
 * CONTENT_UNKNOWN. */
const char *content_name(enum content content);

enum { CONTENT_EVENT_HEAD = 64 };

/* Returns whether these first bytes of a file are those of an event file of TensorBoard.
 * CONTENT_EVENT_HEAD bytes are enough. */
bool content_is_events(const char *bytes, size_t count);

/* Puts what a file is before the reason of an error about it, if it is recognised and none of
 * `expected` (CONTENT_UNKNOWN ends the list): "it is a PNG image: ...". Returns false. */
bool content_explain(const char *path, const enum content *expected, struct error *error);

#endif
