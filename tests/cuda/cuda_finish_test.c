/* Fusion on the emulated device cuda: the addition and the ReLU that are fused into a batch norm
 * give the same bits as separate kernels, forward and backward, in training, in inference and with
 * recomputation, and the plan needs no more memory. Nothing is fused if another layer reads the
 * value in between, or if the other summand is computed later. The second device of each comparison
 * has the same kernels without fusion. */
#include "choose_tests.h"
#include "cuda/emulated_device.h"
#include "op_harness.h"
#include "random_fill.h"
#include "sample.h"
#include "tap.h"

#include "base/memory.h"
#include "base/random.h"
#include "engine/execution/execution.h"
#include "engine/network/network.h"
#include "engine/ops/op.h"
#include "engine/plan/traffic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 5, STEPS = 3, MOST_CLASSES = 100 };

struct finish_case {
    const char *name;
    const char *finished; /* the number of nodes that are not executed */
    const char *layers;
};

#define NODE(op, keys)       "{\"op\": \"" op "\"" keys "}, "
#define NAMED(name)          ", \"name\": \"" name "\""
#define FROM(one)            ", \"from\": \"" one "\""
#define FROM_BOTH(one, two)  ", \"from\": [\"" one "\", \"" two "\"]"
#define CONV(name, channels) NODE("conv", NAMED(name) ", \"output\": " channels ", \"kernel\": 1")
#define NORM(name)           NODE("batch_norm", NAMED(name))
#define RELU(name)           NODE("relu", NAMED(name))
#define ADD(name, one, two)  NODE("add", NAMED(name) FROM_BOTH(one, two))
#define TAIL                                                                                       \
    "{\"op\": \"average_pool\", \"global\": true}, {\"op\": \"linear\", \"output\": \"classes\"}"
#define A_AND_B CONV("c1", "6") NODE("tanh", NAMED("a")) CONV("c2", "6") NORM("b")

