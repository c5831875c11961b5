/* How fast the kernels of a device are on the layers of the studied networks.
 *
 *   kernels_bench [-d DEVICE] [-t THREADS] [-s SECONDS] [NAME-PART]
 *
 * For every case and every kernel that accepts it: the best time of a forward and of a backward
 * pass, and what that means in GFLOP/s (convolution and linear layers; backward counts twice) or in
 * GB/s (the others: inputs and output once each). -s: how long each is tried.
 */
#include "op_harness.h"

#include "base/clock.h"
#include "base/memory.h"
#include "engine/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONV(outputs_, groups_, kernel, stride, pad)                                               \
    .op = &op_conv, .attributes.conv = {.window = {kernel, kernel, stride, stride, pad, pad},      \
                                        .outputs = outputs_,                                       \
                                        .groups = groups_}
#define LINEAR(outputs_) .op = &op_linear, .attributes.linear = {.outputs = outputs_, .bias = true}
#define POOL(op_, kernel, stride)                                                                  \
    .op = &op_, .attributes.pool.window = {kernel, kernel, stride, stride, 0, 0}
#define ONE(c, h, w) .inputs = {{c, h, w}}, .input_count = 1

static const struct op_case cases[] = {
    {.name = "resnet20 stem", CONV(16, 1, 3, 1, 1), ONE(3, 32, 32), .batch = 32},
    {.name = "resnet20 stage1", CONV(16, 1, 3, 1, 1), ONE(16, 32, 32), .batch = 32},
    {.name = "resnet20 stage2", CONV(32, 1, 3, 1, 1), ONE(32, 16, 16), .batch = 32},
    {.name = "resnet20 stage3", CONV(64, 1, 3, 1, 1), ONE(64, 8, 8), .batch = 32},
    {.name = "resnet20 halving", CONV(32, 1, 3, 2, 1), ONE(16, 32, 32), .batch = 32},
    {.name = "resnet20 stage2, 1 image", CONV(32, 1, 3, 1, 1), ONE(32, 16, 16), .batch = 1},
    {.name = "resnet20-dsc depthwise", CONV(32, 32, 3, 1, 1), ONE(32, 16, 16), .batch = 32},
    {.name = "resnet20-dsc pointwise", CONV(32, 1, 1, 1, 0), ONE(32, 16, 16), .batch = 32},
    {.name = "lenet conv1", CONV(20, 1, 5, 1, 0), ONE(1, 28, 28), .batch = 64},
    {.name = "lenet conv2", CONV(50, 1, 5, 1, 0), ONE(20, 12, 12), .batch = 64},
    {.name = "alexnet conv1", CONV(96, 1, 11, 4, 0), ONE(3, 227, 227), .batch = 16},
    {.name = "alexnet conv2", CONV(256, 2, 5, 1, 2), ONE(96, 27, 27), .batch = 16},
    {.name = "alexnet conv3", CONV(384, 1, 3, 1, 1), ONE(256, 13, 13), .batch = 16},
    {.name = "alexnet conv3, 1 image", CONV(384, 1, 3, 1, 1), ONE(256, 13, 13), .batch = 1},
    {.name = "pix2pix 4x4 stride 2", CONV(128, 1, 4, 2, 1), ONE(64, 64, 64), .batch = 1},
    {.name = "lenet ip1", LINEAR(500), ONE(800, 1, 1), .batch = 64},
    {.name = "alexnet fc7", LINEAR(4096), ONE(4096, 1, 1), .batch = 32},
    {.name = "alexnet fc7, 1 image", LINEAR(4096), ONE(4096, 1, 1), .batch = 1},
    {.name = "lenet pool1", POOL(op_max_pool, 2, 2), ONE(20, 24, 24), .batch = 64},
    {.name = "alexnet pool1", POOL(op_max_pool, 3, 2), ONE(96, 55, 55), .batch = 16},
    {.name = "average 3x3 stride 2", POOL(op_average_pool, 3, 2), ONE(96, 55, 55), .batch = 16},
    {.name = "resnet20 global pool",
     .op = &op_average_pool,
     .attributes.pool = {.global = true},
     ONE(64, 8, 8),
     .batch = 128},
    {.name = "resnet20 batch_norm",
     .op = &op_batch_norm,
     .attributes.batch_norm = {1e-5f, 0.1f},
     ONE(16, 32, 32),
     .batch = 32},
    {.name = "alexnet norm1",
     .op = &op_lrn,
     .attributes.lrn = {5, 1e-4f, 0.75f, 1},
     ONE(96, 55, 55),
     .batch = 16},
    {.name = "relu", .op = &op_relu, ONE(64, 64, 64), .batch = 16},
    {.name = "leaky_relu",
     .op = &op_leaky_relu,
     .attributes.leaky_relu = {0.2f},
     ONE(64, 64, 64),
     .batch = 16},
    {.name = "sigmoid", .op = &op_sigmoid, ONE(64, 64, 64), .batch = 16},
    {.name = "tanh", .op = &op_tanh, ONE(64, 64, 64), .batch = 16},
    {.name = "dropout",
     .op = &op_dropout,
     .attributes.dropout = {0.5f},
     ONE(64, 64, 64),
     .batch = 16},
    {.name = "add",
     .op = &op_add,
     .inputs = {{16, 32, 32}, {16, 32, 32}},
     .input_count = 2,
     .batch = 64},
    {.name = "concat",
     .op = &op_concat,
     .inputs = {{64, 28, 28}, {128, 28, 28}},
     .input_count = 2,
     .batch = 16},
    {.name = "channel_shuffle",
     .op = &op_channel_shuffle,
     .attributes.shuffle = {4},
     ONE(64, 16, 16),
     .batch = 64},
    {.name = "channel_shift", .op = &op_channel_shift, ONE(64, 16, 16), .batch = 64},
    {.name = "softmax", .op = &op_softmax, ONE(1000, 1, 1), .batch = 128},
    {.name = "softmax_cross_entropy",
     .op = &op_softmax_cross_entropy,
     .attributes.loss = {1, false, 0},
     ONE(1000, 1, 1),
     .batch = 128},
    {.name = "binary_cross_entropy",
     .op = &op_binary_cross_entropy,
     .attributes.loss = {1, true, 1},
     ONE(1, 62, 62),
     .batch = 32},
    {.name = "l1_loss",
     .op = &op_l1_loss,
     .attributes.loss = {1, false, 0},
     .inputs = {{3, 256, 256}, {3, 256, 256}},
     .input_count = 2,
     .batch = 1},
};

