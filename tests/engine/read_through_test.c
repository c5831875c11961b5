/* Tests channel shift and shuffle that are fused into the next convolution: they give the same
 * bits, forward and backward, as separate kernels, and need no memory for the tensor in between. To
 * prevent the fusion, networks have a max_pool of one value, which changes no value. In inference a
 * shift before a padded convolution to a channel-blocked output is not fused, in training no move
 * of a channel-blocked value. */
#include "base/memory.h"
#include "base/random.h"
#include "engine/execution/execution.h"
#include "engine/network/network.h"
#include "engine/ops/op.h"
#include "instruction_sets.h"
#include "random_fill.h"
#include "sample.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BATCH = 20 };

struct move_case {
    const char *move; /* the layer's keys */
    size_t channels, height, width;
    size_t outputs, kernel, stride, pad, groups;
};

#define SHIFT   "\"op\": \"channel_shift\""
#define SHUFFLE "\"op\": \"channel_shuffle\", \"groups\": "
static const struct move_case cases[] = {
    {SHIFT, 20, 7, 9, 5, 1, 1, 0, 1},
    {SHIFT, 18, 8, 8, 17, 1, 2, 0, 1},
    {SHIFT, 20, 9, 7, 5, 1, 2, 0, 1},
    {SHIFT, 20, 7, 9, 6, 3, 1, 1, 2},
    {SHIFT, 20, 7, 9, 20, 3, 2, 1, 20},
    {SHIFT, 9, 6, 33, 4, 4, 2, 1, 1},
    {SHIFT, 27, 11, 10, 3, 5, 3, 2, 1},
    {SHIFT, 9, 1, 1, 4, 1, 1, 0, 1},
    {SHIFT, 9, 1, 5, 4, 1, 2, 0, 1},
    {SHIFT, 9, 5, 1, 4, 3, 2, 1, 1},
    {SHIFT, 10, 2, 2, 4, 1, 3, 0, 1},
    {SHIFT, 8, 4, 4, 4, 1, 1, 0, 1},
    {SHUFFLE "2", 12, 7, 9, 12, 3, 1, 1, 12},
    {SHUFFLE "3", 12, 7, 9, 24, 3, 2, 1, 12},
    {SHUFFLE "2", 16, 8, 8, 64, 3, 1, 1, 16},
    {SHUFFLE "4", 12, 5, 5, 6, 1, 1, 0, 2},
    {SHUFFLE "8", 32, 10, 10, 32, 4, 2, 1, 32},
    {SHUFFLE "5", 10, 3, 2, 7, 3, 1, 1, 1},
};
enum { CASES = sizeof cases / sizeof *cases };

enum network_options {
    KEPT = 1 << 0,       /* the tensor in between is stored */
    BRANCHED = 1 << 1,   /* another layer reads the moved tensor: gradients are accumulated */
    FROM_INPUT = 1 << 2, /* the moved tensor is the network's input */
    PLAIN = 1 << 3       /* training: the gradient of the network's input makes the plan plain */
};

static char *write_network(const struct move_case *c, unsigned options, char *text, size_t size)
{
    const size_t channels = options & FROM_INPUT ? c->channels : 3;
    char first[128] = "", branch[256] = "";
    if (!(options & FROM_INPUT))
        snprintf(first, sizeof first,
                 "{\"op\": \"conv\", \"name\": \"a\", \"output\": %zu, \"kernel\": 1},"
                 "{\"op\": \"tanh\", \"name\": \"b\"},",
                 c->channels);
    if (options & BRANCHED)
        snprintf(branch, sizeof branch,
                 "{\"op\": \"average_pool\", \"global\": true, \"from\": \"b\"},"
                 "{\"op\": \"flatten\", \"name\": \"more\"},"
                 "{\"op\": \"concat\", \"name\": \"both\", \"from\": [\"flat\", \"more\"]},");
    snprintf(text, size,
             "{\"input\": [%zu, %zu, %zu], \"classes\": 3, \"layers\": [%s"
             "{%s, \"name\": \"move\"}, %s"
             "{\"op\": \"conv\", \"name\": \"c\", \"output\": %zu, \"kernel\": %zu, "
             "\"stride\": %zu, \"pad\": %zu, \"groups\": %zu},"
             "{\"op\": \"tanh\"},"
             "{\"op\": \"flatten\", \"name\": \"flat\"}, %s"
             "{\"op\": \"linear\", \"output\": \"classes\"}]}",
             channels, c->height, c->width, first, c->move,
             options & KEPT ? "{\"op\": \"max_pool\", \"kernel\": 1}," : "", c->outputs, c->kernel,
             c->stride, c->pad, c->groups, branch);
    return text;
}

