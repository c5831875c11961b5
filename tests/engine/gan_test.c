/* Adversarial training of two networks: the gradient of an input, a given output gradient, the
 * alternating steps. parity/gan_trajectory_test compares the numbers with PyTorch. */
#include "base/memory.h"
#include "base/random.h"
#include "engine/execution/gan.h"
#include "instruction_sets.h"
#include "random_fill.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char small_network[] =
    "{\"name\": \"small\", \"input\": [2, 16, 16], \"loss\": \"l1_loss\", \"layers\": [\n"
    "{\"block\": \"unet\", \"name\": \"unet\", \"width\": 6, \"widest\": 16, \"steps\": 3,\n"
    " \"output\": 3, \"dropout_steps\": 1}, {\"op\": \"tanh\", \"name\": \"tanh\"}],\n"
    "\"discriminator\": {\"layers\": [\n"
    "{\"op\": \"conv\", \"output\": 7, \"kernel\": 4, \"stride\": 2, \"pad\": 1},\n"
    "{\"op\": \"leaky_relu\", \"slope\": 0.2},\n"
    "{\"op\": \"conv\", \"output\": 9, \"kernel\": 4, \"stride\": 2, \"pad\": 1, \"bias\": "
    "false},\n"
    "{\"op\": \"batch_norm\", \"instance\": true}, {\"op\": \"leaky_relu\", \"slope\": 0.2},\n"
    "{\"op\": \"conv\", \"output\": 1, \"kernel\": 3, \"pad\": 1}]}}";

enum { BATCH = 2, INPUT = 2 * 16 * 16, IMAGE = 3 * 16 * 16, PAIR = 5 * 16 * 16 };

static struct network *build_small(void)
{
    struct error error = {0};
    struct network_request request = {.network = "small.json", .text = small_network};
    struct network *network = network_build(&request, &error);
    if (!network)
        tap_ok(false, "the small network: %s: %s", error.what, error.why);
    return network;
}

static struct plan_settings training(size_t threads)
{
    return (struct plan_settings){.mode = PLAN_TRAINING,
                                  .batch = BATCH,
                                  .threads = threads,
                                  .solver = {SOLVER_ADAM, 0.5f, 0.999f, 1e-8f, 0, MOMENTUM_CAFFE}};
}

/* --- one network, its plan and execution --- */

struct stand {
    struct device *device;
    struct plan *plan;
    struct weights weights;
    struct execution *execution;
};

static bool stand_create(struct stand *stand, const struct graph *graph, const char *device,
                         const struct plan_settings *settings)
{
    struct error error = {0};
    *stand = (struct stand){.device = device_open(device, 1, &error)};
    stand->plan = plan_build(graph, stand->device->driver, settings, &error);
    if (!stand->plan || !weights_create(&stand->weights, graph, &error))
        return tap_ok(false, "a plan: %s: %s", error.what, error.why);
    weights_initialise(&stand->weights, 5, NULL);
    stand->execution =
        execution_create(stand->plan, stand->device, &stand->weights, &settings->solver, 5, &error);
    return stand->execution || tap_ok(false, "an execution: %s", error.why);
}

static void stand_free(struct stand *stand)
{
    execution_free(stand->execution);
    weights_free(&stand->weights);
    plan_free(stand->plan);
    device_close(stand->device);
}

static float loss_of(struct stand *stand, const float *images, const float *targets)
{
    struct execution_batch batch = {.images = images, .targets = targets, .count = BATCH};
    execution_bind(stand->execution, &batch);
    execution_forward(stand->execution, 0);
    return execution_loss(stand->execution);
}

/* --- the gradient of the input --- */

/* The slope of the loss along the gradient is the squared length of the gradient. */
static double slope_along(struct stand *stand, const float *pairs, const float *targets,
                          const float *direction)
{
    static float moved[BATCH * PAIR];
    const float step = 0.05f;
    double loss[2];
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < BATCH * PAIR; i++)
            moved[i] = pairs[i] + (side ? step : -step) * direction[i];
        loss[side] = (double)loss_of(stand, moved, targets);
    }
    return (loss[1] - loss[0]) / (2 * (double)step);
}

