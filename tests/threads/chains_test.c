/* Tests chains of steps on the device cpu (plan/step_order.c): they are where they are expected, no
 * step of a chain writes memory that an earlier one reads, and the predictions have the same bits
 * as without chains, on every instruction set, for any number of threads and images. */
#include "base/memory.h"
#include "base/random.h"
#include "engine/execution/execution.h"
#include "engine/network/network.h"
#include "engine/profile/profile.h"
#include "instruction_sets.h"
#include "random_fill.h"
#include "sample.h"
#include "tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_IMAGES = SANITIZED ? 2 : 3, OUTPUTS = 1000, REPEATS = SANITIZED ? 1 : 2 };

static const char *const networks[] = {
    "resnet20",   "resnet20-dsc", "resnet20-shift", "resnet20-shuffle",
    "squeezenet", "googlenet",    "mobilenet",
};
/* The large ones take sanitizers minutes. AddressSanitizer gets squeezenet, for its concatenations.
 */
#ifdef __SANITIZE_THREAD__
enum { NETWORKS = 4 };
#else
enum { NETWORKS = SANITIZED ? 5 : sizeof networks / sizeof *networks };
#endif

static const size_t thread_counts[] = {1, 3, 2, 5};
enum { THREAD_COUNTS = SANITIZED ? 2 : sizeof thread_counts / sizeof *thread_counts };

/* --- a network at work --- */

struct lab {
    struct network *network;
    enum device_precision precision; /* of the settings */
    struct weights weights;
    float *images;
};

/* A network planned for some images and threads. */
struct setting {
    struct device *device;
    struct plan *plan;
    struct execution *execution;
};

static void lab_close(struct lab *lab)
{
    weights_free(&lab->weights);
    network_free(lab->network);
    free(lab->images);
}

/* Fills the parameters so that no norm is the identity. */
static void fill_weights(struct weights *weights)
{
    const struct graph *graph = weights->graph;
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        const bool factor = strstr(parameter->name, "running_var") || parameter->rank == 1;
        const float limit = factor ? 1.5f : sqrtf(3.0f / (float)parameter->fan_in);
        random_fill_uniform(1, RANDOM_TEST, (uint32_t)p, factor ? 0.5f : -limit, limit,
                            weights->values + parameter->offset, parameter->count);
    }
    weights_mark_changed(weights);
}

static bool lab_open(struct lab *lab, const char *name)
{
    struct error error = {0};
    *lab = (struct lab){0};
    const struct network_request request = {.network = name};
    lab->network = network_build(&request, &error);
    if (!lab->network || !weights_create(&lab->weights, &lab->network->graph, &error))
        return tap_ok(false, "%s: %s", name, error.why);
    fill_weights(&lab->weights);
    const size_t values = MOST_IMAGES * shape_count(lab->network->input);
    lab->images = memory_new_aligned(values, sizeof(float), "a batch", &error);
    if (!lab->images)
        return tap_ok(false, "%s: %s", name, error.why);
    random_fill_uniform(2, RANDOM_TEST, 0, -1, 1, lab->images, values);
    return true;
}

static void setting_close(struct setting *setting)
{
    execution_free(setting->execution);
    plan_free(setting->plan);
    device_close(setting->device);
}

static bool setting_open(struct setting *setting, struct lab *lab, size_t images, size_t threads)
{
    struct error error = {0};
    const struct plan_settings settings = {
        .mode = PLAN_INFERENCE, .batch = images, .threads = threads, .precision = lab->precision};
    *setting = (struct setting){.device = device_open("cpu", threads, &error)};
    if (setting->device)
        setting->plan =
            plan_build(&lab->network->graph, setting->device->driver, &settings, &error);
    if (setting->plan)
        setting->execution =
            execution_create(setting->plan, setting->device, &lab->weights, NULL, 1, &error);
    return setting->execution || tap_ok(false, "%s: %s", lab->network->name, error.why);
}

static size_t output_count(const struct lab *lab)
{
    const struct graph *graph = &lab->network->graph;
    return shape_count(graph->nodes[graph->output].output);
}

static const float *predict(struct setting *setting, const struct lab *lab, size_t images)
{
    const struct execution_batch batch = {.images = lab->images, .count = images};
    execution_bind(setting->execution, &batch);
    execution_forward(setting->execution, 0);
    return execution_output(setting->execution);
}

/* --- memory --- */

static bool in_chain(const struct plan *plan, size_t first)
{
    return plan->steps[first].chain_end > first + 1;
}

/* Bytes of a value that follow each other: all, or of a part of a concatenation its own planes of a
 * row or of an image. */
struct range {
    size_t begin, end;
};

/* Returns the values from one range to the next. */
static size_t range_values(const struct plan *plan, size_t node)
{
    const struct shape shape = plan->graph->nodes[node].output;
    const struct tensor_layout layout = plan->layouts[node];
    if (!layout.channels)
        return plan->batch * tensor_image(layout, shape);
    return layout.by_rows ? tensor_row(layout, shape) : tensor_image(layout, shape);
}

