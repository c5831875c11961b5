/* Ten iterations of a generator and a discriminator, in every technique, from the same weights and
 * pairs as PyTorch: the losses of both, the first image, and every gradient of both networks in the
 * first iteration must agree within 1e-4 relative. Two pairs take turns, so that training visibly
 * moves the losses. A small Pix2Pix is tested every day, the real one with --long (make
 * check-long).
 *
 * The goldens lie in goldens/gan.json and gan_long.json; make_gan_trajectories.py makes them from
 * what `gan_trajectory_test --dump DIR TECHNIQUE` writes: weights, pairs, the masks of
 * dropout, and the directions that tensors are projected on. */
#include "base/json/json.h"
#include "base/memory.h"
#include "base/random.h"
#include "engine/execution/gan.h"
#include "engine/ops/op.h"
#include "engine/weights/safetensors.h"
#include "golden.h"
#include "instruction_sets.h"
#include "random_fill.h"
#include "sample.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 10, PAIRS = 2 };
static const uint64_t seed = 20260131;
static const float l1_weight = 100, norm_bias = 3;

static const struct suite {
    const char *goldens, *network;
    float learning_rate;
    bool on_reference; /* small enough for the reference device */
} everyday = {"gan", "small", 0.001f, true}, large = {"gan_long", "pix2pix", 0.0005f, false};

struct trial {
    struct network *network;
    struct device *device;
    struct gan_plan plan;
    struct weights weights;
    struct gan *gan;
    size_t values; /* values of an image */
    float *x, *y;
};

static void trial_free(struct trial *trial)
{
    gan_free(trial->gan);
    weights_free(&trial->weights);
    gan_plan_free(&trial->plan);
    device_close(trial->device);
    network_free(trial->network);
    free(trial->x);
    free(trial->y);
}

static bool trial_prepare(struct trial *trial, const char *network, enum technique technique,
                          const char *device, size_t threads, struct error *error)
{
    struct network_request request = {.network = network, .technique = technique};
    struct plan_settings settings = {
        .mode = PLAN_TRAINING,
        .batch = 1,
        .threads = threads,
        .solver = {SOLVER_ADAM, 0.5f, 0.999f, 1e-8f, 0, MOMENTUM_CAFFE}};
    *trial = (struct trial){.network = golden_build_network(&request, error)};
    trial->device = device_open(device, threads, error);
    if (!trial->network || !trial->device)
        return false;
    trial->values = shape_count(trial->network->input);
    trial->x = memory_new_aligned(trial->values, sizeof(float), "a pair", error);
    trial->y = memory_new_aligned(trial->values, sizeof(float), "a pair", error);
    if (!trial->x || !trial->y)
        return false;
    network_set_loss_weight(trial->network, l1_weight);
    if (!gan_plan_build(&trial->plan, trial->network, trial->device->driver, &settings, error) ||
        !weights_create(&trial->weights, &trial->network->graph, error))
        return false;
    weights_initialise(&trial->weights, seed, trial->device->pool);
    trial->gan =
        gan_create(&trial->plan, trial->device, &trial->weights, &settings.solver, seed, error);
    if (!trial->gan)
        return false;
    golden_spread_norms(&trial->weights, &trial->network->graph, norm_bias);
    golden_spread_norms(gan_discriminator(trial->gan), &trial->network->discriminator, norm_bias);
    return true;
}

/* The targets are -1 and 1, which tanh never reaches: an L1 loss has a kink where an image equals
 * its target, and float32 and double may be on different sides of it. */
static void draw_pair(struct trial *trial, size_t iteration)
{
    const uint32_t stream = 2 * (uint32_t)(iteration % PAIRS);
    random_fill_uniform(seed, RANDOM_TEST, stream, -1, 1, trial->x, trial->values);
    random_fill_uniform(seed, RANDOM_TEST, stream + 1, -1, 1, trial->y, trial->values);
    for (size_t i = 0; i < trial->values; i++)
        trial->y[i] = copysignf(1, trial->y[i]);
}

/* --- comparing --- */

struct differences {
    double loss, image, gradient;
    const char *gradient_of;
};

static double difference(float loss, const struct json *golden, const char *key, size_t iteration)
{
    const double expected = golden_number(json_member(golden, key), iteration);
    const double relative = fabs((double)loss - expected) / fabs(expected);
    tap_note("%s %zu: %.9g, PyTorch %.9g", key, iteration, (double)loss, expected);
    return isfinite(relative) ? relative : INFINITY;
}

