/* Factorized layers: LAPACK's singular values are SciPy's; a layer's error is the tail of its
 * singular values, whatever the rank; with full ranks the network computes the same; with lower
 * ones what PyTorch computes with factors that SciPy made; ranks keep to a share of the parameters;
 * and what cannot be factorized is refused. */
#include "base/memory.h"
#include "engine/compress/factorize.h"
#include "engine/execution/execution.h"
#include "engine/ops/op.h"
#include "tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGES = 2, CLASSES = 5, LAYERS = 5 };

struct golden_layer {
    size_t ranks[FACTOR_MODES];
    int replaced;
    double error;
};

/* A network at an energy: its layers, and the logits of two images. */
struct golden_network {
    enum factor_convolutions convolutions;
    double energy;
    struct golden_layer layers[LAYERS];
    double logits[IMAGES * CLASSES];
};
#include "engine/factorization_golden.h"

static const char small[] =
    "{\"name\": \"small\", \"input\": [6, 9, 8], \"classes\": 5, \"layers\": ["
    "{\"op\": \"conv\", \"name\": \"conv1\", \"output\": 12, \"kernel\": 3, \"stride\": [2, 1],"
    " \"pad\": [1, 2]}, {\"op\": \"relu\"},"
    "{\"op\": \"conv\", \"name\": \"conv2\", \"output\": 8, \"kernel\": [3, 2], \"pad\": [2, 0],"
    " \"dilation\": [2, 3], \"groups\": 2}, {\"op\": \"relu\"},"
    "{\"op\": \"conv\", \"name\": \"conv3\", \"output\": 14, \"kernel\": 1, \"stride\": 2,"
    " \"pad\": 1}, {\"op\": \"relu\"},"
    "{\"op\": \"linear\", \"name\": \"fc1\", \"output\": 20}, {\"op\": \"relu\"},"
    "{\"op\": \"linear\", \"name\": \"fc2\", \"output\": 5}]}";

/* Shapes that the small network lacks: a kernel of one row, a depthwise convolution, no bias, a
 * branch that reads a factorized layer twice, and a layer after which the loss comes. */
static const char odd[] =
    "{\"name\": \"odd\", \"input\": [4, 12, 10], \"classes\": 5, \"layers\": ["
    "{\"op\": \"conv\", \"name\": \"row\", \"output\": 8, \"kernel\": [1, 4], \"stride\": [2, 1],"
    " \"pad\": [1, 2], \"bias\": false}, {\"op\": \"batch_norm\", \"name\": \"norm\"},"
    "{\"op\": \"conv\", \"name\": \"column\", \"output\": 8, \"kernel\": [3, 1], \"pad\": [1, 1],"
    " \"stride\": [1, 2]},"
    "{\"op\": \"conv\", \"name\": \"depthwise\", \"output\": 16, \"kernel\": 3, \"pad\": 1,"
    " \"groups\": 8},"
    "{\"op\": \"relu\", \"name\": \"a\"},"
    "{\"op\": \"conv\", \"name\": \"b\", \"from\": \"depthwise\", \"output\": 16, \"kernel\": 3,"
    " \"pad\": 1},"
    "{\"op\": \"add\", \"from\": [\"a\", \"b\"]},"
    "{\"op\": \"conv\", \"name\": \"c\", \"output\": 5, \"kernel\": [5, 3]},"
    "{\"op\": \"average_pool\", \"global\": true}]}";

/* --- values --- */

/* Repeats draw() of make_factorization.py. */
static float drawn(uint32_t seed, uint32_t i)
{
    uint32_t h = (i + seed * 7919u) * 2654435761u;
    h = (h ^ h >> 15) * 2246822519u;
    h = (h ^ h >> 13) * 3266489917u;
    return (float)(h >> 8) / 16777216.0f - 0.5f;
}

static void draw(uint32_t seed, float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = drawn(seed, (uint32_t)i);
}

/* --- networks --- */

struct lab {
    struct network *network;
    struct weights weights;
};