/* --- a network at work --- */

struct lab {
    struct network *network;
    struct device *device;
    struct plan *plan;
    struct weights weights;
    struct execution *execution;
    float *images;
    int32_t labels[MAX_BATCH];
};

static const struct solver_settings solver = {.kind = SOLVER_SGD};

static void lab_close(struct lab *lab)
{
    execution_free(lab->execution);
    weights_free(&lab->weights);
    plan_free(lab->plan);
    device_close(lab->device);
    network_free(lab->network);
    free(lab->images);
}

static bool lab_open(struct lab *lab, const char *text, const char *device, size_t threads,
                     enum plan_mode mode, size_t batch, bool plain)
{
    struct error error = {0};
    *lab = (struct lab){0};
    const struct network_request request = {.network = "test.json", .text = text};
    const struct plan_settings settings = {.mode = mode,
                                           .batch = batch,
                                           .threads = threads,
                                           .solver = solver,
                                           .needs_input_gradient = plain};
    lab->network = network_build(&request, &error);
    lab->device = device_open(device, threads, &error);
    if (lab->network && lab->device)
        lab->plan = plan_build(&lab->network->graph, lab->device->driver, &settings, &error);
    if (!lab->plan || !weights_create(&lab->weights, &lab->network->graph, &error))
        return tap_ok(false, "%s: %s", text, error.why);
    weights_initialise(&lab->weights, 3, lab->device->pool);
    lab->execution = execution_create(lab->plan, lab->device, &lab->weights, &solver, 3, &error);
    const size_t values = batch * shape_count(lab->network->input);
    lab->images = memory_new_aligned(values, sizeof(float), "a batch", &error);
    if (!lab->execution || !lab->images)
        return tap_ok(false, "%s: %s", text, error.why);
    random_fill_uniform(1, RANDOM_TEST, 0, -1, 1, lab->images, values);
    for (size_t i = 0; i < batch; i++)
        lab->labels[i] = (int32_t)(i * 7 % 3);
    return true;
}

static void lab_run(struct lab *lab, size_t count)
{
    const struct execution_batch batch = {
        .images = lab->images, .labels = lab->labels, .count = count};
    execution_bind(lab->execution, &batch);
    execution_forward(lab->execution, 0);
    if (lab->plan->mode == PLAN_TRAINING)
        execution_backward(lab->execution);
}

static const struct plan_step *step_named(const struct plan *plan, const char *name)
{
    for (size_t s = 0; s < plan->step_count; s++)
        if (strcmp(plan->steps[s].site.node->name, name) == 0)
            return &plan->steps[s];
    return NULL;
}

/* --- the same bits --- */

static bool same_results(struct lab *through, struct lab *kept, size_t count)
{
    lab_run(through, count);
    lab_run(kept, count);
    const struct graph *graph = &through->network->graph;
    const size_t outputs = count * shape_count(graph->nodes[graph->output].output);
    return memcmp(execution_output(through->execution), execution_output(kept->execution),
                  outputs * sizeof(float)) == 0 &&
           (through->plan->mode == PLAN_INFERENCE ||
            memcmp(execution_parameter_gradients(through->execution),
                   execution_parameter_gradients(kept->execution),
                   graph->learnable_floats * sizeof(float)) == 0);
}

