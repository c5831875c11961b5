/* Tests sums over blocks of images (--blocks): that one process gives the bits of several, each of
 * which has whole blocks; that the statistics of batch normalisation are those of the whole batch;
 * and that threads, recomputation, smaller batches and batches with fewer images than blocks do not
 * matter. */
#include "base/memory.h"
#include "base/random.h"
#include "engine/devices/device.h"
#include "engine/execution/execution.h"
#include "engine/graph/image_blocks.h"
#include "engine/network/network.h"
#include "random_fill.h"
#include "sanitized.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_IMAGES = 16 };

static const struct solver_settings solver = {SOLVER_SGD, 0.9f, 0, 0, 0.0005f, MOMENTUM_CAFFE};

/* Its convolutions are channel-blocked on the cpu, and no layer needs the other images. */
static const char convolutions[] =
    "{\"input\": [3, 12, 12], \"classes\": 10, \"layers\": ["
    "{\"op\": \"conv\", \"output\": 32, \"kernel\": 3, \"pad\": 1}, {\"op\": \"relu\"},"
    "{\"op\": \"conv\", \"output\": 32, \"kernel\": 3, \"pad\": 1, \"groups\": 32},"
    "{\"op\": \"conv\", \"output\": 64, \"kernel\": 1}, {\"op\": \"relu\"},"
    "{\"op\": \"max_pool\", \"kernel\": 2, \"stride\": 2},"
    "{\"op\": \"conv\", \"output\": 32, \"kernel\": 3, \"stride\": 2}, {\"op\": \"relu\"},"
    "{\"op\": \"flatten\"}, {\"op\": \"linear\", \"output\": \"classes\"}]}";

/* Batch norms over large planes, small ones and vectors. */
static const char norms[] =
    "{\"input\": [3, 12, 12], \"classes\": 10, \"layers\": ["
    "{\"op\": \"conv\", \"output\": 10, \"kernel\": 3}, {\"op\": \"batch_norm\"}, {\"op\": "
    "\"relu\"},"
    "{\"op\": \"conv\", \"output\": 70, \"kernel\": 3, \"stride\": 4}, {\"op\": \"batch_norm\"},"
    "{\"op\": \"relu\"}, {\"op\": \"flatten\"}, {\"op\": \"linear\", \"output\": 20},"
    "{\"op\": \"batch_norm\"}, {\"op\": \"tanh\"}, {\"op\": \"linear\", \"output\": \"classes\"}]}";

/* --- the tree --- */

static size_t slots(size_t count)
{
    if (count == 1)
        return 1;
    const size_t left = slots(image_blocks_left(count));
    const size_t right = 1 + slots(count - image_blocks_left(count));
    return left > right ? left : right;
}

static void test_tree(void)
{
    bool covered = true, halves = true, depth = true;
    for (size_t batch = 0; batch < 20; batch++)
        for (size_t blocks = 1, next = 0; blocks < 24; blocks++, next = 0) {
            for (size_t b = 0; b < blocks; b++) {
                const struct image_range range = image_blocks_range(batch, blocks, b, 1);
                covered &= range.first == next && range.count <= batch / blocks + 1;
                next += range.count;
            }
            covered &= next == batch;
        }
    for (size_t count = 2; count < 100; count++) {
        const size_t left = image_blocks_left(count);
        halves &= left < count && 2 * left >= count && (left & (left - 1)) == 0;
        depth &= image_blocks_depth(count) == slots(count) - 1;
    }
    tap_ok(covered, "the blocks have all images, each once");
    tap_ok(halves, "the left half has the largest power of two of blocks");
    tap_ok(depth, "the depth is the number of sums in use beside the result");
    tap_ok(image_blocks_depth(1) == 0 && image_blocks_depth(8) == 3, "none for one, 3 for eight");
}

static void test_moments(void)
{
    const struct moments a = {2, 1, 2}, b = {3, 5, 8}, none = {0};
    const struct moments all = moments_join(a, b); /* 0 2, and 3 5 7 */
    const struct moments left = moments_join(none, b), right = moments_join(a, none);
    tap_ok(all.count == 5 && fabs(all.mean - 3.4) < 1e-15 && fabs(all.squares - 29.2) < 1e-13,
           "moments are joined: %g values, mean %g, squares %g", all.count, all.mean, all.squares);
    tap_ok(left.mean == 5 && right.mean == 1, "no values change nothing");
}