static bool lab_build(struct lab *lab, const char *text, struct error *error)
{
    const struct network_request request = {.network = "test.json", .text = text};
    *lab = (struct lab){.network = network_build(&request, error)};
    if (!lab->network || !weights_create(&lab->weights, &lab->network->graph, error))
        return false;
    const struct graph *graph = &lab->network->graph;
    for (size_t p = 0; p < graph->parameter_count; p++) {
        float *values = lab->weights.values + graph->parameters[p].offset;
        draw((uint32_t)p, values, graph->parameters[p].count);
        if (strstr(graph->parameters[p].name, "running_var"))
            for (size_t i = 0; i < graph->parameters[p].count; i++)
                values[i] += 1;
    }
    return true;
}

static void lab_free(struct lab *lab)
{
    weights_free(&lab->weights);
    network_free(lab->network);
}

/* Writes the logits [IMAGES][CLASSES]. */
static bool infer(struct lab *lab, const char *device_name, float *logits, struct error *error)
{
    struct device *device = device_open(device_name, 2, error);
    const struct plan_settings settings = {.mode = PLAN_INFERENCE, .batch = IMAGES, .threads = 2};
    struct plan *plan =
        device ? plan_build(&lab->network->graph, device->driver, &settings, error) : NULL;
    struct execution *execution =
        plan ? execution_create(plan, device, &lab->weights, NULL, 0, error) : NULL;
    const size_t count = IMAGES * shape_count(lab->network->input);
    float *images = memory_new_aligned(count, sizeof *images, "images", error);
    if (execution && images) {
        const struct execution_batch batch = {.images = images, .count = IMAGES};
        draw(1000, images, count);
        execution_bind(execution, &batch);
        execution_forward(execution, 0);
        memcpy(logits, execution_output(execution), IMAGES * CLASSES * sizeof *logits);
    }
    const bool inferred = execution && images;
    execution_free(execution);
    plan_free(plan);
    device_close(device);
    free(images);
    return inferred;
}

/* Makes the network of a factorization, with its weights. */
static bool lab_factorize(struct lab *made, struct factorization *factorization,
                          struct error *error)
{
    struct json *tree = factorization_tree(factorization, error);
    char *text = tree ? json_print(tree, true, error) : NULL;
    const struct network_request request = {.network = "made.json", .text = text};
    *made = (struct lab){.network = text ? network_build(&request, error) : NULL};
    json_free(tree);
    free(text);
    return made->network && weights_create(&made->weights, &made->network->graph, error) &&
           factorization_weights(factorization, &made->weights, error);
}

/* Returns the largest difference, relative to the largest logit. */
static double distance(const float *logits, const double *expected)
{
    double difference = 0, largest = 0;
    for (size_t i = 0; i < IMAGES * CLASSES; i++) {
        difference = fmax(difference, fabs((double)logits[i] - expected[i]));
        largest = fmax(largest, fabs(expected[i]));
    }
    return difference / largest;
}

/* --- SVD --- */

static void test_svd(size_t rows, size_t columns, const double *expected)
{
    struct svd svd;
    struct error error = {0};
    double matrix[64], difference = 0, product = 0, worst = 0;
    for (size_t i = 0; i < rows * columns; i++)
        matrix[i] = (double)drawn((uint32_t)rows, (uint32_t)i);
    if (!svd_compute(&svd, matrix, rows, columns, "matrix", &error)) {
        tap_ok(false, "%zu x %zu: %s", rows, columns, error.why);
        return;
    }
    for (size_t r = 0; r < svd.rank; r++)
        difference = fmax(difference, fabs(svd.s[r] - expected[r]));
    tap_ok(difference < 1e-14, "%zu x %zu: SciPy's singular values (%.1e)", rows, columns,
           difference);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            product = 0;
            for (size_t r = 0; r < svd.rank; r++)
                product += svd.u[i * svd.rank + r] * svd.s[r] * svd.vt[r * columns + j];
            worst = fmax(
                worst, fabs(product - (double)drawn((uint32_t)rows, (uint32_t)(i * columns + j))));
        }
    tap_ok(worst < 1e-14, "  whose factors give the matrix back (%.1e)", worst);
    svd_free(&svd);
}

static void test_not_finite(void)
{
    struct svd svd;
    struct error error = {0};
    double matrix[6] = {1, 2, 3, NAN, 5, 6};
    tap_ok(!svd_compute(&svd, matrix, 2, 3, "fc1", &error) && strstr(error.why, "NaN") &&
               strcmp(error.what, "fc1") == 0,
           "a matrix with a NaN is refused: %s", error.why);
}

