/* Recomputation: a memory limit is respected, arrays with overlapping live ranges do not overlap,
 * and training gives the same bits with and without a limit. */
#include "base/memory.h"
#include "base/random.h"
#include "engine/execution/execution.h"
#include "engine/execution/gan.h"
#include "engine/network/network.h"
#include "engine/ops/op.h"
#include "random_fill.h"
#include "sample.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = SANITIZED ? 2 : 3, SHARES = 4 };
/* Fractions of the memory between minimum and maximum; above 0, so that limits differ from the
 * least. */
static const double shares[SHARES] = {0, 0.2, 0.5, 0.8};

static const struct solver_settings sgd = {SOLVER_SGD, 0.9f, 0, 0, 0.0005f, MOMENTUM_CAFFE};
static const struct solver_settings adam = {SOLVER_ADAM, 0.5f, 0.999f, 1e-8f, 0, MOMENTUM_CAFFE};

static struct plan_settings training(size_t batch, size_t threads, uint64_t limit)
{
    return (struct plan_settings){.mode = PLAN_TRAINING,
                                  .batch = batch,
                                  .threads = threads,
                                  .solver = sgd,
                                  .memory_limit = limit};
}

static struct network *build(const char *name, double width_rate)
{
    struct error error = {0};
    struct network_request request = {.network = name, .width_rate = width_rate};
    struct network *network = network_build(&request, &error);
    if (!network)
        tap_ok(false, "%s: %s", name, error.why);
    return network;
}

/* --- the plan --- */

static size_t count_clashes(const struct plan *plan)
{
    size_t clashes = 0;
    for (size_t i = 0; i < plan->arena.array_count; i++) {
        const struct plan_array *a = &plan->arena.arrays[i];
        clashes += a->offset + a->bytes > plan->arena.workspace || a->last > plan->order.count;
        for (size_t k = 0; k < i; k++) {
            const struct plan_array *b = &plan->arena.arrays[k];
            clashes += a->first <= b->last && b->first <= a->last &&
                       a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
        }
    }
    return clashes;
}

/* Every step runs forward once, then backward in the opposite order; each recomputation runs once,
 * before its backward pass. */
static bool order_is_right(const struct plan *plan)
{
    size_t next_backward = plan->step_count, again = 0;
    bool right = true;
    for (size_t a = 0; a < plan->order.count; a++) {
        const struct plan_order_entry *action = &plan->order.entries[a];
        const struct plan_step *step = &plan->steps[action->step];
        if (a < plan->step_count)
            right = right && action->pass == PLAN_FORWARD && action->step == a;
        else if (action->pass == PLAN_BACKWARD)
            right = right && action->step == --next_backward && step->backward_at == a;
        else
            right = right && step->recompute_at == a &&
                    a < step->backward_at + !step->backward * a && ++again;
    }
    return right && next_backward == 0 && plan->order.count == 2 * plan->step_count + again;
}

static void check_plan(const struct plan *plan, const char *name, uint64_t limit)
{
    const struct memory_forecast *forecast = &plan->forecast;
    tap_ok(forecast->total <= limit && forecast->total < forecast->unlimited,
           "%s: %zu KiB of %zu are forecast for a limit of %zu; %.1f %% more work", name,
           (size_t)forecast->total >> 10, (size_t)forecast->unlimited >> 10, (size_t)limit >> 10,
           plan_recompute_overhead(forecast));
    const size_t clashes = count_clashes(plan);
    tap_ok(clashes == 0, "%s: arrays with overlapping live ranges do not overlap (%zu clashes)",
           name, clashes);
    tap_ok(order_is_right(plan), "%s: the order of the passes", name);
}

/* --- training --- */

struct trace {
    float losses[ITERATIONS];
    float *gradients, *weights; /* at the end */
    size_t gradient_count, weight_count;
};

static void trace_free(struct trace *trace)
{
    free(trace->gradients);
    free(trace->weights);
    *trace = (struct trace){0};
}

static float *copy_floats(const float *from, size_t count)
{
    float *copy = memory_new(count, sizeof *copy, "a test", NULL);
    if (copy)
        memcpy(copy, from, count * sizeof *copy);
    return copy;
}

static bool same_bits(const struct trace *a, const struct trace *b)
{
    return a->gradients && b->gradients && a->weights && b->weights &&
           memcmp(a->losses, b->losses, sizeof a->losses) == 0 &&
           memcmp(a->gradients, b->gradients, a->gradient_count * sizeof(float)) == 0 &&
           memcmp(a->weights, b->weights, a->weight_count * sizeof(float)) == 0;
}