/* Compares after the first iteration. The solver does not change the gradients. */
static void compare_first(const struct trial *trial, const struct json *golden,
                          struct differences *worst)
{
    struct gan *gan = trial->gan;
    const char *name = "";
    worst->image =
        golden_tensor_difference(execution_output(gan_generator_execution(gan)), trial->values,
                                 seed, GOLDEN_OUTPUT_STREAM, json_member(golden, "image"), 0);
    worst->gradient = golden_gradients_difference(
        &trial->network->graph, execution_parameter_gradients(gan_generator_execution(gan)), seed,
        json_member(golden, "gradients"), &worst->gradient_of);
    const double judges =
        golden_gradients_difference(&trial->network->discriminator,
                                    execution_parameter_gradients(gan_discriminator_execution(gan)),
                                    seed, json_member(golden, "discriminator_gradients"), &name);
    if (judges > worst->gradient) {
        worst->gradient = judges;
        worst->gradient_of = name;
    }
}

static struct differences compare(struct trial *trial, float learning_rate,
                                  const struct json *golden)
{
    struct differences worst = {0, INFINITY, INFINITY, ""};
    for (size_t i = 0; i < ITERATIONS; i++) {
        struct gan_losses losses;
        struct execution_batch batch = {.images = trial->x, .targets = trial->y, .count = 1};
        draw_pair(trial, i);
        if (!gan_iterate(trial->gan, &batch, i, learning_rate, &losses)) {
            worst.loss = INFINITY;
            return worst;
        }
        if (i == 0)
            compare_first(trial, golden, &worst);
        worst.loss = fmax(worst.loss, difference(losses.generator, golden, "generator", i));
        worst.loss = fmax(worst.loss, difference(losses.discriminator, golden, "discriminator", i));
        worst.loss = fmax(worst.loss, difference(losses.main, golden, "l1", i));
    }
    return worst;
}

static void test_trial(const struct suite *suite, enum technique technique, const char *device,
                       size_t threads, const struct json *golden)
{
    struct error error = {0};
    struct trial trial;
    char message[1200] = "";
    struct differences worst = {INFINITY, INFINITY, INFINITY, ""};
    if (!trial_prepare(&trial, suite->network, technique, device, threads, &error))
        error_format(&error, message, sizeof message);
    else if (!golden_is_of(golden, trial.network))
        snprintf(message, sizeof message, "there is no golden of this network");
    else
        worst = compare(&trial, suite->learning_rate, golden);
    tap_ok(worst.loss < GOLDEN_TOLERANCE && worst.image < GOLDEN_TOLERANCE &&
               worst.gradient < GOLDEN_TOLERANCE,
           "%s %s on %s: within 1e-4 of PyTorch's losses (%.2g), first image (%.2g) and gradients "
           "(%.2g %s) %s",
           suite->network, technique_name(technique), device, worst.loss, worst.image,
           worst.gradient, worst.gradient_of, message);
    trial_free(&trial);
}

static void test_moves(const char *technique, const struct json *golden)
{
    static const char *const keys[] = {"generator", "discriminator", "l1"};
    const struct json *untrained = json_member(golden, "untrained");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const double move =
            golden_move(json_member(golden, keys[i]), json_member(untrained, keys[i]));
        tap_ok(move >= GOLDEN_LEAST_MOVE, "%s: training moves the last loss %s (%.2g)", technique,
               keys[i], move);
    }
}

/* `number` numbers the device or its instruction set: under a sanitizer each has its part of the
 * techniques. */
static void test_techniques(const struct suite *suite, const char *device, size_t threads,
                            const struct json *goldens, size_t number)
{
    for (size_t i = 0; i < TECHNIQUES; i++)
        if (sample_has(i + number, 1, TECHNIQUES))
            test_trial(suite, (enum technique)i, device, threads,
                       json_member(goldens, technique_name((enum technique)i)));
}

