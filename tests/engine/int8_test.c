/* Tests plans in int8: which values are integers and which steps stay in float32, that whole
 * networks give the same bits on the devices reference and cpu, on every instruction set and for
 * any number of threads and images, that they are close to the same network in float32, how much
 * memory they take, and what is refused. The kernels themselves are compared by int8_kernels_test.
 */
#include "base/memory.h"
#include "base/random.h"
#include "engine/execution/execution.h"
#include "engine/network/network.h"
#include "engine/ops/int8.h"
#include "engine/ops/op.h"
#include "instruction_sets.h"
#include "random_fill.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGES = 3 };

/* Blocks of 16 channels, so that all that can be fused or joined in place is. */
static const char residual[] =
    "{\"name\": \"residual\", \"input\": [3, 12, 10], \"classes\": 10, \"layers\": ["
    "{\"op\": \"conv\", \"name\": \"c1\", \"output\": 16, \"kernel\": 3, \"pad\": 1,"
    " \"weights\": \"int8\"}, {\"op\": \"relu\", \"name\": \"r1\"},"
    "{\"op\": \"conv\", \"name\": \"c2\", \"output\": 16, \"kernel\": 3, \"pad\": 1,"
    " \"weights\": \"int8\"}, {\"op\": \"relu\", \"name\": \"r2\"},"
    "{\"op\": \"conv\", \"name\": \"c3\", \"output\": 16, \"kernel\": 3, \"pad\": 1,"
    " \"weights\": \"int8\"},"
    "{\"op\": \"add\", \"name\": \"a1\", \"from\": [\"c3\", \"r1\"]},"
    "{\"op\": \"relu\", \"name\": \"r3\"},"
    "{\"op\": \"conv\", \"name\": \"c4\", \"output\": 16, \"kernel\": 1, \"weights\": \"int8\"},"
    "{\"op\": \"relu\", \"name\": \"r4\"},"
    "{\"op\": \"add\", \"name\": \"a2\", \"from\": [\"r3\", \"r4\"]},"
    "{\"op\": \"conv\", \"name\": \"e1\", \"output\": 32, \"kernel\": 1, \"from\": \"a2\","
    " \"weights\": \"int8\"},"
    "{\"op\": \"conv\", \"name\": \"e2\", \"output\": 20, \"kernel\": 3, \"pad\": 1,"
    " \"from\": \"a2\", \"weights\": \"int8\"},"
    "{\"op\": \"concat\", \"name\": \"k1\", \"from\": [\"e1\", \"e2\"]},"
    "{\"op\": \"relu\", \"name\": \"re\"},"
    "{\"op\": \"max_pool\", \"name\": \"p1\", \"kernel\": 2, \"stride\": 2},"
    "{\"op\": \"conv\", \"name\": \"c5\", \"output\": 40, \"kernel\": 3, \"stride\": 2,"
    " \"pad\": 1, \"weights\": \"int8\"}, {\"op\": \"relu\", \"name\": \"r5\"},"
    "{\"op\": \"average_pool\", \"name\": \"p2\", \"global\": true},"
    "{\"op\": \"flatten\", \"name\": \"f1\"},"
    "{\"op\": \"linear\", \"name\": \"l1\", \"output\": 10, \"weights\": \"int8\"}]}";