/* --- the error of one layer --- */

/* Makes all parts of a kernel at every rank, and compares what they lose with the tail. */
static void test_tail(const char *name, enum factor_method method,
                      const struct factor_kernel *kernel)
{
    struct factor factor;
    struct error error = {0};
    double worst = 0, bound = 0;
    if (!factor_decompose(&factor, method, kernel, name, &error)) {
        tap_ok(false, "%s: %s", name, error.why);
        return;
    }
    size_t tried = 0;
    bool good = true, falls = true;
    double before = 1;
    for (size_t step = 0; good && step <= 40; step++) {
        size_t ranks[FACTOR_MODES] = {0};
        float *parts[FACTOR_PARTS] = {NULL};
        struct factor_fit fit;
        const double loss = 1 - (double)step / 40;
        factor_choose_ranks(&factor, loss, ranks);
        for (size_t i = 0; i < FACTOR_PARTS; i++)
            if (factor_part_values(&factor, ranks, i))
                parts[i] =
                    memory_new(factor_part_values(&factor, ranks, i), sizeof(float), name, &error);
        good = factor_make(&factor, ranks, parts, &fit, &error);
        worst = fmax(worst, fabs(fit.error - fit.tail));
        bound = fmax(bound, fit.tail * fit.tail - loss);
        falls = falls && fit.tail <= before + 1e-12 &&
                fabs(1 - fit.energy - fit.tail * fit.tail) < 1e-12;
        before = fit.tail;
        tried++;
        for (size_t i = 0; i < FACTOR_PARTS; i++)
            free(parts[i]);
    }
    tap_ok(good && worst < 2e-7,
           "%s: the error is the tail of the singular values, at %zu ranks "
           "(%.1e)",
           name, tried, worst);
    tap_ok(good && bound < 1e-12 && falls,
           "  it is at most what may be lost, and falls with the rank");
    tap_ok(good && before < 1e-7, "  at full rank nothing is lost (%.1e)", before);
    factor_free(&factor);
}

static void test_tails(void)
{
    float weights[2 * 12 * 10 * 9];
    draw(77, weights, sizeof weights / sizeof *weights);
    const struct factor_kernel linear = {weights, 1, 40, 30, 1, 1},
                               wide = {weights, 1, 7, 90, 1, 1}, conv = {weights, 1, 12, 10, 3, 3},
                               grouped = {weights, 2, 12, 10, 3, 3},
                               odd_kernel = {weights, 3, 4, 5, 2, 5},
                               depthwise = {weights, 12, 2, 1, 3, 3};
    test_tail("linear", FACTOR_SVD, &linear);
    test_tail("linear with few outputs", FACTOR_SVD, &wide);
    test_tail("spatial", FACTOR_SPATIAL, &conv);
    test_tail("spatial in groups", FACTOR_SPATIAL, &grouped);
    test_tail("spatial 2 x 5 in groups", FACTOR_SPATIAL, &odd_kernel);
    test_tail("spatial depthwise", FACTOR_SPATIAL, &depthwise);
    test_tail("tucker", FACTOR_TUCKER, &conv);
    test_tail("tucker in groups", FACTOR_TUCKER, &grouped);
    test_tail("tucker 2 x 5 in groups", FACTOR_TUCKER, &odd_kernel);
}

/* Zeros have an error of 0, and a rank of 1. */
static void test_zeros(void)
{
    static const float zeros[8 * 9] = {0};
    const struct factor_kernel kernel = {zeros, 1, 2, 4, 3, 3};
    for (enum factor_method method = FACTOR_SPATIAL; method <= FACTOR_TUCKER; method++) {
        struct factor factor;
        struct factor_fit fit = {.error = 1};
        size_t ranks[FACTOR_MODES] = {0};
        float values[FACTOR_PARTS][64], *parts[FACTOR_PARTS] = {values[0], values[1], values[2]};
        const bool made = factor_decompose(&factor, method, &kernel, "zeros", NULL);
        if (made) {
            factor_choose_ranks(&factor, 0.01, ranks);
            factor_make(&factor, ranks, parts, &fit, NULL);
            factor_free(&factor);
        }
        tap_ok(made && ranks[0] == 1 && fit.error == 0 && fit.energy == 1,
               "a layer of zeros has rank 1 and no error");
    }
}

