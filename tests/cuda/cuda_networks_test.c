/* Small networks on the emulated GPU, planned and executed as on a real one, compared with the
 * reference: values computed in place, accumulated gradients, fused channel moves, smaller batches
 * at the end of an epoch, recomputation. And one iteration captured as a CUDA graph, whose replays
 * give the same result as the iteration itself. */
#include "choose_tests.h"
#include "cuda/emulated_device.h"
#include "op_harness.h"
#include "random_fill.h"
#include "tap.h"

#include "base/memory.h"
#include "base/random.h"
#include "engine/execution/execution.h"
#include "engine/network/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 5, CLASSES = 3, STEPS = 2 };

struct network_case {
    const char *name;
    size_t channels, height, width;
    const char *layers;
};

#define TAIL                                                                                       \
    "{\"op\": \"average_pool\", \"global\": true}, {\"op\": \"linear\", \"output\": \"classes\"}"
#define BEFORE(channels)                                                                           \
    "{\"op\": \"conv\", \"output\": " channels ", \"kernel\": 1}, "                                \
    "{\"op\": \"tanh\", \"name\": \"before\"}, "
#define SHIFT       "{\"op\": \"channel_shift\", \"name\": \"move\"}, "
#define SHUFFLE(of) "{\"op\": \"channel_shuffle\", \"groups\": " of ", \"name\": \"move\"}, "
#define CONV(keys)  "{\"op\": \"conv\", " keys "}, {\"op\": \"tanh\"}, "

static const struct network_case cases[] = {
    {"residual", 3, 8, 7,
     "{\"op\": \"conv\", \"output\": 6, \"kernel\": 3, \"pad\": 1, \"bias\": false}, "
     "{\"op\": \"batch_norm\"}, {\"op\": \"relu\", \"name\": \"a\"}, "
     "{\"op\": \"conv\", \"output\": 6, \"kernel\": 3, \"pad\": 1, \"bias\": false}, "
     "{\"op\": \"batch_norm\", \"name\": \"b\"}, "
     "{\"op\": \"add\", \"from\": [\"a\", \"b\"]}, {\"op\": \"relu\"}, "
     "{\"op\": \"max_pool\", \"kernel\": 2, \"stride\": 2}, " TAIL},
    {"branches", 2, 9, 9,
     "{\"op\": \"conv\", \"output\": 4, \"kernel\": 5, \"stride\": 2, \"pad\": 2}, "
     "{\"op\": \"sigmoid\"}, {\"op\": \"lrn\", \"name\": \"a\"}, "
     "{\"op\": \"conv\", \"output\": 3, \"kernel\": 1, \"name\": \"b\", \"from\": \"a\"}, "
     "{\"op\": \"conv\", \"output\": 5, \"kernel\": 3, \"pad\": 1, \"name\": \"c\", \"from\": "
     "\"a\"}, "
     "{\"op\": \"concat\", \"from\": [\"b\", \"a\", \"c\", \"b\"]}, "
     "{\"op\": \"leaky_relu\", \"slope\": 0.1}, {\"op\": \"flatten\"}, "
     "{\"op\": \"dropout\", \"rate\": 0.4}, {\"op\": \"linear\", \"output\": \"classes\"}"},
    {"shift 1x1", 3, 7, 9, BEFORE("20") SHIFT CONV("\"output\": 5, \"kernel\": 1") TAIL},
    {"shift 1x1 stride 2", 3, 8, 8,
     BEFORE("18") SHIFT CONV("\"output\": 17, \"kernel\": 1, \"stride\": 2") TAIL},
    {"shift 3x3 in groups", 3, 7, 9,
     BEFORE("20") SHIFT CONV("\"output\": 6, \"kernel\": 3, \"pad\": 1, \"groups\": 2") TAIL},
    {"shift depthwise", 3, 7, 9,
     BEFORE("20") SHIFT CONV(
         "\"output\": 20, \"kernel\": 3, \"stride\": 2, \"pad\": 1, \"groups\": 20") TAIL},
    {"shift of the input", 9, 6, 11,
     SHIFT CONV("\"output\": 4, \"kernel\": 4, \"stride\": 2, \"pad\": 1") TAIL},
    {"shift of one row", 3, 1, 5, BEFORE("9") SHIFT CONV("\"output\": 4, \"kernel\": 1") TAIL},
    {"shuffle 1x1", 3, 8, 8, BEFORE("12") SHUFFLE("3") CONV("\"output\": 7, \"kernel\": 1") TAIL},
    {"shuffle depthwise twice", 3, 7, 6,
     BEFORE("12") SHUFFLE("2") CONV("\"output\": 24, \"kernel\": 3, \"pad\": 1, \"groups\": 12")
         TAIL},
    {"shuffle in groups", 3, 5, 5,
     BEFORE("12") SHUFFLE("4") CONV("\"output\": 6, \"kernel\": 1, \"groups\": 2") TAIL},
};
enum { CASES = sizeof cases / sizeof *cases };