/* Other numbers of channels, groups, dilation, and every operator. */
static const char mixed[] =
    "{\"name\": \"mixed\", \"input\": [5, 11, 13], \"classes\": 7, \"layers\": ["
    "{\"op\": \"conv\", \"name\": \"c1\", \"output\": 20, \"kernel\": 3, \"pad\": 1,"
    " \"weights\": \"int8\"},"
    "{\"op\": \"conv\", \"name\": \"d1\", \"output\": 20, \"kernel\": 3, \"pad\": 1,"
    " \"groups\": 20, \"weights\": \"int8\"}, {\"op\": \"relu\", \"name\": \"r1\"},"
    "{\"op\": \"conv\", \"name\": \"g1\", \"output\": 24, \"kernel\": 3, \"pad\": 2,"
    " \"dilation\": 2, \"groups\": 4, \"weights\": \"int8\"},"
    "{\"op\": \"channel_shuffle\", \"name\": \"s1\", \"groups\": 4},"
    "{\"op\": \"channel_shift\", \"name\": \"s2\"},"
    "{\"op\": \"average_pool\", \"name\": \"p1\", \"kernel\": 3, \"stride\": 1, \"pad\": 1},"
    "{\"op\": \"add\", \"name\": \"a1\", \"from\": [\"p1\", \"s2\", \"g1\"]},"
    "{\"op\": \"relu\", \"name\": \"r2\"},"
    "{\"op\": \"concat\", \"name\": \"k1\", \"from\": [\"r2\", \"r1\"]},"
    "{\"op\": \"dropout\", \"name\": \"o1\", \"rate\": 0.5},"
    "{\"op\": \"max_pool\", \"name\": \"p2\", \"kernel\": 3, \"stride\": 2},"
    "{\"op\": \"flatten\", \"name\": \"f1\"},"
    "{\"op\": \"linear\", \"name\": \"l1\", \"output\": 19, \"weights\": \"int8\"},"
    "{\"op\": \"relu\", \"name\": \"r3\"},"
    "{\"op\": \"linear\", \"name\": \"l2\", \"output\": 7, \"weights\": \"int8\"}]}";

/* A layer with weights of float32, one whose operator has no kernel of int8, and one that several
 * layers read. The last layer is no vector. */
static const char kept[] =
    "{\"name\": \"kept\", \"input\": [4, 9, 9], \"classes\": 5, \"layers\": ["
    "{\"op\": \"conv\", \"name\": \"c1\", \"output\": 18, \"kernel\": 3, \"pad\": 1},"
    "{\"op\": \"relu\", \"name\": \"r1\"},"
    "{\"op\": \"conv\", \"name\": \"c2\", \"output\": 18, \"kernel\": 3, \"pad\": 1,"
    " \"weights\": \"int8\"}, {\"op\": \"lrn\", \"name\": \"n1\"},"
    "{\"op\": \"max_pool\", \"name\": \"p1\", \"kernel\": 2, \"stride\": 2},"
    "{\"op\": \"conv\", \"name\": \"c3\", \"output\": 8, \"kernel\": 1, \"weights\": \"int8\"},"
    "{\"op\": \"sigmoid\", \"name\": \"s1\"},"
    "{\"op\": \"conv\", \"name\": \"c4\", \"output\": 8, \"kernel\": 1, \"from\": \"p1\","
    " \"weights\": \"int8\"},"
    "{\"op\": \"add\", \"name\": \"a1\", \"from\": [\"s1\", \"c4\"]},"
    "{\"op\": \"conv\", \"name\": \"c5\", \"output\": 5, \"kernel\": 4, \"weights\": \"int8\"},"
    "{\"op\": \"flatten\", \"name\": \"f1\"}]}";

struct lab {
    struct network *network;
    struct weights weights;
    float *images;
};

/* --- a plan at work --- */

struct setting {
    struct device *device;
    struct plan *plan;
    struct execution *execution;
};

static void setting_close(struct setting *setting)
{
    execution_free(setting->execution);
    plan_free(setting->plan);
    device_close(setting->device);
}

static bool setting_open(struct setting *setting, struct lab *lab, const char *device,
                         enum device_precision precision, size_t threads)
{
    struct error error = {0};
    const struct plan_settings settings = {
        .mode = PLAN_INFERENCE, .batch = IMAGES, .threads = threads, .precision = precision};
    *setting = (struct setting){.device = device_open(device, threads, &error)};
    if (setting->device)
        setting->plan =
            plan_build(&lab->network->graph, setting->device->driver, &settings, &error);
    if (setting->plan)
        setting->execution =
            execution_create(setting->plan, setting->device, &lab->weights, NULL, 1, &error);
    if (!setting->execution)
        setting_close(setting);
    return setting->execution ||
           tap_ok(false, "%s: %s: %s", lab->network->name, error.what, error.why);
}