/* --- networks --- */

static void test_full_rank(const char *text, enum factor_convolutions convolutions)
{
    struct lab lab, made = {0};
    struct error error = {0};
    struct factorization f = {0};
    float before[IMAGES * CLASSES], after[IMAGES * CLASSES];
    double expected[IMAGES * CLASSES];
    const struct factorize_settings settings = {.convolutions = convolutions, .linear = true};
    bool good = lab_build(&lab, text, &error) && infer(&lab, "reference", before, &error) &&
                factorization_begin(&f, lab.network, &lab.weights, &settings, NULL, NULL, &error) &&
                factorization_choose_energy(&f, 1, &error);
    for (size_t i = 0; good && i < f.count; i++)
        if (f.layers[i].candidate)
            f.layers[i].state = FACTOR_REPLACED; /* although it is larger */
    good = good && lab_factorize(&made, &f, &error) && infer(&made, "reference", after, &error);
    for (size_t i = 0; good && i < IMAGES * CLASSES; i++)
        expected[i] = (double)before[i];
    const double difference = good ? distance(after, expected) : 1;
    tap_ok(good && difference < 2e-6, "%s at full rank computes the same (%.1e) %s",
           good ? lab.network->name : "a network", difference, error.why);
    factorization_free(&f);
    lab_free(&made);
    lab_free(&lab);
}

/* Compares the layers with the golden ones: ranks, what is replaced, and the error. */
static bool same_layers(const struct factorization *f, const struct golden_network *golden)
{
    bool same = f->count == LAYERS;
    for (size_t i = 0; same && i < LAYERS; i++) {
        const struct factorized_layer *layer = &f->layers[i];
        const struct golden_layer *expected = &golden->layers[i];
        const bool replaced = layer->state == FACTOR_REPLACED;
        same = layer->ranks[0] == expected->ranks[0] &&
               (layer->factor.modes == 1 || layer->ranks[1] == expected->ranks[1]) &&
               replaced == (expected->replaced != 0) &&
               (!replaced || (fabs(layer->fit.tail - expected->error) < 1e-6 &&
                              fabs(layer->fit.error - layer->fit.tail) < 1e-6));
        if (!same)
            tap_note("layer %zu: ranks %zu %zu, state %d, tail %.9g, error %.9g", i,
                     layer->ranks[0], layer->ranks[1], (int)layer->state, layer->fit.tail,
                     layer->fit.error);
    }
    return same;
}

static void test_golden(const struct golden_network *golden)
{
    struct lab lab, made = {0};
    struct error error = {0};
    struct factorization f = {0};
    float logits[IMAGES * CLASSES];
    const struct factorize_settings settings = {.convolutions = golden->convolutions,
                                                .linear = true};
    const bool good =
        lab_build(&lab, small, &error) &&
        factorization_begin(&f, lab.network, &lab.weights, &settings, NULL, NULL, &error) &&
        factorization_choose_energy(&f, golden->energy, &error) && lab_factorize(&made, &f, &error);
    const char *method = golden->convolutions == CONVOLUTIONS_TUCKER ? "tucker" : "spatial";
    tap_ok(good && same_layers(&f, golden), "%s, energy %g: ranks and errors as by SciPy %s",
           method, golden->energy, error.why);
    tap_ok(good && factorization_parameters(&f) == graph_parameter_count(&made.network->graph),
           "  the parameters are counted right");
    for (size_t i = 0; i < 2; i++) {
        const char *device = i == 0 ? "reference" : "cpu";
        const bool inferred = good && infer(&made, device, logits, &error);
        const double difference = inferred ? distance(logits, golden->logits) : 1;
        tap_ok(difference < 5e-6, "  PyTorch's logits on %s (%.1e)", device, difference);
    }
    factorization_free(&f);
    lab_free(&made);
    lab_free(&lab);
}

