/* The network perceptron with plain SGD, rate 1 and one image at a time is the perceptron rule: its
 * weights equal those of a loop in numpy (make_perceptron.py) bit for bit, on every device and for
 * any number of threads. On separable points it ends without mistakes, after no more of them than
 * the convergence theorem (Novikoff 1962) allows. Also the values of the loss at ties and NaN. */
#include "engine/execution/execution.h"
#include "engine/network/network.h"
#include "engine/ops/op.h"
#include "engine/perceptron_golden.h"
#include "op_harness.h"
#include "tap.h"

#include <math.h>
#include <string.h>

static const struct solver_settings solver = {SOLVER_SGD, 0, 0, 0, 0, MOMENTUM_CAFFE};

struct trainer {
    struct network *network;
    struct device *device;
    struct plan *plan;
    struct weights weights;
    struct execution *execution;
};

static void trainer_close(struct trainer *trainer)
{
    execution_free(trainer->execution);
    weights_free(&trainer->weights);
    plan_free(trainer->plan);
    device_close(trainer->device);
    network_free(trainer->network);
}

static bool trainer_open(struct trainer *trainer, const char *device, size_t threads,
                         struct error *error)
{
    const struct network_request request = {
        .network = "perceptron", .classes = CLASSES, .input_height = 1, .input_width = FEATURES};
    const struct plan_settings settings = {
        .mode = PLAN_TRAINING, .batch = 1, .threads = threads, .solver = solver, .with_loss = true};
    *trainer = (struct trainer){.network = network_build(&request, error),
                                .device = device_open(device, threads, error)};
    if (!trainer->network || !trainer->device)
        return false;
    trainer->plan = plan_build(&trainer->network->graph, trainer->device->driver, &settings, error);
    if (!trainer->plan || !weights_create(&trainer->weights, &trainer->network->graph, error))
        return false;
    weights_initialise(&trainer->weights, 1, trainer->device->pool);
    trainer->execution =
        execution_create(trainer->plan, trainer->device, &trainer->weights, &solver, 1, error);
    return trainer->execution;
}

/* Trains on each point once. Returns how many answers were wrong: those that changed the weights.
 */
static int train_epoch(struct trainer *trainer, const float (*points)[FEATURES],
                       const int32_t *labels)
{
    int mistakes = 0;
    for (size_t i = 0; i < POINTS; i++) {
        float before[(FEATURES + 1) * CLASSES * 4];
        const size_t bytes = trainer->network->graph.total_floats * sizeof(float);
        if (bytes > sizeof before)
            return -1;
        memcpy(before, trainer->weights.values, bytes);
        execution_bind(
            trainer->execution,
            &(struct execution_batch){.images = points[i], .labels = &labels[i], .count = 1});
        const float loss = execution_iterate(trainer->execution, i, 1);
        const bool changed = memcmp(before, trainer->weights.values, bytes) != 0;
        if (!(loss >= 0) || (loss > 0 && !changed))
            return -1;
        mistakes += changed;
    }
    return mistakes;
}

/* Returns whether the weights and biases are those of numpy. */
static bool weights_are(const struct trainer *trainer, const float (*wanted)[FEATURES + 1])
{
    const struct graph *graph = &trainer->network->graph;
    const float *weight = trainer->weights.values + graph->parameters[0].offset;
    const float *bias = trainer->weights.values + graph->parameters[1].offset;
    for (size_t c = 0; c < CLASSES; c++) {
        for (size_t f = 0; f < FEATURES; f++)
            if (weight[c * FEATURES + f] != wanted[c][f])
                return false;
        if (bias[c] != wanted[c][FEATURES])
            return false;
    }
    return true;
}

static void test_rule(const char *device, size_t threads)
{
    struct error error = {0};
    struct trainer trainer;
    bool same = true;
    const bool opened = trainer_open(&trainer, device, threads, &error);
    for (size_t epoch = 0; opened && epoch < EPOCHS; epoch++)
        same = same && train_epoch(&trainer, noisy_points, noisy_labels) == noisy_mistakes[epoch];
    tap_ok(opened && same, "%s, %zu threads: the mistakes of each epoch are those of the rule %s",
           device, threads, error.why);
    tap_ok(opened && weights_are(&trainer, noisy_weights),
           "  and the weights after %d epochs equal numpy's", EPOCHS);
    trainer_close(&trainer);
}

/* Returns the bound of the theorem for the teacher's weights: with margin g of its scores, norm T
 * of all its weights and R of the longest input, each mistake adds at least g to the product of
 * both weights and at most 2 R^2 to the square of the learner's norm. */