/* Writes the output of the network for `images` images into *values, which the caller frees.
 * Returns how many there are. */
static size_t predict(struct lab *lab, const char *device, enum device_precision precision,
                      size_t threads, size_t images, float **values)
{
    struct setting setting;
    const struct graph *graph = &lab->network->graph;
    const size_t count = images * shape_count(graph->nodes[graph->output].output);
    *values = calloc(count, sizeof **values);
    if (!setting_open(&setting, lab, device, precision, threads))
        return 0;
    const struct execution_batch batch = {.images = lab->images, .count = images};
    execution_bind(setting.execution, &batch);
    execution_forward(setting.execution, 0);
    memcpy(*values, execution_output(setting.execution), count * sizeof **values);
    setting_close(&setting);
    return count;
}

/* --- quantization, as far as these tests need it --- */

static void round_weights(struct lab *lab)
{
    const struct graph *graph = &lab->network->graph;
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        const struct parameter *scales = graph_weight_scale(graph, parameter);
        float *values = lab->weights.values + parameter->offset;
        const size_t row = parameter->count / parameter->dims[0];
        for (size_t o = 0; scales && o < parameter->dims[0]; o++) {
            float most = 0, *scale = lab->weights.values + scales->offset + o;
            for (size_t i = 0; i < row; i++)
                most = fmaxf(most, fabsf(values[o * row + i]));
            *scale = most / QUANTIZED_WEIGHT_MAX;
            for (size_t i = 0; i < row; i++)
                values[o * row + i] =
                    *scale * (float)quantization_round_weight(*scale, values[o * row + i]);
        }
    }
    weights_mark_changed(&lab->weights);
}

/* Returns the quantization for the values that a node has for the images. */
static struct quantization measure(struct lab *lab, size_t node)
{
    struct graph *graph = &lab->network->graph;
    const size_t output = graph->output;
    float *values, least = 0, most = 0;
    graph->output = node;
    const size_t count = predict(lab, "reference", PRECISION_FLOAT32, 1, IMAGES, &values);
    graph->output = output;
    for (size_t i = 0; i < count; i++) {
        least = fminf(least, values[i]);
        most = fmaxf(most, values[i]);
    }
    free(values);
    const float scale = (most - least) / QUANTIZED_MAX;
    return (struct quantization){scale, (int)lrintf(-least / scale)};
}

/* Sets the quantization of every node, and what must be the same as before or behind it. */
static void calibrate(struct lab *lab)
{
    struct graph *graph = &lab->network->graph;
    struct quantization input = {2.0f / QUANTIZED_MAX, 128};
    graph->nodes[0].quantization = input;
    for (size_t n = 1; n < graph->node_count; n++)
        if (!(graph->nodes[n].op->traits & OP_LOSS))
            graph->nodes[n].quantization = measure(lab, n);
    /* backward: what a relu or a concatenation reads is what it writes; then forward */
    for (size_t n = graph->node_count; n-- > 1;) {
        const struct node *node = &graph->nodes[n];
        for (size_t k = 0;
             (node->op == &op_relu || node->op == &op_concat) && k < node->input_count; k++)
            graph->nodes[node->inputs[k]].quantization = node->quantization;
    }
    for (size_t n = 1; n < graph->node_count; n++) {
        struct node *node = &graph->nodes[n];
        if (int8_keeps_values(node->op) || op_is_identity_in_inference(node))
            node->quantization = graph->nodes[node->inputs[0]].quantization;
    }
}

static bool lab_open(struct lab *lab, const char *text)
{
    struct error error = {0};
    const struct network_request request = {.network = "test.json", .text = text};
    *lab = (struct lab){.network = network_build(&request, &error)};
    if (!lab->network || !weights_create(&lab->weights, &lab->network->graph, &error))
        return tap_ok(false, "%s: %s", error.what, error.why);
    const size_t values = IMAGES * shape_count(lab->network->input);
    lab->images = calloc(values, sizeof *lab->images);
    random_fill_uniform(2, RANDOM_TEST, 0, -1, 1, lab->images, values);
    weights_initialise(&lab->weights, 3, NULL);
    round_weights(lab);
    calibrate(lab);
    return true;
}