static void train(const struct plan *plan, const struct network *network, size_t threads,
                  struct trace *trace)
{
    struct error error = {0};
    struct weights weights = {0};
    struct device *device = device_open(plan->driver->name, threads, &error);
    const size_t values = plan->batch * shape_count(network->input);
    float *images = memory_new_aligned(values, sizeof *images, "a test", &error);
    int32_t labels[16];
    struct execution *execution = NULL;
    *trace = (struct trace){.gradient_count = network->graph.learnable_floats,
                            .weight_count = network->graph.total_floats};
    if (device && images && weights_create(&weights, &network->graph, &error)) {
        weights_initialise(&weights, 3, device->pool);
        execution = execution_create(plan, device, &weights, &sgd, 3, &error);
    }
    if (!execution) {
        tap_ok(false, "training: %s", error.why);
    } else {
        random_fill_uniform(1, RANDOM_TEST, 0, -1, 1, images, values);
        for (size_t i = 0; i < plan->batch; i++)
            labels[i] = (int32_t)(i * 7 % network->classes);
        /* the last batch is short, as at an epoch's end */
        for (size_t i = 0; i < ITERATIONS; i++) {
            execution_bind(execution,
                           &(struct execution_batch){.images = images,
                                                     .labels = labels,
                                                     .count = plan->batch - (i + 1 == ITERATIONS)});
            execution_forward(execution, i);
            trace->losses[i] = execution_loss(execution);
            execution_backward(execution);
            execution_update(execution, 0.01f);
        }
        trace->gradients =
            copy_floats(execution_parameter_gradients(execution), trace->gradient_count);
        trace->weights = copy_floats(weights.values, trace->weight_count);
    }
    execution_free(execution);
    weights_free(&weights);
    device_close(device);
    free(images);
}

/* --- a network at several limits --- */

static void test_limit(const struct network *network, const struct plan_settings *settings,
                       const struct device_driver *driver, const struct trace *reference)
{
    struct error error = {0};
    struct trace trace;
    struct plan *plan = plan_build(&network->graph, driver, settings, &error);
    if (!plan) {
        tap_ok(false, "%s: %s: %s", network->name, error.what, error.why);
        return;
    }
    check_plan(plan, network->name, settings->memory_limit);
    train(plan, network, settings->threads, &trace);
    tap_ok(same_bits(&trace, reference), "%s: losses, gradients and weights are the same (%g)",
           network->name, (double)trace.losses[ITERATIONS - 1]);
    trace_free(&trace);
    plan_free(plan);
}

/* Plans for two threads have more workspace, so their lowest limit differs. */
static void test_limits(const struct network *network, const struct device_driver *driver,
                        struct plan_settings *settings, size_t from, const struct trace *reference)
{
    struct error error = {0};
    settings->memory_limit = PLAN_LEAST_MEMORY;
    struct plan *least = plan_build(&network->graph, driver, settings, &error);
    if (!least) {
        tap_ok(false, "%s: %s", network->name, error.why);
        return;
    }
    const struct memory_forecast forecast = least->forecast;
    plan_free(least);
    for (size_t i = from; i < SHARES; i += 2) {
        const double more = shares[i] * (double)(forecast.unlimited - forecast.total);
        settings->memory_limit = forecast.total + (uint64_t)more;
        test_limit(network, settings, driver, reference);
    }
}

static void test_network(const char *name, double width_rate, const char *device, size_t batch)
{
    struct error error = {0};
    const struct device_driver *driver =
        strcmp(device, "reference") == 0 ? device_drivers[0] : device_drivers[1];
    struct network *network = build(name, width_rate);
    struct plan_settings settings = training(batch, 1, 0);
    struct plan *full = network ? plan_build(&network->graph, driver, &settings, &error) : NULL;
    struct trace reference;
    if (!full) {
        tap_ok(false, "%s on %s: %s", name, device, error.why);
        return;
    }
    train(full, network, 1, &reference);
    tap_ok(full->forecast.flops_again == 0 && full->order.count == 2 * full->step_count &&
               full->forecast.unlimited == full->forecast.total,
           "%s on %s: without a limit nothing is recomputed", name, device);
    plan_free(full);
    test_limits(network, driver, &settings, 0, &reference);
    settings.threads = 2;
    test_limits(network, driver, &settings, 1, &reference);
    trace_free(&reference);
    network_free(network);
}

/* --- a limit that is too low --- */

