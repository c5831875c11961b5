/* The tables of blocks and techniques, by their names. */
#include "engine/blocks/block.h"
#include "engine/blocks/technique.h"

#include <string.h>

static const struct block *const block_table[] = {
#define BLOCK(name) &block_##name,
#include "engine/blocks/blocks.inc"
};

const struct block *block_find(const char *name)
{
    for (size_t i = 0; i < sizeof block_table / sizeof *block_table; i++)
        if (strcmp(block_table[i]->name, name) == 0)
            return block_table[i];
    return NULL;
}

const char *const technique_names[] = {
#define TECHNIQUE(constant, name) [TECHNIQUE_##constant] = #name,
#include "engine/blocks/techniques.inc"
    NULL,
};

const char *technique_name(enum technique technique)
{
    return technique_names[technique];
}

bool technique_parse(const char *name, enum technique *technique)
{
    for (size_t i = 0; i < TECHNIQUES; i++)
        if (strcmp(name, technique_names[i]) == 0) {
            *technique = (enum technique)i;
            return true;
        }
    return false;
}
