/* State dicts with the names of torchvision and of other PyTorch programs: they fit the networks of
 * networks/torchvision, or built-in networks through a mapping, and give PyTorch's logits. The
 * goldens, made by make_torchvision.py, have names, shapes and logits; the values of weights and
 * image follow from a formula. */
#include "base/files/file.h"
#include "base/memory.h"
#include "engine/execution/execution.h"
#include "engine/weights/weights_match.h"
#include "golden.h"
#include "tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IMAGE_STREAM = 1000 };
static const double tolerance = 1e-5;
static char folder[] = "/tmp/tinca-names-XXXXXX";

/* Value i of a stream, in [-0.5, 0.5). */
static double noise(uint32_t stream, size_t i)
{
    uint32_t x = (uint32_t)i * 2654435761u + (stream + 1) * (40503u * 65537u);
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return x / 4294967296.0 - 0.5;
}

static bool ends_with(const char *name, const char *end)
{
    const size_t length = strlen(name), tail = strlen(end);
    return length >= tail && strcmp(name + length - tail, end) == 0;
}

static size_t count_of(const struct safetensors_array *array)
{
    size_t count = 1;
    for (size_t i = 0; i < array->rank; i++)
        count *= array->dims[i];
    return count;
}

/* Fills an array of the state dict as make_torchvision.py does. */
static void fill(const struct safetensors_array *array, uint32_t stream, float *values)
{
    const size_t count = count_of(array);
    const double scale = 2 * sqrt(6.0 / ((double)count / (double)array->dims[0]));
    for (size_t i = 0; i < count; i++) {
        const double u = noise(stream, i);
        values[i] =
            (float)(array->rank > 1 ? u * scale
                    : ends_with(array->name, "running_var") || ends_with(array->name, "weight")
                        ? 1 + u * 0.4
                        : u * 0.4);
    }
}

/* Describes the state dict of a golden, without values. */
static struct safetensors_array *read_arrays(const struct json *tensors, size_t *count)
{
    struct safetensors_array *arrays =
        memory_new(json_member_count(tensors), sizeof *arrays, "a", NULL);
    *count = 0;
    for (const struct json *tensor = json_first_member(tensors); arrays && tensor;
         tensor = json_next(tensor)) {
        struct safetensors_array *array = &arrays[(*count)++];
        *array = (struct safetensors_array){.name = json_key(tensor)};
        for (const struct json *dim = json_first(tensor); dim; dim = json_next(dim))
            json_count(dim, &array->dims[array->rank++]);
    }
    return arrays;
}

/* Writes the state dict of a golden to a file. */
static bool write_state(const struct json *golden, const char *path, struct error *error)
{
    size_t count;
    struct safetensors_array *arrays = read_arrays(json_member(golden, "tensors"), &count);
    for (size_t i = 0; i < count; i++) {
        float *values = memory_new(count_of(&arrays[i]), sizeof *values, "a", NULL);
        fill(&arrays[i], (uint32_t)i, values);
        arrays[i].data = values;
    }
    const bool written = safetensors_write(path, arrays, count, NULL, error);
    for (size_t i = 0; i < count; i++)
        free((void *)arrays[i].data);
    free(arrays);
    return written;
}

/* Returns max|a - b| / max(1, max|b|) of the logits of the image. */
static double logits_difference(const struct network *network, struct weights *weights,
                                const char *device, const struct json *logits)
{
    struct error error = {0};
    const struct plan_settings settings = {.mode = PLAN_INFERENCE, .batch = 1, .threads = 2};
    const size_t values = shape_count(network->input);
    struct device *opened = device_open(device, 2, &error);
    struct plan *plan = plan_build(&network->graph, opened->driver, &settings, &error);
    struct execution *execution = execution_create(plan, opened, weights, NULL, 1, &error);
    float *image = memory_new_aligned(values, sizeof *image, "an image", &error);
    double worst = execution && image ? 0 : INFINITY, largest = 1;
    for (size_t i = 0; image && i < values; i++)
        image[i] = (float)noise(IMAGE_STREAM, i);
    const struct execution_batch batch = {.images = image, .count = 1};
    if (execution && image) {
        execution_bind(execution, &batch);
        execution_forward(execution, 0);
    }
    for (size_t i = 0; execution && image && i < json_length(logits); i++) {
        const double difference =
            fabs(golden_number(logits, i) - (double)execution_output(execution)[i]);
        worst = difference <= worst ? worst : isfinite(difference) ? difference : INFINITY;
        largest = fmax(largest, fabs(golden_number(logits, i)));
    }
    execution_free(execution);
    plan_free(plan);
    device_close(opened);
    free(image);
    return worst / largest;
}

