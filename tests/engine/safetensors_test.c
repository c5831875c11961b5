/* Writes weights to files and reads them back, and reads damaged files. */
#include "base/files/file.h"
#include "base/float16.h"
#include "engine/network/network.h"
#include "engine/weights/safetensors.h"
#include "engine/weights/weights.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/tinca-weights-XXXXXX";

static void test_round_trip(void)
{
    struct error error = {0};
    struct network *network = network_build(&(struct network_request){.network = "resnet20"}, NULL);
    struct weights a, b;
    char *path = file_join(folder, "a.safetensors");
    const char *const metadata[] = {"tinca.network", "resnet20", NULL};
    if (!network || !weights_create(&a, &network->graph, NULL) ||
        !weights_create(&b, &network->graph, NULL))
        return;
    weights_initialise(&a, 5, NULL);
    tap_ok(weights_save(&a, WEIGHTS_FLOAT32, path, metadata, &error), "saves: %s", error.why);
    tap_ok(weights_load(&b, path, &error), "loads: %s", error.why);
    size_t bytes = network->graph.total_floats * sizeof(float), file_bytes = 0;
    tap_ok(memcmp(a.values, b.values, bytes) == 0, "the same bits come back");
    struct safetensors file;
    tap_ok(safetensors_open(&file, path, &error) &&
               strcmp(safetensors_metadata(&file, "tinca.network"), "resnet20") == 0,
           "metadata, too");
    const struct safetensors_entry *entry = safetensors_find(&file, "stem.conv.weight");
    tap_ok(entry && entry->rank == 4 && entry->dims[0] == 16 && entry->dims[1] == 3,
           "shapes are PyTorch's");
    tap_ok(!safetensors_find(&file, "nothing"), "an unknown name is not found");
    safetensors_close(&file);
    struct network *other = network_build(&(struct network_request){.network = "lenet"}, NULL);
    struct weights c;
    weights_create(&c, &other->graph, NULL);
    tap_ok(!weights_load(&c, path, &error), "another network's file is refused: %s", error.why);
    char *damaged = file_read(path, (size_t)64 << 20, &file_bytes, NULL);
    if (damaged)
        damaged[file_bytes - 100] ^= 1;
    file_write(path, damaged, file_bytes, false, NULL);
    free(damaged);
    tap_ok(!weights_load(&b, path, &error) && strstr(error.why, "checksum"),
           "a file with one wrong bit is refused: %s", error.why);
    weights_free(&a);
    weights_free(&b);
    weights_free(&c);
    network_free(network);
    network_free(other);
    free(path);
}

/* Returns whether the values of `b` are those of `a`, rounded if they are weights. */
static bool are_rounded(const struct weights *a, const struct weights *b,
                        enum weights_format format)
{
    const struct graph *graph = a->graph;
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        for (size_t i = 0; i < parameter->count; i++) {
            const float value = a->values[parameter->offset + i];
            float expected = value;
            if (parameter->learnable)
                expected = format == WEIGHTS_BF16 ? bf16_to_float(bf16_from_float(value))
                                                  : float16_to_float(float16_from_float(value));
            if (b->values[parameter->offset + i] != expected)
                return false;
        }
    }
    return true;
}

static enum safetensors_type type_of(const char *path, const char *name)
{
    struct safetensors file;
    if (!safetensors_open(&file, path, NULL))
        return SAFETENSORS_U8;
    const struct safetensors_entry *entry = safetensors_find(&file, name);
    const enum safetensors_type type = entry ? entry->type : SAFETENSORS_U8;
    safetensors_close(&file);
    return type;
}

static size_t size_of(const char *path)
{
    size_t bytes = 0;
    free(file_read(path, (size_t)64 << 20, &bytes, NULL));
    return bytes;
}

static void test_format(enum weights_format format, enum safetensors_type type)
{
    struct error error = {0};
    struct network *network = network_build(&(struct network_request){.network = "resnet20"}, NULL);
    struct weights a, b;
    char *path = file_join(folder, "rounded.safetensors");
    const char *const metadata[] = {"tinca.network", "resnet20", NULL}, *name;
    name = weights_format_names[format];
    if (!network || !weights_create(&a, &network->graph, NULL) ||
        !weights_create(&b, &network->graph, NULL))
        return;
    weights_initialise(&a, 5, NULL);
    tap_ok(weights_save(&a, format, path, metadata, &error) && weights_load(&b, path, &error) &&
               are_rounded(&a, &b, format),
           "%s: weights come back rounded, running statistics as they were %s", name, error.why);
    const size_t whole = network->graph.total_floats * sizeof *a.values, bytes = size_of(path);
    tap_ok(bytes > whole / 2 && bytes < whole / 2 + 32768, "%s: half the size: %zu of %zu bytes",
           name, bytes, whole);
    tap_ok(type_of(path, "stem.conv.weight") == type &&
               type_of(path, "stem.bn.running_var") == SAFETENSORS_F32,
           "%s: of this type", name);
    a.values[network->graph.parameters[0].offset] = 70000;
    tap_ok(weights_save(&a, format, path, metadata, &error) && weights_load(&b, path, &error) &&
               isfinite(b.values[network->graph.parameters[0].offset]) &&
               (type_of(path, network->graph.parameters[0].name) == SAFETENSORS_F32) ==
                   (format == WEIGHTS_FLOAT16),
           "%s: a weight of 70000 stays finite", name);
    weights_free(&a);
    weights_free(&b);
    network_free(network);
    free(path);
}

