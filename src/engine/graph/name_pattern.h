/* name_pattern.h: chooses parameters by name, as in "stage1,fc*,*.bias".
 *
 * A list of patterns is separated by commas. A pattern is one of a shell, with * ? and [...], and
 * matches a parameter whose name it matches, or a layer's or stage's name that the parameter's name
 * begins with: "stage1" matches "stage1.0.conv1.weight".
 */
#ifndef TINCA_ENGINE_GRAPH_NAME_PATTERN_H
#define TINCA_ENGINE_GRAPH_NAME_PATTERN_H

#include "base/error.h"
#include "engine/graph/graph.h"

#include <stdbool.h>

/* Returns whether one of the patterns matches the name of a parameter. */
bool name_pattern_matches(const char *patterns, const char *name);

/* Returns false with an error, which begins with `what`, if one of the patterns is empty or matches
 * no learnable parameter of the graph. */
bool name_pattern_check(const char *patterns, const struct graph *graph, const char *what,
                        struct error *error);

#endif