static bool check_case(const struct move_case *c, unsigned options, enum plan_mode mode,
                       size_t threads, size_t batch)
{
    char text[2048], other[2048];
    struct lab through, kept;
    if (!lab_open(&through, write_network(c, options, text, sizeof text), "cpu", threads, mode,
                  batch, options & PLAIN) ||
        !lab_open(&kept, write_network(c, options | KEPT, other, sizeof other), "cpu", 1, mode,
                  batch, options & PLAIN))
        return false;
    const bool read_through =
        !step_named(through.plan, "move")->kernel && step_named(kept.plan, "move")->kernel;
    const bool same = same_results(&through, &kept, batch) && same_results(&through, &kept, 1);
    const bool may_be_kept =
        mode == PLAN_INFERENCE ? c->pad > 0 : through.plan->block > 0 && !(options & PLAIN);
    const bool smaller =
        may_be_kept || through.plan->forecast.activations <= kept.plan->forecast.activations;
    if ((!read_through && !may_be_kept) || !same || !smaller)
        tap_note("%s: read through %d, same bits %d, no larger %d", text, read_through, same,
                 smaller);
    lab_close(&through);
    lab_close(&kept);
    return (read_through || may_be_kept) && same && smaller;
}

static void test_same_bits(enum plan_mode mode, unsigned options, const char *what)
{
    static const size_t batches[] = {2, MAX_BATCH}; /* few images and many */
    size_t good = 0, tried = 0;
    for (size_t i = 0; i < CASES; i++)
        for (size_t b = 0; b < 2; b++)
            for (size_t threads = 1; threads <= 3; threads += 2) {
                if (!sample_has(i + 2 * b + threads / 2, 1, 4)) /* one of four under a sanitizer */
                    continue;
                good += check_case(&cases[i], options, mode, threads, batches[b]);
                tried++;
            }
    tap_ok(good == tried, "%s: %zu of %zu runs give the bits of the stored tensor", what, good,
           tried);
}

static void test_instruction_set(enum instruction_set set)
{
    const char *name = instruction_set_name(set);
    char what[64];
    snprintf(what, sizeof what, "%s: inference", name);
    test_same_bits(PLAN_INFERENCE, 0, what);
    snprintf(what, sizeof what, "%s: training", name);
    test_same_bits(PLAN_TRAINING, 0, what);
    snprintf(what, sizeof what, "%s: training, gradients added", name);
    test_same_bits(PLAN_TRAINING, BRANCHED, what);
    snprintf(what, sizeof what, "%s: training, moved input", name);
    test_same_bits(PLAN_TRAINING, FROM_INPUT, what);
    snprintf(what, sizeof what, "%s: training, plain", name);
    test_same_bits(PLAN_TRAINING, PLAIN, what);
    snprintf(what, sizeof what, "%s: training, plain, gradients added", name);
    test_same_bits(PLAN_TRAINING, PLAIN | BRANCHED, what);
}

/* --- the plan --- */

static struct lab planned(const char *layers, const char *device, enum plan_mode mode)
{
    char text[2048];
    struct lab lab;
    snprintf(text, sizeof text,
             "{\"input\": [3, 16, 16], \"classes\": 3, \"layers\": ["
             "{\"op\": \"conv\", \"name\": \"a\", \"output\": 36, \"kernel\": 1},"
             "{\"op\": \"relu\", \"name\": \"b\"}, %s"
             "{\"op\": \"average_pool\", \"global\": true}, {\"op\": \"flatten\"},"
             "{\"op\": \"linear\", \"output\": \"classes\"}]}",
             layers);
    lab_open(&lab, text, device, 2, mode, 8, mode == PLAN_TRAINING);
    return lab;
}

#define MOVE   "{\"op\": \"channel_shift\", \"name\": \"move\"},"
#define READER "{\"op\": \"conv\", \"name\": \"c\", \"output\": 18, \"kernel\": 1},"

