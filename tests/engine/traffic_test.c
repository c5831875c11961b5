/* Compares the bytes of a forward pass with sums computed by hand. */
#include "engine/network/network.h"
#include "engine/ops/op.h"
#include "engine/plan/traffic.h"
#include "tap.h"

#include <math.h>
#include <string.h>

static size_t node_named(const struct graph *graph, const char *name)
{
    size_t found = 0;
    for (size_t i = 0; i < graph->node_count; i++)
        if (strcmp(graph->nodes[i].name, name) == 0)
            found = i;
    return found;
}

static struct plan *plan_for(struct network **network, const char *name, const char *device)
{
    struct error error = {0};
    struct network_request request = {.network = name};
    struct plan_settings settings = {.mode = PLAN_INFERENCE, .batch = 1, .threads = 1};
    struct device *opened = device_open(device, 1, &error);
    *network = network_build(&request, &error);
    struct plan *plan = *network && opened
                            ? plan_build(&(*network)->graph, opened->driver, &settings, &error)
                            : NULL;
    device_close(opened);
    if (!plan)
        tap_ok(false, "a plan of %s: %s: %s", name, error.what, error.why);
    return plan;
}

static void test_lenet(void)
{
    struct network *network;
    struct plan *plan = plan_for(&network, "lenet", "reference");
    if (!plan)
        return;
    const struct graph *graph = plan->graph;
    const size_t conv = node_named(graph, "conv1"), flat = node_named(graph, "flatten");
    const size_t pool = node_named(graph, "pool1"), relu = node_named(graph, "relu1");
    tap_ok(traffic_node_bytes(plan, conv, 1) == 4 * (784 + 11520 + 520),
           "a convolution reads its input and weights and writes its output");
    tap_ok(fabs(traffic_node_bytes(plan, conv, 10) - 4 * (784 + 11520 + 52.0)) < 1e-6,
           "an image of a batch of ten has a tenth of the weights");
    tap_ok(traffic_node_bytes(plan, pool, 1) == 4 * (11520 + 2880), "pooling has no weights");
    tap_ok(traffic_node_bytes(plan, flat, 1) == 0, "a view moves nothing");
    tap_ok(traffic_node_bytes(plan, relu, 7) == 4 * (500 + 500), "ReLU reads and writes");
    const double values =
        784 + 11520 + 11520 + 2880 + 2880 + 3200 + 3200 + 800 + 800 + 500 + 500 + 500 + 500 + 10;
    tap_ok(traffic_bytes(plan, 1) == 4 * (values + 431080), "the whole, at batch 1: %.0f",
           traffic_bytes(plan, 1));
    tap_ok(fabs(traffic_bytes(plan, 64) - 4 * (values + 431080 / 64.0)) < 1e-6,
           "the whole, at batch 64");
    plan_free(plan);
    network_free(network);
}

/* A fused layer moves nothing; an executed one does. */
static void test_pure_indexing(const char *device)
{
    struct network *network;
    struct plan *plan = plan_for(&network, "resnet20-shift", device);
    size_t shifts = 0, right = 0;
    for (size_t i = 0; plan && i < plan->step_count; i++) {
        const struct plan_step *step = &plan->steps[i];
        const size_t values = 2 * shape_count(step->site.node->output);
        if (step->site.node->op != &op_channel_shift)
            continue;
        shifts++;
        right +=
            traffic_node_bytes(plan, step->node, 1) == (step->kernel ? 4 * (double)values : 0.0);
    }
    tap_ok(plan && shifts == 9 && right == shifts,
           "%s: a channel shift moves its values if it is executed, otherwise nothing", device);
    plan_free(plan);
    network_free(network);
}

/* Layers that only training needs are not part of inference. */
static void test_auxiliary_heads(void)
{
    struct network *network;
    struct plan *plan = plan_for(&network, "googlenet", "cpu");
    if (!plan)
        return;
    double all = 0;
    for (size_t i = 1; i < plan->graph->node_count; i++)
        all += traffic_node_bytes(plan, i, 1);
    tap_ok(traffic_bytes(plan, 1) < all - 4.0 * (13378280 - 6998552),
           "auxiliary heads have bytes, but not in the sum");
    plan_free(plan);
    network_free(network);
}

TEST_CASE(traffic_test)
{
    test_lenet();
    test_pure_indexing("reference");
    test_pure_indexing("cpu");
    test_auxiliary_heads();
    return tap_done();
}
