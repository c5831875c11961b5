/* Ten iterations of training from the same weights and batches as PyTorch: the losses, and the
 * output and every gradient of the first iteration, must agree within 1e-4 relative. Two batches
 * take turns, so that what is learnt shows: training must have moved the last loss by a hundred
 * times what the comparison allows.
 *
 * A gradient jumps where a ReLU's input or two candidates of a maximum are equal within rounding
 * errors, which some of a million activations are by chance: float32 and double then disagree by a
 * hundredth, on the reference device too. Cases that met such a place have another draw of weights
 * and batches (other_draws: the first of 0, 1, 2... that met none on cpu, with the kernels of any
 * instruction set, by some margin). A device that rounds otherwise may meet one in any case; what
 * tells it from a mistake is that another draw passes.
 *
 * The goldens lie in goldens/trajectories.json; those of networks too large for every day are in
 * trajectories_long.json and tested with --long (make check-long). They are made by
 * make_trajectories.py from what `trajectory_test --dump DIR CASE` writes: the initial weights, the
 * batches and the masks of dropout. All come from the counter-based generator, so none of it is
 * stored. That no network is left out is coverage_test.c's concern. */
#include "base/json/json.h"
#include "base/memory.h"
#include "base/random.h"
#include "engine/execution/execution.h"
#include "engine/network/network.h"
#include "engine/ops/op.h"
#include "engine/training/soft_targets.h"
#include "engine/weights/safetensors.h"
#include "engine/weights/weights_average.h"
#include "golden.h"
#include "instruction_sets.h"
#include "random_fill.h"
#include "sample.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 10, SOME = 3, FEW = 2, BATCHES = 2 };
static const uint64_t first_seed = 20260131;

#define SGD(momentum, decay)                                                                       \
    {                                                                                              \
        SOLVER_SGD, momentum, 0, 0, decay, MOMENTUM_CAFFE                                          \
    }
/* The rates are small: with larger ones rounding errors grow tenfold per iteration, and more in
 * deep networks and with batch norms over few values. */