static const char quantized[] =
    "{\"name\": \"q\", \"input\": [1, 4, 4], \"classes\": 200, \"layers\": [{\"op\": \"conv\",\n"
    " \"name\": \"a\", \"output\": 64, \"kernel\": 3, \"pad\": 1, \"weights\": \"int8\"},\n"
    " {\"op\": \"linear\", \"name\": \"fc\", \"output\": \"classes\", \"weights\": \"int8\"}]}";

/* Gives each output of a quantized layer another scale, and rounds its weights to multiples of it.
 */
static void round_weights(struct weights *weights)
{
    const struct graph *graph = weights->graph;
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        const struct parameter *scale = graph_weight_scale(graph, parameter);
        float *values = weights->values + parameter->offset;
        for (size_t i = 0; scale && i < parameter->count; i++) {
            const size_t output = i / (parameter->count / parameter->dims[0]);
            float *step = &weights->values[scale->offset + output];
            *step = 0.003f / (float)(output + 1);
            values[i] = *step * (float)quantization_round_weight(*step, values[i]);
        }
    }
}

static bool same_values(const struct weights *a, const struct weights *b)
{
    return memcmp(a->values, b->values, a->graph->total_floats * sizeof *a->values) == 0;
}

static void test_int8(void)
{
    struct error error = {0};
    struct network *network =
        network_build(&(struct network_request){.network = "q.json", .text = quantized}, &error);
    struct weights a, b;
    char *path = file_join(folder, "int8.safetensors");
    if (!network || !weights_create(&a, &network->graph, NULL) ||
        !weights_create(&b, &network->graph, NULL))
        return;
    weights_initialise(&a, 5, NULL);
    round_weights(&a);
    tap_ok(weights_save(&a, WEIGHTS_FLOAT32, path, NULL, &error) &&
               weights_load(&b, path, &error) && same_values(&a, &b),
           "int8: weights and scales come back with the same bits %s", error.why);
    const size_t whole = network->graph.total_floats * sizeof *a.values, bytes = size_of(path);
    tap_ok(bytes > whole / 4 && bytes < whole / 4 + 4096, "int8: a quarter: %zu of %zu bytes",
           bytes, whole);
    tap_ok(type_of(path, "fc.weight") == SAFETENSORS_I8 &&
               type_of(path, "fc.bias") == SAFETENSORS_F32 &&
               type_of(path, "fc.weight_scale") == SAFETENSORS_F32,
           "int8: weights of this type, biases and scales of float32");
    weights_save(&a, WEIGHTS_BF16, path, NULL, NULL);
    tap_ok(weights_load(&b, path, &error) && same_values(&a, &b),
           "int8: also when bf16 is asked for");
    a.values[network->graph.parameters[0].offset] = NAN;
    weights_save(&a, WEIGHTS_FLOAT32, path, NULL, NULL);
    tap_ok(type_of(path, "a.weight") == SAFETENSORS_F32 && weights_load(&b, path, &error) &&
               isnan(b.values[network->graph.parameters[0].offset]),
           "int8: weights with a NaN stay float32");
    a.values[graph_weight_scale(&network->graph, &network->graph.parameters[0])->offset] = 0;
    weights_save(&a, WEIGHTS_FLOAT32, path, NULL, NULL);
    tap_ok(!weights_load(&b, path, &error), "int8: refuses a scale of 0: %s", error.why);
    weights_free(&a);
    weights_free(&b);
    network_free(network);
    free(path);
}