struct bench {
    struct device *device;
    struct op_harness *harness;
    const struct kernel *kernel;
    struct kernel_site site;
    struct kernel_call call;
    double seconds; /* to spend on one measurement */
};

static bool prepare(struct bench *bench)
{
    struct op_harness *h = bench->harness;
    const struct kernel *kernel = bench->kernel;
    struct kernel_call *call = &bench->call;
    const size_t saved = kernel->saved_bytes ? kernel->saved_bytes(&bench->site) : 0;
    const size_t workspace = kernel->workspace_bytes ? kernel->workspace_bytes(&bench->site) : 0;
    *call = (struct kernel_call){.site = &bench->site,
                                 .output = h->output,
                                 .output_gradient = h->output_gradient,
                                 .labels = h->labels,
                                 .saved = memory_new_aligned(saved, 1, "the bench", NULL),
                                 .workspace = memory_new_aligned(workspace, 1, "the bench", NULL),
                                 .pool = bench->device->pool};
    for (size_t k = 0; k < h->input_count; k++) {
        call->inputs[k] = h->inputs[k];
        call->input_gradients[k] = h->input_gradients[k];
    }
    for (size_t p = 0; p < h->parameter_count; p++) {
        call->parameters[p] = h->updated[p];
        memcpy(h->updated[p], h->parameters[p], h->parameter_values[p] * sizeof(float));
        call->parameter_gradients[p] = h->parameter_gradients[p];
    }
    return call->saved && call->workspace;
}

