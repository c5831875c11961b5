/* Patterns of names, the groups that they make, and weights that begin with a file. */
#include "base/memory.h"
#include "engine/execution/execution.h"
#include "engine/graph/name_pattern.h"
#include "engine/network/network.h"
#include "engine/training/parameter_groups.h"
#include "engine/weights/weights_match.h"
#include "random_fill.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct network *network;
static struct error error;

static struct network *build(const char *name, size_t classes)
{
    return network_build(&(struct network_request){.network = name, .classes = classes}, &error);
}

static void test_patterns(void)
{
    static const struct {
        const char *patterns, *name;
        bool matches;
    } cases[] = {{"", "conv1.weight", false},
                 {"conv1", "conv1.weight", true},
                 {"conv1", "conv10.weight", false},
                 {"conv*", "conv10.weight", true},
                 {"*.bias", "conv1.bias", true},
                 {"*.bias", "conv1.weight", false},
                 {"a,b,stage1", "stage1.0.conv1.weight", true},
                 {"stage1.0", "stage1.0.conv1.weight", true},
                 {"stage1.1", "stage1.10.conv1.weight", false},
                 {"conv[12]", "conv2.weight", true},
                 {"conv1.weight", "conv1.weight", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        tap_ok(name_pattern_matches(cases[i].patterns, cases[i].name) == cases[i].matches,
               "\"%s\" %s %s", cases[i].patterns, cases[i].matches ? "matches" : "does not match",
               cases[i].name);
    tap_ok(name_pattern_check("conv*,ip1", &network->graph, "--freeze", &error), "layers of lenet");
    tap_ok(!name_pattern_check("conv1,conv9", &network->graph, "--freeze", &error) &&
               strstr(error.why, "conv9"),
           "a layer that is not there is named: %s", error.why);
}

/* Returns the factor of the group that has the first value of a parameter; -1: none has it. */
static float rate_at(const struct parameter_groups *groups, const char *name)
{
    const struct graph *graph = &network->graph;
    for (size_t p = 0; p < graph->parameter_count; p++)
        for (size_t g = 0; g < groups->count; g++) {
            const struct parameter_group *group = &groups->groups[g];
            const size_t offset = graph->parameters[p].offset;
            if (strcmp(graph->parameters[p].name, name) == 0 && offset >= group->first &&
                offset < group->first + group->count)
                return group->rate;
        }
    return -1;
}

static void test_groups(void)
{
    struct parameter_groups groups = {0};
    struct parameter_rates rates = {"conv1", "ip1=0.1,ip*=10", 50};
    tap_ok(parameter_groups_make(&groups, &network->graph, &rates, 0, &error) &&
               rate_at(&groups, "conv1.weight") == 0 && rate_at(&groups, "conv2.bias") == 1 &&
               rate_at(&groups, "ip1.weight") == 0.1f && rate_at(&groups, "ip2.bias") == 10 &&
               groups.count == 4,
           "frozen, ordinary, slow and fast layers are four groups (%zu)", groups.count);
    parameter_groups_free(&groups);
    tap_ok(parameter_groups_make(&groups, &network->graph, &rates, 50, &error) &&
               rate_at(&groups, "conv1.weight") == 1 && groups.groups[0].steps_before == 50 &&
               groups.groups[1].steps_before == 0,
           "after fifty steps the frozen layer joins, and adam begins with it");
    parameter_groups_free(&groups);
    static const char *const bad[] = {"conv1",     "conv1=", "conv1=x", "conv1=-1",
                                      "conv1=1e9", "none=1", "=1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rates = (struct parameter_rates){"", bad[i], 0};
        tap_ok(!parameter_groups_make(&groups, &network->graph, &rates, 0, &error),
               "\"%s\" is refused: %s", bad[i], error.why);
        parameter_groups_free(&groups);
    }
}

/* Writes the weights of a network to a file, and begins another one with it. */
static void test_weights(void)
{
    char path[] = "/tmp/tinca-weights-XXXXXX";
    struct weights saved, begun;
    struct weights_match match;
    struct network *more = build("lenet", 20);
    const int descriptor = mkstemp(path);
    if (descriptor < 0 || !more || !weights_create(&saved, &network->graph, &error) ||
        !weights_create(&begun, &more->graph, &error)) {
        tap_ok(false, "two networks: %s", error.why);
        return;
    }
    close(descriptor);
    weights_initialise(&saved, 1, NULL);
    weights_initialise(&begun, 2, NULL);
    tap_ok(weights_save(&saved, WEIGHTS_FLOAT32, path, NULL, &error), "a file of weights");
    tap_ok(!weights_begin(&begun, &(struct weights_source){path, "", "", WEIGHTS_OUTPUTS_READ},
                          &match, &error) &&
               strstr(error.why, "ip2.weight") && strstr(error.why, "10x500") &&
               strstr(error.why, "20x500"),
           "two shapes are named: %s", error.why);
    tap_ok(weights_begin(&begun, &(struct weights_source){path, "ip2", "", WEIGHTS_OUTPUTS_READ},
                         &match, &error) &&
               match.loaded == 6 && match.reset == 2 && match.unused == 2,
           "six arrays of eight: %s", match.example);
    tap_ok(memcmp(saved.values, begun.values, network->graph.parameters[0].count * sizeof(float)) ==
               0,
           "the first layer is that of the file");
    tap_ok(weights_begin(&begun, &(struct weights_source){path, "", "", WEIGHTS_OUTPUTS_FIT},
                         &match, &error) &&
               match.loaded == 6 && match.reset == 2 && match.outputs == 10,
           "output layers of another number of outputs begin anew: %zu", match.outputs);
    struct network *other = build("mlp", 10);
    struct weights strange;
    tap_ok(other && weights_create(&strange, &other->graph, &error) &&
               !weights_begin(&strange,
                              &(struct weights_source){path, "", "", WEIGHTS_OUTPUTS_READ}, &match,
                              &error) &&
               strstr(error.why, "missing (6): hidden.1.fc.weight (512x784)"),
           "another network's layers are missing: %s", error.why);
    weights_free(&strange);
    network_free(other);
    weights_free(&saved);
    weights_free(&begun);
    network_free(more);
    unlink(path);
}

TEST_CASE(parameter_groups_test)
{
    network = build("lenet", 10);
    if (!network) {
        tap_ok(false, "lenet: %s", error.why);
        return tap_done();
    }
    test_patterns();
    test_groups();
    test_weights();
    network_free(network);
    return tap_done();
}