static const struct finish_case cases[] = {
    {"a relu", "r", CONV("c", "6") NORM("b") RELU("r") TAIL},
    {"a sum, the norm second", "s", A_AND_B ADD("s", "a", "b") TAIL},
    {"a sum, the norm first", "s", A_AND_B ADD("s", "b", "a") TAIL},
    {"a sum and a relu", "s r", A_AND_B ADD("s", "a", "b") RELU("r") TAIL},
    {"a sum and a relu, the norm first", "s r", A_AND_B ADD("s", "b", "a") RELU("r") TAIL},
    {"two norms that are added", "s r",
     CONV("c1", "6") NODE("tanh", NAMED("a")) CONV("c2", "6") NORM("b")
         NODE("conv", NAMED("c3") FROM("a") ", \"output\": 6, \"kernel\": 1") NORM("d")
             ADD("s", "b", "d") RELU("r") TAIL},
    {"two norms, the later first", "s r",
     CONV("c1", "6") NODE("tanh", NAMED("a")) CONV("c2", "6") NORM("b")
         NODE("conv", NAMED("c3") FROM("a") ", \"output\": 6, \"kernel\": 1") NORM("d")
             ADD("s", "d", "b") RELU("r") TAIL},
    {"a summand that comes later", "",
     A_AND_B NODE("conv", NAMED("c3") FROM("a") ", \"output\": 6, \"kernel\": 1")
         ADD("s", "b", "c3") RELU("r") TAIL},
    {"a norm that two read", "",
     A_AND_B RELU("r") NODE("conv", NAMED("c3") ", \"output\": 6, \"kernel\": 1")
         ADD("s", "b", "c3") TAIL},
    {"a sum that two read", "s",
     A_AND_B ADD("s", "a", "b") RELU("r") CONV("c3", "6") ADD("t", "s", "c3") TAIL},
    {"a summand that is added once more later", "s r",
     A_AND_B ADD("s", "a", "b") RELU("r") ADD("t", "r", "a") TAIL},
    {"a norm added to itself", "", A_AND_B ADD("s", "b", "b") RELU("r") TAIL},
    {"a sum of three", "",
     A_AND_B NODE("add", NAMED("s") ", \"from\": [\"a\", \"b\", \"a\"]") RELU("r") TAIL},
    {"a norm added to its input", "s r",
     CONV("c", "6") NORM("b") ADD("s", "c", "b") RELU("r") TAIL},
    {"a norm of the input, whose gradient only the other branch needs", "s r",
     CONV("c", "6") NODE("batch_norm", NAMED("b") FROM("input")) ADD("s", "c", "b") RELU("r") TAIL},
    {"the input as the other summand", "s r",
     CONV("c", "6") NORM("b") ADD("s", "input", "b") RELU("r") TAIL},
    {"a relu that several read", "r",
     CONV("c", "6") NORM("b") RELU("r") CONV("c1", "6") NODE("tanh", NAMED("d")) ADD("s", "r", "d")
         ADD("t", "s", "r") TAIL},
    {"a relu before the sum", "r",
     CONV("c", "6") NODE("tanh", NAMED("a")) CONV("c2", "6") NORM("b") RELU("r") ADD("s", "r", "a")
         TAIL},
    {"block after block", "r0 s1 r1 s2 r2",
     CONV("c0", "6") NORM("b0") RELU("r0") CONV("c1", "6") NORM("b1") ADD("s1", "b1", "r0")
         RELU("r1") CONV("c2", "6") NORM("b2") ADD("s2", "r1", "b2") RELU("r2") TAIL},
    {"a relu whose value a shift moves", "r move",
     CONV("c", "18") NORM("b") RELU("r") NODE("channel_shift", NAMED("move")) CONV("d", "4") TAIL},
    {"a relu after a convolution", "r", CONV("c", "6") RELU("r") TAIL},
    {"relus after convolutions, the second one depthwise", "r q",
     CONV("c", "6") RELU("r") NODE("conv", NAMED("d") ", \"output\": 12, \"kernel\": 3, \"pad\": "
                                                      "1, \"groups\": 6") RELU("q") TAIL},
    {"a relu after a tall convolution", "r move", /* but not so much work that a library does it */
     CONV("c", "33") RELU("r") NODE("channel_shift", NAMED("move")) CONV("d", "20") TAIL},
    {"a relu after a 1x1 convolution by cuBLAS", "r",
     NODE("conv", ", \"output\": 40, \"kernel\": 3, \"pad\": 2") NODE("tanh", "") CONV("c", "40")
         RELU("r") TAIL},
    {"a relu after one without a bias", "r",
     NODE("conv", ", \"output\": 40, \"kernel\": 3, \"pad\": 2") NODE("tanh", "") NODE(
         "conv", NAMED("c") ", \"output\": 40, \"kernel\": 1, \"bias\": false") RELU("r") TAIL},
    {"relus after linear layers", "r q",
     NODE("flatten", "") NODE("linear", ", \"output\": 21") RELU("r") NODE(
         "linear", ", \"output\": 20") RELU("q") "{\"op\": \"linear\", \"output\": \"classes\"}"},
    {"a relu after a linear layer without a bias", "r",
     NODE("flatten", "") NODE("linear", ", \"output\": 24, \"bias\": false")
         RELU("r") "{\"op\": \"linear\", \"output\": \"classes\"}"},
    {"a convolution that two read", "",
     CONV("c", "6") RELU("r") NODE("conv", NAMED("d") FROM("c") ", \"output\": 6, \"kernel\": 1")
         ADD("s", "r", "d") TAIL},
    {"a relu of a convolution that two read", "r",
     CONV("c", "6") RELU("r") NODE("conv", NAMED("d") ", \"output\": 6, \"kernel\": 1")
         ADD("s", "r", "d") TAIL},
    {"another activation", "", CONV("c", "6") NORM("b") NODE("leaky_relu", "") TAIL},
    {"a norm by instances", "s r",
     CONV("c1", "6") NODE("tanh", NAMED("a")) CONV("c2", "6")
         NODE("batch_norm", NAMED("b") ", \"instance\": true") ADD("s", "b", "a") RELU("r") TAIL},
    {"the output itself", "s r",
     CONV("c", "6") NODE("average_pool", ", \"global\": true")
         NODE("linear", NAMED("a") ", \"output\": \"classes\"") NORM("b")
             ADD("s", "a", "b") "{\"op\": \"relu\", \"name\": \"r\"}"},
    {"the output before a relu", "",
     CONV("c", "6") NODE("average_pool", ", \"global\": true")
         NODE("linear",
              NAMED("a") ", \"output\": \"classes\"") "{\"op\": \"batch_norm\", \"name\": \"b\"}"},
};
enum { CASES = sizeof cases / sizeof *cases };