static void test_input_gradient(const char *device)
{
    static float pairs[BATCH * PAIR], yes[BATCH * 16], gradient[BATCH * PAIR];
    struct network *network = build_small();
    struct plan_settings settings = training(1);
    struct stand stand;
    settings.frozen = settings.needs_input_gradient = true;
    for (size_t i = 0; i < BATCH * 16; i++)
        yes[i] = 1;
    random_fill_uniform(1, RANDOM_TEST, 0, -1, 1, pairs, BATCH * PAIR);
    if (network && stand_create(&stand, &network->discriminator, device, &settings)) {
        double squares = 0;
        loss_of(&stand, pairs, yes);
        execution_backward(stand.execution);
        memcpy(gradient, execution_device_input_gradient(stand.execution), sizeof gradient);
        for (size_t i = 0; i < BATCH * PAIR; i++)
            squares += (double)gradient[i] * (double)gradient[i];
        double slope = slope_along(&stand, pairs, yes, gradient);
        tap_ok(squares > 1e-6 && fabs(slope / squares - 1) < 0.01,
               "%s: the input's gradient is the slope (%g, %g)", device, squares, slope);
        tap_ok(!execution_parameter_gradients(stand.execution) &&
                   stand.plan->forecast.gradients == 0 && stand.plan->forecast.solver == 0,
               "frozen weights have no gradients and no solver");
        tap_ok(!execution_device_output_gradient(stand.execution),
               "nor memory for a given output gradient");
        stand_free(&stand);
    }
    network_free(network);
}

/* --- a given output gradient --- */

/* Computes all gradients of the generator for an output gradient of `scale` times a pattern. */
static void seeded_gradients(struct stand *stand, const float *x, const float *y, float scale,
                             float *out)
{
    loss_of(stand, x, y);
    random_fill_uniform(2, RANDOM_TEST, 3, -scale, scale,
                        execution_device_output_gradient(stand->execution), BATCH * IMAGE);
    execution_backward(stand->execution);
    memcpy(out, execution_parameter_gradients(stand->execution),
           stand->plan->graph->learnable_floats * sizeof *out);
}

static void compare_seeds(struct stand *seeded, struct stand *plain, const float *x, const float *y,
                          const char *device)
{
    const size_t count = seeded->plan->graph->learnable_floats;
    float *g[3], unseeded = 0;
    double worst = 0, largest = 0;
    for (size_t k = 0; k < 3; k++) {
        g[k] = memory_new(count, sizeof **g, "gradients", NULL);
        seeded_gradients(seeded, x, y, 0.01f * (float)k, g[k]);
    }
    loss_of(plain, x, y);
    execution_backward(plain->execution);
    const float *wanted = execution_parameter_gradients(plain->execution);
    for (size_t i = 0; i < count; i++) {
        unseeded = fmaxf(unseeded, fabsf(g[0][i] - wanted[i]));
        largest = fmax(largest, fabs((double)g[1][i] - (double)g[0][i]));
        worst = fmax(worst, fabs((double)g[2][i] - 2 * (double)g[1][i] + (double)g[0][i]));
    }
    tap_ok(unseeded == 0, "%s: an output gradient of zero changes nothing", device);
    tap_ok(largest > 1e-4 && worst < 1e-4 * largest,
           "%s: gradients are the loss's plus the seed's (%g, %g)", device, largest, worst);
    for (size_t k = 0; k < 3; k++)
        free(g[k]);
}

static void test_seed(const char *device)
{
    static float x[BATCH * INPUT], y[BATCH * IMAGE];
    struct network *network = build_small();
    struct plan_settings settings = training(1), with_seed = settings;
    struct stand seeded, plain;
    with_seed.seeds_output_gradient = true;
    random_fill_uniform(1, RANDOM_TEST, 1, -1, 1, x, BATCH * INPUT);
    random_fill_uniform(1, RANDOM_TEST, 2, -1, 1, y, BATCH * IMAGE);
    if (network && stand_create(&seeded, &network->graph, device, &with_seed) &&
        stand_create(&plain, &network->graph, device, &settings)) {
        compare_seeds(&seeded, &plain, x, y, device);
        stand_free(&plain);
        stand_free(&seeded);
    }
    network_free(network);
}

/* --- training --- */

enum { ITERATIONS = 30 };

struct course {
    struct gan_losses losses[ITERATIONS];
    uint64_t weights; /* a sum over the bits of both networks' weights */
};

static uint64_t sum_bits(const struct weights *weights, uint64_t sum)
{
    for (size_t i = 0; i < weights->graph->total_floats; i++) {
        uint32_t bits;
        memcpy(&bits, &weights->values[i], sizeof bits);
        sum = sum * 31 + bits;
    }
    return sum;
}

static bool follow(struct gan *gan, struct weights *weights, struct course *course)
{
    static float x[BATCH * INPUT], y[BATCH * IMAGE];
    bool good = true;
    for (size_t i = 0; good && i < ITERATIONS; i++) {
        struct execution_batch batch = {.images = x, .targets = y, .count = BATCH};
        random_fill_uniform(3, RANDOM_TEST, (uint32_t)i % 2, -1, 1, x, BATCH * INPUT);
        for (size_t k = 0; k < BATCH * IMAGE; k++)
            y[k] = 0.5f * x[k % (BATCH * INPUT)];
        good = gan_iterate(gan, &batch, i, 0.002f, &course->losses[i]);
    }
    course->weights = sum_bits(gan_discriminator(gan), sum_bits(weights, 0));
    return good;
}

