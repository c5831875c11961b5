#include "engine/execution/numerics.h"

#include "base/language.h"
#include "engine/ops/op.h"

#include <string.h>

/* Returns whether the device cpu computed this graph wrongly in version 1: max pooling with stride
 * 1 and padding read zeros behind the last row of a plane instead of padding. */
static bool has_padded_max_pool(const struct graph *graph, const char *device)
{
    for (size_t i = 0; strcmp(device, "cpu") == 0 && i < graph->node_count; i++) {
        const struct node *node = &graph->nodes[i];
        const struct window *window = &node->attributes.pool.window;
        if (node->op == &op_max_pool && window->stride_height == 1 && window->stride_width == 1 &&
            window->pad_height + window->pad_width > 0)
            return true;
    }
    return false;
}

static const struct {
    size_t version; /* the version that brought the change */
    bool (*concerns)(const struct graph *graph, const char *device);
    const char *what;
} changes[] = {
    {2, has_padded_max_pool, N_("max pooling with stride 1 and padding was wrong at the edge")},
};

const char *numerics_change(size_t version, const struct graph *graph, const char *device)
{
    if (version > NUMERICS_VERSION)
        return N_("it is of a later version");
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        if (changes[i].version > version && changes[i].concerns(graph, device))
            return changes[i].what;
    return NULL;
}
