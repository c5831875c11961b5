#include "engine/execution/numerics.h"

#include "base/language.h"
#include "engine/ops/op.h"
#include "engine/plan/plan.h"

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

/* Returns whether a training of this graph is channel-blocked, as none was before version 3. */
static bool trains_blocked(const struct graph *graph, const char *device)
{
    const struct plan_settings settings = {.mode = PLAN_TRAINING, .batch = 1};
    const struct device_driver *driver = device_find(device, NULL, NULL);
    struct plan *plan = driver ? plan_build(graph, driver, &settings, NULL) : NULL;
    bool blocked = false;
    for (size_t n = 0; plan && n < graph->node_count; n++)
        blocked |= plan->layouts[n].block > 0;
    plan_free(plan);
    return blocked;
}

static const struct {
    size_t version; /* the version that brought the change */
    bool (*concerns)(const struct graph *graph, const char *device);
    const char *what;
} changes[] = {
    {2, has_padded_max_pool, N_("max pooling with stride 1 and padding was wrong at the edge")},
    {3, trains_blocked, N_("convolutions and batch norms take their sums in another order")},
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
