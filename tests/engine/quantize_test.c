/* Folding, calibration and simulated quantization: folded networks beside the original ones for all
 * built-in classifiers; limits and grids beside SciPy's and PyTorch's; rounded values and gradients
 * beside PyTorch's; and what a quantized network and its training share. */
#include "base/memory.h"
#include "base/random.h"
#include "engine/execution/execution.h"
#include "engine/ops/op.h"
#include "engine/quantize/fold_batch_norm.h"
#include "engine/quantize/graph_copy.h"
#include "engine/quantize/quantize.h"
#include "engine/quantize/simulate.h"
#include "engine/quantize_golden.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES = 20000 };

/* The values of make_quantize.py. */
static float *sample(bool is_signed)
{
    float *values = malloc(VALUES * sizeof *values);
    for (uint32_t i = 0; values && i < VALUES; i++) {
        const float u = (float)(i * 2654435761U >> 8) / 16777216.0f;
        const float v = u / (1.0625f - u);
        values[i] = is_signed && i % 2 == 1 ? v * -0.5f : v;
    }
    return values;
}

static void test_calibration(bool is_signed)
{
    float *values = sample(is_signed);
    struct calibration_histogram *histogram = malloc(sizeof *histogram);
    struct sample_range range = SAMPLE_RANGE_NONE;
    if (!values || !histogram)
        return;
    sample_range_add(&range, values, VALUES / 3);
    sample_range_add(&range, values + VALUES / 3, VALUES - VALUES / 3);
    const struct quantization grid = quantization_of_range(range);
    tap_ok(grid.scale == golden_ranges[is_signed].scale &&
               grid.zero_point == golden_ranges[is_signed].zero_point,
           "the grid of a range is PyTorch's: %a, %d", (double)grid.scale, grid.zero_point);
    calibration_begin(histogram, range);
    calibration_add(histogram, values, VALUES / 2);
    calibration_add(histogram, values + VALUES / 2, VALUES - VALUES / 2);
    const double largest = fmax(fabs((double)range.low), (double)range.high);
    for (size_t m = 0; m < CALIBRATION_METHODS; m++) {
        const double limit = calibration_limit(histogram, (enum calibration_method)m);
        const double expected = golden_ranges[is_signed].limits[m] * largest / CALIBRATION_BINS;
        tap_ok(fabs(limit - expected) < 1e-9 * largest, "%s of %s values: %.9g, SciPy: %.9g",
               calibration_method_names[m], is_signed ? "signed" : "unsigned", limit, expected);
        const struct sample_range found = calibration_range(histogram, (enum calibration_method)m);
        tap_ok(found.high <= (float)limit && found.low >= -(float)limit &&
                   found.low >= fminf(range.low, 0),
               "  its range, %g to %g, lies within", (double)found.low, (double)found.high);
    }
    free(values);
    free(histogram);
}

/* Zeros, which every grid has, change neither the least divergence nor the least error. */
static void test_zeros(void)
{
    float *values = sample(false);
    struct calibration_histogram *histogram = malloc(sizeof *histogram);
    float *zeros = calloc(10 * VALUES, sizeof *zeros);
    struct sample_range range = SAMPLE_RANGE_NONE;
    if (!values || !histogram || !zeros)
        return;
    for (size_t i = 0; i < VALUES; i++)
        values[i] *= values[i];
    sample_range_add(&range, values, VALUES);
    calibration_begin(histogram, range);
    calibration_add(histogram, values, VALUES);
    const double entropy = calibration_limit(histogram, CALIBRATION_ENTROPY);
    const double mse = calibration_limit(histogram, CALIBRATION_MSE);
    const double inside = calibration_limit(histogram, CALIBRATION_PERCENTILE);
    calibration_add(histogram, zeros, 10 * VALUES);
    tap_ok(calibration_limit(histogram, CALIBRATION_ENTROPY) == entropy &&
               calibration_limit(histogram, CALIBRATION_MSE) == mse,
           "zeros do not change the limits of entropy and mse, %g and %g", entropy, mse);
    tap_ok(calibration_limit(histogram, CALIBRATION_PERCENTILE) < inside,
           "they count for the percentile");
    free(values);
    free(histogram);
    free(zeros);
}

