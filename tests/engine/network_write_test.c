/* Writes networks as files of plain operators: the network built from such a file is the same
 * graph, for all blocks, techniques and rates. */
#include "engine/network/network.h"
#include "engine/network/network_compression.h"
#include "engine/network/network_write.h"
#include "engine/ops/class_outputs.h"
#include "engine/ops/op.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The initialisers "he" and "xavier" have no value. */
static bool same_initialiser(const struct initialiser *a, const struct initialiser *b)
{
    bool valued = a->kind == INITIALISE_GAUSSIAN || a->kind == INITIALISE_CONSTANT;
    return a->kind == b->kind && (!valued || a->value == b->value);
}

static bool same_conv(const struct conv_attributes *a, const struct conv_attributes *b)
{
    return memcmp(&a->window, &b->window, sizeof a->window) == 0 && a->outputs == b->outputs &&
           a->groups == b->groups && a->bias == b->bias &&
           a->dilation_height == b->dilation_height && a->dilation_width == b->dilation_width &&
           a->int8_weights == b->int8_weights &&
           same_initialiser(&a->weight_init, &b->weight_init) &&
           (!a->bias || same_initialiser(&a->bias_init, &b->bias_init));
}

static bool same_linear(const struct linear_attributes *a, const struct linear_attributes *b)
{
    return a->outputs == b->outputs && a->bias == b->bias && a->int8_weights == b->int8_weights &&
           same_initialiser(&a->weight_init, &b->weight_init) &&
           (!a->bias || same_initialiser(&a->bias_init, &b->bias_init));
}

/* Attributes of the other operators are compared as bytes. */
static bool same_attributes(const struct node *a, const struct node *b)
{
    if (a->op == &op_conv || a->op == &op_conv_transpose)
        return same_conv(&a->attributes.conv, &b->attributes.conv);
    if (a->op == &op_linear)
        return same_linear(&a->attributes.linear, &b->attributes.linear);
    return memcmp(&a->attributes, &b->attributes, sizeof a->attributes) == 0;
}

static bool same_node(const struct node *a, const struct node *b)
{
    return strcmp(a->name, b->name) == 0 && a->op == b->op && a->input_count == b->input_count &&
           memcmp(a->inputs, b->inputs, a->input_count * sizeof *a->inputs) == 0 &&
           memcmp(&a->output, &b->output, sizeof a->output) == 0 &&
           quantization_equal(a->quantization, b->quantization) && same_attributes(a, b);
}

static bool same_parameter(const struct parameter *a, const struct parameter *b)
{
    return strcmp(a->name, b->name) == 0 && a->offset == b->offset && a->count == b->count &&
           a->fan_in == b->fan_in && a->learnable == b->learnable && a->init.kind == b->init.kind &&
           a->init.value == b->init.value;
}

/* Returns the name of the first difference; NULL if the graphs are the same. */
static const char *difference(const struct graph *a, const struct graph *b)
{
    if (a->node_count != b->node_count || a->parameter_count != b->parameter_count ||
        a->loss_count != b->loss_count || a->output != b->output)
        return "the number of nodes, parameters or losses";
    for (size_t i = 0; i < a->node_count; i++)
        if (!same_node(&a->nodes[i], &b->nodes[i]))
            return a->nodes[i].name;
    for (size_t i = 0; i < a->parameter_count; i++)
        if (!same_parameter(&a->parameters[i], &b->parameters[i]))
            return a->parameters[i].name;
    for (size_t i = 0; i < a->loss_count; i++)
        if (a->losses[i] != b->losses[i])
            return "the losses";
    return NULL;
}

static char *write_network(const struct network *network, struct error *error)
{
    struct json *tree = network_to_json(network);
    char *text = tree ? json_print(tree, true, error) : NULL;
    json_free(tree);
    return text;
}

static void check(const struct network_request *request, const char *what)
{
    struct error error = {0};
    struct network *network = network_build(request, &error);
    char *text = network ? write_network(network, &error) : NULL;
    struct network *again =
        text ? network_build(&(struct network_request){.network = "network.json", .text = text},
                             &error)
             : NULL;
    const char *differs = again ? difference(&network->graph, &again->graph) : "it is not built";
    if (!differs && network_has_discriminator(network))
        differs = difference(&network->discriminator, &again->discriminator);
    if (!differs && (network->classes != again->classes ||
                     strcmp(network->normalisation, again->normalisation) != 0))
        differs = "classes or normalisation";
    tap_ok(!differs, "%s: the graph built from the written file is the same (%s) %s %s", what,
           differs ? differs : "", error.what, error.why);
    network_free(again);
    free(text);
    network_free(network);
}

