#include "engine/graph/name_index.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 64 };

/* Returns the FNV-1a hash of a name. */
static uint32_t hash_of(const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

/* Returns the first empty slot for this hash. */
static struct name_slot *empty_slot(const struct name_index *index, uint32_t hash)
{
    size_t at = hash & (index->capacity - 1);
    while (index->slots[at].number)
        at = (at + 1) & (index->capacity - 1);
    return &index->slots[at];
}

static bool grow(struct name_index *index, struct error *error)
{
    struct name_index larger = {.capacity = index->capacity ? 2 * index->capacity : FIRST_CAPACITY,
                                .count = index->count};
    larger.slots = memory_new(larger.capacity, sizeof *larger.slots, "the network", error);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < index->capacity; i++)
        if (index->slots[i].number)
            *empty_slot(&larger, index->slots[i].hash) = index->slots[i];
    free(index->slots);
    *index = larger;
    return true;
}

bool name_index_find(const struct name_index *index, const void *owner, name_index_name *name_of,
                     const char *name, size_t *number)
{
    const uint32_t hash = hash_of(name);
    if (!index->capacity)
        return false;
    for (size_t at = hash & (index->capacity - 1); index->slots[at].number;
         at = (at + 1) & (index->capacity - 1)) {
        const struct name_slot *slot = &index->slots[at];
        if (slot->hash != hash || strcmp(name_of(owner, slot->number - 1), name) != 0)
            continue;
        *number = slot->number - 1;
        return true;
    }
    return false;
}

bool name_index_add(struct name_index *index, const char *name, size_t number, struct error *error)
{
    const uint32_t hash = hash_of(name);
    if (2 * (index->count + 1) > index->capacity && !grow(index, error))
        return false;
    *empty_slot(index, hash) = (struct name_slot){hash, (uint32_t)number + 1};
    index->count++;
    return true;
}

void name_index_free(struct name_index *index)
{
    free(index->slots);
    *index = (struct name_index){0};
}