/* --- two devices --- */

static struct kernel lone_kernels[3][8]; /* of batch_norm, of conv, of linear */
static struct device_driver lone_driver;
static struct device lone_device;

static size_t list_lone_kernels(const struct op *op, const struct kernel **list, size_t capacity)
{
    const size_t count = emulated_driver.kernels(op, list, capacity);
    for (size_t k = 0; k < count; k++) {
        struct kernel *kernel = &lone_kernels[op == &op_linear ? 2 : op == &op_conv][k];
        if (!(list[k]->traits & (KERNEL_FUSES_EPILOGUE | KERNEL_FUSES_ACTIVATION)))
            continue;
        *kernel = *list[k];
        kernel->traits &= ~(unsigned)(KERNEL_FUSES_EPILOGUE | KERNEL_FUSES_ACTIVATION);
        list[k] = kernel;
    }
    return count;
}

static struct device *device_that_finishes(bool finishes)
{
    if (finishes)
        return emulated_device();
    lone_driver = emulated_driver;
    lone_driver.kernels = list_lone_kernels;
    lone_device = *emulated_device();
    lone_device.driver = &lone_driver;
    return &lone_device;
}

/* --- a network at work --- */

struct lab {
    struct network *network;
    struct plan *plan, *inference;
    struct device *device;
    struct weights weights;
    struct execution *execution;
};

static const struct solver_settings solver = {
    .kind = SOLVER_NESTEROV, .momentum = 0.9f, .weight_decay = 1e-3f};

static void lab_close(struct lab *lab)
{
    execution_free(lab->execution);
    weights_free(&lab->weights);
    plan_free(lab->plan);
    network_free(lab->network);
    if (lab->device && strcmp(lab->device->driver->name, "reference") == 0)
        device_close(lab->device);
}

static struct network *build_case(const struct finish_case *c, struct error *error)
{
    char text[4096];
    snprintf(text, sizeof text, "{\"input\": [6, 7, 9], \"classes\": 3, \"layers\": [%s]}",
             c->layers);
    const struct network_request request = {.network = "test.json", .text = text};
    return network_build(&request, error);
}

/* Takes ownership of the network. */
static bool lab_open(struct lab *lab, struct network *network, struct device *device,
                     const struct plan_settings *settings)
{
    struct error error = {0};
    *lab = (struct lab){.device = device, .network = network};
    if (lab->network && device)
        lab->plan = plan_build(&lab->network->graph, device->driver, settings, &error);
    if (!lab->plan || !weights_create(&lab->weights, &lab->network->graph, &error)) {
        tap_note("%s: %s", error.what, error.why);
        return false;
    }
    weights_initialise(&lab->weights, 3, NULL);
    lab->execution = execution_create(lab->plan, device, &lab->weights, &solver, 3, &error);
    return lab->execution;
}

static struct execution_batch make_batch(const struct lab *lab, uint64_t seed, size_t count)
{
    static int32_t labels[BATCH];
    const size_t values = BATCH * shape_count(lab->network->input);
    float *images = memory_new_aligned(values, sizeof *images, "a test", NULL);
    if (images)
        random_fill_uniform(seed, RANDOM_TEST, 0, -1, 1, images, values);
    for (size_t i = 0; i < BATCH; i++)
        labels[i] = (int32_t)((2 * i + seed) % lab->network->classes);
    return (struct execution_batch){.images = images, .labels = labels, .count = count};
}