static size_t range_count(const struct plan *plan, size_t node)
{
    const struct shape shape = plan->graph->nodes[node].output;
    return plan->batch * tensor_image(plan->layouts[node], shape) / range_values(plan, node);
}

static struct range range_of(const struct plan *plan, size_t node, size_t number)
{
    const struct shape shape = plan->graph->nodes[node].output;
    const struct tensor_layout layout = plan->layouts[node], own = {.block = layout.block};
    const size_t bytes = tensor_value_bytes(layout), values = range_values(plan, node);
    const size_t begin = plan->arena.values[node] + number * values * bytes;
    const size_t count =
        layout.channels ? tensor_planes(own, shape) * tensor_plane(layout, shape) : values;
    if (plan->arena.values[node] == PLAN_NONE)
        return (struct range){0};
    return (struct range){begin, begin + count * bytes};
}

static bool values_overlap(const struct plan *plan, size_t a, size_t b)
{
    for (size_t i = 0; i < range_count(plan, a); i++)
        for (size_t j = 0; j < range_count(plan, b); j++) {
            const struct range x = range_of(plan, a, i), y = range_of(plan, b, j);
            if (x.begin < y.end && y.begin < x.end)
                return true;
        }
    return false;
}

/* Returns whether step s writes what an earlier step of its chain reads or writes. */
static bool disturbs(const struct plan *plan, size_t first, size_t s)
{
    bool overlap = false;
    for (size_t i = first; i < s; i++) {
        const struct plan_step *step = &plan->steps[i];
        if (!step->kernel)
            continue;
        overlap |= values_overlap(plan, plan->steps[s].node, step->node);
        for (size_t k = 0; k < step->input_count; k++)
            overlap |= values_overlap(plan, plan->steps[s].node, step->inputs[k]);
    }
    return overlap;
}

/* Adds the plan's chains to *chains; returns whether none of them disturbs itself. */
static bool check_memory(const struct plan *plan, size_t *chains)
{
    bool good = true;
    for (size_t first = 0; first < plan->step_count; first = plan->steps[first].chain_end) {
        *chains += in_chain(plan, first);
        for (size_t s = first + 1; s < plan->steps[first].chain_end; s++)
            good &= !plan->steps[s].kernel || !disturbs(plan, first, s);
    }
    return good;
}

/* --- bits --- */

/* What is compared, over all networks. */
struct counts {
    size_t settings, memory, bits, chains;
};

/* Compares the first predictions, those after them and those of one image with the ones in
 * `wanted`; with a profile, the same execution runs step by step. */
static bool check_bits(struct setting *setting, const struct lab *lab, size_t images,
                       const float *wanted)
{
    const size_t bytes = output_count(lab) * sizeof *wanted;
    struct profile *profile =
        profile_create(lab->network->graph.node_count, setting->device->threads, NULL);
    bool same = profile;
    for (size_t i = 0; i < REPEATS; i++)
        same = same && memcmp(predict(setting, lab, images), wanted, images * bytes) == 0;
    same = same && memcmp(predict(setting, lab, 1), wanted, bytes) == 0;
    execution_set_profile(setting->execution, profile);
    same = same && memcmp(predict(setting, lab, images), wanted, images * bytes) == 0;
    execution_set_profile(setting->execution, NULL);
    profile_free(profile);
    return same;
}

/* Counts one network with one number of images. The wanted bits are those of one thread, which has
 * no chains. */
static void check_threads(struct lab *lab, size_t images, struct counts *counts)
{
    static float wanted[MOST_IMAGES * OUTPUTS];
    for (size_t t = 0; t < THREAD_COUNTS; t++) {
        struct setting setting;
        size_t chains = 0;
        counts->settings++;
        if (setting_open(&setting, lab, images, thread_counts[t])) {
            if (t == 0)
                memcpy(wanted, predict(&setting, lab, images),
                       images * output_count(lab) * sizeof *wanted);
            const bool same = check_bits(&setting, lab, images, wanted);
            counts->memory += check_memory(setting.plan, &chains);
            counts->bits += same && (t > 0 || chains == 0);
            counts->chains += chains;
            if (!same)
                tap_note("%s, %zu images, %zu threads: other bits", lab->network->name, images,
                         thread_counts[t]);
        }
        setting_close(&setting);
    }
}

/* `set` numbers what computes: each tries half of the networks, and the next one the others; in
 * `make check` with one or three images, or with two. */
