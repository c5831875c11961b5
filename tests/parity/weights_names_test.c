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
    struct safetensors_array *arrays = memory_new(json_length(tensors), sizeof *arrays, "a", NULL);
    *count = 0;
    for (const struct json *tensor = json_first(tensors); arrays && tensor;
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
    const struct weights_source source = {path, "", names};
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

int main(void)
{
    struct json_document goldens;
    struct error error = {0};
    if (!mkdtemp(folder) || !golden_read(&goldens, "torchvision", &error))
        return tap_ok(false, "reads the goldens: %s", error.why), tap_done();
    for (const struct json *golden = json_first(goldens.root); golden; golden = json_next(golden)) {
        const char *names = json_string(json_member(golden, "names"));
        if (!json_member(golden, "logits"))
            test_shapes(golden);
        else
            test_logits(json_key(golden), golden, "");
        if (names && names[0])
            test_logits(json_key(golden), golden, names);
    }
    test_patterns();
    test_mapping("{\"names\": [[\"a\", \"b\"]]}", NULL);
    test_mapping("{\"names\": [[\"a\"]]}", "no pair");
    test_mapping("{\"names\": [[\"a\", \"*\"]]}", "more *");
    test_mapping("[]", "object");
    test_mapping("{\"names\": [], \"identity\": [1]}", "no list of names");
    struct weights_names names;
    tap_ok(!weights_names_read(&names, "nothing", &error), "no mapping: %s", error.why);
    json_document_free(&goldens);
    rmdir(folder);
    return tap_done();
}