static const struct trajectory {
    const char *name;
    struct network_request request;
    size_t batch;
    float learning_rate;
    struct solver_settings solver;
    size_t reference_iterations; /* the largest batch for the reference device in `make check`; 0:
                                    none */
} cases[] = {
    {"mlp-sgd", {.network = "mlp"}, 16, 0.05f, SGD(0, 0), ITERATIONS},
    {"lenet-sgd", {.network = "lenet"}, 4, 0.01f, SGD(0.9f, 0.0005f), ITERATIONS},
    {"lenet-nesterov",
     {.network = "lenet"},
     4,
     0.005f,
     {SOLVER_NESTEROV, 0.9f, 0, 0, 0.0005f, MOMENTUM_CAFFE},
     ITERATIONS},
    {"lenet-adam",
     {.network = "lenet"},
     4,
     0.001f,
     {SOLVER_ADAM, 0.9f, 0.999f, 1e-8f, 0, MOMENTUM_CAFFE},
     ITERATIONS},
    {"lenet-adamw",
     {.network = "lenet"},
     4,
     0.001f,
     {SOLVER_ADAMW, 0.9f, 0.98f, 1e-8f, 0.5f, MOMENTUM_CAFFE},
     ITERATIONS},
    {"lenet-rmsprop",
     {.network = "lenet"},
     4,
     0.0005f,
     {SOLVER_RMSPROP, 0, 0.99f, 1e-8f, 0.01f, MOMENTUM_CAFFE},
     ITERATIONS},
    {"lenet-rmsprop-momentum",
     {.network = "lenet"},
     4,
     0.0001f,
     {SOLVER_RMSPROP, 0.9f, 0.9f, 1e-8f, 0, MOMENTUM_CAFFE},
     ITERATIONS},
    {"lenet-smoothing", {.network = "lenet"}, 4, 0.01f, SGD(0.9f, 0), ITERATIONS},
    {"lenet-class-weights", {.network = "lenet"}, 4, 0.01f, SGD(0.9f, 0), ITERATIONS},
    {"lenet-mixed", {.network = "lenet"}, 4, 0.01f, SGD(0.9f, 0), ITERATIONS},
    {"lenet-mixed-weights-smoothing", {.network = "lenet"}, 4, 0.01f, SGD(0.9f, 0), ITERATIONS},
    {"lenet-clip-norm", {.network = "lenet"}, 4, 0.02f, SGD(0.9f, 0), ITERATIONS},
    {"lenet-clip-value", {.network = "lenet"}, 4, 0.02f, SGD(0.9f, 0), ITERATIONS},
    {"lenet-ema", {.network = "lenet"}, 4, 0.02f, SGD(0.9f, 0), ITERATIONS},
    {"lenet-groups", {.network = "lenet"}, 4, 0.01f, SGD(0.9f, 0), ITERATIONS},
    {"lenet-unfrozen",
     {.network = "lenet"},
     4,
     0.001f,
     {SOLVER_ADAM, 0.9f, 0.999f, 1e-8f, 0, MOMENTUM_CAFFE},
     ITERATIONS},
    {"lenet-dsc", {.network = "lenet-dsc"}, 4, 0.01f, SGD(0.9f, 0), ITERATIONS},
    {"lenet-shuffle", {.network = "lenet-shuffle"}, 4, 0.01f, SGD(0.9f, 0), ITERATIONS},
    {"lenet-shift", {.network = "lenet-shift"}, 4, 0.01f, SGD(0.9f, 0), ITERATIONS},
    {"resnet20-sgd", {.network = "resnet20"}, 8, 0.0001f, SGD(0.9f, 0.0001f), 0},
    {"resnet20-pairs", {.network = "resnet20"}, 2, 0.00005f, SGD(0.9f, 0.0001f), FEW},
    {"resnet20-dsc", {.network = "resnet20-dsc"}, 4, 0.0001f, SGD(0.9f, 0.0001f), FEW},
    {"resnet20-shuffle", {.network = "resnet20-shuffle"}, 4, 0.0001f, SGD(0.9f, 0.0001f), FEW},
    {"resnet20-shuffle4",
     {.network = "resnet20-shuffle", .groups = 4},
     4,
     0.0001f,
     SGD(0.9f, 0),
     0},
    {"resnet20-shift", {.network = "resnet20-shift"}, 4, 0.0002f, SGD(0.9f, 0.0001f), FEW},
    {"resnet20-bottleneck", {.network = "resnet20-2.4_block"}, 4, 0.000015f, SGD(0.9f, 0), 0},
    {"squeezenet-sgd", {.network = "squeezenet"}, 4, 5e-6f, SGD(0.9f, 0.0001f), 0},
    {"squeezenet-dsc", {.network = "squeezenet-dsc"}, 4, 2.5e-6f, SGD(0.9f, 0), 0},
    {"squeezenet-shuffle", {.network = "squeezenet-shuffle"}, 4, 1e-5f, SGD(0.9f, 0), 0},
    {"squeezenet-shift", {.network = "squeezenet-shift"}, 4, 5e-6f, SGD(0.9f, 0), 0},
    {"branches-sgd", {.network = "branches"}, 4, 0.00002f, SGD(0.9f, 0.0001f), ITERATIONS},
    {"gates-sgd", {.network = "gates"}, 4, 0.002f, SGD(0.9f, 0.0001f), ITERATIONS},
    {"gates-dsc",
     {.network = "gates", .technique = TECHNIQUE_DSC},
     4,
     0.002f,
     SGD(0.9f, 0),
     ITERATIONS},
    {"gates-adam",
     {.network = "gates"},
     4,
     0.0005f,
     {SOLVER_ADAM, 0.9f, 0.999f, 1e-8f, 0, MOMENTUM_CAFFE},
     FEW},
    {"branches-dsc",
     {.network = "branches", .technique = TECHNIQUE_DSC},
     4,
     0.00002f,
     SGD(0.9f, 0),
     ITERATIONS},
    {"branches-shuffle",
     {.network = "branches", .technique = TECHNIQUE_SHUFFLE},
     4,
     0.0001f,
     SGD(0.9f, 0),
     ITERATIONS},
    {"branches-shift",
     {.network = "branches", .technique = TECHNIQUE_SHIFT},
     4,
     0.00004f,
     SGD(0.9f, 0),
     ITERATIONS},
    {"resnet20-narrow", {.network = "resnet20-2.5"}, 4, 0.0001f, SGD(0.9f, 0), 0},
    {"mobilenet-sgd", {.network = "mobilenet"}, 4, 1e-7f, SGD(0.9f, 0.0001f), 0},
    {"mobilenet-shuffle", {.network = "mobilenet-shuffle"}, 4, 6e-8f, SGD(0.9f, 0), 0},
    {"mobilenet-shift", {.network = "mobilenet-shift"}, 4, 2.5e-7f, SGD(0.9f, 0), 0},
    {"vgg19-sgd", {.network = "vgg19"}, 4, 1e-7f, SGD(0.9f, 0.0001f), 0},
    {"vgg19-dsc", {.network = "vgg19-dsc"}, 4, 1.5e-7f, SGD(0.9f, 0), 0},
    {"vgg19-shuffle", {.network = "vgg19-shuffle"}, 4, 2e-7f, SGD(0.9f, 0), 0},
    {"vgg19-shift", {.network = "vgg19-shift"}, 4, 1e-7f, SGD(0.9f, 0), 0},
    {"alexnet-sgd", {.network = "alexnet"}, 2, 0.0004f, SGD(0.9f, 0.0005f), 0},
};

