/* How fast the kernels of a device are on the layers of the studied networks: the cases of the
 * tests' list that are marked CASE_TIMED, a group for each family of kernels, and the solver's
 * step.
 *
 *   kernels_bench [-a] [-d DEVICE] [-t THREADS] [-s SECONDS] [FAMILY or NAME-PART]
 *
 * For every case and every kernel that accepts it: the best time of a forward and of a backward
 * pass, and what that means in GFLOP/s (convolution and linear layers; backward counts twice) or in
 * GB/s (the others: inputs and output once each). -a: with each instruction set that can run here,
 * one after the other; without it the strongest, or what TINCA_CPU names. -s: how long each is
 * tried.
 */
#include "op_harness.h"

#include "base/clock.h"
#include "base/host/host.h"
#include "base/memory.h"
#include "engine/devices/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bench {
    struct device *device;
    struct op_harness *harness;
    const struct kernel *kernel;
    struct kernel_site site;
    struct kernel_call call;
    double seconds;   /* seconds to spend on one measurement */
    const char *only; /* a family, or a part of names; NULL: all */
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

/* Returns the best time of as many calls as fit the time, 3 at least: the one least disturbed by
 * other work. */
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

/* Returns the work of a forward pass in 1e9 FLOP or in 1e9 bytes to be moved; *unit says which. */
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
    printf("  %-28s %-22s %-7s %9.3f %9.3f %9.1f %9.1f %s\n", bench->harness->op_case->name,
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

static bool is_wanted(const struct bench *bench, const char *family, const char *name)
{
    return !bench->only || strcmp(family, bench->only) == 0 || strstr(name, bench->only);
}

static void bench_cases(struct bench *bench)
{
    const char *last = "";
    for (size_t i = 0; i < op_case_count; i++) {
        const char *family = op_case_family(&op_cases[i]);
        if (!(op_cases[i].flags & CASE_TIMED) || !is_wanted(bench, family, op_cases[i].name))
            continue;
        if (strcmp(family, last) != 0)
            printf("%s\n", family);
        last = family;
        bench_case(bench, &op_cases[i]);
    }
}

/* --- the solver's step --- */

enum { WEIGHTS = 1 << 22 };

/* Arrays that a step reads or writes: weights and state both, gradients once. */
static size_t arrays_moved(const struct solver_settings *settings)
{
    return 3 + 2 * solver_state_count(settings);
}

/* The solver's step of the device's kernels. */
static const char *set_of(const struct device *device)
{
    const struct kernel *kernel;
    return device->driver->kernels(&op_relu, &kernel, 1) > 0 ? kernel->instruction_set : "any";
}

static void measure_solver(const struct bench *bench, const struct solver_settings *settings)
{
    float *arrays = memory_new_aligned(4 * (size_t)WEIGHTS, sizeof *arrays, "the bench", NULL);
    double best = 1e9, spent = 0;
    if (!arrays)
        return;
    memset(arrays, 0, 4 * (size_t)WEIGHTS * sizeof *arrays);
    const struct solver_update update = {.settings = *settings,
                                         .learning_rate = 0.01f,
                                         .step = 1,
                                         .count = WEIGHTS,
                                         .weights = arrays,
                                         .gradients = arrays + WEIGHTS,
                                         .state = {arrays + 2 * WEIGHTS, arrays + 3 * WEIGHTS}};
    for (size_t count = 0; count < 4 || spent < bench->seconds; count++) {
        const uint64_t start = clock_nanoseconds();
        bench->device->driver->update(bench->device, &update);
        const double seconds = clock_seconds(start, clock_nanoseconds());
        best = count > 0 && seconds < best ? seconds : best;
        spent += seconds;
    }
    const char *set = set_of(bench->device);
    const double work = (double)(arrays_moved(settings) * WEIGHTS * sizeof *arrays) * 1e-9;
    printf("  %-28s %-22s %-7s %9.3f %9s %9.1f %9s GB/s\n", solver_names[settings->kind], "update",
           set, best * 1e3, "-", work / best, "-");
    free(arrays);
}

static void bench_solvers(struct bench *bench)
{
    const struct solver_settings settings[] = {
        {SOLVER_SGD, 0.9f, 0, 0, 5e-4f, MOMENTUM_CAFFE},
        {SOLVER_NESTEROV, 0.9f, 0, 0, 5e-4f, MOMENTUM_CAFFE},
        {SOLVER_ADAM, 0.5f, 0.999f, 1e-8f, 0, MOMENTUM_CAFFE}};
    bool begun = false;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (is_wanted(bench, "update", solver_names[settings[i].kind])) {
            printf("%s", begun ? "" : "update\n");
            measure_solver(bench, &settings[i]);
            begun = true;
        }
}

/* Returns false, with a message, if there is no such device. */
static bool bench_device(struct bench *bench, const char *name, size_t threads)
{
    struct error error;
    char text[512];
    bench->device = device_open(name, threads, &error);
    if (!bench->device) {
        fprintf(stderr, "kernels_bench: %s\n", error_format(&error, text, sizeof text));
        return false;
    }
    printf("device %s, %zu threads\n", name, bench->device->threads);
    printf("  %-28s %-22s %-7s %9s %9s %9s %9s\n", "case", "kernel", "set", "fwd ms", "bwd ms",
           "forward", "backward");
    bench_cases(bench);
    if (bench->device->driver->update)
        bench_solvers(bench);
    device_close(bench->device);
    return true;
}

static bool bench_every_set(struct bench *bench, const char *device, size_t threads)
{
    const enum instruction_set strongest = host_instruction_set();
    bool good = true;
    for (int set = ISA_GENERIC; good && set <= (int)strongest; set++) {
        setenv("TINCA_CPU", instruction_set_name((enum instruction_set)set), 1);
        good = bench_device(bench, device, threads);
    }
    return good;
}

int main(int count, char **arguments)
{
    struct bench bench = {.seconds = 0.1};
    const char *device = "cpu";
    bool every_set = false;
    size_t threads = 0;
    int option;
    while ((option = getopt(count, arguments, "ad:t:s:")) != -1) {
        if (option == 'a')
            every_set = true;
        else if (option == 'd')
            device = optarg;
        else if (option == 't')
            threads = strtoul(optarg, NULL, 10);
        else if (option == 's')
            bench.seconds = strtod(optarg, NULL);
        else
            return 2;
    }
    bench.only = optind < count ? arguments[optind] : NULL;
    return !(every_set ? bench_every_set(&bench, device, threads)
                       : bench_device(&bench, device, threads));
}
