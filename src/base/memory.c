#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void *memory_new(size_t count, size_t size, const char *what, struct error *error)
{
    void *block = calloc(count ? count : 1, size ? size : 1);
    if (!block)
        error_set_memory(error, what, size && count > SIZE_MAX / size ? SIZE_MAX : count * size);
    return block;
}

void *memory_new_aligned(size_t count, size_t size, const char *what, struct error *error)
{
    if (size && count > (SIZE_MAX - MEMORY_ALIGNMENT) / size) {
        error_set_memory(error, what, SIZE_MAX);
        return NULL;
    }
    size_t wanted = count * size;
    size_t bytes = memory_round_up(wanted > 0 ? wanted : 1);
    void *block = aligned_alloc(MEMORY_ALIGNMENT, bytes);
    if (!block)
        error_set_memory(error, what, bytes);
    return block;
}

bool memory_grow(void *items, size_t *capacity, size_t needed, size_t size, const char *what,
                 struct error *error)
{
    if (needed <= *capacity)
        return true;
    size_t grown = *capacity ? *capacity : 8;
    while (grown < needed)
        grown = grown > SIZE_MAX / 2 ? needed : grown * 2;
    if (grown > SIZE_MAX / size)
        return error_set_memory(error, what, SIZE_MAX);
    void *old;
    memcpy(&old, items, sizeof old); /* `items` points to a pointer of unknown type */
    char *block = realloc(old, grown * size);
    if (!block)
        return error_set_memory(error, what, grown * size);
    memset(block + *capacity * size, 0, (grown - *capacity) * size);
    memcpy(items, &block, sizeof block);
    *capacity = grown;
    return true;
}

char *memory_copy_text(const char *text, struct error *error)
{
    size_t size = strlen(text) + 1;
    char *copy = memory_new(size, 1, "a text", error);
    return copy ? memcpy(copy, text, size) : NULL;
}