/* Loads the state dict of a golden and compares its logits. */
static void test_logits(const char *name, const struct json *golden, const char *names)
{
    struct error error = {0};
    struct weights weights = {0};
    struct weights_match match = {0};
    char *path = file_join(folder, "state.safetensors");
    struct network *network = golden_build_network(
        &(struct network_request){.network = json_string(json_member(golden, "network"))}, &error);
    const struct weights_source source = {path, "", names, WEIGHTS_OUTPUTS_READ};
    const bool loaded = network && weights_create(&weights, &network->graph, &error) &&
                        write_state(golden, path, &error) &&
                        weights_begin(&weights, &source, &match, &error);
    tap_ok(loaded && match.unused == 0, "%s: its state dict loads%s%s (%zu arrays): %s", name,
           match.names[0] ? " by the mapping " : "", match.names, match.loaded, error.why);
    tap_ok(strcmp(match.names, json_string(json_member(golden, "names"))) == 0,
           "%s: the mapping is the expected one", name);
    static const char *const devices[] = {"reference", "cpu"};
    for (size_t i = 0; loaded && i < 2; i++) {
        const double difference =
            logits_difference(network, &weights, devices[i], json_member(golden, "logits"));
        tap_ok(difference <= tolerance, "%s on %s: PyTorch's logits (%.2g)", name, devices[i],
               difference);
    }
    weights_free(&weights);
    network_free(network);
    unlink(path);
    free(path);
}

/* Checks that a network has the arrays of a state dict, and no others. */
static void test_shapes(const struct json *golden)
{
    const char *name = json_string(json_member(golden, "network"));
    struct error error = {0};
    size_t count, found = 0;
    struct network *network =
        golden_build_network(&(struct network_request){.network = name}, &error);
    struct safetensors_array *arrays = read_arrays(json_member(golden, "tensors"), &count);
    for (size_t p = 0; network && p < network->graph.parameter_count; p++) {
        const struct parameter *parameter = &network->graph.parameters[p];
        for (size_t i = 0; i < count; i++)
            found += strcmp(arrays[i].name, parameter->name) == 0 &&
                     arrays[i].rank == parameter->rank &&
                     memcmp(arrays[i].dims, parameter->dims,
                            parameter->rank * sizeof *parameter->dims) == 0;
    }
    tap_ok(network && found == count && found == network->graph.parameter_count,
           "PyTorch's state dict of %s has the names and shapes of ours (%zu arrays): %s", name,
           found, error.why);
    free(arrays);
    network_free(network);
}

/* --- patterns and refusals --- */

static bool replaces(const char *from, const char *to, const char *name, const char *expected)
{
    char out[128];
    return weights_names_replace(from, to, name, out, sizeof out)
               ? expected != NULL && strcmp(out, expected) == 0
               : expected == NULL;
}

static void test_patterns(void)
{
    tap_ok(replaces("layer*.shortcut.0.*", "stage*.conv.*", "layer2.0.shortcut.0.weight",
                    "stage2.0.conv.weight"),
           "what each * takes is put into the other name");
    tap_ok(replaces("a*", "b*", "a", NULL), "a * takes at least a character");
    tap_ok(replaces("a", "b", "ab", NULL) && replaces("a", "b", "a", "b"),
           "a pattern matches the whole name");
}

/* A pattern that a search without notes would try for hours. */
static void test_many_stars(void)
{
    char name[128], out[128];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    tap_ok(!weights_names_replace("*a*a*a*a*a*a*a*b", "x", name, out, sizeof out) &&
               weights_names_replace("*a*a*a*a*a*a*a*", "*", name, out, sizeof out) &&
               strcmp(out, "a") == 0,
           "eight stars are matched at once");
}

/* Checks that what a mapping calls the arrays of a network is translated back to them, and returns
 * whether it has a name for each. */
static bool test_back(const struct weights_names *names, const struct graph *graph)
{
    char there[128], back[128];
    bool all = true;
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const char *name = graph->parameters[p].name;
        if (!weights_names_translate_back(names, name, there, sizeof there)) {
            all = false;
            continue;
        }
        weights_names_translate(names, there, back, sizeof back);
        if (strcmp(back, name) != 0)
            tap_ok(false, "%s is called %s, which is %s", name, there, back);
    }
    return all;
}