static const struct trajectory long_cases[] = {
    {"resnet56-sgd", {.network = "resnet56"}, 4, 1e-6f, SGD(0.9f, 0), 0},
    {"resnet56-dsc", {.network = "resnet56-dsc"}, 4, 4e-6f, SGD(0.9f, 0), 0},
    {"resnet56-shuffle", {.network = "resnet56-shuffle"}, 4, 4e-6f, SGD(0.9f, 0), 0},
    {"resnet56-shift", {.network = "resnet56-shift"}, 4, 0.00002f, SGD(0.9f, 0), 0},
    {"resnet110-sgd", {.network = "resnet110"}, 2, 3e-4f, SGD(0.9f, 0), 0},
    {"resnet110-dsc", {.network = "resnet110-dsc"}, 2, 3e-4f, SGD(0.9f, 0), 0},
    {"resnet110-shuffle", {.network = "resnet110-shuffle"}, 2, 3e-4f, SGD(0.9f, 0), 0},
    {"resnet110-shift", {.network = "resnet110-shift"}, 2, 3e-4f, SGD(0.9f, 0), 0},
    {"googlenet-sgd", {.network = "googlenet"}, 1, 1e-5f, SGD(0.9f, 0.0002f), 0},
    {"googlenet-dsc", {.network = "googlenet-dsc"}, 1, 1e-5f, SGD(0.9f, 0), 0},
    {"googlenet-shuffle", {.network = "googlenet-shuffle"}, 1, 1e-5f, SGD(0.9f, 0), 0},
    {"googlenet-shift", {.network = "googlenet-shift"}, 1, 1e-5f, SGD(0.9f, 0), 0},
    {"alexnet-dsc", {.network = "alexnet-dsc"}, 2, 1e-6f, SGD(0.9f, 0), 0},
    {"alexnet-shuffle", {.network = "alexnet-shuffle"}, 2, 1e-6f, SGD(0.9f, 0), 0},
    {"alexnet-shift", {.network = "alexnet-shift"}, 2, 1e-6f, SGD(0.9f, 0), 0},
};

static const struct suite {
    const char *goldens;
    const struct trajectory *cases;
    size_t count;
} everyday = {"trajectories", cases, sizeof cases / sizeof *cases},
  large = {"trajectories_long", long_cases, sizeof long_cases / sizeof *long_cases};

struct trial {
    const struct trajectory *trajectory;
    struct network *network;
    struct device *device;
    struct plan *plan;
    struct weights weights;
    struct execution *execution;
    struct weights average;     /* without a decay it has no values */
    struct execution *averaged; /* computes the losses of the average */
    struct parameter_groups groups;
    float *images;
    int32_t *labels;
    int32_t *partners; /* mixed images: the other labels, and the shares of the first ones */
    float *shares, *class_weights;
    struct soft_target *soft_targets;
};

static const struct {
    const char *name;
    uint64_t draw;
} other_draws[] = {
    {"resnet20-pairs", 1},    {"resnet20-bottleneck", 2}, {"vgg19-dsc", 2},
    {"squeezenet-sgd", 1},    {"squeezenet-dsc", 1},      {"alexnet-sgd", 1},
    {"mobilenet-sgd", 21},    {"mobilenet-shift", 54},    {"resnet56-sgd", 5},
    {"resnet56-dsc", 8},      {"resnet110-dsc", 5},       {"googlenet-sgd", 1},
    {"googlenet-dsc", 6},     {"googlenet-shift", 1},     {"googlenet-shuffle", 5},
    {"resnet20-shuffle4", 2},
};

