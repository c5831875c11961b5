/* Five iterations of a small Pix2Pix, in every technique, from the same weights and pairs as
 * PyTorch: the losses of generator and discriminator must agree within 1e-4 relative.
 *
 * The goldens lie in goldens/gan.json; make_gan_trajectories.py makes them from what
 * `gan_trajectory_test --dump DIR` writes: weights, pairs and the masks of dropout. */
#include "base/json.h"
#include "base/memory.h"
#include "base/random.h"
#include "engine/gan.h"
#include "engine/ops/op.h"
#include "engine/safetensors.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 5, SIDE = 32, VALUES = 3 * SIDE * SIDE };
static const uint64_t seed = 20260131;
static const float learning_rate = 0.0002f, l1_weight = 100;

/* Wide enough that a ninth of the halved channels is one. */
static const char network_text[] =
    "{\"name\": \"small\", \"input\": [3, 32, 32], \"loss\": \"l1_loss\", \"shuffle_groups\": 5,\n"
    " \"layers\": [{\"block\": \"unet\", \"name\": \"unet\", \"width\": 20, \"widest\": 40,\n"
    "   \"steps\": 3, \"dropout_steps\": 1}, {\"op\": \"tanh\", \"name\": \"tanh\"}],\n"
    " \"discriminator\": {\"layers\": [\n"
    "  {\"op\": \"conv\", \"name\": \"conv1\", \"output\": 16, \"kernel\": 4, \"stride\": 2, "
    "\"pad\": 1},\n"
    "  {\"op\": \"leaky_relu\", \"name\": \"relu1\", \"slope\": 0.2},\n"
    "  {\"op\": \"conv\", \"name\": \"conv2\", \"output\": 24, \"kernel\": 4, \"stride\": 2, "
    "\"pad\": 1,\n"
    "   \"bias\": false},\n"
    "  {\"op\": \"batch_norm\", \"name\": \"bn2\", \"instance\": true},\n"
    "  {\"op\": \"leaky_relu\", \"name\": \"relu2\", \"slope\": 0.2},\n"
    "  {\"op\": \"conv\", \"name\": \"conv3\", \"output\": 1, \"kernel\": 4, \"pad\": 1}]}}";

struct trial {
    struct network *network;
    struct device *device;
    struct gan_plan plan;
    struct weights weights;
    struct gan *gan;
    float x[VALUES], y[VALUES];
};

static struct trial *trial_create(enum technique technique, const char *device, size_t threads,
                                  struct error *error)
{
    struct trial *trial = memory_new(1, sizeof *trial, "a trial", error);
    struct network_request request = {
        .network = "small.json", .text = network_text, .technique = technique};
    struct plan_settings settings = {.mode = PLAN_TRAINING,
                                     .batch = 1,
                                     .threads = threads,
                                     .solver = {SOLVER_ADAM, 0.5f, 0.999f, 1e-8f, 0}};
    trial->network = network_build(&request, error);
    trial->device = device_open(device, threads, error);
    if (!trial->network || !trial->device)
        return trial;
    network_set_loss_weight(trial->network, l1_weight);
    if (!gan_plan_build(&trial->plan, trial->network, trial->device->driver, &settings, error) ||
        !weights_create(&trial->weights, &trial->network->graph, error))
        return trial;
    weights_initialise(&trial->weights, seed, trial->device->pool);
    trial->gan =
        gan_create(&trial->plan, trial->device, &trial->weights, &settings.solver, seed, error);
    return trial;
}

static void trial_free(struct trial *trial)
{
    gan_free(trial->gan);
    weights_free(&trial->weights);
    gan_plan_free(&trial->plan);
    device_close(trial->device);
    network_free(trial->network);
    free(trial);
}

static void draw_pair(struct trial *trial, size_t iteration)
{
    const uint32_t stream = (uint32_t)(2 * iteration);
    random_fill_uniform(seed, RANDOM_TEST, stream, -1, 1, trial->x, VALUES);
    random_fill_uniform(seed, RANDOM_TEST, stream + 1, -1, 1, trial->y, VALUES);
}

/* --- comparing --- */

static double difference(float loss, const struct json *golden, const char *key, size_t iteration)
{
    double expected = NAN;
    const struct json *value = json_first(json_member(golden, key));
    for (size_t i = 0; value && i < iteration; i++)
        value = json_next(value);
    if (value)
        json_number(value, &expected);
    double relative = fabs((double)loss - expected) / fabs(expected);
    tap_note("%s %zu: %.9g, PyTorch %.9g", key, iteration, (double)loss, expected);
    return isfinite(relative) ? relative : INFINITY;
}