static void lab_close(struct lab *lab)
{
    weights_free(&lab->weights);
    network_free(lab->network);
    free(lab->images);
}

/* --- equal bits --- */

/* Returns the distance of `got` from `wanted`, relative to the length of that. */
static double distance(const float *got, const float *wanted, size_t count)
{
    double sum = 0, length = 0;
    for (size_t i = 0; i < count; i++) {
        sum += ((double)got[i] - wanted[i]) * ((double)got[i] - wanted[i]);
        length += (double)wanted[i] * wanted[i];
    }
    return sqrt(sum / length);
}

static bool compare_threads(struct lab *lab, const float *wanted, size_t count, size_t images)
{
    bool same = true;
    for (size_t threads = 1; threads <= 3; threads++) {
        float *got;
        const size_t length = predict(lab, "cpu", PRECISION_INT8, threads, images, &got);
        same &= length == count && memcmp(got, wanted, count * sizeof *got) == 0;
        free(got);
    }
    return same;
}

/* With layers of float32, whose last digits differ between devices, `exact` is false. */
static void test_bits(const char *text, bool exact)
{
    struct lab lab;
    float *wanted, *plain, *one;
    if (!lab_open(&lab, text))
        return;
    const char *name = lab.network->name;
    const size_t count = predict(&lab, "reference", PRECISION_INT8, 1, IMAGES, &wanted);
    predict(&lab, "reference", PRECISION_FLOAT32, 1, IMAGES, &plain);
    const size_t single = predict(&lab, "reference", PRECISION_INT8, 1, 1, &one);
    tap_ok(count > 0 && memcmp(one, wanted, single * sizeof *one) == 0,
           "%s: an image alone has the same bits", name);
    const double error = distance(wanted, plain, count);
    tap_ok(error > 0 && error < 0.06, "%s: %.4f from float32", name, error);
    for (int set = 0; set < INSTRUCTION_SETS; set++) {
        if (!instruction_set_force((enum instruction_set)set))
            continue;
        float *got;
        predict(&lab, "cpu", PRECISION_INT8, 2, IMAGES, &got);
        const float *same_as = exact ? wanted : got;
        tap_ok(compare_threads(&lab, same_as, count, IMAGES) &&
                   compare_threads(&lab, same_as, single, 1),
               "%s, %s: the bits of %s, for 1 to 3 threads and 1 or 3 images", name,
               instruction_set_name((enum instruction_set)set),
               exact ? "the reference" : "2 threads");
        tap_ok(distance(got, wanted, count) < (exact ? 1e-30 : 0.02), "%s: as the reference", name);
        free(got);
    }
    instruction_set_release();
    free(wanted);
    free(plain);
    free(one);
    lab_close(&lab);
}

/* --- plans --- */

static const struct plan_step *step_of(const struct plan *plan, const char *name)
{
    size_t node = 0;
    graph_find(plan->graph, name, &node);
    return plan_find_step(plan, node);
}

static bool is_fused(const struct plan *plan, const char *name, const char *into)
{
    size_t node = 0;
    graph_find(plan->graph, into, &node);
    return step_of(plan, name)->fused_into == node;
}