/* Every built-in mapping in both directions, for every built-in network. */
static void test_both_directions(void)
{
    static const struct {
        const char *mapping, *network, *ours, *theirs;
    } cases[] = {
        {"cifar-resnet", "resnet20", "stage2.0.conv_shortcut.weight", "layer2.0.shortcut.0.weight"},
        {"torchvision-resnet", "resnet56", "stage2.0.bn_shortcut.bias",
         "layer2.0.downsample.1.bias"},
        {"cifar-vgg", "vgg19", "stage5.4.bn.running_var", "features.50.running_var"},
        {"cifar-mobilenet", "mobilenet", "block7.5.pw_bn.bias", "layers.10.bn2.bias"},
        {"timm-mobilenet", "mobilenet", "block9.1.dw.weight", "blocks.4.1.conv_dw.weight"},
        {"torchvision-alexnet", "alexnet", "fc8.bias", "classifier.6.bias"},
        {"sequential-alexnet", "alexnet", "conv5.weight", "f.12.weight"},
        {"sequential-googlenet", "googlenet", "inception_4d.5x5.bias", "i4d.c.2.bias"},
        {"sequential-lenet", "lenet", "ip2.weight", "n.7.weight"},
        {"sequential-squeezenet", "squeezenet", "fire9.bn1x1.bias", "n.12.e1.1.bias"},
        {"sequential-squeezenet", "squeezenet-shuffle", "fire2.bn.bias", "n.3.bc.bias"},
        {"sequential-resnet20", "resnet20", "stage3.2.bn1.bias", "body.8.ba.bias"},
        {"sequential-resnet56", "resnet56-shift", "stage3.0.conv2.weight", "body.18.b.weight"},
        {"sequential-resnet110", "resnet110-dsc", "stage2.0.pw2.weight", "body.18.b.1.weight"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error error = {0};
        struct weights_names names = {0};
        char there[128] = "";
        struct network *network =
            network_build(&(struct network_request){.network = cases[i].network}, &error);
        const bool read = network && weights_names_read(&names, cases[i].mapping, &error);
        tap_ok(read && test_back(&names, &network->graph) &&
                   weights_names_translate_back(&names, cases[i].ours, there, sizeof there) &&
                   strcmp(there, cases[i].theirs) == 0,
               "%s has a name for every array of %s: %s", cases[i].mapping, cases[i].network,
               read ? there : error.why);
        weights_names_free(&names);
        network_free(network);
    }
    tap_ok(strcmp(weights_names_of_network("resnet56"), "cifar-resnet") == 0 &&
               strcmp(weights_names_of_network("lenet"), WEIGHTS_NAMES_OWN) == 0,
           "a network has a usual mapping, or its own names");
    tap_ok(weights_names_is_counter("bn1.num_batches_tracked") &&
               weights_names_is_counter("num_batches_tracked") &&
               !weights_names_is_counter("x_num_batches_tracked"),
           "counters of batch norms are known by their names");
}

static void test_mapping(const char *text, const char *why)
{
    struct error error = {0};
    struct weights_names names;
    char *path = file_join(folder, "mapping.json");
    file_write(path, text, strlen(text), false, NULL);
    const bool read = weights_names_read(&names, path, &error);
    tap_ok(read == !why && (read || strstr(error.why, why)), "%s: %s", text, error.why);
    if (read)
        weights_names_free(&names);
    unlink(path);
    free(path);
}

TEST_CASE(weights_names_test)
{
    struct json_document goldens;
    struct error error = {0};
    if (!mkdtemp(folder) || !golden_read(&goldens, "torchvision", &error))
        return tap_ok(false, "reads the goldens: %s", error.why), tap_done();
    for (const struct json *golden = json_first_member(goldens.root); golden;
         golden = json_next(golden)) {
        const char *names = json_string(json_member(golden, "names"));
        if (!json_member(golden, "logits"))
            test_shapes(golden);
        else
            test_logits(json_key(golden), golden, "");
        if (names && names[0])
            test_logits(json_key(golden), golden, names);
    }
    test_patterns();
    test_many_stars();
    test_both_directions();
    test_mapping("{\"names\": [[\"a\", \"b\"]]}", NULL);
    test_mapping("{\"names\": [[\"a\"]]}", "no pair");
    test_mapping("{\"names\": [[\"a\", \"*\"]]}", "more *");
    test_mapping("[]", "object");
    test_mapping("{\"names\": [], \"identity\": [1]}", "no list of names");
    test_mapping("{\"names\": [], \"then\": [[\"a\", \"b*\"]]}", "more *");
    test_mapping("{\"names\": [], \"then\": [[1, 2]]}", "no pair");
    test_mapping("{\"names\": [], \"networks\": {}}", "no list of names");
    test_mapping("{\"names\": [], \"identity\": [\"*********\"]}", "no list of names");
    test_mapping("{\"names\": [], \"num_batches_tracked\": 1}", "neither true nor false");
    test_mapping("{\"names\": [[\"*********\", \"b\"]]}", "more *");
    test_mapping(
        "{\"names\": [[\"0123456789012345678901234567890123456789012345678901234567890123456789"
        "0123456789012345678901234567890123456789012345678901234567890123456789\", \"b\"]]}",
        "127");
    struct weights_names names;
    tap_ok(!weights_names_read(&names, "nothing", &error), "no mapping: %s", error.why);
    json_document_free(&goldens);
    rmdir(folder);
    return tap_done();
}