/* Integers without their scales are no weights, and -128 is none. */
static void test_int8_alone(void)
{
    int8_t integers[6] = {-127, -1, 0, 1, 2, 127};
    const float scales[2] = {0.5f, 0.25f};
    const struct safetensors_array arrays[] = {
        {.name = "w", .type = SAFETENSORS_I8, .dims = {2, 3}, .rank = 2, .data = integers},
        {.name = "w_scale", .type = SAFETENSORS_F32, .dims = {2}, .rank = 1, .data = scales}};
    struct safetensors file;
    float out[4] = {0};
    char *path = file_join(folder, "integers.safetensors");
    safetensors_write(path, arrays, 2, NULL, NULL);
    if (safetensors_open(&file, path, NULL)) {
        const struct safetensors_entry *entry = safetensors_find(&file, "w");
        tap_ok(safetensors_has_numbers(&file, entry) &&
                   safetensors_read_floats(&file, entry, 1, 4, out, NULL) && out[0] == -0.5f &&
                   out[1] == 0 && out[2] == 0.25f && out[3] == 0.5f,
               "int8: the middle of an array, over two scales");
        safetensors_close(&file);
    }
    integers[3] = -128;
    safetensors_write(path, arrays, 2, NULL, NULL);
    struct error error = {0};
    if (safetensors_open(&file, path, NULL)) {
        tap_ok(!safetensors_read_floats(&file, safetensors_find(&file, "w"), 1, 4, out, &error) &&
                   strstr(error.why, "-128"),
               "int8: refuses -128: %s", error.why);
        safetensors_close(&file);
    }
    safetensors_write(path, arrays, 1, NULL, NULL);
    if (safetensors_open(&file, path, NULL)) {
        tap_ok(!safetensors_has_numbers(&file, safetensors_find(&file, "w")),
               "int8: integers without scales are no numbers");
        safetensors_close(&file);
    }
    free(path);
}

static void refuses(const char *what, const void *bytes, size_t size)
{
    struct error error = {0};
    struct safetensors file;
    char *path = file_join(folder, "bad.safetensors");
    file_write(path, bytes, size, false, &error);
    bool opened = safetensors_open(&file, path, &error);
    tap_ok(!opened && error.why[0], "refuses %s: %s", what, error.why);
    if (opened)
        safetensors_close(&file);
    free(path);
}

static void refuses_header(const char *what, const char *header, size_t data_bytes)
{
    unsigned char bytes[1024] = {0};
    uint64_t length = strlen(header);
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, header, length);
    refuses(what, bytes, 8 + length + data_bytes);
}

static void test_damage(void)
{
    refuses("an empty file", "", 0);
    refuses("four bytes", "abcd", 4);
    refuses("a length beyond the file", "\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10);
    refuses_header("no JSON", "{\"a\": ", 0);
    refuses_header("a list", "[]", 0);
    refuses_header("no dtype", "{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4);
    refuses_header("an unknown dtype",
                   "{\"a\":{\"dtype\":\"Q9\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4);
    refuses_header("data outside the file",
                   "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 4);
    refuses_header("a size that does not fit the shape",
                   "{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", 8);
    refuses_header("offsets backwards",
                   "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 8);
    refuses_header("a shape that overflows",
                   "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,16],"
                   "\"data_offsets\":[0,4]}}",
                   4);
    refuses_header("overlapping entries",
                   "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                   "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
                   8);
    struct error error = {0};
    struct safetensors file;
    tap_ok(!safetensors_open(&file, folder, &error), "refuses a folder: %s", error.why);
    tap_ok(!safetensors_open(&file, "/nonexistent", &error), "refuses a missing entry: %s",
           error.why);
}

/* Returns whether the file is opened and its checksum, if it has one, is correct. */
static bool is_whole(const char *path)
{
    struct safetensors file;
    if (!safetensors_open(&file, path, NULL))
        return false;
    const bool whole = safetensors_has_checksum(&file) && safetensors_check(&file, NULL);
    safetensors_close(&file);
    return whole;
}

/* Every flipped bit of a model file is detected, also in the header's length and its padding. */
static void test_every_bit(void)
{
    const float values[5] = {1, 2, 3, 4, 5};
    const struct safetensors_array arrays[] = {
        {.name = "a", .type = SAFETENSORS_F32, .dims = {2}, .rank = 1, .data = values},
        {.name = "bcd", .type = SAFETENSORS_F32, .dims = {3}, .rank = 1, .data = values + 2}};
    const char *const metadata[] = {"key", "value", NULL};
    char *path = file_join(folder, "bits.safetensors");
    size_t size = 0, unnoticed = 0;
    safetensors_write(path, arrays, 2, metadata, NULL);
    tap_ok(is_whole(path), "an unchanged file is valid");
    char *bytes = file_read(path, 1 << 16, &size, NULL);
    for (size_t bit = 0; bytes && bit < 8 * size; bit++) {
        bytes[bit / 8] ^= (char)(1 << bit % 8);
        file_write(path, bytes, size, false, NULL);
        bytes[bit / 8] ^= (char)(1 << bit % 8);
        unnoticed += is_whole(path);
    }
    tap_ok(bytes && unnoticed == 0, "each of %zu bits, when flipped, is noticed (%zu were not)",
           8 * size, unnoticed);
    file_write(path, bytes, size - 1, false, NULL);
    tap_ok(!is_whole(path), "a file without its last byte is not whole");
    free(bytes);
    free(path);
}

TEST_CASE(safetensors_test)
{
    if (!mkdtemp(folder))
        return 1;
    test_round_trip();
    test_format(WEIGHTS_BF16, SAFETENSORS_BF16);
    test_format(WEIGHTS_FLOAT16, SAFETENSORS_F16);
    test_int8();
    test_int8_alone();
    test_damage();
    test_every_bit();
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) ? 1 : tap_done();
}