static void test_built_in(void)
{
    for (size_t i = 0; i < network_builtin_count; i++)
        for (size_t t = 0; t < TECHNIQUES; t++) {
            char what[96];
            struct network_request request = {.network = network_builtins[i].name,
                                              .technique = (enum technique)t};
            struct network *possible = network_build(&request, NULL);
            snprintf(what, sizeof what, "%s with %s", request.network,
                     technique_name(request.technique));
            if (possible)
                check(&request, what);
            network_free(possible);
        }
}

static void test_choices(void)
{
    check(&(struct network_request){.network = "resnet20-2.4_block", .classes = 100},
          "a network with bottlenecks");
    check(&(struct network_request){.network = "resnet56-dsc-0.35"}, "a wider network");
    check(&(struct network_request){.network = "mlp-w800x400-tanh"}, "a chosen activation");
    check(&(struct network_request){.network = "mlp-prelu"}, "an activation with parameters");
    check(&(struct network_request){.network = "pix2pix-shuffle", .groups = 4}, "chosen groups");
}

/* Returns whether the network has as many classes as its main loss reads, and names output layers.
 */
static bool has_outputs(const struct network *network, size_t classes)
{
    char names[192];
    return network && network->classes == classes &&
           network->graph.nodes[network->graph.output].output.channels == classes &&
           graph_output_names(&network->graph, names, sizeof names)[0];
}

/* A written network has no number in its output layers, so that it can be built for other classes.
 */
static void test_outputs(void)
{
    for (size_t i = 0; i < network_builtin_count; i++) {
        const char *name = network_builtins[i].name;
        struct network *network = network_build(&(struct network_request){.network = name}, NULL);
        if (network->classes > 0) {
            struct json *tree = network_to_json(network);
            char *text = json_print(tree, true, NULL);
            struct network *other = network_build(
                &(struct network_request){.network = name, .text = text, .classes = 7}, NULL);
            tap_ok(has_outputs(network, network->classes) && has_outputs(other, 7),
                   "%s as it is written has as many outputs as there are classes", name);
            network_free(other);
            free(text);
            json_free(tree);
        }
        network_free(network);
    }
}

static struct network *build_fixed(const char *outputs, size_t classes, bool remake,
                                   struct error *error)
{
    char text[640];
    snprintf(text, sizeof text,
             "{\"name\": \"fixed\", \"input\": [3, 8, 8], \"classes\": 3, \"layers\": [\n"
             "{\"op\": \"conv\", \"name\": \"a\", \"output\": 10, \"kernel\": 1},\n%s]}",
             outputs);
    return network_build(
        &(struct network_request){
            .network = "fixed", .text = text, .classes = classes, .remake_outputs = remake},
        error);
}

/* Networks whose files give a number of outputs. */
static void test_fixed_outputs(void)
{
    static const char head[] =
        "{\"op\": \"average_pool\", \"global\": true}, {\"op\": \"linear\", \"name\": \"fc\", "
        "\"output\": 10}, {\"op\": \"relu\"}";
    static const char shared[] =
        "{\"op\": \"average_pool\", \"global\": true, \"name\": \"p\"}, {\"op\": \"linear\", "
        "\"name\": \"b\", \"from\": \"p\", \"output\": 4}, {\"op\": \"concat\", \"from\": "
        "[\"p\", \"b\"]}";
    struct error error = {0};
    struct network *network = build_fixed(head, 5, false, &error);
    tap_ok(has_outputs(network, 10) && network->remade == 0,
           "the classes are the outputs, whatever the file and the request say");
    network_free(network);
    network = build_fixed(head, 5, true, &error);
    tap_ok(has_outputs(network, 5) && network->remade == 10 &&
               strstr(network->source, ":\t\"classes\""),
           "output layers are made anew, in the text, too");
    struct network *again =
        network
            ? network_build(&(struct network_request){.network = "fixed", .text = network->source},
                            &error)
            : NULL;
    tap_ok(has_outputs(again, 5), "which gives the same network");
    network_free(again);
    network_free(network);
    network = build_fixed(shared, 5, true, &error);
    tap_ok(!network && strstr(error.why, "no single layer"),
           "outputs that several layers compute stay: %s", error.why);
    network_free(network);
}