/* The last iteration has a smaller batch. */
static void train(struct lab *lab)
{
    for (uint64_t step = 0; step < STEPS; step++) {
        const struct execution_batch batch = make_batch(lab, step, step + 1 < STEPS ? BATCH : 2);
        emulated_set_iteration(step);
        execution_bind(lab->execution, &batch);
        execution_forward(lab->execution, step);
        execution_backward(lab->execution);
        execution_update(lab->execution, 0.05f);
        free((void *)batch.images);
    }
}

static size_t output_floats(const struct lab *lab, size_t count)
{
    const struct graph *graph = &lab->network->graph;
    return count * shape_count(graph->nodes[graph->output].output);
}

/* Runs inference with the present weights and copies the output into `output`. */
static bool infer(struct lab *lab, float *output)
{
    struct error error = {0};
    const struct plan_settings settings = {.mode = PLAN_INFERENCE, .batch = BATCH, .threads = 1};
    struct plan *plan = plan_build(&lab->network->graph, lab->device->driver, &settings, &error);
    struct execution *execution =
        plan ? execution_create(plan, lab->device, &lab->weights, NULL, 3, &error) : NULL;
    const struct execution_batch batch = make_batch(lab, 8, BATCH);
    if (execution) {
        execution_bind(execution, &batch);
        execution_forward(execution, 0);
        memcpy(output, execution_output(execution), output_floats(lab, BATCH) * sizeof *output);
        execution_free(execution);
    }
    plan_free(plan);
    free((void *)batch.images);
    return execution;
}

/* --- what the plan fuses --- */

static void list_finished(const struct plan *plan, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        if (!plan_step_is_view(step) && !step->kernel && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " " : "",
                                     step->site.node->name);
    }
}

/* Returns whether the step is an add or relu that is fused; a fused channel move does not count. */
static bool is_fused_epilogue(const struct plan_step *step)
{
    return step->fused_into != PLAN_NONE && !(step->site.node->op->traits & OP_MOVES_CHANNELS);
}

static size_t count_finished(const struct plan *plan)
{
    size_t finished = 0;
    for (size_t s = 0; s < plan->step_count; s++)
        finished += is_fused_epilogue(&plan->steps[s]);
    return finished;
}

static bool moves_no_bytes(const struct plan *plan)
{
    for (size_t s = 0; s < plan->step_count; s++)
        if (plan->steps[s].fused_into != PLAN_NONE &&
            (traffic_node_bytes(plan, plan->steps[s].node, 1) > 0 ||
             traffic_backward_bytes(plan, &plan->steps[s]) > 0))
            return false;
    return true;
}

/* Checks the kernels' names that users see. */
static void check_words(void)
{
    const struct plan_settings settings = {.mode = PLAN_TRAINING, .batch = BATCH};
    struct error error = {0};
    struct network *network = build_case(&cases[0], &error);
    struct plan *plan = plan_build(&network->graph, &emulated_driver, &settings, &error);
    char text[PLAN_KERNEL_NAME_SIZE];
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        if (step->site.node->op != &op_relu)
            continue;
        const char *name = plan_step_kernel_name(plan, step, text, sizeof text);
        tap_ok(strcmp(name, "fused into b") == 0, "the kernel of a relu that is finished: %s",
               name);
        tap_ok(strcmp(step->choice, "fused into b, which computes it in the same pass") == 0,
               "and why: %s", step->choice);
    }
    plan_free(plan);
    network_free(network);
}

/* --- the same bits --- */

static bool same_floats(const float *a, const float *b, size_t count)
{
    return memcmp(a, b, count * sizeof *a) == 0;
}

