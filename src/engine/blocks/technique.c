#include "engine/blocks/technique.h"

#include <stddef.h>
#include <string.h>

static const char *const technique_names[TECHNIQUES] = {"none", "dsc", "shuffle", "shift"};

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