/* --- networks --- */

struct lab {
    struct network *network;
    struct device *device;
    struct plan *plan;
    struct weights weights;
    struct execution *execution;
    float *images; /* of a batch of MOST_IMAGES */
    int32_t labels[MOST_IMAGES];
};

static struct plan_settings settings_of(size_t batch, size_t blocks, size_t threads)
{
    return (struct plan_settings){.mode = PLAN_TRAINING,
                                  .batch = batch,
                                  .threads = threads,
                                  .image_blocks = blocks,
                                  .solver = solver};
}

/* Opens a network: `text` of a network file, or the built-in network `name` if NULL. */
static bool lab_open(struct lab *lab, const char *name, const char *text, const char *device,
                     const struct plan_settings *settings)
{
    struct error error = {0};
    struct network_request request = {.network = name, .text = text};
    *lab = (struct lab){.network = network_build(&request, &error),
                        .device = device_open(device, settings->threads, &error)};
    if (!lab->network || !lab->device)
        return tap_ok(false, "%s: %s", name, error.why);
    lab->plan = plan_build(&lab->network->graph, lab->device->driver, settings, &error);
    if (!lab->plan || !weights_create(&lab->weights, &lab->network->graph, &error))
        return tap_ok(false, "%s: %s", name, error.why);
    weights_initialise(&lab->weights, 3, lab->device->pool);
    lab->execution = execution_create(lab->plan, lab->device, &lab->weights, &solver, 3, &error);
    const size_t values = MOST_IMAGES * shape_count(lab->network->input);
    lab->images = memory_new_aligned(values, sizeof(float), "a batch", &error);
    random_fill_uniform(1, RANDOM_TEST, 0, -1, 1, lab->images, values);
    for (size_t i = 0; i < MOST_IMAGES; i++)
        lab->labels[i] = (int32_t)(i * 7 % lab->network->classes);
    return true;
}

static void lab_close(struct lab *lab)
{
    execution_free(lab->execution);
    weights_free(&lab->weights);
    plan_free(lab->plan);
    device_close(lab->device);
    network_free(lab->network);
    free(lab->images);
}

static void bind_images(struct lab *lab, size_t first, size_t count)
{
    const struct execution_batch batch = {.images = lab->images +
                                                    first * shape_count(lab->network->input),
                                          .labels = lab->labels + first,
                                          .count = count};
    execution_bind(lab->execution, &batch);
}

/* The gradients of all parameters, and the loss. */
struct results {
    float *gradients;
    size_t count;
    float loss;
};

static struct results compute(struct lab *lab, size_t first, size_t count)
{
    struct results results = {.count = lab->network->graph.learnable_floats};
    results.gradients = memory_new(results.count, sizeof(float), "results", NULL);
    bind_images(lab, first, count);
    execution_forward(lab->execution, 0);
    results.loss = execution_loss(lab->execution);
    execution_backward(lab->execution);
    memcpy(results.gradients, execution_parameter_gradients(lab->execution),
           results.count * sizeof(float));
    return results;
}

/* Returns the results of a new execution for images[first..first + count). */
static struct results compute_part(const char *name, const char *text, const char *device,
                                   const struct plan_settings *settings, size_t first, size_t count)
{
    struct lab lab;
    struct results results = {0};
    if (!lab_open(&lab, name, text, device, settings))
        return results;
    results = compute(&lab, first, count);
    lab_close(&lab);
    return results;
}

static bool same(const struct results *a, const struct results *b)
{
    return a->count == b->count && a->count > 0 && a->loss == b->loss &&
           memcmp(a->gradients, b->gradients, a->count * sizeof(float)) == 0;
}

/* Returns the Euclidean distance of the gradients, relative to the length of those of `wanted`. */
static double distance(const struct results *got, const struct results *wanted)
{
    double squares = 0, length = 0;
    for (size_t i = 0; i < wanted->count && i < got->count; i++) {
        const double difference = (double)got->gradients[i] - (double)wanted->gradients[i];
        squares += difference * difference;
        length += (double)wanted->gradients[i] * (double)wanted->gradients[i];
    }
    return length > 0 ? sqrt(squares / length) : INFINITY;
}