/* A network with every operator, each attribute different from its default. */
static const char every_operator[] =
    "{\"name\": \"all\", \"input\": [3, 13, 12], \"classes\": 4, \"loss\": \"l2_loss\",\n"
    " \"normalise\": \"signed\", \"layers\": [\n"
    "{\"op\": \"conv\", \"name\": \"a\", \"output\": 6, \"kernel\": [3, 2], \"stride\": [2, 1],\n"
    " \"pad\": [1, 0], \"groups\": 3, \"bias_init\": 0.2, \"init\": {\"gaussian\": 0.02}},\n"
    "{\"op\": \"conv\", \"name\": \"b\", \"output\": 6, \"kernel\": 1, \"bias\": false,\n"
    " \"init\": {\"constant\": 0.1}},\n"
    "{\"op\": \"conv_transpose\", \"name\": \"t\", \"output\": 4, \"kernel\": 4, \"stride\": 2,\n"
    " \"pad\": 1, \"init\": \"xavier\"},\n"
    "{\"op\": \"max_pool\", \"kernel\": [3, 2], \"stride\": 2, \"pad\": 1, \"ceil\": true},\n"
    "{\"op\": \"batch_norm\", \"epsilon\": 0.001, \"momentum\": 0.3, \"instance\": true},\n"
    "{\"op\": \"leaky_relu\", \"name\": \"l\", \"slope\": 0.15},\n"
    "{\"op\": \"lrn\", \"size\": 3, \"alpha\": 0.01, \"beta\": 0.5, \"k\": 2},\n"
    "{\"op\": \"channel_shuffle\", \"groups\": 2}, {\"op\": \"channel_shift\"},\n"
    "{\"op\": \"dropout\", \"name\": \"d\", \"rate\": 0.3, \"always\": true},\n"
    "{\"op\": \"conv\", \"name\": \"w\", \"output\": 4, \"kernel\": [3, 2],\n"
    " \"dilation\": [2, 3], \"pad\": [2, 3]}, {\"op\": \"prelu\", \"slope\": 0.5},\n"
    "{\"op\": \"elu\", \"alpha\": 0.4}, {\"op\": \"gelu\"}, {\"op\": \"silu\"},\n"
    "{\"op\": \"hardswish\"}, {\"op\": \"fake_quantize\", \"grid\": [0.0371, 113]}, {\"op\": "
    "\"dropout\", \"rate\": 0.2, \"channels\": true},\n"
    "{\"block\": \"squeeze_excitation\", \"reduction\": 2, \"activation\": \"gelu\",\n"
    " \"gate\": \"hardsigmoid\"},\n"
    "{\"op\": \"add\", \"from\": [\"d\", \"l\"]}, {\"op\": \"sigmoid\"}, {\"op\": \"tanh\"},\n"
    "{\"op\": \"relu\", \"name\": \"r\"}, {\"op\": \"concat\", \"from\": [\"r\", \"l\", \"d\"]},\n"
    "{\"op\": \"average_pool\", \"name\": \"g\", \"global\": true},\n"
    "{\"op\": \"softmax_cross_entropy\", \"name\": \"x1\", \"weight\": 0.3},\n"
    "{\"op\": \"perceptron\", \"from\": \"g\", \"weight\": 0.4},\n"
    "{\"op\": \"distillation\", \"from\": [\"g\", \"g\"], \"temperature\": 3, \"weight\": 0.5},\n"
    "{\"op\": \"l1_loss\", \"from\": [\"r\", \"l\"], \"weight\": 0.2},\n"
    "{\"op\": \"l2_loss\", \"from\": [\"r\", \"d\"], \"weight\": 0.1},\n"
    "{\"op\": \"binary_cross_entropy\", \"from\": \"r\", \"target\": 0.9, \"weight\": 0.4},\n"
    "{\"op\": \"flatten\", \"from\": \"g\"},\n"
    "{\"op\": \"linear\", \"output\": \"classes\", \"init\": {\"gaussian\": 0.5}, \"bias\": true,\n"
    " \"bias_init\": -1}, {\"op\": \"softmax\"}, {\"op\": \"softmax\", \"over\": \"image\"}]}";

/* Scales that have no short decimal form must come back with the same bits. */
static const char quantized[] =
    "{\"name\": \"q\", \"input\": [3, 8, 8], \"classes\": 4, \"input_quantized\": [0.0123456789, "
    "114],\n"
    " \"layers\": [\n"
    "{\"op\": \"conv\", \"name\": \"a\", \"output\": 6, \"kernel\": 3, \"weights\": \"int8\",\n"
    " \"quantized\": [0.333333333, 0]}, {\"op\": \"relu\", \"quantized\": [0.333333333, 0]},\n"
    "{\"op\": \"flatten\", \"quantized\": [0.333333333, 0]},\n"
    "{\"op\": \"linear\", \"name\": \"fc\", \"output\": \"classes\", \"weights\": \"int8\"}]}";