/* With enough output channels for tensor cores. */
static const struct network_case tall_cases[] = {
    {"shift 3x3 stride 2 to 72", 3, 7, 9,
     BEFORE("20") SHIFT CONV("\"output\": 72, \"kernel\": 3, \"pad\": 1, \"stride\": 2") TAIL},
    {"shift 1x1 to 40", 3, 6, 6, BEFORE("27") SHIFT CONV("\"output\": 40, \"kernel\": 1") TAIL},
    {"shuffle 1x1 to 72", 3, 8, 8,
     BEFORE("12") SHUFFLE("3") CONV("\"output\": 72, \"kernel\": 1") TAIL},
    {"relu of 3x3 to 72", 3, 8, 8,
     "{\"op\": \"conv\", \"output\": 72, \"kernel\": 3, \"pad\": 1}, {\"op\": \"relu\"}, " TAIL},
};
enum { TALL_CASES = sizeof tall_cases / sizeof *tall_cases };

/* --- a network at work --- */

struct lab {
    struct network *network;
    struct plan *plan;
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
    if (lab->device && lab->device->driver != &emulated_driver)
        device_close(lab->device);
}

static bool lab_open(struct lab *lab, const struct network_case *c, struct device *device,
                     uint64_t memory_limit)
{
    char text[2048];
    struct error error = {0};
    snprintf(text, sizeof text, "{\"input\": [%zu, %zu, %zu], \"classes\": %d, \"layers\": [%s]}",
             c->channels, c->height, c->width, CLASSES, c->layers);
    const struct network_request request = {.network = "test.json", .text = text};
    const struct plan_settings settings = {.mode = PLAN_TRAINING,
                                           .batch = BATCH,
                                           .threads = 1,
                                           .solver = solver,
                                           .device = device,
                                           .memory_limit = memory_limit};
    *lab = (struct lab){.device = device, .network = network_build(&request, &error)};
    if (lab->network && device)
        lab->plan = plan_build(&lab->network->graph, device->driver, &settings, &error);
    if (!lab->plan || !weights_create(&lab->weights, &lab->network->graph, &error)) {
        tap_note("%s: %s", c->name, error.why);
        return false;
    }
    weights_initialise(&lab->weights, 3, NULL);
    lab->execution = execution_create(lab->plan, device, &lab->weights, &solver, 3, &error);
    return lab->execution;
}

static void train(struct lab *lab, const float *images, const int32_t *labels, size_t count,
                  uint64_t iteration)
{
    const struct execution_batch batch = {.images = images, .labels = labels, .count = count};
    emulated_set_iteration(iteration);
    execution_bind(lab->execution, &batch);
    execution_forward(lab->execution, iteration);
    execution_backward(lab->execution);
    execution_update(lab->execution, 0.05f);
}

/* Compares weights and running statistics after a few steps, the last with a smaller batch. */
static bool run_case(struct lab *lab, const struct network_case *c, struct device *device,
                     uint64_t memory_limit)
{
    const size_t values = c->channels * c->height * c->width;
    float *images = memory_new_aligned(BATCH * values, sizeof *images, "a test", NULL);
    const int32_t labels[BATCH] = {0, 2, 1, 1, 0};
    const bool good = images && lab_open(lab, c, device, memory_limit);
    for (uint64_t step = 0; good && step < STEPS; step++) {
        random_fill_uniform(step, RANDOM_TEST, 0, -1, 1, images, BATCH * values);
        train(lab, images, labels, step + 1 < STEPS ? BATCH : 2, step);
    }
    free(images);
    return good;
}

static bool moves_are_read_through(const struct lab *lab)
{
    for (size_t s = 0; s < lab->plan->step_count; s++)
        if (strcmp(lab->plan->steps[s].site.node->name, "move") == 0)
            return !lab->plan->steps[s].kernel;
    return true;
}