/* What some cases have beside their solver. */
static const struct extra {
    const char *name;
    float smoothing;
    struct gradient_clipping clipping;
    const char *frozen, *rates; /* parameter_groups.h */
    uint64_t frozen_steps;
    float decay;        /* of averaged weights, whose losses are compared; 0: none */
    bool weighs, mixes; /* class weights; labels of two images */
} extras[] = {
    {"lenet-smoothing", 0.1f, {0, 0}, "", "", 0, 0, false, false},
    {"lenet-class-weights", 0, {0, 0}, "", "", 0, 0, true, false},
    {"lenet-mixed", 0, {0, 0}, "", "", 0, 0, false, true},
    {"lenet-mixed-weights-smoothing", 0.1f, {0, 0}, "", "", 0, 0, true, true},
    {"lenet-clip-norm", 0, {0.5f, 0}, "", "", 0, 0, false, false},
    {"lenet-clip-value", 0, {0, 0.01f}, "", "", 0, 0, false, false},
    {"lenet-ema", 0, {0, 0}, "", "", 0, 0.9f, false, false},
    {"lenet-groups", 0, {1, 0}, "conv1", "ip1=0.1,ip2=2", 0, 0, false, false},
    {"lenet-unfrozen", 0, {0, 0}, "conv*", "", 4, 0, false, false},
};

static struct extra extra_of(const struct trajectory *trajectory)
{
    for (size_t i = 0; i < sizeof extras / sizeof *extras; i++)
        if (strcmp(extras[i].name, trajectory->name) == 0)
            return extras[i];
    return (struct extra){.name = trajectory->name, .frozen = "", .rates = ""};
}

static uint64_t seed_of(const struct trial *trial)
{
    for (size_t i = 0; i < sizeof other_draws / sizeof *other_draws; i++)
        if (strcmp(other_draws[i].name, trial->trajectory->name) == 0)
            return first_seed + other_draws[i].draw;
    return first_seed;
}

/* Values as large as those of images: an LRN does not change small values. */
static void draw_batch(struct trial *trial, size_t iteration)
{
    const struct network *network = trial->network;
    size_t count = trial->trajectory->batch * shape_count(network->input);
    const uint32_t stream = 2 * (uint32_t)(iteration % BATCHES);
    const float range = strcmp(network->normalisation, "caffe") == 0 ? 128 : 1;
    random_fill_uniform(seed_of(trial), RANDOM_TEST, stream, -range, range, trial->images, count);
    struct random_stream draws = random_stream_at(seed_of(trial), RANDOM_TEST, stream + 1, 0);
    for (size_t i = 0; i < trial->trajectory->batch; i++)
        trial->labels[i] = (int32_t)random_next_below(&draws, (uint32_t)network->classes);
    for (size_t i = 0; i < trial->trajectory->batch; i++) {
        trial->partners[i] = (int32_t)random_next_below(&draws, (uint32_t)network->classes);
        trial->shares[i] = random_next_unit(&draws);
    }
}

/* A hundred layers with initial weights multiply rounding errors by a thousand; trained ones do
 * not, because each block adds little to its shortcut. So the blocks' last batch norms are scaled
 * down. */
static void damp_residuals(struct trial *trial)
{
    static const float factor = 0.1f;
    const struct graph *graph = &trial->network->graph;
    if (strcmp(trial->network->name, "resnet110") != 0)
        return;
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        if (!strstr(parameter->name, ".bn2.weight") && !strstr(parameter->name, ".bn3.weight"))
            continue;
        for (size_t i = 0; i < parameter->count; i++)
            trial->weights.values[parameter->offset + i] *= factor;
    }
}

static bool prepare_average(struct trial *trial, float decay, struct error *error)
{
    if (decay == 0)
        return true;
    if (!weights_create(&trial->average, trial->weights.graph, error))
        return false;
    weights_average_begin(&trial->average, &trial->weights);
    trial->averaged = execution_create(trial->plan, trial->device, &trial->average,
                                       &trial->trajectory->solver, seed_of(trial), error);
    return trial->averaged;
}

/* Allocates what the soft targets are made from, and sets the class weights: 0.2, 0.4, 0.6, ... */
static bool make_targets(struct trial *trial, struct error *error)
{
    const size_t batch = trial->trajectory->batch, classes = trial->network->classes;
    trial->partners = memory_new(batch, sizeof *trial->partners, "a batch", error);
    trial->shares = memory_new(batch, sizeof *trial->shares, "a batch", error);
    trial->soft_targets = memory_new(batch, sizeof *trial->soft_targets, "a batch", error);
    trial->class_weights = memory_new(classes, sizeof *trial->class_weights, "a batch", error);
    for (size_t c = 0; trial->class_weights && c < classes; c++)
        trial->class_weights[c] = 0.2f * (float)(c + 1);
    return trial->partners && trial->shares && trial->soft_targets && trial->class_weights;
}

/* Adds the soft targets of the batch, if the case has any. */
static void add_targets(const struct trial *trial, struct execution_batch *batch)
{
    const struct extra extra = extra_of(trial->trajectory);
    if (!extra.weighs && !extra.mixes)
        return;
    batch->class_weights = extra.weighs ? trial->class_weights : NULL;
    batch->soft_targets = trial->soft_targets;
    soft_targets_fill(trial->soft_targets, trial->labels, extra.mixes ? trial->partners : NULL,
                      extra.mixes ? trial->shares : NULL, batch->class_weights, batch->count);
}