/* --- one process and several --- */

/* Replaces `sum` by the mean of both, as two processes with as many images each would. */
static void average(struct results *sum, struct results *other)
{
    for (size_t i = 0; i < sum->count; i++)
        sum->gradients[i] = (sum->gradients[i] + other->gradients[i]) / 2;
    sum->loss = (sum->loss + other->loss) / 2;
    free(other->gradients);
}

/* Returns what `processes` (a power of two) would compute together, each with its part of `images`
 * and of `blocks`. */
static struct results compute_together(const char *name, const char *text, const char *device,
                                       size_t images, size_t blocks, size_t processes, size_t first)
{
    const struct plan_settings settings = settings_of(images, blocks, 1);
    if (processes == 1)
        return compute_part(name, text, device, &settings, first, images);
    struct results left =
        compute_together(name, text, device, images / 2, blocks / 2, processes / 2, first);
    struct results right = compute_together(name, text, device, images / 2, blocks / 2,
                                            processes / 2, first + images / 2);
    average(&left, &right);
    return left;
}

static void test_processes(const char *name, const char *text, const char *device)
{
    const struct plan_settings settings = settings_of(MOST_IMAGES, 8, 3);
    struct results one = compute_part(name, text, device, &settings, 0, MOST_IMAGES);
    for (size_t processes = 2; processes <= 8; processes *= 2) {
        if (SANITIZED && processes != 4) /* which cuts two halves in two halves */
            continue;
        struct results many = compute_together(name, text, device, MOST_IMAGES, 8, processes, 0);
        tap_ok(same(&one, &many), "%s, %s: eight blocks have the bits of %zu processes", name,
               device, processes);
        free(many.gradients);
    }
    free(one.gradients);
}

/* --- the whole batch --- */

/* Compares the gradients with those of one block. They differ by the rounding of sums. */
static void test_closeness(const char *name, const char *text, const char *device, size_t images,
                           size_t blocks, double tolerance)
{
    const struct plan_settings whole = settings_of(images, 1, 2);
    const struct plan_settings cut = settings_of(images, blocks, 2);
    struct results one = compute_part(name, text, device, &whole, 0, images);
    struct results many = compute_part(name, text, device, &cut, 0, images);
    const double off = distance(&many, &one);
    tap_ok(off < tolerance && fabsf(many.loss - one.loss) < 1e-5f * one.loss,
           "%s, %s: %zu blocks of %zu images change gradients by %.1e", name, device, blocks,
           images, off);
    /* two images may be added to each other first, in one block as in two */
    tap_ok(images < 3 || off > 0, "  and are another order");
    free(one.gradients);
    free(many.gradients);
}

static void test_default(const char *name)
{
    const struct plan_settings zero = settings_of(5, 0, 2), one = settings_of(5, 1, 2);
    struct results by_default = compute_part(name, NULL, "cpu", &zero, 0, 5);
    struct results single = compute_part(name, NULL, "cpu", &one, 0, 5);
    tap_ok(same(&by_default, &single), "%s: one block is the default", name);
    free(by_default.gradients);
    free(single.gradients);
}

/* A batch at the end of an epoch has the bits of a plan for as many images. */
static void test_smaller_batch(const char *name, const char *text)
{
    const struct plan_settings planned = settings_of(9, 4, 2), exact = settings_of(3, 4, 1);
    struct results smaller = compute_part(name, text, "cpu", &planned, 2, 3);
    struct results wanted = compute_part(name, text, "cpu", &exact, 2, 3);
    tap_ok(same(&smaller, &wanted), "%s: three images in four blocks, of a batch of nine", name);
    free(smaller.gradients);
    free(wanted.gradients);
}

/* --- training --- */

/* Returns the weights after some iterations. */
static float *train(const char *name, const char *text, const struct plan_settings *settings,
                    size_t *count)
{
    struct lab lab;
    if (!lab_open(&lab, name, text, "cpu", settings))
        return NULL;
    bind_images(&lab, 0, settings->batch);
    for (size_t i = 0; i < 3; i++)
        execution_iterate(lab.execution, i, 0.01f);
    *count = lab.network->graph.total_floats;
    float *weights = memory_new(*count, sizeof *weights, "weights", NULL);
    memcpy(weights, lab.weights.values, *count * sizeof *weights);
    lab_close(&lab);
    return weights;
}