/* The best of as many calls as fit the time, 3 at least: what other work on the machine disturbs
 * least. */
static double best_seconds(const struct bench *bench, void (*run)(const struct kernel_call *))
{
    double best = 1e9, spent = 0;
    run(&bench->call);
    for (size_t count = 0; count < 3 || spent < bench->seconds; count++) {
        const uint64_t start = clock_nanoseconds();
        run(&bench->call);
        const double seconds = clock_seconds(start, clock_nanoseconds());
        best = seconds < best ? seconds : best;
        spent += seconds;
    }
    return best;
}

/* Work of a forward pass in 1e9 FLOP, or 1e9 bytes that must be moved; which, in *unit. */
static double work_of(const struct bench *bench, const char **unit)
{
    const struct node *node = bench->site.node;
    if (node->op->flops) {
        *unit = "GFLOP/s";
        return (double)node->op->flops(node, bench->site.inputs) * (double)bench->site.batch * 1e-9;
    }
    size_t values = bench->harness->output_values;
    for (size_t k = 0; k < bench->harness->input_count; k++)
        values += bench->harness->input_values[k];
    *unit = "GB/s";
    return (double)values * sizeof(float) * 1e-9;
}

static void measure(struct bench *bench)
{
    const char *unit;
    const double work = work_of(bench, &unit);
    if (!prepare(bench)) {
        fprintf(stderr, "kernels_bench: out of memory\n");
        exit(1);
    }
    const double forward = best_seconds(bench, bench->kernel->forward);
    const double backward = best_seconds(bench, bench->kernel->backward);
    const double factor = bench->site.node->op->flops ? 2 : 1; /* two products against one */
    printf("%-26s %-22s %-7s %9.3f %9.3f %9.1f %9.1f %s\n", bench->harness->op_case->name,
           bench->kernel->name, bench->kernel->instruction_set, forward * 1e3, backward * 1e3,
           work / forward, factor * work / backward, unit);
    fflush(stdout);
    free(bench->call.saved);
    free(bench->call.workspace);
}

static void bench_case(struct bench *bench, const struct op_case *op_case)
{
    const struct kernel *list[16];
    const char *reason;
    const size_t count = bench->device->driver->kernels(op_case->op, list, 16);
    bench->harness = op_harness_create(op_case, HARNESS_SEED, NULL);
    if (!bench->harness)
        return;
    bench->site = op_harness_site(bench->harness, bench->device->threads);
    for (size_t i = 0; i < count; i++) {
        bench->kernel = list[i];
        if (!list[i]->supports || list[i]->supports(&bench->site, &reason))
            measure(bench);
    }
    op_harness_free(bench->harness);
}

int main(int count, char **arguments)
{
    struct bench bench = {.seconds = 0.1};
    struct error error;
    const char *device = "cpu";
    size_t threads = 0;
    int option;
    while ((option = getopt(count, arguments, "d:t:s:")) != -1) {
        if (option == 'd')
            device = optarg;
        else if (option == 't')
            threads = strtoul(optarg, NULL, 10);
        else if (option == 's')
            bench.seconds = strtod(optarg, NULL);
        else
            return 2;
    }
    bench.device = device_open(device, threads, &error);
    if (!bench.device) {
        char text[512];
        fprintf(stderr, "kernels_bench: %s\n", error_format(&error, text, sizeof text));
        return 1;
    }
    printf("device %s, %zu threads\n", device, bench.device->threads);
    printf("%-26s %-22s %-7s %9s %9s %9s %9s\n", "case", "kernel", "set", "fwd ms", "bwd ms",
           "forward", "backward");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (optind >= count || strstr(cases[i].name, arguments[optind]))
            bench_case(&bench, &cases[i]);
    device_close(bench.device);
    return 0;
}