static bool trial_prepare(struct trial *trial, const struct trajectory *trajectory,
                          const char *device, size_t threads, struct error *error)
{
    *trial = (struct trial){.trajectory = trajectory};
    const struct extra extra = extra_of(trajectory);
    struct plan_settings settings = {.mode = PLAN_TRAINING,
                                     .batch = trajectory->batch,
                                     .threads = threads,
                                     .soft_targets = extra.weighs || extra.mixes,
                                     .solver = trajectory->solver};
    trial->network = golden_build_network(&trajectory->request, error);
    trial->device = device_open(device, threads, error);
    if (!trial->network || !trial->device)
        return false;
    network_set_label_smoothing(trial->network, extra.smoothing);
    trial->plan = plan_build(&trial->network->graph, trial->device->driver, &settings, error);
    if (!trial->plan || !weights_create(&trial->weights, &trial->network->graph, error))
        return false;
    weights_initialise(&trial->weights, seed_of(trial), trial->device->pool);
    damp_residuals(trial);
    trial->execution = execution_create(trial->plan, trial->device, &trial->weights,
                                        &trajectory->solver, seed_of(trial), error);
    size_t values = trajectory->batch * shape_count(trial->network->input);
    if (!make_targets(trial, error))
        return false;
    trial->images = memory_new_aligned(values, sizeof(float), "a batch", error);
    trial->labels = memory_new(trajectory->batch, sizeof(int32_t), "a batch", error);
    return trial->execution && trial->images && trial->labels &&
           prepare_average(trial, extra.decay, error) &&
           execution_set_clipping(trial->execution, &extra.clipping, error);
}

/* Makes the groups of the solver as they are before an iteration. */
static bool set_groups(struct trial *trial, size_t iteration, struct error *error)
{
    const struct extra extra = extra_of(trial->trajectory);
    const struct parameter_rates rates = {extra.frozen, extra.rates, extra.frozen_steps};
    if (!extra.frozen[0] && !extra.rates[0])
        return true;
    parameter_groups_free(&trial->groups);
    return parameter_groups_make(&trial->groups, &trial->network->graph, &rates, iteration,
                                 error) &&
           execution_set_groups(trial->execution, &trial->groups, error);
}

static void trial_free(struct trial *trial)
{
    parameter_groups_free(&trial->groups);
    execution_free(trial->averaged);
    execution_free(trial->execution);
    weights_free(&trial->average);
    weights_free(&trial->weights);
    plan_free(trial->plan);
    device_close(trial->device);
    network_free(trial->network);
    free(trial->images);
    free(trial->labels);
    free(trial->partners);
    free(trial->shares);
    free(trial->soft_targets);
    free(trial->class_weights);
}

/* --- comparing --- */

struct differences {
    double loss, output, gradient;
    const char *gradient_of;
};

static void compare_first(const struct trial *trial, const struct json *golden,
                          struct differences *worst)
{
    const struct graph *graph = &trial->network->graph;
    const size_t outputs =
        shape_count(graph->nodes[graph->output].output) * trial->trajectory->batch;
    worst->output =
        golden_tensor_difference(execution_output(trial->execution), outputs, seed_of(trial),
                                 GOLDEN_OUTPUT_STREAM, json_member(golden, "output"), 0);
    worst->gradient = golden_gradients_difference(
        graph, execution_parameter_gradients(trial->execution), seed_of(trial),
        json_member(golden, "gradients"), &worst->gradient_of);
}

/* Returns the loss of the averaged weights before the iteration's step, and takes the weights after
 * it into the average. */
static float average_loss(struct trial *trial, size_t iteration,
                          const struct execution_batch *batch)
{
    execution_bind(trial->averaged, batch);
    execution_forward(trial->averaged, iteration);
    if (iteration == 0)
        weights_average_begin(&trial->average, &trial->weights);
    else
        weights_average_update(&trial->average, &trial->weights,
                               (double)extra_of(trial->trajectory).decay, trial->device->pool);
    return execution_loss(trial->averaged);
}

/* Compares output and gradients with the golden, if there is one. Returns the loss. */
static float train_iteration(struct trial *trial, size_t iteration, const struct json *golden,
                             struct differences *worst)
{
    draw_batch(trial, iteration);
    struct execution_batch batch = {
        .images = trial->images, .labels = trial->labels, .count = trial->trajectory->batch};
    add_targets(trial, &batch);
    execution_bind(trial->execution, &batch);
    execution_forward(trial->execution, iteration);
    execution_backward(trial->execution);
    if (golden)
        compare_first(trial, golden, worst);
    if (!set_groups(trial, iteration, NULL))
        return NAN;
    execution_update(trial->execution, trial->trajectory->learning_rate);
    return trial->averaged ? average_loss(trial, iteration, &batch)
                           : execution_loss(trial->execution);
}