/* The same network, once more: the parts of parts have names, too. */
static void test_twice(void)
{
    struct lab lab, once = {0}, twice = {0};
    struct error error = {0};
    struct factorization f = {0}, g = {0};
    const struct factorize_settings settings = {.linear = true};
    float logits[IMAGES * CLASSES];
    const bool good =
        lab_build(&lab, small, &error) &&
        factorization_begin(&f, lab.network, &lab.weights, &settings, NULL, NULL, &error) &&
        factorization_choose_energy(&f, 0.7, &error) && lab_factorize(&once, &f, &error) &&
        factorization_begin(&g, once.network, &once.weights, &settings, NULL, NULL, &error) &&
        factorization_choose_energy(&g, 0.5, &error) && lab_factorize(&twice, &g, &error) &&
        infer(&twice, "cpu", logits, &error);
    size_t node;
    tap_ok(good && factorization_replaced(&g) > 0 &&
               graph_find(&twice.network->graph, "fc1.0.0", &node),
           "what is factorized can be factorized again %s", error.why);
    factorization_free(&f);
    factorization_free(&g);
    lab_free(&lab);
    lab_free(&once);
    lab_free(&twice);
}

/* --- a share of the parameters --- */

/* Returns what the layers lose together, as shares of their squared singular values; with tucker
 * the bound by which ranks are chosen. */
static double sum_of_losses(const struct factorization *f)
{
    double sum = 0;
    for (size_t i = 0; i < f->count; i++)
        for (size_t mode = 0;
             f->layers[i].state == FACTOR_REPLACED && mode < f->layers[i].factor.modes; mode++) {
            const struct factor_spectrum *spectrum = &f->layers[i].factor.spectra[mode];
            sum += spectrum->tails[f->layers[i].ranks[mode]] / spectrum->tails[0];
        }
    return sum;
}

/* Returns the most energy that all layers can keep with at most so many parameters, and what is
 * lost then; NAN if there is none. */
static double loss_by_energy(struct factorization *f, size_t parameters)
{
    struct error error;
    for (int step = 1000; step >= 0; step--)
        if (factorization_choose_energy(f, step / 1000.0, &error) &&
            factorization_parameters(f) <= parameters)
            return sum_of_losses(f);
    return (double)NAN;
}

static void test_share(struct factorization *f, double share)
{
    struct error error = {0};
    const double total = (double)graph_parameter_count(&f->network->graph);
    const bool chosen = factorization_choose_parameters(f, share, &error);
    const double left = (double)factorization_parameters(f) / total, price = f->price;
    const double loss = sum_of_losses(f);
    const bool least = chosen && factorization_choose_at(f, price * (1 - 1e-9), &error) &&
                       (double)factorization_parameters(f) / total > share;
    tap_ok(chosen && left <= share && least,
           "%g of the parameters: %.4f are left, and any lower price keeps too many %s", share,
           left, error.why);
    tap_ok(left > 0.9 * share, "  the share is used up");
    const double by_energy = loss_by_energy(f, (size_t)(left * total));
    tap_ok(loss <= by_energy, "  the layers lose less than with one energy: %.4f, %.4f", loss,
           by_energy);
}

static void test_shares(enum factor_convolutions convolutions)
{
    struct lab lab;
    struct error error = {0};
    struct factorization f = {0};
    const struct factorize_settings settings = {.convolutions = convolutions, .linear = true};
    if (!tap_ok(
            lab_build(&lab, small, &error) &&
                factorization_begin(&f, lab.network, &lab.weights, &settings, NULL, NULL, &error),
            "a network to be made smaller"))
        return;
    test_share(&f, 0.9);
    test_share(&f, 0.5);
    test_share(&f, 0.2);
    tap_ok(!factorization_choose_parameters(&f, 0.01, &error) && error.kind == ERROR_USAGE,
           "too small a share is refused: %s", error.why);
    factorization_free(&f);
    lab_free(&lab);
}

/* A network most of whose parameters are in a head that only training computes. */
static const char headed[] =
    "{\"name\": \"headed\", \"input\": [2, 8, 8], \"classes\": 5, \"layers\": ["
    "{\"op\": \"linear\", \"name\": \"a\", \"output\": 40}, {\"op\": \"relu\", \"name\": \"r\"},"
    "{\"op\": \"linear\", \"name\": \"head1\", \"output\": 180},"
    "{\"op\": \"linear\", \"name\": \"head2\", \"output\": 5},"
    "{\"op\": \"softmax_cross_entropy\", \"name\": \"aux\", \"weight\": 0.3},"
    "{\"op\": \"linear\", \"name\": \"b\", \"from\": \"r\", \"output\": 5}]}";