static void test_residual_plan(void)
{
    struct lab lab;
    struct setting setting, plain;
    if (!lab_open(&lab, residual) || !setting_open(&setting, &lab, "cpu", PRECISION_INT8, 2) ||
        !setting_open(&plain, &lab, "cpu", PRECISION_FLOAT32, 2))
        return;
    const struct plan *plan = setting.plan;
    bool integers = true;
    for (size_t s = 0; s < plan->step_count; s++)
        if (plan->steps[s].kernel)
            integers &= plan->steps[s].site.int8;
    tap_ok(integers, "every kernel is one of int8");
    tap_ok(step_of(plan, "c1")->copies[0] != PLAN_NONE &&
               step_of(plan, "c2")->copies[0] == PLAN_NONE,
           "the picture becomes integers once, and nothing else is copied");
    tap_ok(is_fused(plan, "r1", "c1") && is_fused(plan, "a1", "c3") && is_fused(plan, "r3", "c3") &&
               is_fused(plan, "r4", "c4") && is_fused(plan, "a2", "c4"),
           "relus and sums are fused");
    tap_ok(step_of(plan, "k1")->joins, "a concatenation is joined in place");
    tap_ok(is_fused(plan, "re", "k1") && step_of(plan, "e1")->site.fused_activation &&
               step_of(plan, "e2")->site.fused_activation,
           "a relu after it is fused into what it joins");
    const size_t c2 = (size_t)(step_of(plan, "c2")->node);
    tap_ok(plan->layouts[c2].u8 && plan->layouts[c2].block == 16 &&
               !plan->layouts[plan->graph->output].u8,
           "values are integers, but the output is float32");
    size_t node = 0;
    for (size_t a = 0; a < plan->arena.array_count; a++)
        if (plan->arena.arrays[a].node == c2)
            node = plan->arena.arrays[a].bytes;
    tap_ok(node == IMAGES * 16 * 12 * 10, "the forecast counts a byte for each value");
    tap_ok(plan->forecast.activations * 2 < plain.plan->forecast.activations,
           "values take %llu bytes, %llu in float32",
           (unsigned long long)plan->forecast.activations,
           (unsigned long long)plain.plan->forecast.activations);
    setting_close(&setting);
    setting_close(&plain);
    lab_close(&lab);
}

static void test_kept_plan(void)
{
    struct lab lab;
    struct setting setting;
    if (!lab_open(&lab, kept) || !setting_open(&setting, &lab, "cpu", PRECISION_INT8, 2))
        return;
    const struct plan *plan = setting.plan;
    tap_ok(!step_of(plan, "c1")->site.int8 &&
               strstr(step_of(plan, "c1")->choice, "int8 refused: ") &&
               strstr(step_of(plan, "c1")->choice, "weights"),
           "a layer with weights of float32 says so: %s", step_of(plan, "c1")->choice);
    tap_ok(!step_of(plan, "n1")->site.int8 && step_of(plan, "n1")->copies[0] != PLAN_NONE,
           "an operator without a kernel of int8 reads a copy in float32: %s",
           step_of(plan, "n1")->choice);
    tap_ok(step_of(plan, "p1")->site.int8 && step_of(plan, "p1")->copies[0] != PLAN_NONE &&
               step_of(plan, "c3")->copies[0] == PLAN_NONE,
           "what follows it reads a copy in integers");
    setting_close(&setting);
    lab_close(&lab);
}

static void test_refusals(void)
{
    struct error error = {0};
    struct lab lab;
    if (!lab_open(&lab, residual))
        return;
    const struct device_driver *driver = device_find("cpu", NULL, &error);
    struct plan_settings settings = {
        .mode = PLAN_TRAINING, .batch = 1, .precision = PRECISION_INT8};
    tap_ok(!plan_build(&lab.network->graph, driver, &settings, &error) &&
               error.kind == ERROR_UNSUPPORTED,
           "training in int8 is refused: %s", error.why);
    const struct network_request request = {.network = "lenet"};
    struct network *plain = network_build(&request, &error);
    settings.mode = PLAN_INFERENCE;
    tap_ok(!plan_build(&plain->graph, driver, &settings, &error) &&
               strstr(error.advice, "tinca quantize"),
           "a network that is not quantized is refused: %s; %s", error.why, error.advice);
    network_free(plain);
    lab_close(&lab);
}

TEST_CASE(int8_test)
{
    test_bits(residual, true);
    test_bits(mixed, true);
    test_bits(kept, false);
    test_residual_plan();
    test_kept_plan();
    test_refusals();
    return tap_done();
}