static void test_refusal(void)
{
    struct error error = {0};
    char batch[32];
    struct network *network = build("resnet20", 0);
    struct plan_settings settings = training(64, 1, 20 << 20);
    struct plan *plan = plan_build(&network->graph, device_drivers[1], &settings, &error);
    tap_ok(!plan && error.kind == ERROR_MEMORY && strstr(error.why, "20.0 MiB"),
           "a limit below the least is refused: %s: %s", error.why, error.advice);
    const size_t fits = plan_largest_batch(&network->graph, device_drivers[1], &settings, 64,
                                           settings.memory_limit);
    snprintf(batch, sizeof batch, "batch %zu,", fits);
    tap_ok(fits > 1 && fits < 64 && strstr(error.advice, batch),
           "and the batch that fits is named");
    settings.memory_limit = strtoull(strpbrk(error.advice, "0123456789"), NULL, 10) << 20;
    plan = plan_build(&network->graph, device_drivers[1], &settings, &error);
    tap_ok(plan && plan->forecast.total <= settings.memory_limit,
           "so is a limit that is respected");
    plan_free(plan);
    settings.memory_limit = 1000;
    plan = plan_build(&network->graph, device_drivers[1], &settings, &error);
    tap_ok(!plan && strstr(error.advice, "not even one image"), "and that no image fits");
    settings.mode = PLAN_INFERENCE;
    plan = plan_build(&network->graph, device_drivers[1], &settings, &error);
    tap_ok(plan && plan->order.count == plan->step_count, "inference knows no limit");
    plan_free(plan);
    network_free(network);
}

/* --- a GPU --- */

/* Returns whether every recomputed step normalises, and whether there is one. */
static bool recomputes_only_norms(const struct plan *plan)
{
    size_t norms = 0, others = 0;
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        if (step->recompute_at == PLAN_NONE)
            continue;
        const bool is_norm = step->site.node->op == &op_batch_norm;
        norms += is_norm;
        others += !is_norm;
    }
    return norms > 0 && others == 0;
}

/* A GPU recomputes normalised values unless a limit is given. The plans are those of the cpu, as if
 * its memory were separate, so that they are the same on every machine. */
static void test_default_of_gpus(const char *name, size_t batch, double most)
{
    struct error error = {0};
    struct device_driver driver = *device_drivers[1];
    driver.computes_on_host = false;
    struct network *network = build(name, 0);
    struct plan_settings settings = training(batch, 1, 0);
    settings.only_forecast = true;
    struct plan *plan = network ? plan_build(&network->graph, &driver, &settings, &error) : NULL;
    if (!plan) {
        tap_ok(false, "%s on a GPU: %s", name, error.why);
        return;
    }
    const double share = (double)plan->forecast.total / (double)plan->forecast.unlimited;
    tap_ok(share <= most && count_clashes(plan) == 0 && order_is_right(plan) &&
               (most == 1 ? plan->forecast.flops_again == 0 : recomputes_only_norms(plan)),
           "%s on a GPU: batch norms are recomputed, in %.2f of the memory", name, share);
    settings.memory_limit = plan->forecast.unlimited;
    plan_free(plan);
    plan = plan_build(&network->graph, &driver, &settings, &error);
    tap_ok(plan && plan->order.count == 2 * plan->step_count,
           "  with a limit that suffices nothing is recomputed");
    plan_free(plan);
    network_free(network);
}

/* --- two networks --- */

static const char small_network[] =
    "{\"name\": \"small\", \"input\": [3, 64, 64], \"loss\": \"l1_loss\", \"layers\": [\n"
    "{\"block\": \"unet\", \"name\": \"unet\", \"width\": 16, \"widest\": 32, \"steps\": 5,\n"
    " \"output\": 3, \"dropout_steps\": 2}, {\"op\": \"tanh\", \"name\": \"tanh\"}],\n"
    "\"discriminator\": {\"layers\": [\n"
    "{\"op\": \"conv\", \"output\": 16, \"kernel\": 4, \"stride\": 2, \"pad\": 1},\n"
    "{\"op\": \"leaky_relu\", \"slope\": 0.2},\n"
    "{\"op\": \"conv\", \"output\": 16, \"kernel\": 3, \"pad\": 1, \"bias\": false},\n"
    "{\"op\": \"batch_norm\", \"instance\": true}, {\"op\": \"leaky_relu\", \"slope\": 0.2},\n"
    "{\"op\": \"conv\", \"output\": 1, \"kernel\": 3, \"pad\": 1}]}}";

