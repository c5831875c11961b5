#include "engine/blocks/technique.h"

#include <stddef.h>
#include <string.h>

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