static bool same_results(struct lab *a, struct lab *b)
{
    float of_a[BATCH * MOST_CLASSES], of_b[BATCH * MOST_CLASSES];
    const size_t floats = a->network->graph.total_floats;
    train(a);
    train(b);
    const bool trained = same_floats(a->weights.values, b->weights.values, floats) &&
                         same_floats(execution_output(a->execution), execution_output(b->execution),
                                     output_floats(a, 2));
    const bool inferred =
        infer(a, of_a) && infer(b, of_b) && same_floats(of_a, of_b, output_floats(a, BATCH));
    if (!trained || !inferred)
        tap_note("same bits in training %d, in inference %d; weights differ by %g", trained,
                 inferred, harness_difference(a->weights.values, b->weights.values, floats));
    return trained && inferred;
}

static void check_case(const struct finish_case *c, unsigned busy, uint64_t memory_limit)
{
    const struct plan_settings settings = {.mode = PLAN_TRAINING,
                                           .batch = BATCH,
                                           .threads = 1,
                                           .solver = solver,
                                           .memory_limit = memory_limit};
    struct error error = {0};
    struct lab got = {0}, wanted = {0};
    char finished[256] = "";
    emulated_set_busy_blocks(busy);
    emulator_set_order(busy);
    if (!lab_open(&got, build_case(c, &error), device_that_finishes(true), &settings) ||
        !lab_open(&wanted, build_case(c, &error), device_that_finishes(false), &settings)) {
        tap_ok(false, "%s: %s", c->name, error.why);
        return;
    }
    list_finished(got.plan, finished, sizeof finished);
    const bool apart = memory_limit > 0 && count_finished(got.plan) == 0;
    const bool as_said =
        (apart || strcmp(finished, c->finished) == 0) && count_finished(wanted.plan) == 0;
    const bool no_larger = got.plan->forecast.total <= wanted.plan->forecast.total;
    const bool same = same_results(&got, &wanted);
    const char *failure = emulated_failure();
    if (!as_said || !no_larger)
        tap_note("\"%s\" are finished, not \"%s\"; %zu bytes and %zu", finished, c->finished,
                 (size_t)got.plan->forecast.total, (size_t)wanted.plan->forecast.total);
    tap_ok(as_said && no_larger && same && moves_no_bytes(got.plan) && !*failure,
           "%s, %u blocks busy%s: \"%s\" finished, the same bits in no more memory%s", c->name,
           busy, memory_limit ? ", in little memory" : "", finished, failure);
    lab_close(&got);
    lab_close(&wanted);
}

static size_t count_finished_again(const struct plan *plan)
{
    size_t again = 0;
    for (size_t s = 0; s < plan->step_count; s++)
        again += plan->steps[s].site.fused_activation && plan->steps[s].recompute_at != PLAN_NONE;
    return again;
}

/* With any possible memory limit the bits are the same, and fused layers are recomputed with their
 * kernel. */
static void check_limits(const struct finish_case *c)
{
    struct plan_settings settings = {
        .mode = PLAN_TRAINING, .batch = BATCH, .threads = 1, .solver = solver};
    struct error error = {0};
    struct network *network = build_case(c, &error);
    struct plan *plan = plan_build(&network->graph, &emulated_driver, &settings, &error);
    const uint64_t most = plan->forecast.total;
    size_t runs = 0, same = 0, again = 0;
    plan_free(plan);
    network_free(network);
    for (uint64_t limit = most; limit > most - most / 4; limit -= most / 20) {
        struct lab got = {0}, wanted = {0};
        settings.memory_limit = limit;
        if (lab_open(&got, build_case(c, &error), device_that_finishes(true), &settings) &&
            lab_open(&wanted, build_case(c, &error), device_that_finishes(false), &settings)) {
            runs++;
            same += same_results(&got, &wanted) && got.plan->forecast.total <= limit;
            again += count_finished_again(got.plan);
        }
        lab_close(&got);
        lab_close(&wanted);
    }
    tap_ok(runs > 3 && same == runs && again > 0,
           "%s: the same bits within %zu of %zu limits, %zu times with a fused kernel recomputed",
           c->name, same, runs, again);
}