static bool run_course(struct course *course, const char *device_name, size_t threads,
                       size_t blocks)
{
    struct error error = {0};
    struct network *network = build_small();
    struct device *device = device_open(device_name, threads, &error);
    struct plan_settings settings = training(threads);
    struct gan_plan plan = {0};
    struct weights weights = {0};
    struct gan *gan = NULL;
    settings.image_blocks = blocks;
    network_set_loss_weight(network, 100);
    bool good = gan_plan_build(&plan, network, device->driver, &settings, &error) &&
                weights_create(&weights, &network->graph, &error);
    if (good) {
        weights_initialise(&weights, 7, device->pool);
        gan = gan_create(&plan, device, &weights, &settings.solver, 7, &error);
    }
    good = gan && follow(gan, &weights, course);
    if (!good)
        tap_note("%s: %s", error.what, error.why);
    gan_free(gan);
    weights_free(&weights);
    gan_plan_free(&plan);
    device_close(device);
    network_free(network);
    return good;
}

static void test_course(void)
{
    struct course one, three, reference, blocks, blocks_of_three;
    bool good = run_course(&one, "cpu", 1, 1) && run_course(&three, "cpu", 3, 1) &&
                run_course(&reference, "reference", 1, 1) && run_course(&blocks, "cpu", 1, 2) &&
                run_course(&blocks_of_three, "cpu", 3, 2);
    if (!tap_ok(good, "%d iterations on cpu and reference", ITERATIONS))
        return;
    const struct gan_losses *first = &one.losses[0], *last = &one.losses[ITERATIONS - 1];
    tap_ok(one.weights == three.weights && memcmp(one.losses, three.losses, sizeof one.losses) == 0,
           "the same bits with 1 and 3 threads");
    tap_ok(blocks.weights == blocks_of_three.weights, "also with sums over two blocks of images");
    tap_ok(fabsf(blocks.losses[4].generator / one.losses[4].generator - 1) < 1e-4f &&
               fabsf(blocks.losses[4].discriminator / one.losses[4].discriminator - 1) < 1e-3f,
           "whose losses agree after five iterations");
    double worst = 0;
    for (size_t i = 0; i < 5; i++)
        worst = fmax(worst,
                     fabs((double)(one.losses[i].generator / reference.losses[i].generator) - 1));
    tap_ok(worst < 1e-4, "cpu and reference agree for five iterations (%.2g)", worst);
    tap_ok(fabsf(first->generator - first->adversarial - 100 * first->main) < 1e-3f,
           "the generator's loss is adversarial + 100 x L1");
    tap_ok(first->discriminator > 0.3f && first->discriminator < 3,
           "the discriminator begins by guessing: %g", (double)first->discriminator);
    tap_ok(last->main < 0.9f * first->main, "L1 falls from %g to %g", (double)first->main,
           (double)last->main);
    tap_ok(last->discriminator < first->discriminator, "the discriminator learns: %g to %g",
           (double)first->discriminator, (double)last->discriminator);
}

static void test_divergence(void)
{
    struct error error = {0};
    struct network *network = build_small();
    struct device *device = device_open("cpu", 1, &error);
    struct plan_settings settings = training(1);
    struct gan_plan plan;
    struct weights weights = {0};
    struct bad_layer layer = {0};
    struct gan_losses losses;
    static float x[BATCH * INPUT], y[BATCH * IMAGE];
    gan_plan_build(&plan, network, device->driver, &settings, &error);
    weights_create(&weights, &network->graph, &error);
    weights_initialise(&weights, 7, NULL);
    struct gan *gan = gan_create(&plan, device, &weights, &settings.solver, 7, &error);
    struct execution_batch batch = {.images = x, .targets = y, .count = BATCH};
    gan_discriminator(gan)->values[3] = NAN;
    tap_ok(!gan_iterate(gan, &batch, 0, 0.001f, &losses), "a loss that is no number ends it");
    tap_ok(gan_find_first_bad_layer(gan, 0, &layer) && layer.in_weights &&
               strncmp(layer.node, "discriminator: conv", 19) == 0,
           "its cause is found: %s", layer.node);
    gan_free(gan);
    weights_free(&weights);
    gan_plan_free(&plan);
    device_close(device);
    network_free(network);
}

TEST_CASE(gan_test)
{
    test_input_gradient("reference");
    test_seed("reference");
    for (int set = 0; set < INSTRUCTION_SETS; set++)
        if (instruction_set_force((enum instruction_set)set)) {
            test_input_gradient("cpu");
            test_seed("cpu");
            test_course();
        }
    instruction_set_release();
    test_divergence();
    return tap_done();
}
