/* caffe_tree.h: the fields of a Caffe message, as a tree. Internal to this folder.
 *
 * The text of a .prototxt file and the bytes of a .caffemodel file become the same tree, so what
 * follows does not depend on where a network came from. A field's value is a text (a number, a
 * word, or a quoted string) or a list of fields. The tree and its texts live until caffe_tree_free.
 * Size and depth are limited.
 */
#ifndef TINCA_SESSION_CAFFE_TREE_H
#define TINCA_SESSION_CAFFE_TREE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { CAFFE_MAX_DEPTH = 32 };

enum caffe_field_kind { CAFFE_WORD, CAFFE_STRING, CAFFE_MESSAGE };

struct caffe_field {
    const char *name;
    enum caffe_field_kind kind;
    const char *text; /* "" for a message */
    size_t line;      /* in the text; 0: from a binary file */
    struct caffe_field *first, *last, *next;
};

struct caffe_chunk;

struct caffe_tree { /* starts as {0} */
    const char *path;
    struct caffe_field root;
    struct caffe_chunk *chunks;
    size_t left; /* bytes that may still be allocated */
    bool failed; /* out of memory, or above the limit */
};

void caffe_tree_free(struct caffe_tree *tree);

/* Returns zeroed memory of the tree; NULL if the limit is reached, and tree->failed is then set. */
void *caffe_tree_memory(struct caffe_tree *tree, size_t bytes);

/* Appends a field to a message; the texts must live as long as the tree. Returns NULL if memory
 * runs out. */
struct caffe_field *caffe_tree_add(struct caffe_tree *tree, struct caffe_field *message,
                                   const char *name, enum caffe_field_kind kind, const char *text);

/* Parses a file in protobuf's text format. `path` must live as long as the tree. Returns false with
 * an error that names the line; call caffe_tree_free in either case. */
bool caffe_tree_read_text(struct caffe_tree *tree, const char *path, struct error *error);

/* Parses `size` characters; `path` is what messages call them. Otherwise the same. */
bool caffe_tree_parse(struct caffe_tree *tree, const char *path, const char *text, size_t size,
                      struct error *error);

/* Returns the first field of this name in a message (NULL: none), or after `field`; NULL if there
 * is none. */
const struct caffe_field *caffe_first(const struct caffe_field *message, const char *name);
const struct caffe_field *caffe_next(const struct caffe_field *field);

/* Returns the number of fields of this name, and the n-th one or NULL. */
size_t caffe_count(const struct caffe_field *message, const char *name);
const struct caffe_field *caffe_nth(const struct caffe_field *message, const char *name, size_t n);

/* Returns the text of the field of this name; `otherwise` if there is none, or if it is a message.
 */
const char *caffe_text(const struct caffe_field *message, const char *name, const char *otherwise);

/* Convert the text of a field. Return false if it is none of what is wanted. */
bool caffe_read_number(const struct caffe_field *field, double *number);
bool caffe_read_count(const struct caffe_field *field, size_t *count); /* at most 2^32 */
bool caffe_read_flag(const struct caffe_field *field, bool *flag);

#endif
