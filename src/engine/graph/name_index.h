/* name_index.h: a hash table that finds a layer's number by its name, so that reading a network of
 * n layers takes time proportional to n.
 *
 * The table holds hashes and numbers. The names belong to the caller, who returns them by number. A
 * zeroed index is empty.
 */
#ifndef TINCA_ENGINE_GRAPH_NAME_INDEX_H
#define TINCA_ENGINE_GRAPH_NAME_INDEX_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct name_slot {
    uint32_t hash;
    uint32_t number; /* number + 1; 0: the slot is empty */
};

struct name_index {
    struct name_slot *slots; /* open addressing with linear probing, at most half full */
    size_t capacity, count;  /* capacity: a power of 2, or 0 */
};

/* Returns the name that belongs to a number. */
typedef const char *name_index_name(const void *owner, size_t number);

/* Returns whether the index has this name, and its number in *number. */
bool name_index_find(const struct name_index *index, const void *owner, name_index_name *name_of,
                     const char *name, size_t *number);

/* Adds a name that the index does not have. Returns false with an error if out of memory. */
bool name_index_add(struct name_index *index, const char *name, size_t number, struct error *error);

/* Frees the slots and leaves the index empty. */
void name_index_free(struct name_index *index);

#endif