static int test_suite(const struct suite *suite)
{
    struct json_document goldens;
    struct error error = {0};
    if (!golden_read(&goldens, suite->goldens, &error)) {
        tap_ok(false, "reads the goldens %s: %s", suite->goldens, error.why);
        return tap_done();
    }
    tap_ok(json_member_count(goldens.root) == TECHNIQUES, "%s: a golden for each technique",
           suite->goldens);
    for (size_t i = 0; i < TECHNIQUES; i++) {
        const char *technique = technique_name((enum technique)i);
        test_moves(technique, json_member(goldens.root, technique));
    }
    if (suite->on_reference)
        test_techniques(suite, "reference", 1, goldens.root, INSTRUCTION_SETS);
    for (int set = 0; set < INSTRUCTION_SETS; set++)
        if (instruction_set_force((enum instruction_set)set))
            test_techniques(suite, "cpu", 2, goldens.root, (size_t)set);
    instruction_set_release();
    json_document_free(&goldens);
    return tap_done();
}

/* --- dumping --- */

enum { MAX_ARRAYS = 8 * ITERATIONS };

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

/* Computes the factors of dropout, from the definition in ops/dropout.c. */
static void dump_masks(struct dump *dump, const struct graph *graph, size_t iteration)
{
    for (size_t n = 0; n < graph->node_count; n++) {
        if (graph->nodes[n].op != &op_dropout)
            continue;
        const float rate = graph->nodes[n].attributes.dropout.rate;
        const size_t count = shape_count(graph->nodes[n].output);
        float *mask = dump_array(dump, graph->nodes[n].name, iteration, count);
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
    const size_t values = trial->values;
    golden_draw_direction(seed, GOLDEN_OUTPUT_STREAM, dump_array(&dump, "direction", 0, values),
                          values);
    for (size_t i = 0; i < ITERATIONS; i++) {
        draw_pair(trial, i);
        memcpy(dump_array(&dump, "x", i, values), trial->x, values * sizeof(float));
        memcpy(dump_array(&dump, "y", i, values), trial->y, values * sizeof(float));
        dump_masks(&dump, &trial->network->graph, i);
    }
    bool written = safetensors_write(path, dump.arrays, dump.count, NULL, error);
    for (size_t i = 0; i < dump.count; i++)
        free((void *)dump.arrays[i].data);
    return written;
}

static bool dump_weights(struct trial *trial, char paths[5][512], float learning_rate,
                         struct error *error)
{
    char name[128], groups[32], rate[32];
    const struct network *network = trial->network;
    struct weights *discriminator = gan_discriminator(trial->gan);
    snprintf(groups, sizeof groups, "%zu", network->groups);
    snprintf(rate, sizeof rate, "%.9g", (double)learning_rate);
    const char *const metadata[] = {
        "full_name", network_full_name(network, name, sizeof name), "groups", groups, "lr", rate,
        NULL};
    return weights_save(&trial->weights, WEIGHTS_FLOAT32, paths[0], metadata, error) &&
           weights_save(discriminator, WEIGHTS_FLOAT32, paths[1], NULL, error) &&
           dump_batches(trial, paths[2], error) &&
           golden_save_directions(&trial->weights, &network->graph, seed, paths[3], error) &&
           golden_save_directions(discriminator, &network->discriminator, seed, paths[4], error);
}

static int dump_trial(const struct suite *suite, const char *directory, const char *technique)
{
    static const char *const what[] = {"generator", "discriminator", "batches",
                                       "generator_directions", "discriminator_directions"};
    char paths[5][512], message[1200];
    struct error error = {0};
    struct trial trial = {0};
    enum technique wanted;
    for (size_t i = 0; i < 5; i++)
        snprintf(paths[i], sizeof paths[i], "%s/%s.safetensors", directory, what[i]);
    bool dumped = technique_parse(technique, &wanted) &&
                  trial_prepare(&trial, suite->network, wanted, "reference", 1, &error) &&
                  dump_weights(&trial, paths, suite->learning_rate, &error);
    trial_free(&trial);
    if (!dumped)
        fprintf(stderr, "gan_trajectory_test: %s %s: %s\n", suite->network, technique,
                error_format(&error, message, sizeof message));
    return !dumped;
}

/* [--long] | --dump DIR TECHNIQUE [--long] */
TEST_CASE(gan_trajectory_test)
{
    const bool is_long = argc > 1 && strcmp(argv[argc - 1], "--long") == 0;
    const struct suite *suite = is_long ? &large : &everyday;
    if (argc - is_long == 4 && strcmp(argv[1], "--dump") == 0)
        return dump_trial(suite, argv[2], argv[3]);
    return test_suite(suite);
}