static struct differences compare(struct trial *trial, const struct json *golden, size_t iterations)
{
    const struct json *losses = json_member(golden, "losses");
    struct differences worst = {.gradient_of = ""};
    worst.loss = json_length(losses) == ITERATIONS ? 0 : INFINITY;
    for (size_t i = 0; i < iterations; i++) {
        double expected = golden_number(losses, i);
        double loss = train_iteration(trial, i, i == 0 ? golden : NULL, &worst);
        double difference = fabs(loss - expected) / fabs(expected);
        tap_note("iteration %zu: %.9g, PyTorch %.9g", i, loss, expected);
        if (!(difference <= worst.loss))
            worst.loss = isfinite(difference) ? difference : INFINITY;
    }
    return worst;
}

/* In each of 80 draws, rounding changed the gradients of this network by 1e-4 and more with some
 * kernels. */
static double gradient_tolerance_of(const struct trajectory *trajectory)
{
    return strcmp(trajectory->name, "mobilenet-shift") == 0 ? 3e-4 : GOLDEN_TOLERANCE;
}

static void test_trajectory(const struct trajectory *trajectory, const char *device, size_t threads,
                            size_t iterations, const struct json *golden)
{
    struct error error = {0};
    struct trial trial;
    char message[1200] = "";
    struct differences worst = {INFINITY, INFINITY, INFINITY, ""};
    const double gradient_tolerance = gradient_tolerance_of(trajectory);
    if (!trial_prepare(&trial, trajectory, device, threads, &error))
        error_format(&error, message, sizeof message);
    else if (!golden_is_of(golden, trial.network))
        snprintf(message, sizeof message, "there is no golden of this network");
    else
        worst = compare(&trial, golden, iterations);
    tap_ok(worst.loss < GOLDEN_TOLERANCE && worst.output < GOLDEN_TOLERANCE &&
               worst.gradient < gradient_tolerance,
           "%s on %s, %zu threads: within 1e-4 of PyTorch's losses (%.2g) and first output (%.2g), "
           "within %g of its gradients (%.2g %s) %s",
           trajectory->name, device, threads, worst.loss, worst.output, gradient_tolerance,
           worst.gradient, worst.gradient_of, message);
    trial_free(&trial);
}

static void test_reference(const struct trajectory *trajectory, const struct json *golden)
{
    const double move =
        golden_move(json_member(golden, "losses"), json_member(golden, "untrained"));
    tap_ok(move >= GOLDEN_LEAST_MOVE, "%s: training moves the last loss (%.2g)", trajectory->name,
           move);
    const size_t most = sample_is_whole() ? ITERATIONS : SOME;
    const size_t iterations = trajectory->reference_iterations;
    if (iterations)
        test_trajectory(trajectory, "reference", 1, iterations < most ? iterations : most, golden);
}

/* Networks that take the reference device long are trained for few iterations in `make check`. */
static void test_cpu(const struct trajectory *trajectory, const struct json *golden)
{
    const bool is_small = trajectory->reference_iterations == ITERATIONS;
    test_trajectory(trajectory, "cpu", 2, is_small || sample_is_whole() ? ITERATIONS : FEW, golden);
}

typedef void case_test(const struct trajectory *trajectory, const struct json *golden);

/* Which cases are tested: those whose numbers leave `rest` when divided by `step`. */
struct share {
    size_t step, rest;
};

/* Returns the share of an instruction set: all cases for the best one of this machine, and a fifth
 * for each other, whose kernels are compared one by one elsewhere. All if cases are named (`only`;
 * "" names all), of the suite of --long, and of the whole list (sample.h). */
static struct share share_of(const struct suite *suite, const char *only, int set)
{
    struct host host;
    host_describe(&host);
    const bool best = suite != &everyday || only || sample_is_whole() || instruction_set_asked();
    for (int better = set + 1; !best && better <= (int)host.instruction_set; better++)
        if (cpu_table_for((enum instruction_set)better))
            return (struct share){5, (size_t)(set + 2) % 5};
    return (struct share){1, 0};
}