/* Training also stores the value only at its old place, and so its gradient. */
static void test_memory(enum plan_mode mode, const char *what)
{
    struct lab with = planned(MOVE READER, "cpu", mode), without = planned(READER, "cpu", mode);
    const struct plan *plan = with.plan;
    const struct plan_step *move = step_named(plan, "move"), *before = step_named(plan, "b");
    tap_ok(!move->kernel && move->fused_into == step_named(plan, "c")->node &&
               strstr(move->choice, "fused into c"),
           "%s: a shift before a convolution: %s", what, move->choice);
    tap_ok(step_named(plan, "c")->site.fused_move == move->site.node,
           "whose kernel site has the fused move");
    tap_ok(plan->arena.values[move->node] == plan->arena.values[before->node] &&
               plan->arena.gradients[move->node] == plan->arena.gradients[before->node],
           "value and gradient are those before the shift");
    /* a shift reads a position beyond each edge, so that channel-blocked planes have padding */
    const double more = mode == PLAN_INFERENCE ? (18.0 * 18.0) / (16.0 * 16.0) : 1;
    tap_ok((double)plan->forecast.total <= more * (double)without.plan->forecast.total,
           "the plan with the shift needs the memory of that without: %zu and %zu bytes",
           (size_t)plan->forecast.total, (size_t)without.plan->forecast.total);
    lab_close(&with);
    lab_close(&without);
}

static void test_kept(const char *layers, const char *device, const char *why)
{
    struct lab lab = planned(layers, device, PLAN_INFERENCE);
    const struct plan_step *move = step_named(lab.plan, "move");
    const size_t values = lab.plan->arena.values[move->node];
    tap_ok(move->kernel && move->fused_into == PLAN_NONE && values != PLAN_NONE &&
               values != lab.plan->arena.values[step_named(lab.plan, "b")->node],
           "%s: the shift is computed", why);
    lab_close(&lab);
}

static void test_all_read_through(const char *name)
{
    struct error error = {0};
    const struct network_request request = {.network = name};
    const struct plan_settings settings = {.mode = PLAN_INFERENCE, .batch = 1, .threads = 1};
    struct network *network = network_build(&request, &error);
    struct plan *plan =
        network ? plan_build(&network->graph, device_drivers[1], &settings, &error) : NULL;
    size_t moves = 0, through = 0;
    for (size_t s = 0; plan && s < plan->step_count; s++)
        if (plan->steps[s].site.node->op->traits & OP_MOVES_CHANNELS) {
            moves++;
            through += !plan->steps[s].kernel;
        }
    tap_ok(moves > 0 && through == moves, "%s: %zu of %zu moves are read through %s", name, through,
           moves, error.why);
    plan_free(plan);
    network_free(network);
}

TEST_CASE(read_through_test)
{
    for (int set = 0; set < INSTRUCTION_SETS; set++)
        if (instruction_set_force((enum instruction_set)set))
            test_instruction_set((enum instruction_set)set);
    instruction_set_release();
    test_memory(PLAN_INFERENCE, "inference");
    test_memory(PLAN_TRAINING, "training");
    test_kept(MOVE READER, "reference", "the reference");
    test_kept(MOVE "{\"op\": \"tanh\"},", "cpu", "before an operator that is no convolution");
    test_kept(MOVE READER "{\"op\": \"conv\", \"name\": \"d\", \"output\": 18, \"kernel\": 1, "
                          "\"from\": \"move\"}, {\"op\": \"add\", \"from\": [\"c\", \"d\"]},",
              "cpu", "before two convolutions");
    test_kept(MOVE "{\"op\": \"conv\", \"output\": 4, \"kernel\": 1, \"stride\": 17},", "cpu",
              "before a convolution by matrix products");
    test_all_read_through("resnet20-shift");
    test_all_read_through("resnet20-shuffle");
    test_all_read_through("squeezenet-shift");
    test_all_read_through("squeezenet-shuffle");
    return tap_done();
}