static void test_networks(const char *kernels, size_t set, enum device_precision precision)
{
    struct counts counts = {0};
    for (size_t i = 0; i < NETWORKS; i++) {
        struct lab lab;
        if (!sample_has(i + set, 2, 2))
            continue;
        if (lab_open(&lab, networks[i])) {
            lab.precision = precision;
            for (size_t images = 1; images <= MOST_IMAGES; images++)
                if (sample_has(images + i / 2, 2, 1))
                    check_threads(&lab, images, &counts);
        }
        lab_close(&lab);
    }
    tap_ok(counts.bits == counts.settings,
           "%s: %zu of %zu settings predict the same bits with chains, without, and with a profile",
           kernels, counts.bits, counts.settings);
    tap_ok(counts.memory == counts.settings && counts.chains > 0,
           "%s: in %zu of %zu settings no step of the %zu chains writes what an earlier one uses",
           kernels, counts.memory, counts.settings, counts.chains);
}

/* --- where chains are --- */

/* Returns the number of the first step of the chain with the step of a named layer; PLAN_NONE if
 * there is none. */
static size_t chain_of(const struct plan *plan, const char *name)
{
    for (size_t first = 0; first < plan->step_count; first = plan->steps[first].chain_end)
        for (size_t s = first; s < plan->steps[first].chain_end; s++)
            if (strcmp(plan->steps[s].site.node->name, name) == 0 && in_chain(plan, first))
                return first;
    return PLAN_NONE;
}

static bool joined(const struct plan *plan, const char *a, const char *b)
{
    return chain_of(plan, a) != PLAN_NONE && chain_of(plan, a) == chain_of(plan, b);
}

static size_t count_chains(const struct plan *plan)
{
    size_t chains = 0;
    check_memory(plan, &chains);
    return chains;
}

/* Builds a plan for two threads; NULL with a failed test. */
static bool open_for_two(struct lab *lab, struct setting *setting, const char *name, size_t images)
{
    *setting = (struct setting){0};
    return lab_open(lab, name) && setting_open(setting, lab, images, 2);
}

static void test_separable(void)
{
    struct lab lab;
    struct setting setting;
    if (open_for_two(&lab, &setting, "resnet20-dsc", 1)) {
        const struct plan *plan = setting.plan;
        tap_ok(joined(plan, "stage1.1.dw1", "stage1.1.pw1") &&
                   joined(plan, "stage1.1.dw2", "stage1.1.pw2"),
               "a pointwise convolution joins the depthwise one before it");
        tap_ok(!joined(plan, "stage1.1.pw1", "stage1.1.dw2"),
               "a depthwise convolution does not join the pointwise one before it");
        tap_ok(joined(plan, "stage2.0.dw2", "stage2.0.conv_shortcut"),
               "a shortcut with a stride joins, since it reads what is older than the chain");
    }
    setting_close(&setting);
    lab_close(&lab);
}

static void test_moves(void)
{
    struct lab lab;
    struct setting setting;
    if (open_for_two(&lab, &setting, "resnet20-shuffle", 1))
        tap_ok(joined(setting.plan, "stage1.1.conv2", "stage1.1.conv3") &&
                   joined(setting.plan, "stage1.1.conv2", "stage1.2.conv1"),
               "a chain goes on in the next residual block");
    setting_close(&setting);
    lab_close(&lab);
    if (open_for_two(&lab, &setting, "resnet20-shift", 1))
        tap_ok(!joined(setting.plan, "stage1.1.conv1", "stage1.1.conv2") &&
                   joined(setting.plan, "stage1.1.conv2", "stage1.2.conv1"),
               "a convolution behind a channel_shift begins a chain");
    setting_close(&setting);
    lab_close(&lab);
}

static void test_large_batch(void)
{
    struct lab lab;
    struct setting setting;
    if (open_for_two(&lab, &setting, "resnet20-dsc", 64))
        tap_ok(count_chains(setting.plan) == 0, "whole images are not computed in chains");
    setting_close(&setting);
    lab_close(&lab);
}

/* Tests precision bf16 without AMX, then with it. */
static void test_bf16(void)
{
    struct kernel_set bf16;
    if (kernel_set_bf16(&bf16) && instruction_set_force(ISA_AVX512)) /* which leaves out AMX */
        test_networks(bf16.name, INSTRUCTION_SETS, PRECISION_BF16);
    instruction_set_release();
    if (host_has_amx())
        test_networks("bf16 with AMX", INSTRUCTION_SETS + 1, PRECISION_BF16);
    else if (instruction_set_asked())
        tap_skip("bf16 with AMX: TINCA_CPU asks for %s", instruction_set_asked());
    else
        tap_skip("bf16 with AMX: this processor, or its kernel, has no AMX-BF16");
}

TEST_CASE(chains_test)
{
    test_separable();
    test_moves();
    test_large_batch();
    for (int set = 0; set < INSTRUCTION_SETS; set++)
        if (instruction_set_force((enum instruction_set)set))
            test_networks(instruction_set_name((enum instruction_set)set), (size_t)set,
                          PRECISION_FLOAT32);
    instruction_set_release();
    test_bf16();
    return tap_done();
}