/* Tests the cases of a share whose names contain `only` (NULL: all). */
static void test_cases(const struct suite *suite, const char *only, const struct json *goldens,
                       case_test *test, struct share share)
{
    for (size_t i = share.rest; i < suite->count; i += share.step)
        if (!only || strstr(suite->cases[i].name, only))
            test(&suite->cases[i], json_member(goldens, suite->cases[i].name));
}

static int test_suite(const struct suite *suite, const char *only)
{
    struct json_document goldens;
    struct error error = {0};
    if (!golden_read(&goldens, suite->goldens, &error)) {
        tap_ok(false, "reads the goldens %s: %s", suite->goldens, error.why);
        return tap_done();
    }
    tap_ok(json_member_count(goldens.root) == suite->count, "%s: %zu goldens for %zu cases",
           suite->goldens, json_member_count(goldens.root), suite->count);
    test_cases(suite, only, goldens.root, test_reference, (struct share){1, 0});
    for (int set = 0; set < INSTRUCTION_SETS; set++)
        if (instruction_set_force((enum instruction_set)set))
            test_cases(suite, only, goldens.root, test_cpu, share_of(suite, only, set));
    instruction_set_release();
    json_document_free(&goldens);
    return tap_done();
}

/* --- dumping --- */

enum { MAX_DUMPED = 128 };

struct dump {
    struct safetensors_array arrays[MAX_DUMPED];
    char names[MAX_DUMPED][64];
    void *blocks[MAX_DUMPED];
    size_t count;
};

/* Returns the memory of a new array of 4-byte values (F32 or I32). */
static void *dump_array(struct dump *dump, enum safetensors_type type, size_t count,
                        const char *name, size_t iteration)
{
    size_t at = dump->count++;
    snprintf(dump->names[at], sizeof dump->names[at], "%s.%zu", name, iteration);
    dump->blocks[at] = memory_new(count, sizeof(float), "a dump", NULL);
    dump->arrays[at] = (struct safetensors_array){.name = dump->names[at],
                                                  .type = type,
                                                  .dims = {count},
                                                  .rank = 1,
                                                  .data = dump->blocks[at]};
    return dump->blocks[at];
}

/* Computes the factors of dropout, from the definition in ops/dropout.c. */
static void dump_masks(struct dump *dump, const struct trial *trial, size_t iteration)
{
    const struct graph *graph = &trial->network->graph;
    for (size_t n = 0; n < graph->node_count; n++) {
        if (graph->nodes[n].op != &op_dropout)
            continue;
        const struct dropout_attributes *dropout = &graph->nodes[n].attributes.dropout;
        const size_t drawn = dropout->channels ? shape_area(graph->nodes[n].output) : 1;
        float rate = dropout->rate;
        size_t count = shape_count(graph->nodes[n].output) * trial->trajectory->batch;
        float *mask = dump_array(dump, SAFETENSORS_F32, count, graph->nodes[n].name, iteration);
        for (size_t i = 0; i < count; i++) {
            const size_t at = i / drawn; /* values of a channel may share a number */
            struct random_block block = random_philox(seed_of(trial), RANDOM_DROPOUT, (uint32_t)n,
                                                      (uint64_t)iteration << 32 | at / 4);
            mask[i] = random_to_unit(block.word[at % 4]) >= rate ? 1 / (1 - rate) : 0;
        }
    }
}

/* Dumps what the losses of a case with soft targets need. */
static void dump_targets(struct dump *dump, const struct trial *trial, size_t iteration)
{
    const struct extra extra = extra_of(trial->trajectory);
    const size_t batch = trial->trajectory->batch, classes = trial->network->classes;
    if (extra.weighs)
        memcpy(dump_array(dump, SAFETENSORS_F32, classes, "class_weights", iteration),
               trial->class_weights, classes * sizeof(float));
    if (!extra.mixes)
        return;
    memcpy(dump_array(dump, SAFETENSORS_I32, batch, "partners", iteration), trial->partners,
           batch * sizeof(int32_t));
    memcpy(dump_array(dump, SAFETENSORS_F32, batch, "shares", iteration), trial->shares,
           batch * sizeof(float));
}

