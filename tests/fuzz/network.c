/* A network file, with a technique that its size chooses: graph, counts, and the plan of one image
 * for training. */
#include "engine/network/network.h"

#include "engine/devices/device.h"
#include "engine/plan/plan.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static void plan_one_image(const struct graph *graph)
{
    struct error error;
    const struct plan_settings settings = {
        .mode = PLAN_TRAINING, .batch = 1, .threads = 1, .solver = {.momentum = 0.9f}};
    plan_free(plan_build(graph, &device_reference, &settings, &error));
}

void fuzz_network(const uint8_t *data, size_t size)
{
    struct error error;
    char name[128], *text = malloc(size + 1);
    if (!text)
        return;
    memcpy(text, data, size);
    text[size] = '\0';
    struct network_request request = {.network = "stranger.json",
                                      .text = text,
                                      .technique = (enum technique)(size % TECHNIQUES),
                                      .width_rate = size % 3 == 2 ? 0.5 : 0};
    struct network *network = network_build(&request, &error);
    if (network) {
        network_full_name(network, name, sizeof name);
        graph_parameter_count(&network->graph);
        graph_flops(&network->graph);
        plan_one_image(&network->graph);
    }
    network_free(network);
    free(text);
}