static void test_grids(void)
{
    const struct quantization zero = quantization_of_range(SAMPLE_RANGE_NONE);
    tap_ok(zero.scale > 0 && quantization_round(zero, 0) == zero.zero_point,
           "without a value there is a grid that has 0");
    const struct quantization negative = quantization_of_range((struct sample_range){-3, -1});
    tap_ok(negative.zero_point == 255 && quantization_round(negative, -3) == 0 &&
               quantization_round(negative, 5) == 255,
           "a grid of negative values ends at 0");
    tap_ok(quantization_round(negative, NAN) == 255, "NaN becomes the zero point");
    tap_ok(quantization_round_weight(0.1f, 100) == 127 &&
               quantization_round_weight(0.1f, -100) == -127 &&
               quantization_round_weight(0.5f, 0.25f) == 0 &&
               quantization_round_weight(0.5f, 0.75f) == 2,
           "weights are rounded to even and clamped to -127..127");
}

/* --- the operator --- */

static void test_fake_quantize(const struct kernel *kernel)
{
    const struct node node = {.name = "q",
                              .op = &op_fake_quantize,
                              .output = {1, 1, GOLDEN_COUNT},
                              .attributes.fake_quantize = {golden_scale, GOLDEN_ZERO_POINT}};
    const struct kernel_site site = {
        .node = &node, .inputs = {{1, 1, GOLDEN_COUNT}}, .batch = 1, .training = true};
    float y[GOLDEN_COUNT], g[GOLDEN_COUNT], back[GOLDEN_COUNT];
    for (size_t i = 0; i < GOLDEN_COUNT; i++) {
        g[i] = (float)(i + 1);
        back[i] = 1000;
    }
    struct kernel_call call = {.site = &site,
                               .inputs = {golden_x},
                               .output = y,
                               .output_gradient = g,
                               .input_gradients = {back}};
    kernel->forward(&call);
    kernel->backward(&call);
    tap_ok(memcmp(y, golden_y, sizeof y) == 0, "%s: the values are PyTorch's", kernel->name);
    tap_ok(memcmp(back, golden_gradient, sizeof back) == 0, "%s: the gradients are PyTorch's",
           kernel->name);
    call.accumulate[0] = true;
    kernel->backward(&call);
    bool twice = true;
    for (size_t i = 0; i < GOLDEN_COUNT; i++)
        twice &= back[i] == 2 * golden_gradient[i];
    tap_ok(twice, "%s: gradients are added", kernel->name);
    const float nan = NAN;
    struct node one = node;
    one.output = (struct shape){1, 1, 1};
    const struct kernel_site single = {.node = &one, .inputs = {{1, 1, 1}}, .batch = 1};
    call = (struct kernel_call){.site = &single, .inputs = {&nan}, .output = y};
    kernel->forward(&call);
    tap_ok(isnan(y[0]), "%s: NaN stays NaN", kernel->name);
}

/* --- networks --- */

struct subject {
    struct network *network;
    struct weights weights;
};

static void free_subject(struct subject *subject)
{
    weights_free(&subject->weights);
    network_free(subject->network);
}

/* Builds a network with weights and running statistics that no two channels share. */
static bool build(struct subject *subject, const char *name)
{
    *subject = (struct subject){
        .network = network_build(&(struct network_request){.network = name}, NULL)};
    if (!subject->network || !weights_create(&subject->weights, &subject->network->graph, NULL))
        return false;
    weights_initialise(&subject->weights, 3, NULL);
    const struct graph *graph = &subject->network->graph;
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        const char *suffix = strrchr(parameter->name, '.');
        float *values = subject->weights.values + parameter->offset;
        const bool norm = graph->nodes[parameter->node].op == &op_batch_norm;
        for (size_t i = 0; norm && i < parameter->count; i++) {
            const struct random_block block = random_philox(7, RANDOM_TEST, (uint32_t)p, i);
            const float u = random_to_unit(block.word[0]);
            values[i] = strcmp(suffix, ".bias") == 0 || strcmp(suffix, ".running_mean") == 0
                            ? 0.2f * (u - 0.5f)
                            : 0.6f + 0.8f * u;
        }
    }
    weights_mark_changed(&subject->weights);
    return true;
}

