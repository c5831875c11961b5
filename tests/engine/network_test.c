/* Network files: exact counts, and an answer with file, line and key to every mistake. */
#include "base/files/file.h"
#include "engine/network/network.h"
#include "engine/ops/op.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static void counts(const char *name, size_t classes, size_t parameters)
{
    struct error error = {0};
    struct network_request request = {.network = name, .classes = classes};
    struct network *network = network_build(&request, &error);
    size_t found = network ? graph_parameter_count(&network->graph) : 0;
    tap_ok(found == parameters, "%s with %zu classes has %zu parameters (%zu) %s", name, classes,
           parameters, found, error.why);
    network_free(network);
}

/* The studies' networks have exactly the published parameters. */
static void test_studies(void)
{
    static const struct {
        const char *name;
        size_t parameters;
    } table[] = {
        {"resnet20", 272762},
        {"resnet20-dsc", 40810},
        {"resnet20-shift", 35194},
        {"resnet20-shuffle", 24682},
        {"resnet56", 856058},
        {"resnet56-dsc", 120106},
        {"resnet56-shift", 102394},
        {"resnet56-shuffle", 67786},
        {"resnet110", 1731002},
        {"resnet110-dsc", 239050},
        {"resnet110-shift", 203194},
        {"resnet110-shuffle", 132442},
        {"resnet20-2.5", 41341},
        {"resnet56-2.8", 101429},
        {"resnet20-2.4_block", 41169},
        {"resnet110-2.3_block", 242374},
        {"resnet20-shift-0.35", 270101},
        {"resnet56-dsc-0.35", 849176},
        {"resnet56-shuffle-0.25", 864522},
        {"resnet20-0.35-shift", 270101},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        counts(table[i].name, 10, table[i].parameters);
    for (size_t i = 0; i < 12; i++) /* 65 more parameters for each of 90 classes */
        counts(table[i].name, 100, table[i].parameters + 5850);
    counts("squeezenet", 10, 746638);
    counts("squeezenet-dsc", 10, 248670);
    counts("squeezenet-shift", 10, 246926);
    counts("squeezenet-shuffle", 10, 114574);
    counts("squeezenet", 100, 792988);
    counts("squeezenet-dsc", 100, 295020);
    counts("squeezenet-shift", 100, 293276);
    counts("squeezenet-shuffle", 100, 160924);
}

static void test_counts(void)
{
    counts("mlp", 10, 784 * 512 + 512 + 512 * 256 + 256 + 256 * 10 + 10);
    counts("mlp-2", 10, 784 * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10);
    counts("mlp-w800", 10, 784 * 800 + 800 + 800 * 10 + 10);
    counts("mlp-w100x50x20-sigmoid", 5,
           784 * 100 + 100 + 100 * 50 + 50 + 50 * 20 + 20 + 20 * 5 + 5);
    counts("mlp-w100x50-2", 10, 784 * 50 + 50 + 50 * 25 + 25 + 25 * 10 + 10);
    counts("perceptron", 10, 784 * 10 + 10);
    counts("perceptron", 3, 784 * 3 + 3);
    counts("lenet", 10, 431080);
    counts("alexnet", 1000, 60965224);
    counts("googlenet", 1000, 13378280);
    counts("vgg19", 10, 20035018);
    counts("mobilenet", 10, 3217226);
    /* the general rule: conv2, 20 x 5 x 5 -> 50, is replaced; conv1 reads the image and is not */
    counts("lenet-dsc", 10, 431080 - 25050 + 20 * 25 + 20 * 50 + 50);
    counts("lenet-shift", 10, 431080 - 25050 + 20 * 50 + 50);
    counts("lenet-shuffle", 10, 431080 - 25050 + 10 * 50 + 50 * 25 + 50);
}

/* FLOPs of inference: GoogLeNet without the two auxiliary heads. */
static void test_heads(void)
{
    struct network *network =
        network_build(&(struct network_request){.network = "googlenet"}, NULL);
    if (!tap_ok(network && network->graph.loss_count == 3, "googlenet has three losses"))
        return;
    const struct graph *graph = &network->graph;
    bool *needed = calloc(graph->node_count, sizeof *needed);
    size_t parameters = 0;
    graph_mark_ancestors(graph, graph->output, needed);
    for (size_t n = 0; n < graph->node_count; n++)
        parameters += needed[n] ? graph_node_parameter_count(graph, n) : 0;
    tap_ok(parameters == 6998552, "and %zu parameters without its heads", parameters);
    tap_ok(graph->nodes[graph->losses[1]].attributes.loss.weight == 0.3f, "which weigh 0.3");
    free(needed);
    network_free(network);
}

/* Published with two decimals of a million: must agree within 0.02 M. */
static void counts_about(const char *name, double millions)
{
    struct network *network = network_build(&(struct network_request){.network = name}, NULL);
    double found = network ? 1e-6 * (double)graph_parameter_count(&network->graph) : 0;
    tap_ok(found > millions - 0.02 && found < millions + 0.02, "%s has %.2f M parameters (%.4f)",
           name, millions, found);
    network_free(network);
}

static void test_pix2pix(void)
{
    char name[96];
    counts("pix2pix", 0, 54414531);
    counts_about("pix2pix-dsc", 36.14);
    counts_about("pix2pix-shift", 36.06);
    counts_about("pix2pix-shuffle", 35.60);
    struct network *network =
        network_build(&(struct network_request){.network = "pix2pix-shuffle"}, NULL);
    if (!tap_ok(network && network_has_discriminator(network), "pix2pix has a discriminator"))
        return;
    const struct graph *critic = &network->discriminator;
    const struct node *answer = &critic->nodes[critic->output];
    tap_ok(graph_parameter_count(critic) == 2768705, "of 2768705 parameters");
    tap_ok(shape_equal(critic->nodes[0].output, (struct shape){6, 256, 256}) &&
               shape_equal(answer->output, (struct shape){1, 30, 30}),
           "that answers 30 x 30 times for a pair");
    tap_ok(network->groups == 8 &&
               strcmp(network_full_name(network, name, sizeof name), "pix2pix-shuffle") == 0,
           "its shuffle has 8 groups: %s", name);
    tap_ok(shape_equal(network->graph.nodes[network->graph.output].output,
                       (struct shape){3, 256, 256}) &&
               network->graph.nodes[network->graph.losses[0]].op == &op_l1_loss,
           "it makes an image and compares it with a target");
    network_free(network);
}

static void test_graph(void)
{
    struct network *network = network_build(&(struct network_request){.network = "lenet"}, NULL);
    if (!tap_ok(network != NULL, "lenet is built"))
        return;
    const struct graph *graph = &network->graph;
    /* 20 x 24 x 24 x 25, 50 x 8 x 8 x 500, 800 x 500, 500 x 10, two FLOPs each */
    tap_ok(graph_flops(graph) == 2 * (288000 + 1600000 + 400000 + 5000), "lenet's FLOPs: %llu",
           (unsigned long long)graph_flops(graph));
    tap_ok(strcmp(graph->nodes[graph->output].name, "ip2") == 0, "its output is ip2");
    tap_ok(graph->loss_count == 1 && graph->nodes[graph->losses[0]].op == &op_softmax_cross_entropy,
           "its loss is the softmax cross-entropy");
    tap_ok(strcmp(graph->parameters[0].name, "conv1.weight") == 0 &&
               graph->parameters[0].rank == 4 && graph->parameters[0].fan_in == 25,
           "its first parameter is conv1.weight");
    bool ordered = true;
    for (size_t n = 0; n < graph->node_count; n++)
        for (size_t k = 0; k < graph->nodes[n].input_count; k++)
            ordered = ordered && graph->nodes[n].inputs[k] < n;
    tap_ok(ordered, "nodes are in topological order");
    network_free(network);
}

static void refuses(const char *what, const char *text, const char *words)
{
    struct error error = {0};
    struct network_request request = {.network = "mine.json", .text = text};
    struct network *network = network_build(&request, &error);
    char line[1200];
    error_format(&error, line, sizeof line);
    tap_ok(!network && strstr(line, words) && strstr(line, "mine.json"), "refuses %s: %s", what,
           line);
    network_free(network);
}

static void test_refusals(void)
{
    refuses("what is not JSON", "{\"input\": [1,", "line 1");
    refuses("a list", "[]", "an object");
    refuses("no input", "{\"layers\": []}", "\"input\"");
    refuses("a flat input", "{\"input\": [1, 28], \"layers\": []}", "\"input\"");
    refuses("an unknown key", "{\"inputs\": [1, 28, 28]}", "\"inputs\": no such key");
    refuses("no layers", "{\"input\": [1, 8, 8], \"classes\": 2}", "\"layers\"");
    refuses("an unknown operator",
            "{\"input\": [1, 8, 8], \"classes\": 2, \"layers\": [\n{\"op\": \"convolve\"}]}",
            "line 2");
    refuses("an unknown block",
            "{\"input\": [1, 8, 8], \"classes\": 2, \"layers\": [\n\n{\"block\": \"smoke\"}]}",
            "line 3");
    refuses("a missing key",
            "{\"input\": [1, 8, 8], \"classes\": 2, \"layers\": [\n{\"op\": \"conv\", "
            "\"kernel\": 3}]}",
            "\"output\"");
    refuses("a superfluous key",
            "{\"input\": [1, 8, 8], \"classes\": 2, \"layers\": [\n{\"op\": \"relu\", "
            "\"kernel\": 3}]}",
            "\"kernel\"");
    refuses("a kernel that does not fit",
            "{\"input\": [1, 8, 8], \"classes\": 2, \"layers\": [\n{\"op\": \"conv\", "
            "\"output\": 3, \"kernel\": 9}]}",
            "line 2");
    refuses("an unknown layer in \"from\"",
            "{\"input\": [1, 8, 8], \"classes\": 2, \"layers\": [\n{\"op\": \"relu\", "
            "\"from\": \"x\"}]}",
            "no layer \"x\"");
    refuses("two layers of one name",
            "{\"input\": [1, 8, 8], \"classes\": 2, \"layers\": [\n{\"op\": \"relu\", "
            "\"name\": \"a\"},\n{\"op\": \"relu\", \"name\": \"a\"}]}",
            "line 3");
    refuses("a network without a loss", "{\"input\": [1, 8, 8], \"layers\": [{\"op\": \"relu\"}]}",
            "\"loss\"");
    refuses("an image as logits",
            "{\"input\": [1, 8, 8], \"classes\": 2, \"layers\": [{\"op\": \"relu\"}]}", "loss");
    refuses("a discriminator of classes",
            "{\"input\": [1, 8, 8], \"classes\": 64, \"layers\": [\n{\"op\": \"flatten\"}], "
            "\n\"discriminator\": {\"layers\": [{\"op\": \"relu\"}]}}",
            "line 3");
    refuses("a discriminator without layers",
            "{\"input\": [1, 8, 8], \"loss\": \"l1_loss\", \"layers\": [\n{\"op\": \"relu\"}], "
            "\n\"discriminator\": {}}",
            "line 3");
    refuses("a mistake in a discriminator",
            "{\"input\": [1, 8, 8], \"loss\": \"l1_loss\", \"layers\": [\n{\"op\": \"relu\"}], "
            "\"discriminator\": {\"layers\": [\n{\"op\": \"relu\", \"slope\": 1}]}}",
            "line 3");
    refuses("groups that are not a number",
            "{\"input\": [1, 8, 8], \"shuffle_groups\": 0, \"layers\": []}", "shuffle_groups");
    refuses("a UNet deeper than its image",
            "{\"input\": [1, 8, 8], \"loss\": \"l1_loss\", \"layers\": [\n{\"block\": \"unet\", "
            "\"steps\": 4}]}",
            "\"steps\"");
    refuses("an endless repetition",
            "{\"input\": [1, 8, 8], \"classes\": 2, \"layers\": [{\"op\": \"relu\", "
            "\"repeat\": 1e9}]}",
            "\"repeat\"");
}

static void test_names(void)
{
    struct error error = {0};
    struct network_request request = {.network = "nosuchnet"};
    tap_ok(!network_build(&request, &error) && strstr(error.advice, "lenet") &&
               error.kind == ERROR_USAGE,
           "an unknown name; the message lists the known ones: %s", error.advice);
    request = (struct network_request){.network = "resnet20-wide"};
    tap_ok(!network_build(&request, &error) && error.kind == ERROR_USAGE,
           "an unknown suffix is refused: %s", error.why);
    request = (struct network_request){.network = "resnet20-dsc", .technique = TECHNIQUE_SHIFT};
    tap_ok(!network_build(&request, &error) && strstr(error.why, "contradict"),
           "a contradiction is refused: %s", error.why);
    request = (struct network_request){.network = "/nonexistent/x.json"};
    tap_ok(!network_build(&request, &error), "a missing file is refused: %s", error.why);
}

static size_t parameters_of(struct network_request request)
{
    struct network *network = network_build(&request, NULL);
    size_t count = network ? graph_parameter_count(&network->graph) : 0;
    network_free(network);
    return count;
}

static void test_variations(void)
{
    char name[64];
    tap_ok(parameters_of((struct network_request){.network = "resnet20",
                                                  .technique = TECHNIQUE_SHIFT}) == 35194,
           "a technique by option");
    tap_ok(parameters_of((struct network_request){.network = "resnet20", .width_rate = 2.5}) ==
                   41341 &&
               parameters_of(
                   (struct network_request){.network = "resnet20-2.5", .width_rate = 2.5}) == 41341,
           "a width rate as an option, and given twice");
    tap_ok(parameters_of((struct network_request){.network = "resnet20", .block_rate = 2.4}) ==
               41169,
           "a block rate by option");
    /* grouped: 3 pointwise convolutions of 16 x 16, 5 of 32 x 32, 1 of 32 x 64, 5 of 64 x 64 */
    size_t two = parameters_of((struct network_request){.network = "resnet20-shuffle"});
    size_t four =
        parameters_of((struct network_request){.network = "resnet20-shuffle", .groups = 4});
    size_t saved = (3 * 16 * 16 + 5 * 32 * 32 + 32 * 64 + 5 * 64 * 64) / 4;
    tap_ok(two - four == saved, "four groups save %zu parameters over two (%zu)", saved,
           two - four);
    /* 16, 32 and 64 are no multiples of three groups: widths 15, 30, 63 */
    tap_ok(
        parameters_of((struct network_request){.network = "resnet20-shuffle", .groups = 3}) > 0 &&
            parameters_of((struct network_request){.network = "squeezenet-shuffle", .groups = 3}) >
                0 &&
            parameters_of((struct network_request){.network = "resnet20-shuffle", .groups = 1}) >
                two,
        "groups that do not divide the widths, and one group");
    struct network *network =
        network_build(&(struct network_request){.network = "resnet20-0.36-dsc"}, NULL);
    tap_ok(network &&
               strcmp(network_full_name(network, name, sizeof name), "resnet20-dsc-0.36") == 0,
           "a network's name has the suffixes: %s", name);
    network_free(network);
}

static void refuses_request(const char *what, struct network_request request, const char *words)
{
    struct error error = {0};
    struct network *network = network_build(&request, &error);
    tap_ok(!network && strstr(error.why, words), "refuses %s: %s: %s", what, error.what, error.why);
    network_free(network);
}

static void test_bad_variations(void)
{
    refuses_request("two rates", (struct network_request){.network = "resnet20-2-3"}, "same kind");
    refuses_request("a rate of zero", (struct network_request){.network = "resnet20-0"}, "zero");
    refuses_request("a huge rate", (struct network_request){.network = "resnet20-1000"}, "between");
    refuses_request("no number", (struct network_request){.network = "resnet20-inf"}, "no suffix");
    refuses_request("an empty suffix", (struct network_request){.network = "resnet20-"},
                    "no suffix");
    refuses_request("a rate that leaves nothing",
                    (struct network_request){.network = "resnet20-99"}, "leaves no channels");
    refuses_request("contradicting rates",
                    (struct network_request){.network = "resnet20-2", .width_rate = 3},
                    "contradict");
    refuses_request("a bottleneck of dsc",
                    (struct network_request){.network = "resnet20-dsc-2_block"}, "bottleneck");
    refuses_request("too many groups",
                    (struct network_request){.network = "resnet20-shuffle", .groups = 1000000},
                    "groups");
    refuses_request("a technique without effect", (struct network_request){.network = "mlp-dsc"},
                    "changes none");
    refuses_request("a block rate without blocks",
                    (struct network_request){.network = "lenet-2_block"}, "changes none");
}

/* Returns how many nodes of a network have this operator. */
static size_t nodes_of(const struct network *network, const struct op *op)
{
    size_t count = 0;
    for (size_t i = 0; network && i < network->graph.node_count; i++)
        count += network->graph.nodes[i].op == op;
    return count;
}

/* Widths and activation, for network files that leave them open. */
static void test_choices(void)
{
    static const char own[] =
        "{\"input\": [3, 9, 9], \"classes\": 2, \"widths\": [4, 6], \"activation\": \"tanh\",\n"
        " \"layers\": [\n"
        "  {\"op\": \"conv\", \"name\": \"c\", \"repeat\": \"widths\", \"output\": \"width\",\n"
        "   \"kernel\": 3, \"pad\": 1}, {\"op\": \"activation\"},\n"
        "  {\"op\": \"average_pool\", \"global\": true}, {\"op\": \"linear\", \"output\": 2}]}";
    const struct network_widths three = {3, {5, 6, 7}};
    char name[64];
    struct network_request request = {.network = "mlp", .activation = "tanh", .widths = three};
    struct network *network = network_build(&request, NULL);
    tap_ok(network && nodes_of(network, &op_linear) == 4 && nodes_of(network, &op_tanh) == 3 &&
               nodes_of(network, &op_relu) == 0,
           "mlp has a layer and an activation for each width");
    if (network)
        tap_ok(strcmp(network_full_name(network, name, sizeof name), "mlp-w5x6x7-tanh") == 0,
               "and lists them: %s", name);
    network_free(network);
    for (size_t i = 0; network_activations[i]; i++) {
        const struct op *op = op_find(network_activations[i]);
        char wanted[64];
        snprintf(wanted, sizeof wanted, "mlp-w9%s%s", i > 0 ? "-" : "",
                 i > 0 ? network_activations[i] : "");
        request =
            (struct network_request){.network = "mlp-w9", .activation = network_activations[i]};
        network = network_build(&request, NULL);
        tap_ok(op && network && nodes_of(network, op) == 1 &&
                   strcmp(network_full_name(network, name, sizeof name), wanted) == 0,
               "%s", wanted);
        network_free(network);
    }
    request = (struct network_request){.network = "mlp-w512x256-relu"};
    network = network_build(&request, NULL);
    if (tap_ok(network, "the file's values can be given, too"))
        tap_ok(strcmp(network_full_name(network, name, sizeof name), "mlp") == 0,
               "and need not be: %s", name);
    network_free(network);
    request = (struct network_request){.network = "own.json", .text = own};
    tap_ok(parameters_of(request) == 3 * 4 * 9 + 4 + 4 * 6 * 9 + 6 + 6 * 2 + 2,
           "a user's file has widths, too");
    request.widths = three;
    tap_ok(parameters_of(request) == 3 * 5 * 9 + 5 + 5 * 6 * 9 + 6 + 6 * 7 * 9 + 7 + 7 * 2 + 2,
           "which the request replaces");
    request.activation = "sigmoid";
    network = network_build(&request, NULL);
    tap_ok(nodes_of(network, &op_sigmoid) == 1, "and so is its activation");
    network_free(network);
}

static void test_bad_choices(void)
{
    const struct network_widths one = {1, {7}};
    struct network_widths parsed;
    static const char *const wrong[] = {
        "", "12,", ",12", "12;5", "0", "65537", "9999999999", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"};
    bool refused = true;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused = refused && !network_widths_parse(wrong[i], ',', &parsed);
    tap_ok(refused && network_widths_parse("1,65536", ',', &parsed) && parsed.count == 2,
           "widths are 1 to 16 numbers of 1 to 65536");
    struct error error = {0};
    struct network_request request = {.network = "lenet", .widths = one};
    tap_ok(!network_build(&request, &error) && error.kind == ERROR_USAGE,
           "a network without widths refuses them: %s: %s", error.why, error.advice);
    request = (struct network_request){.network = "resnet20", .activation = "tanh"};
    tap_ok(!network_build(&request, &error) && error.kind == ERROR_USAGE,
           "a network without a choice of activations, too: %s: %s", error.why, error.advice);
    refuses_request("an unknown activation",
                    (struct network_request){.network = "mlp", .activation = "step"}, "step");
    refuses_request("contradicting widths",
                    (struct network_request){.network = "mlp-w5", .widths = one}, "contradict");
    refuses_request("contradicting activations",
                    (struct network_request){.network = "mlp-tanh", .activation = "relu"},
                    "contradict");
    refuses("\"width\" outside of a repetition",
            "{\"input\": [1, 8, 8], \"classes\": 2, \"widths\": [3], \"layers\": [\n"
            "{\"op\": \"linear\", \"output\": \"width\"}]}",
            "\"width\"");
    refuses("widths without a repeated group",
            "{\"input\": [1, 8, 8], \"classes\": 2, \"widths\": [3], \"layers\": [\n"
            "{\"op\": \"linear\", \"output\": 2}]}",
            "no layer says");
    refuses("a repetition over no widths",
            "{\"input\": [1, 8, 8], \"classes\": 2, \"layers\": [\n"
            "{\"op\": \"relu\", \"repeat\": \"widths\"}]}",
            "no \"widths\"");
    refuses("a missing activation",
            "{\"input\": [1, 8, 8], \"classes\": 2, \"layers\": [{\"op\": \"activation\"}]}",
            "activation");
    refuses("an unknown activation",
            "{\"input\": [1, 8, 8], \"classes\": 2, \"activation\": \"lrn\", \"layers\": []}",
            "one of relu");
    refuses("an empty list of widths",
            "{\"input\": [1, 8, 8], \"classes\": 2, \"widths\": [3, 0], \"layers\": []}",
            "1 to 16 numbers");
}

/* A user's network: layers that a technique does not change, and names of layers that it replaces
 * by several. */
static void test_own_layers(void)
{
    static const char text[] =
        "{\"input\": [3, 9, 9], \"classes\": 2, \"layers\": [\n"
        "  {\"op\": \"conv\", \"name\": \"a\", \"output\": 4, \"kernel\": 3, \"pad\": 1},\n"
        "  {\"op\": \"conv\", \"name\": \"b\", \"output\": 6, \"kernel\": 3, \"pad\": 1},\n"
        "  {\"op\": \"conv\", \"name\": \"c\", \"output\": 6, \"kernel\": 3, \"pad\": 1,\n"
        "   \"keep\": true, \"from\": \"a\"},\n"
        "  {\"op\": \"add\", \"from\": [\"b\", \"c\"]},\n"
        "  {\"op\": \"average_pool\", \"global\": true},\n"
        "  {\"op\": \"linear\", \"output\": 2}]}";
    const size_t kept = 3 * 4 * 9 + 4 + 4 * 6 * 9 + 6 + 6 * 2 + 2;
    struct network_request request = {.network = "own.json", .text = text};
    static const size_t changed[TECHNIQUES] = {
        [TECHNIQUE_NONE] = 4 * 6 * 9 + 6,
        [TECHNIQUE_DSC] = 4 * 9 + 4 * 6 + 6,
        [TECHNIQUE_SHUFFLE] = 2 * 6 + 6 * 9 + 6,
        [TECHNIQUE_SHIFT] = 4 * 6 + 6,
    };
    for (size_t i = 0; i < TECHNIQUES; i++) {
        request.technique = (enum technique)i;
        size_t found = parameters_of(request);
        tap_ok(found == kept + changed[i], "a user's network with %s has %zu parameters (%zu)",
               technique_name(request.technique), kept + changed[i], found);
    }
}

static void test_groups(void)
{
    static const char text[] =
        "{\"name\": \"g\", \"input\": [2, 8, 8], \"classes\": 3, \"layers\": [\n"
        "  {\"name\": \"part\", \"repeat\": 2, \"layers\": [\n"
        "    {\"op\": \"conv\", \"name\": \"c\", \"output\": 2, \"kernel\": 3, \"pad\": 1},\n"
        "    {\"op\": \"relu\", \"name\": \"r\"}]},\n"
        "  {\"op\": \"add\", \"name\": \"sum\", \"from\": [\"part.1.r\", \"part.2.r\"]},\n"
        "  {\"op\": \"flatten\"}, {\"op\": \"linear\", \"output\": \"classes\"}]}";
    struct error error = {0};
    struct network *network =
        network_build(&(struct network_request){.network = "g.json", .text = text}, &error);
    tap_ok(network && graph_parameter_count(&network->graph) == 2 * 38 + 128 * 3 + 3,
           "a repeated group %s", error.why);
    tap_ok(network && strcmp(network->source, text) == 0, "the network keeps its file's text");
    network_free(network);
}

TEST_CASE(network_test)
{
    test_counts();
    test_studies();
    test_heads();
    test_pix2pix();
    test_graph();
    test_refusals();
    test_names();
    test_groups();
    test_variations();
    test_bad_variations();
    test_choices();
    test_bad_choices();
    test_own_layers();
    return tap_done();
}