/* Compares with the reference, because both devices could have the same wrong bits. */
static void check_reference(const struct finish_case *c)
{
    const struct plan_settings settings = {
        .mode = PLAN_TRAINING, .batch = BATCH, .threads = 1, .solver = solver};
    struct error error = {0};
    struct lab got = {0}, wanted = {0};
    double difference = INFINITY;
    if (lab_open(&got, build_case(c, &error), device_that_finishes(true), &settings) &&
        lab_open(&wanted, build_case(c, &error), device_open("reference", 1, NULL), &settings)) {
        train(&got);
        train(&wanted);
        difference = harness_difference(got.weights.values, wanted.weights.values,
                                        got.network->graph.total_floats);
    }
    tap_ok(difference <= 1e-5, "%s: weights differ by %.1g from the reference's after %d steps",
           c->name, difference, STEPS);
    lab_close(&got);
    lab_close(&wanted);
}

/* --- a frozen network --- */

/* Weights are frozen; the gradient of the input is requested, and the caller provides that of the
 * output. */
static bool run_joined(struct lab *lab, const struct finish_case *c, bool finishes)
{
    struct error error = {0};
    const struct plan_settings settings = {.mode = PLAN_TRAINING,
                                           .batch = BATCH,
                                           .threads = 1,
                                           .frozen = true,
                                           .needs_input_gradient = true,
                                           .seeds_output_gradient = true};
    if (!lab_open(lab, build_case(c, &error), device_that_finishes(finishes), &settings))
        return false;
    const struct execution_batch batch = make_batch(lab, 5, BATCH);
    execution_bind(lab->execution, &batch);
    execution_forward(lab->execution, 0);
    random_fill_uniform(9, RANDOM_TEST, 0, -1, 1, execution_device_output_gradient(lab->execution),
                        output_floats(lab, BATCH));
    execution_backward(lab->execution);
    free((void *)batch.images);
    return true;
}

static void check_joined(const struct finish_case *c)
{
    struct lab got = {0}, wanted = {0};
    bool same = run_joined(&got, c, true) && run_joined(&wanted, c, false);
    if (same) {
        same = same_floats(execution_device_input_gradient(got.execution),
                           execution_device_input_gradient(wanted.execution),
                           BATCH * shape_count(got.network->input)) &&
               got.plan->forecast.total <= wanted.plan->forecast.total;
    }
    tap_ok(same && !*emulated_failure(), "%s, frozen and joined: the same input gradient", c->name);
    lab_close(&got);
    lab_close(&wanted);
}

/* --- whole networks --- */

static struct plan *plan_of(const struct network *network, bool finishes, enum plan_mode mode,
                            uint64_t memory_limit, struct error *error)
{
    const struct plan_settings settings = {
        .mode = mode, .batch = 16, .threads = 1, .solver = solver, .memory_limit = memory_limit};
    return plan_build(&network->graph, device_that_finishes(finishes)->driver, &settings, error);
}

/* The plan needs no more memory, and moves fewer bytes. */
static bool is_worth_it(const struct network *network, enum plan_mode mode, uint64_t memory_limit,
                        size_t wanted, char *why, size_t size)
{
    struct error error = {0};
    struct plan *with = plan_of(network, true, mode, memory_limit, &error);
    struct plan *without = plan_of(network, false, mode, memory_limit, &error);
    bool good = with && without;
    snprintf(why, size, "%s", error.why);
    if (good) {
        snprintf(why, size,
                 "%zu finished; %.0f bytes moved an image, not %.0f; %zu needed, not %zu",
                 count_finished(with), traffic_bytes(with, 16), traffic_bytes(without, 16),
                 (size_t)with->forecast.total, (size_t)without->forecast.total);
        good = count_finished(with) == wanted && moves_no_bytes(with) &&
               traffic_bytes(with, 16) < traffic_bytes(without, 16) &&
               with->forecast.total <= without->forecast.total &&
               with->forecast.flops == without->forecast.flops;
    }
    plan_free(with);
    plan_free(without);
    return good;
}