static void test_quantized(void)
{
    const struct network_request request = {.network = "q.json", .text = quantized};
    struct network *network = network_build(&request, NULL);
    check(&request, "a quantized network");
    if (!network)
        return;
    const struct node *nodes = network->graph.nodes;
    tap_ok(quantization_equal(nodes[0].quantization, (struct quantization){0.0123456789f, 114}) &&
               quantization_equal(nodes[1].quantization, (struct quantization){0.333333333f, 0}) &&
               quantization_equal(nodes[2].quantization, nodes[1].quantization) &&
               !quantization_is_set(nodes[4].quantization),
           "  its nodes have the quantization of the file");
    const struct parameter *scale =
        graph_weight_scale(&network->graph, &network->graph.parameters[nodes[4].parameters[0]]);
    tap_ok(scale && strcmp(scale->name, "fc.weight_scale") == 0 && scale->count == 4 &&
               !scale->learnable,
           "  a quantized layer has one scale for each output, which does not count as a weight");
    network_free(network);
}

static void refuses(const char *what, const char *from, const char *to, enum technique technique)
{
    struct error error = {0};
    char text[sizeof quantized + 64];
    const char *at = strstr(quantized, from);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - quantized), quantized, to,
             at + strlen(from));
    struct network *network = network_build(
        &(struct network_request){.network = "q.json", .text = text, .technique = technique},
        &error);
    tap_ok(!network && error.why[0], "refuses %s: %s", what, error.why);
    network_free(network);
}

static void test_wrong_quantization(void)
{
    refuses("a scale of 0", "[0.333333333, 0]", "[0, 0]", TECHNIQUE_NONE);
    refuses("a scale that float32 cannot hold", "[0.333333333, 0]", "[1e-46, 0]", TECHNIQUE_NONE);
    refuses("a zero point of 256", "[0.0123456789, 114]", "[0.1, 256]", TECHNIQUE_NONE);
    refuses("a zero point that is no integer", "[0.0123456789, 114]", "[0.1, 1.5]", TECHNIQUE_NONE);
    refuses("a quantization of one number", "[0.333333333, 0]", "[0.3]", TECHNIQUE_NONE);
    refuses("weights of another type", "\"weights\": \"int8\"", "\"weights\": \"int4\"",
            TECHNIQUE_NONE);
    refuses("a technique for a quantized network", "\"kernel\": 3",
            "\"kernel\": 3}, {\"op\": \"conv\", \"output\": 6, \"kernel\": 3", TECHNIQUE_DSC);
}

static void test_every_operator(void)
{
    check(&(struct network_request){.network = "all.json", .text = every_operator},
          "a network of every operator that has attributes");
    size_t missing = 0;
    for (size_t i = 0; op_table[i]; i++) {
        char quoted[64];
        snprintf(quoted, sizeof quoted, "\"%s\"", op_table[i]->name);
        missing += op_table[i]->write && !strstr(every_operator, quoted);
    }
    tap_ok(missing == 0, "  which has every operator that has attributes (%zu are missing)",
           missing);
}

/* A chain of techniques stays with the network, and is no part of its name in the file. */
static void test_compression(void)
{
    struct error error = {0};
    char name[NETWORK_SHORT_NAME + 64] = "";
    struct network *network =
        network_build(&(struct network_request){.network = "resnet20-shift"}, &error);
    struct json *root = network ? network_to_json(network) : NULL;
    const bool appended = root && compression_append(root, "prune:0.5", &error) &&
                          compression_append(root, "quantize", &error);
    tap_ok(appended && !compression_append(root, "prune:", NULL) &&
               !compression_append(root, "a b", NULL) && !compression_append(root, "a+", NULL),
           "steps are appended to a chain, and a wrong one is refused");
    struct network *made = appended ? network_from_json(root, &error) : NULL;
    struct json *again = made ? network_to_json(made) : NULL;
    struct network *copy = again ? network_from_json(again, &error) : NULL;
    tap_ok(copy && strcmp(copy->compression, "prune:0.5+quantize") == 0 &&
               strcmp(network_full_name(copy, name, sizeof name),
                      "resnet20-shift+prune:0.5+quantize") == 0,
           "  the network made from it, written and read again, has the chain: %s", name);
    while (root && compression_append(root, "factorize:0.95", NULL))
        ;
    tap_ok(root && !compression_append(root, "factorize:0.95", &error) &&
               error.kind == ERROR_UNSUPPORTED,
           "  a chain that is too long is refused");
    network_free(copy);
    json_free(again);
    network_free(made);
    json_free(root);
    network_free(network);
}

TEST_CASE(network_write_test)
{
    test_built_in();
    test_choices();
    test_outputs();
    test_fixed_outputs();
    test_every_operator();
    test_quantized();
    test_wrong_quantization();
    test_compression();
    return tap_done();
}