static double worst_difference(struct trial *trial, const struct json *golden)
{
    double worst = 0;
    for (size_t i = 0; i < ITERATIONS; i++) {
        struct gan_losses losses;
        struct execution_batch batch = {.images = trial->x, .targets = trial->y, .count = 1};
        draw_pair(trial, i);
        if (!gan_iterate(trial->gan, &batch, i, learning_rate, &losses))
            return INFINITY;
        worst = fmax(worst, difference(losses.generator, golden, "generator", i));
        worst = fmax(worst, difference(losses.discriminator, golden, "discriminator", i));
        worst = fmax(worst, difference(losses.main, golden, "l1", i));
    }
    return worst;
}

static void test_trial(enum technique technique, const char *device, size_t threads,
                       const struct json *goldens)
{
    struct error error = {0};
    struct trial *trial = trial_create(technique, device, threads, &error);
    const char *name = technique_name(technique);
    double worst = trial->gan ? worst_difference(trial, json_member(goldens, name)) : INFINITY;
    tap_ok(worst < 1e-4, "%s on %s: losses within 1e-4 of PyTorch's (%.2g) %s", name, device, worst,
           error.why);
    trial_free(trial);
}

static int test_all(void)
{
    struct json_document goldens;
    struct error error = {0};
    char path[512];
    const char *source = getenv("srcdir");
    snprintf(path, sizeof path, "%s/tests/parity/goldens/gan.json", source ? source : ".");
    if (!json_read_file(&goldens, path, 1 << 20, &error)) {
        tap_ok(false, "reads %s: %s", path, error.why);
        return tap_done();
    }
    for (size_t i = 0; i < TECHNIQUES; i++) {
        test_trial((enum technique)i, "reference", 1, goldens.root);
        test_trial((enum technique)i, "cpu", 2, goldens.root);
    }
    json_document_free(&goldens);
    return tap_done();
}

/* --- dumping --- */

enum { MAX_ARRAYS = 3 * ITERATIONS };

struct dump {
    struct safetensors_array arrays[MAX_ARRAYS];
    char names[MAX_ARRAYS][64];
    size_t count;
};

static float *dump_array(struct dump *dump, const char *name, size_t iteration, size_t count)
{
    size_t at = dump->count++;
    float *data = memory_new(count, sizeof *data, "a dump", NULL);
    snprintf(dump->names[at], sizeof dump->names[at], "%s.%zu", name, iteration);
    dump->arrays[at] = (struct safetensors_array){
        .name = dump->names[at], .type = SAFETENSORS_F32, .dims = {count}, .rank = 1, .data = data};
    return data;
}

/* What dropout multiplies with, from the definition in ops/dropout.c; there is one such layer. */
static void dump_mask(struct dump *dump, const struct graph *graph, size_t iteration)
{
    for (size_t n = 0; n < graph->node_count; n++) {
        if (graph->nodes[n].op != &op_dropout)
            continue;
        const float rate = graph->nodes[n].attributes.dropout.rate;
        const size_t count = shape_count(graph->nodes[n].output);
        float *mask = dump_array(dump, "mask", iteration, count);
        for (size_t i = 0; i < count; i++) {
            struct random_block block =
                random_philox(seed, RANDOM_DROPOUT, (uint32_t)n, (uint64_t)iteration << 32 | i / 4);
            mask[i] = random_to_unit(block.word[i % 4]) >= rate ? 1 / (1 - rate) : 0;
        }
    }
}

static bool dump_batches(struct trial *trial, const char *path, struct error *error)
{
    struct dump dump = {0};
    for (size_t i = 0; i < ITERATIONS; i++) {
        draw_pair(trial, i);
        memcpy(dump_array(&dump, "x", i, VALUES), trial->x, sizeof trial->x);
        memcpy(dump_array(&dump, "y", i, VALUES), trial->y, sizeof trial->y);
        dump_mask(&dump, &trial->network->graph, i);
    }
    bool written = safetensors_write(path, dump.arrays, dump.count, NULL, error);
    for (size_t i = 0; i < dump.count; i++)
        free((void *)dump.arrays[i].data);
    return written;
}

static bool dump_trial(enum technique technique, const char *directory, struct error *error)
{
    static const char *const what[] = {"generator", "discriminator", "batches"};
    char paths[3][512];
    struct trial *trial = trial_create(technique, "reference", 1, error);
    for (size_t i = 0; i < 3; i++)
        snprintf(paths[i], sizeof paths[i], "%s/%s.%s.safetensors", directory,
                 technique_name(technique), what[i]);
    bool dumped = trial->gan && weights_save(&trial->weights, paths[0], NULL, error) &&
                  weights_save(gan_discriminator(trial->gan), paths[1], NULL, error) &&
                  dump_batches(trial, paths[2], error);
    trial_free(trial);
    return dumped;
}

int main(int argc, char **argv)
{
    struct error error = {0};
    if (argc != 3 || strcmp(argv[1], "--dump") != 0)
        return test_all();
    for (size_t i = 0; i < TECHNIQUES; i++)
        if (!dump_trial((enum technique)i, argv[2], &error)) {
            fprintf(stderr, "gan_trajectory_test: %s: %s\n", error.what, error.why);
            return 1;
        }
    return 0;
}
