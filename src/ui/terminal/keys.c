#include "ui/terminal/keys.h"

enum action keys_find(const struct key_table *table, int key)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->bindings[i].key == key || (key && table->bindings[i].other == key))
            return table->bindings[i].action;
    return ACTION_NONE;
}
