/* name_index.h: finds a layer by its name in constant time, so that reading a network of n layers
 * takes time proportional to n.
 *
 * The index holds numbers and hashes; the names stay with their owner, who returns them by number.
 * A zeroed index is empty.
 */
#ifndef TINCA_ENGINE_GRAPH_NAME_INDEX_H
#define TINCA_ENGINE_GRAPH_NAME_INDEX_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct name_slot {
    uint32_t hash;
    uint32_t number; /* plus 1; 0: empty */
};

struct name_index {
    struct name_slot *slots; /* open addressing with linear probing, half full at the most */
    size_t capacity, count;  /* capacity: a power of 2, or 0 */
};

/* Returns the name of what has this number. */
typedef const char *name_index_name(const void *owner, size_t number);

/* Returns whether there is something of this name, and its number in *number. */
bool name_index_find(const struct name_index *index, const void *owner, name_index_name *name_of,
                     const char *name, size_t *number);

/* Adds a name that is not there yet. False with an error when memory is out. */
bool name_index_add(struct name_index *index, const char *name, size_t number, struct error *error);

void name_index_free(struct name_index *index); /* leaves it empty */

#endif