static void check_case(const struct network_case *c, unsigned busy, bool dnn, uint64_t memory_limit)
{
    struct lab wanted = {0}, got = {0};
    double difference = INFINITY;
    emulated_set_busy_blocks(busy);
    emulated_use_dnn(dnn);
    emulator_set_order(busy);
    const bool ran = run_case(&wanted, c, device_open("reference", 1, NULL), 0) &&
                     run_case(&got, c, emulated_device(), memory_limit);
    if (ran)
        difference = harness_difference(got.weights.values, wanted.weights.values,
                                        wanted.network->graph.total_floats);
    const char *failure = emulated_failure();
    tap_ok(difference <= 1e-5 && !*failure && moves_are_read_through(&got),
           "%s, %u blocks busy%s%s: weights differ by %.1g after %d steps%s", c->name, busy,
           dnn ? ", cuDNN" : "", memory_limit ? ", in little memory" : "", difference, STEPS,
           failure);
    lab_close(&wanted);
    lab_close(&got);
}

/* Fused channel moves and a fused relu in the kernels for tensor cores. */
static void check_precision(int precision, const char *name, double least, double most)
{
    for (size_t i = 0; i < TALL_CASES; i++) {
        struct lab wanted = {0}, got = {0};
        double difference = INFINITY;
        emulated_set_busy_blocks(2);
        emulated_use_dnn(false);
        emulated_set_precision(precision);
        if (run_case(&wanted, &tall_cases[i], device_open("reference", 1, NULL), 0) &&
            run_case(&got, &tall_cases[i], emulated_device(), 0))
            difference = harness_difference(got.weights.values, wanted.weights.values,
                                            wanted.network->graph.total_floats);
        tap_ok(difference >= least && difference <= most && !*emulated_failure() &&
                   moves_are_read_through(&got),
               "%s in %s: weights differ by %.1g after %d steps", tall_cases[i].name, name,
               difference, STEPS);
        emulated_set_precision(0);
        lab_close(&wanted);
        lab_close(&got);
    }
}

/* --- a graph --- */

struct replay {
    struct lab *lab;
    const float *images;
    const int32_t *labels;
};

static void one_iteration(void *state)
{
    const struct replay *replay = state;
    train(replay->lab, replay->images, replay->labels, BATCH, 0);
}

/* Values that change from iteration to iteration are not in the graph: dropout uses new random
 * numbers. */
static void check_graph(const struct network_case *c)
{
    const size_t values = BATCH * c->channels * c->height * c->width;
    float *images = memory_new_aligned(values, sizeof *images, "a test", NULL);
    const int32_t labels[BATCH] = {0, 2, 1, 1, 0};
    struct lab plain = {0}, graph = {0};
    struct replay replay = {&graph, images, labels};
    bool good = images && lab_open(&plain, c, emulated_device(), 0) &&
                lab_open(&graph, c, emulated_device(), 0);
    if (good) {
        random_fill_uniform(1, RANDOM_TEST, 0, -1, 1, images, values);
        emulated_capture(one_iteration, &replay);
        for (uint64_t step = 0; step < 3; step++) {
            train(&plain, images, labels, BATCH, step);
            emulated_set_iteration(step);
            emulated_replay();
        }
        good = memcmp(plain.weights.values, graph.weights.values,
                      plain.network->graph.total_floats * sizeof(float)) == 0;
    }
    tap_ok(good && !*emulated_failure(), "%s: a captured iteration, replayed three times, is three",
           c->name);
    emulated_capture(NULL, NULL);
    lab_close(&plain);
    lab_close(&graph);
    free(images);
}

static void run_cases(void)
{
    for (size_t i = 0; i < CASES; i++) {
        check_case(&cases[i], EMULATED_BUSY_BLOCKS, true, 0);
        check_case(&cases[i], 2, false, 0);
        check_case(&cases[i], 1, true, 0);
    }
    check_precision(1, "TF32", 3e-7, 1e-4);
    check_precision(2, "bfloat16", 3e-6, 1e-3);
    check_precision(3, "float16", 3e-7, 1e-4);
}

static void run_memory_limit(void)
{
    check_case(&cases[0], 2, false, PLAN_LEAST_MEMORY);
    check_case(&cases[1], EMULATED_BUSY_BLOCKS, true, PLAN_LEAST_MEMORY);
}

static void run_graphs(void)
{
    emulated_set_busy_blocks(EMULATED_BUSY_BLOCKS);
    check_graph(&cases[0]);
    check_graph(&cases[1]);
}

static void begin(void)
{
    emulated_set_busy_blocks(EMULATED_BUSY_BLOCKS);
}

static const struct named_test tests[] = {
    {"cases", run_cases},
    {"memory-limit", run_memory_limit},
    {"graphs", run_graphs},
};

TEST_CASE(cuda_networks_test)
{
    return tests_main(tests, sizeof tests / sizeof *tests, argc, argv, begin);
}