static bool dump_weights(struct trial *trial, const char *path, struct error *error)
{
    enum { NUMBERS = 11 };
    char numbers[NUMBERS][32];
    const struct extra extra = extra_of(trial->trajectory);
    const struct trajectory *t = trial->trajectory;
    const struct network *network = trial->network;
    const float settings[NUMBERS] = {
        t->learning_rate,     t->solver.momentum,        t->solver.beta2, t->solver.weight_decay,
        (float)t->batch,      (float)network->groups,    extra.smoothing, extra.clipping.norm,
        extra.clipping.value, (float)extra.frozen_steps, extra.decay};
    for (size_t i = 0; i < NUMBERS; i++)
        snprintf(numbers[i], sizeof numbers[i], "%.9g", (double)settings[i]);
    const char *variant =
        network->block_rate > 0 ? "bottleneck" : technique_name(network->technique);
    char full_name[128];
    const char *const metadata[] = {"full_name",
                                    network_full_name(network, full_name, sizeof full_name),
                                    "solver",
                                    solver_names[t->solver.kind],
                                    "network",
                                    network->name,
                                    "variant",
                                    variant,
                                    "lr",
                                    numbers[0],
                                    "momentum",
                                    numbers[1],
                                    "beta2",
                                    numbers[2],
                                    "weight_decay",
                                    numbers[3],
                                    "batch",
                                    numbers[4],
                                    "groups",
                                    numbers[5],
                                    "smoothing",
                                    numbers[6],
                                    "clip_norm",
                                    numbers[7],
                                    "clip_value",
                                    numbers[8],
                                    "frozen_steps",
                                    numbers[9],
                                    "decay",
                                    numbers[10],
                                    "frozen",
                                    extra.frozen,
                                    "rates",
                                    extra.rates,
                                    NULL};
    return weights_save(&trial->weights, WEIGHTS_FLOAT32, path, metadata, error);
}

static bool dump_batches(struct trial *trial, const char *path, struct error *error)
{
    struct dump dump = {0};
    const struct graph *graph = &trial->network->graph;
    size_t batch = trial->trajectory->batch;
    size_t values = batch * shape_count(trial->network->input);
    size_t outputs = batch * shape_count(graph->nodes[graph->output].output);
    golden_draw_direction(seed_of(trial), GOLDEN_OUTPUT_STREAM,
                          dump_array(&dump, SAFETENSORS_F32, outputs, "direction", 0), outputs);
    for (size_t i = 0; i < ITERATIONS; i++) {
        draw_batch(trial, i);
        memcpy(dump_array(&dump, SAFETENSORS_F32, values, "images", i), trial->images,
               values * sizeof(float));
        memcpy(dump_array(&dump, SAFETENSORS_I32, batch, "labels", i), trial->labels,
               batch * sizeof(int32_t));
        dump_targets(&dump, trial, i);
        dump_masks(&dump, trial, i);
    }
    bool saved = safetensors_write(path, dump.arrays, dump.count, NULL, error);
    for (size_t i = 0; i < dump.count; i++)
        free(dump.blocks[i]);
    return saved;
}

static const struct trajectory *find_case(const char *name)
{
    for (size_t i = 0; i < everyday.count; i++)
        if (strcmp(everyday.cases[i].name, name) == 0)
            return &everyday.cases[i];
    for (size_t i = 0; i < large.count; i++)
        if (strcmp(large.cases[i].name, name) == 0)
            return &large.cases[i];
    return NULL;
}

static int dump_case(const char *directory, const char *name)
{
    struct error error = {0};
    struct trial trial = {0};
    char weights[512], directions[512], batches[512], message[1200];
    const struct trajectory *trajectory = find_case(name);
    snprintf(weights, sizeof weights, "%s/%s.weights.safetensors", directory, name);
    snprintf(directions, sizeof directions, "%s/%s.directions.safetensors", directory, name);
    snprintf(batches, sizeof batches, "%s/%s.batches.safetensors", directory, name);
    bool dumped = trajectory && trial_prepare(&trial, trajectory, "reference", 1, &error) &&
                  dump_weights(&trial, weights, &error) && dump_batches(&trial, batches, &error) &&
                  golden_save_directions(&trial.weights, &trial.network->graph, seed_of(&trial),
                                         directions, &error);
    trial_free(&trial);
    if (!dumped)
        fprintf(stderr, "trajectory_test: %s: %s\n", name,
                error_format(&error, message, sizeof message));
    return !dumped;
}

static int list_cases(const struct suite *suite)
{
    for (size_t i = 0; i < suite->count; i++)
        printf("%s\n", suite->cases[i].name);
    return 0;
}

/* [--long] [PART OF A NAME] | --list [--long] | --dump DIR CASE */
TEST_CASE(trajectory_test)
{
    bool listing = argc > 1 && strcmp(argv[1], "--list") == 0;
    int next = listing ? 2 : 1;
    if (argc == 4 && strcmp(argv[1], "--dump") == 0)
        return dump_case(argv[2], argv[3]);
    bool is_long = argc > next && strcmp(argv[next], "--long") == 0;
    const struct suite *suite = is_long ? &large : &everyday;
    next += is_long;
    return listing ? list_cases(suite) : test_suite(suite, argc > next ? argv[next] : NULL);
}