static double most_mistakes(void)
{
    double norm = 0, longest = 0, margin = INFINITY;
    for (size_t c = 0; c < CLASSES; c++)
        for (size_t f = 0; f <= FEATURES; f++)
            norm += (double)teacher[c][f] * (double)teacher[c][f];
    for (size_t i = 0; i < POINTS; i++) {
        double scores[CLASSES], length = 1; /* the bias */
        for (size_t f = 0; f < FEATURES; f++)
            length += (double)separable_points[i][f] * (double)separable_points[i][f];
        for (size_t c = 0; c < CLASSES; c++) {
            scores[c] = (double)teacher[c][FEATURES];
            for (size_t f = 0; f < FEATURES; f++)
                scores[c] += (double)teacher[c][f] * (double)separable_points[i][f];
        }
        for (size_t c = 0; c < CLASSES; c++)
            if (c != (size_t)separable_labels[i])
                margin = fmin(margin, scores[separable_labels[i]] - scores[c]);
        longest = fmax(longest, length);
    }
    return margin > 0 ? 2 * longest * norm / (margin * margin) : -1;
}

static void test_convergence(const char *device)
{
    const size_t epochs = sizeof separable_mistakes / sizeof *separable_mistakes;
    const double bound = most_mistakes();
    struct error error = {0};
    struct trainer trainer;
    bool same = true;
    int mistakes = 0, last = -1;
    const bool opened = trainer_open(&trainer, device, 1, &error);
    for (size_t epoch = 0; opened && epoch < epochs; epoch++) {
        last = train_epoch(&trainer, separable_points, separable_labels);
        same = same && last == separable_mistakes[epoch];
        mistakes += last;
    }
    tap_ok(opened && same && last == 0,
           "%s: separable points are learned in %zu epochs, as by numpy %s", device, epochs,
           error.why);
    tap_ok(mistakes > 0 && mistakes <= bound,
           "  after %d mistakes, of at most %.0f by the convergence theorem", mistakes, bound);
    tap_ok(opened && weights_are(&trainer, separable_weights), "  with numpy's weights");
    trainer_close(&trainer);
}

/* --- the loss --- */

enum { LOGITS = 3 };

static bool gives(const float x[LOGITS], int32_t label, float loss, const float gradient[LOGITS])
{
    const struct op_case op_case = {.name = "perceptron",
                                    .op = &op_perceptron,
                                    .attributes.loss = {.weight = 1},
                                    .inputs = {{LOGITS, 1, 1}},
                                    .input_count = 1,
                                    .batch = 1};
    struct op_harness *h = op_harness_create(&op_case, 1, NULL);
    if (!h)
        return false;
    memcpy(h->inputs[0], x, LOGITS * sizeof *x);
    h->labels[0] = label;
    bool good = op_harness_run(h, op_perceptron.reference, 0, NULL, NULL) &&
                (h->output[0] == loss || (isnan(loss) && isnan(h->output[0])));
    for (size_t c = 0; good && c < LOGITS; c++)
        good = h->input_gradients[0][c] == gradient[c] ||
               (isnan(gradient[c]) && isnan(h->input_gradients[0][c]));
    op_harness_free(h);
    return good;
}

static void test_values(void)
{
    const float nothing[LOGITS] = {0}, nan[LOGITS] = {NAN, NAN, NAN};
    tap_ok(gives((float[]){1, 4, -2}, 1, 0, nothing), "a right answer: no loss, no gradient");
    tap_ok(gives((float[]){1, 4, -2}, 2, 6, (float[]){0, 1, -1}),
           "a wrong answer: the distance of both logits, and a step for each");
    tap_ok(gives((float[]){5, 5, 0}, 0, 0, nothing), "the first of a tie is the answer");
    tap_ok(gives((float[]){5, 5, 0}, 1, 0, (float[]){1, -1, 0}), "which is wrong for the second");
    tap_ok(gives((float[]){-0.0f, 0, 0}, 2, 0, (float[]){1, 0, -1}), "minus zero ties with zero");
    tap_ok(gives((float[]){0, 1, NAN}, 1, NAN, nan), "NaN is not hidden by larger logits");
    tap_ok(gives((float[]){3e38f, 0, -3e38f}, 0, 0, nothing), "large logits do not overflow");
}

TEST_CASE(perceptron_test)
{
    test_values();
    test_rule("reference", 1);
    test_rule("cpu", 1);
    test_rule("cpu", 3);
    test_convergence("reference");
    test_convergence("cpu");
    return tap_done();
}
