#include "ui/terminal/keys.h"

#include "base/character.h"

bool key_is_printable(int key)
{
    return key >= ' ' && key < UI_UP && character_is_visible((uint32_t)key);
}

enum action keys_find(const struct key_table *table, int key)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->bindings[i].key == key || (key && table->bindings[i].other == key))
            return table->bindings[i].action;
    return ACTION_NONE;
}