static void test_head(void)
{
    struct lab lab, made = {0};
    struct error error = {0};
    struct factorization f = {0};
    const struct factorize_settings settings = {.linear = true};
    const size_t a = 40 * 128 + 40, head1 = 180 * 40 + 180, head2 = 5 * 180 + 5, b = 5 * 40 + 5;
    const bool good =
        lab_build(&lab, headed, &error) &&
        factorization_begin(&f, lab.network, &lab.weights, &settings, NULL, NULL, &error) &&
        factorization_choose_parameters(&f, 0.5, &error) && lab_factorize(&made, &f, &error);
    tap_ok(good && f.layers[0].state == FACTOR_REPLACED && f.layers[1].state == FACTOR_TRAINING &&
               f.layers[2].state == FACTOR_TRAINING,
           "a head that only training computes stays as it is %s", error.why);
    const size_t left = good ? graph_parameter_count(&made.network->graph) - head1 - head2 : 0;
    tap_ok(2 * left <= a + b && 2 * left > a + b - 400,
           "  and does not count: %zu of %zu parameters are left", left, a + b);
    factorization_free(&f);
    lab_free(&made);
    lab_free(&lab);
}

/* --- which layers --- */

static bool stop_at_once(void *context, const char *layer, size_t done, size_t count,
                         struct error *error)
{
    (void)context;
    return error_set(error, ERROR_INTERRUPTED, layer, NULL, "%zu of %zu", done, count);
}

static void test_choice(void)
{
    struct lab lab;
    struct error error = {0};
    struct factorization f = {0};
    const struct factorize_settings some = {.linear = true, .layers = "fc*,conv1", .keep = "fc2"},
                                    nothing = {.convolutions = CONVOLUTIONS_NONE},
                                    unknown = {.linear = true, .layers = "fc3"},
                                    all = {.linear = true};
    if (!tap_ok(lab_build(&lab, small, &error), "a network to choose from"))
        return;
    const bool begun =
        factorization_begin(&f, lab.network, &lab.weights, &some, NULL, NULL, &error) &&
        factorization_choose_energy(&f, 0.1, &error);
    tap_ok(begun && f.layers[0].state == FACTOR_REPLACED &&
               f.layers[1].state == FACTOR_NOT_CHOSEN && f.layers[2].state == FACTOR_NOT_CHOSEN &&
               f.layers[3].state == FACTOR_REPLACED && f.layers[4].state == FACTOR_KEPT,
           "only the layers that are named, without those to keep");
    factorization_free(&f);
    tap_ok(!factorization_begin(&f, lab.network, &lab.weights, &nothing, NULL, NULL, &error),
           "nothing to do is refused: %s", error.why);
    tap_ok(!factorization_begin(&f, lab.network, &lab.weights, &unknown, NULL, NULL, &error),
           "so is a layer that is not there: %s", error.why);
    tap_ok(!factorization_begin(&f, lab.network, &lab.weights, &all, stop_at_once, NULL, &error) &&
               error.kind == ERROR_INTERRUPTED && strcmp(error.why, "0 of 5") == 0,
           "progress can end it");
    lab.weights.values[lab.network->graph.parameters[2].offset + 3] = INFINITY;
    tap_ok(!factorization_begin(&f, lab.network, &lab.weights, &all, NULL, NULL, &error) &&
               strcmp(error.what, "conv2") == 0,
           "weights that are infinite are refused: %s", error.why);
    lab_free(&lab);
}

TEST_CASE(factorization_test)
{
    test_svd(7, 5, singular_7x5);
    test_svd(4, 9, singular_4x9);
    test_svd(6, 6, singular_6x6);
    test_not_finite();
    test_tails();
    test_zeros();
    for (enum factor_convolutions c = CONVOLUTIONS_SPATIAL; c <= CONVOLUTIONS_TUCKER; c++) {
        test_full_rank(small, c);
        test_full_rank(odd, c);
    }
    for (size_t i = 0; i < sizeof golden_networks / sizeof *golden_networks; i++)
        test_golden(&golden_networks[i]);
    test_twice();
    test_shares(CONVOLUTIONS_SPATIAL);
    test_shares(CONVOLUTIONS_TUCKER);
    test_head();
    test_choice();
    return tap_done();
}