/* Writes the outputs for `images` images of noise; the caller frees them. */
static float *compute(struct subject *subject, struct device *device, size_t images)
{
    const struct graph *graph = &subject->network->graph;
    const size_t values = shape_count(subject->network->input);
    const size_t outputs = shape_count(graph->nodes[graph->output].output);
    const struct plan_settings settings = {
        .mode = PLAN_INFERENCE, .batch = images, .threads = device->threads, .device = device};
    struct plan *plan = plan_build(graph, device->driver, &settings, NULL);
    struct execution *execution =
        plan ? execution_create(plan, device, &subject->weights, NULL, 0, NULL) : NULL;
    float *input = memory_new_aligned(images * values, sizeof *input, "input", NULL);
    float *result = malloc(images * outputs * sizeof *result);
    if (execution && input && result) {
        random_fill_gaussian(1, RANDOM_TEST, 1, 0, 0, 1, input, images * values);
        const struct execution_batch batch = {.images = input, .count = images};
        execution_bind(execution, &batch);
        execution_forward(execution, 0);
        memcpy(result, execution_output(execution), images * outputs * sizeof *result);
    }
    free(input);
    execution_free(execution);
    plan_free(plan);
    return result;
}

/* Returns the largest difference of two outputs, relative to the largest value. */
static double difference(const float *a, const float *b, size_t count)
{
    double largest = 0, most = 0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs((double)a[i]));
        most = fmax(most, fabs((double)a[i] - (double)b[i]));
    }
    return isfinite(largest) ? (largest > 0 ? most / largest : most) : INFINITY;
}

static size_t count_norms(const struct graph *graph)
{
    size_t count = 0;
    for (size_t i = 0; i < graph->node_count; i++)
        count += graph->nodes[i].op == &op_batch_norm;
    return count;
}

static void test_fold(const char *name, struct device *device)
{
    struct subject original, folded = {0};
    struct error error = {0};
    if (!build(&original, name))
        return;
    const size_t classes = original.network->classes;
    folded.network = fold_batch_norm(original.network, &original.weights, &folded.weights, &error);
    float *before = classes ? compute(&original, device, 1) : NULL;
    float *after = classes && folded.network ? compute(&folded, device, 1) : NULL;
    if (classes) {
        const double most = before && after ? difference(before, after, classes) : INFINITY;
        tap_ok(most < 2e-5 && count_norms(&folded.network->graph) == 0,
               "%s folded: the outputs differ by %.1e of the largest %s", name, most, error.why);
    }
    free(before);
    free(after);
    free_subject(&folded);
    free_subject(&original);
}

static void test_fold_all(struct device *device)
{
    for (size_t i = 0; i < network_builtin_count; i++)
        test_fold(network_builtins[i].name, device);
    test_fold("resnet20-dsc", device);
    test_fold("resnet20-shuffle", device);
    test_fold("resnet20-shift", device);
}

/* --- quantized networks --- */

static bool choose_layers(const struct graph *graph, bool *layers)
{
    for (size_t i = 0; i < graph->node_count; i++)
        layers[i] = quantize_has_weights(&graph->nodes[i]);
    return true;
}