static void check_network(const char *name, size_t wanted)
{
    static const struct {
        enum plan_mode mode;
        uint64_t limit;
        const char *what;
    } ways[] = {{PLAN_TRAINING, 0, "training"}, {PLAN_INFERENCE, 0, "inference"}};
    struct error error = {0};
    const struct network_request request = {.network = name};
    struct network *network = network_build(&request, &error);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char why[640] = "";
        const bool good =
            network && is_worth_it(network, ways[i].mode, ways[i].limit, wanted, why, sizeof why);
        tap_ok(good, "%s, %s: %s", name, ways[i].what, why);
    }
    network_free(network);
}

static void check_network_bits(const char *name)
{
#ifndef __SANITIZE_ADDRESS__ /* it is slow, and tests nothing new */
    struct error error = {0};
    const struct plan_settings settings = {
        .mode = PLAN_TRAINING, .batch = BATCH, .threads = 1, .solver = solver};
    const struct network_request request = {.network = name, .width_rate = 4};
    struct lab got = {0}, wanted = {0};
    const bool same =
        lab_open(&got, network_build(&request, &error), device_that_finishes(true), &settings) &&
        lab_open(&wanted, network_build(&request, &error), device_that_finishes(false),
                 &settings) &&
        same_results(&got, &wanted);
    tap_ok(same && !*emulated_failure(), "%s, a quarter as wide: the same bits %s", name,
           error.why);
    lab_close(&got);
    lab_close(&wanted);
#else
    (void)name;
#endif
}

/* `make check` sees each case in one of the three ways, and each way with a third of the cases. */
static void run_cases(void)
{
    for (size_t i = 0; i < CASES; i++) {
        if (sample_has(i, 3, 3))
            check_case(&cases[i], EMULATED_BUSY_BLOCKS, 0);
        if (sample_has(i + 1, 3, 3))
            check_case(&cases[i], 1, 0);
        if (sample_has(i + 2, 3, 3))
            check_case(&cases[i], EMULATED_BUSY_BLOCKS, PLAN_LEAST_MEMORY);
        if (sample_has(i, 3, 3))
            check_reference(&cases[i]);
        check_joined(&cases[i]);
    }
    emulated_set_busy_blocks(EMULATED_BUSY_BLOCKS);
    emulator_set_order(0);
}

static void run_memory_limit(void)
{
    for (size_t i = 0; i < CASES; i++)
        if (strcmp(cases[i].name, "block after block") == 0)
            check_limits(&cases[i]);
}

static void run_networks(void)
{
    check_network("resnet20", 28);
    check_network("resnet20-dsc", 28);
    check_network("resnet20-shuffle", 28);
    check_network("resnet20-shift", 22); /* three shortcuts have a batch norm */
    check_network("resnet20-2.3_block", 37);
    check_network("resnet110", 163);
    check_network("squeezenet", 9); /* batch norms before a concat have no relu after them */
    check_network("squeezenet-shuffle", 17);
    check_network("mobilenet", 27);
    check_network("vgg19", 16);
    check_network("pix2pix-shift", 8);
}

static void run_network_bits(void)
{
    check_network_bits("resnet20");
}

static void begin(void)
{
    emulated_set_busy_blocks(EMULATED_BUSY_BLOCKS);
    emulator_set_order(0);
    emulated_use_dnn(false);
}

static const struct named_test tests[] = {
    {"cases", run_cases},
    {"words", check_words},
    {"memory-limit", run_memory_limit},
    {"networks", run_networks},
    {"network-bits", run_network_bits},
};

TEST_CASE(cuda_finish_test)
{
    return tests_main(tests, sizeof tests / sizeof *tests, argc, argv, begin);
}