static void test_training(const char *name, const char *text, const char *what,
                          const struct plan_settings *a, const struct plan_settings *b)
{
    size_t count = 0;
    float *first = train(name, text, a, &count), *second = train(name, text, b, &count);
    tap_ok(first && second && memcmp(first, second, count * sizeof *first) == 0, "%s: %s", name,
           what);
    free(first);
    free(second);
}

static void test_bits(const char *name, const char *text)
{
    const struct plan_settings one = settings_of(7, 3, 1), three = settings_of(7, 3, 3);
    struct plan_settings least = three;
    least.memory_limit = PLAN_LEAST_MEMORY;
    test_training(name, text, "three threads give the bits of one", &one, &three);
    test_training(name, text, "recomputed values have the same bits", &three, &least);
}

static void test_memory(void)
{
    struct lab whole, cut;
    const struct plan_settings one = settings_of(8, 1, 1), eight = settings_of(8, 8, 1);
    if (!lab_open(&whole, "lenet", NULL, "cpu", &one) ||
        !lab_open(&cut, "lenet", NULL, "cpu", &eight))
        return;
    const uint64_t linear = 800 * 500 * sizeof(float); /* the weights of the largest layer */
    tap_ok(cut.plan->forecast.workspace >= 3 * linear &&
               cut.plan->forecast.workspace < whole.plan->forecast.workspace + 4 * linear,
           "the forecast has the gradients of three blocks");
    lab_close(&whole);
    lab_close(&cut);
}

/* --- several processes --- */

/* Returns the gradients' bytes of LeNet that one of `processes` needs, 0 if the plan is refused. */
static uint64_t gradient_bytes(size_t blocks, size_t processes, struct error *error)
{
    struct plan_settings settings = settings_of(24, blocks, 1);
    struct network_request request = {.network = "lenet"};
    struct network *network = network_build(&request, error);
    settings.processes = processes;
    struct plan *plan = network ? plan_build(&network->graph, &device_cpu, &settings, error) : NULL;
    const uint64_t bytes = plan ? plan->forecast.gradients : 0;
    plan_free(plan);
    network_free(network);
    return bytes;
}

static void test_pieces(void)
{
    struct error error = {0};
    const uint64_t one = gradient_bytes(4, 1, &error);
    tap_ok(one > 0 && gradient_bytes(6, 1, &error) == one, "one process has one array: %s",
           error.why);
    tap_ok(gradient_bytes(4, 2, &error) == 2 * one && gradient_bytes(6, 6, &error) == 2 * one &&
               gradient_bytes(12, 3, &error) == 2 * one,
           "processes with 2^n blocks have those of all processes, too: %s", error.why);
    tap_ok(gradient_bytes(6, 2, &error) == 4 * one && gradient_bytes(12, 4, &error) == 4 * one,
           "processes with three blocks have both twice, for two pieces: %s", error.why);
    tap_ok(gradient_bytes(6, 4, &error) == 0 && error.kind == ERROR_USAGE &&
               strstr(error.why, "4 processes cannot have equally many of 6 blocks") &&
               strstr(error.advice, "multiple of 4"),
           "uneven blocks are refused: %s", error.why);
}

TEST_CASE(image_blocks_test)
{
    test_tree();
    test_moments();
    test_processes("lenet", NULL, "cpu");
    test_processes("convolutions.json", convolutions, "cpu");
    test_processes("convolutions.json", convolutions, "reference");
    test_closeness("norms.json", norms, "cpu", 7, 3, 1e-5);
    test_closeness("norms.json", norms, "reference", 7, 3, 1e-5);
    test_closeness("resnet20", NULL, "cpu", 6, 4, 1e-3);
    test_closeness("resnet20-shuffle", NULL, "cpu", 2, 5, 1e-2);
    test_default("resnet20");
    test_smaller_batch("norms.json", norms);
    test_smaller_batch("resnet20-shift", NULL);
    test_bits("norms.json", norms);
    test_bits("resnet20-dsc", NULL);
    test_memory();
    test_pieces();
    return tap_done();
}
