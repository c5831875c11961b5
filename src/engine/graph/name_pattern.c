#include "engine/graph/name_pattern.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

enum { PATTERN_SIZE = 256 };

/* Returns whether the pattern matches the name or a part of it that ends before a dot. */
static bool matches_one(const char *pattern, const char *name)
{
    char part[PATTERN_SIZE];
    if (fnmatch(pattern, name, 0) == 0)
        return true;
    for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
        snprintf(part, sizeof part, "%.*s", (int)(dot - name), name);
        if (fnmatch(pattern, part, 0) == 0)
            return true;
    }
    return false;
}

/* Copies the next pattern of the list and advances *list. Returns false at the end of the list. */
static bool next_pattern(const char **list, char *pattern)
{
    const size_t length = strcspn(*list, ",");
    if (!**list)
        return false;
    snprintf(pattern, PATTERN_SIZE, "%.*s", (int)length, *list);
    *list += length + ((*list)[length] == ',');
    return true;
}

bool name_pattern_matches(const char *patterns, const char *name)
{
    char pattern[PATTERN_SIZE];
    while (next_pattern(&patterns, pattern))
        if (matches_one(pattern, name))
            return true;
    return false;
}

static bool matches_any(const char *pattern, const struct graph *graph)
{
    for (size_t p = 0; p < graph->parameter_count; p++)
        if (graph->parameters[p].learnable && matches_one(pattern, graph->parameters[p].name))
            return true;
    return false;
}

bool name_pattern_check(const char *patterns, const struct graph *graph, const char *what,
                        struct error *error)
{
    char pattern[PATTERN_SIZE];
    while (next_pattern(&patterns, pattern))
        if (!matches_any(pattern, graph))
            return error_set(error, ERROR_USAGE, what,
                             "tinca info NETWORK lists the layers; patterns may contain *",
                             "\"%s\" is the name of no layer with weights", pattern);
    return true;
}