/* Quantizes a folded network with ranges that no measurement has given. */
static void quantize(struct subject *folded, struct quantize_plan *plan, struct subject *quantized)
{
    struct error error = {0};
    const struct graph *graph = &folded->network->graph;
    bool *layers = calloc(graph->node_count, sizeof *layers);
    struct sample_range *ranges = calloc(graph->node_count, sizeof *ranges);
    struct quantization *grids = calloc(graph->node_count, sizeof *grids);
    choose_layers(graph, layers);
    quantize_plan_make(plan, graph, layers, false, &error);
    for (size_t i = 0; i < graph->node_count; i++)
        ranges[i] = (struct sample_range){graph->nodes[i].op == &op_relu ? 0 : -20, 30};
    quantize_set_grids(plan, ranges, grids);
    quantized->network = quantize_network(plan, folded->network, &folded->weights, grids, true,
                                          "quantize:test", &quantized->weights, &error);
    free(layers);
    free(ranges);
    free(grids);
}

static const struct node *find(const struct graph *graph, const char *name)
{
    size_t number;
    return graph_find(graph, name, &number) ? &graph->nodes[number] : NULL;
}

static void test_quantize(struct device *device)
{
    struct subject original, folded = {0}, quantized = {0};
    struct quantize_plan plan = {0};
    if (!build(&original, "resnet20"))
        return;
    folded.network = fold_batch_norm(original.network, &original.weights, &folded.weights, NULL);
    quantize(&folded, &plan, &quantized);
    const struct graph *graph = &quantized.network->graph;
    tap_ok(strcmp(quantized.network->compression, "quantize:test") == 0,
           "a quantized network says so in its chain");
    bool same = true, on_grid = true, clipped = false;
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = &graph->nodes[i];
        const struct node *input = node->input_count ? &graph->nodes[node->inputs[0]] : NULL;
        if (op_moves_values(node->op) && quantization_is_set(node->quantization))
            same &= quantization_equal(node->quantization, input->quantization);
        clipped |= plan.clipped[i] && node->quantization.zero_point == 0;
    }
    tap_ok(same, "layers that move values have the grid of their input");
    tap_ok(clipped, "a layer before a relu has the relu's grid, with zero point 0");
    tap_ok(quantization_is_set(graph->nodes[0].quantization) &&
               !quantization_is_set(graph->nodes[graph->output].quantization),
           "the input has a grid, the logits have none");
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        const struct parameter *scale = graph_weight_scale(graph, parameter);
        for (size_t i = 0; scale && i < parameter->count; i++) {
            const float step =
                quantized.weights.values[scale->offset + i / (parameter->count / scale->count)];
            const float value = quantized.weights.values[parameter->offset + i];
            on_grid &= value == step * (float)quantization_round_weight(step, value);
        }
    }
    tap_ok(on_grid, "all weights are multiples of their scales");

    struct error error = {0};
    float *weight = &folded.weights.values[folded.network->graph.parameters[0].offset];
    const float kept = *weight;
    *weight = INFINITY;
    tap_ok(!quantize_check_weights(&folded.weights, &error) && strstr(error.why, "infinity"),
           "weights that are not finite are refused: %s", error.what);
    *weight = kept;
    tap_ok(quantize_check_weights(&folded.weights, &error), "and finite ones are not");

    float *plain = compute(&quantized, device, 2);
    tap_ok(network_simulate(quantized.network, NULL) && network_simulate(quantized.network, NULL),
           "a network is simulated, once");
    float *rounded = compute(&quantized, device, 2);
    const double noise = difference(plain, rounded, 20);
    tap_ok(noise > 1e-4 && noise < 1, "the simulated network rounds: %.2g of the largest output",
           noise);
    tap_ok(find(graph, "input.grid") &&
               quantized.weights.graph->total_floats == graph->total_floats,
           "the parameters are where they were");
    free(plain);
    free(rounded);
    quantize_plan_free(&plan);
    free_subject(&quantized);
    free_subject(&folded);
    free_subject(&original);
}

TEST_CASE(quantize_test)
{
    struct device *device = device_open("cpu", 2, NULL);
    test_calibration(false);
    test_calibration(true);
    test_zeros();
    test_grids();
    test_fake_quantize(op_fake_quantize.reference);
    if (device) {
        test_fold_all(device);
        test_quantize(device);
        device_close(device);
    }
    return tap_done();
}