static void train_pair(const struct gan_plan *plan, const struct network *network, size_t threads,
                       struct trace *trace)
{
    static float inputs[2 * 3 * 64 * 64], targets[2 * 3 * 64 * 64];
    const size_t count = sizeof inputs / sizeof *inputs;
    struct error error = {0};
    struct weights weights = {0};
    struct device *device = device_open("cpu", threads, &error);
    struct gan *gan = NULL;
    *trace = (struct trace){.gradient_count = network->graph.learnable_floats,
                            .weight_count = network->graph.total_floats};
    random_fill_uniform(1, RANDOM_TEST, 0, -1, 1, inputs, count);
    random_fill_uniform(1, RANDOM_TEST, 1, -1, 1, targets, count);
    if (device && weights_create(&weights, &network->graph, &error)) {
        weights_initialise(&weights, 3, device->pool);
        gan = gan_create(plan, device, &weights, &adam, 3, &error);
    }
    if (!gan) {
        tap_ok(false, "two networks: %s", error.why);
    } else {
        const struct execution_batch batch = {.images = inputs, .targets = targets, .count = 2};
        struct gan_losses losses = {0};
        for (size_t i = 0; i < ITERATIONS; i++) {
            gan_iterate(gan, &batch, i, 0.001f, &losses);
            trace->losses[i] = losses.generator + losses.discriminator;
        }
        trace->gradients = copy_floats(execution_parameter_gradients(gan_generator_execution(gan)),
                                       trace->gradient_count);
        trace->weights = copy_floats(weights.values, trace->weight_count);
    }
    gan_free(gan);
    weights_free(&weights);
    device_close(device);
}

static void test_pair(void)
{
    struct error error = {0};
    struct network_request request = {.network = "small.json", .text = small_network};
    struct network *network = network_build(&request, &error);
    struct plan_settings settings = training(2, 2, 0);
    struct gan_plan full, least, plan;
    struct trace reference, trace;
    settings.solver = adam;
    if (!network || !gan_plan_build(&full, network, device_drivers[1], &settings, &error)) {
        tap_ok(false, "two networks: %s", error.why);
        return;
    }
    settings.memory_limit = PLAN_LEAST_MEMORY;
    gan_plan_build(&least, network, device_drivers[1], &settings, &error);
    train_pair(&full, network, 1, &reference);
    for (size_t i = 0; i < SHARES; i++) {
        const double more = shares[i] * (double)(full.forecast.total - least.forecast.total);
        settings.memory_limit = least.forecast.total + (uint64_t)more;
        if (!gan_plan_build(&plan, network, device_drivers[1], &settings, &error)) {
            tap_ok(false, "two networks: %s", error.why);
            continue;
        }
        tap_ok(plan.forecast.total <= settings.memory_limit &&
                   plan.forecast.unlimited == full.forecast.total &&
                   count_clashes(plan.generator) + count_clashes(plan.discriminator_step) +
                           count_clashes(plan.frozen_discriminator) ==
                       0,
               "two networks share a limit: %zu KiB of %zu, %.1f %% more work",
               (size_t)plan.forecast.total >> 10, (size_t)full.forecast.total >> 10,
               plan_recompute_overhead(&plan.forecast));
        train_pair(&plan, network, 2, &trace);
        tap_ok(same_bits(&trace, &reference), "and train to the same bits (%g)",
               (double)trace.losses[ITERATIONS - 1]);
        trace_free(&trace);
        gan_plan_free(&plan);
    }
    settings.memory_limit = least.forecast.total / 2;
    tap_ok(!gan_plan_build(&plan, network, device_drivers[1], &settings, &error) &&
               strstr(error.why, "memory limit"),
           "or are refused: %s: %s", error.why, error.advice);
    trace_free(&reference);
    gan_plan_free(&full);
    gan_plan_free(&least);
    network_free(network);
}

/* Sanitizers see a plain network, one with channel moves and one with concatenations. */
static void test_networks(void)
{
    static const struct {
        const char *name;
        double width_rate;
        const char *device;
        size_t batch;
    } tried[] = {{"resnet20", 0, "cpu", 4},         {"resnet20", 4, "reference", 2},
                 {"resnet20-dsc", 0, "cpu", 4},     {"resnet20-shift", 0, "cpu", 4},
                 {"resnet20-shuffle", 0, "cpu", 4}, {"squeezenet", 4, "cpu", 2},
                 {"googlenet", 8, "cpu", 2}};
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++)
        if (sample_has(i, 1, 3))
            test_network(tried[i].name, tried[i].width_rate, tried[i].device, tried[i].batch);
}

TEST_CASE(recompute_test)
{
    test_networks();
    test_refusal();
    test_default_of_gpus("resnet20", 32, 0.65);
    test_default_of_gpus("resnet56", 16, 0.65);
    test_default_of_gpus("resnet20-shuffle", 16, 0.8);
    test_default_of_gpus("resnet20-dsc", 16, 0.8);
    test_default_of_gpus("alexnet", 4, 1);
    test_pair();
    return tap_done();
}
