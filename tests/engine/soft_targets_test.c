/* softmax_cross_entropy with soft targets: every kernel against the formula of soft_target.h in
 * double precision, of which the gradient is the slope. */
#include "instruction_sets.h"
#include "tap.h"

#include "base/random.h"
#include "base/threads/pool.h"
#include "engine/ops/op.h"
#include "engine/training/soft_targets.h"

#include <math.h>
#include <string.h>

enum { IMAGES = 5, MOST = 67 };

static struct pool *pool;

/* A batch, its targets, and what a kernel makes of them. */
static struct {
    size_t classes;
    float smoothing;
    bool mixes, weighs, accumulates;
    float logits[IMAGES * MOST], weights[MOST], shares[IMAGES];
    int32_t labels[IMAGES], partners[IMAGES];
    struct soft_target targets[IMAGES];
    float losses[IMAGES], gradient[IMAGES * MOST];
} batch;

static void draw(size_t classes, unsigned variant)
{
    struct random_stream draws = random_stream_at(11, RANDOM_TEST, (uint32_t)classes, variant << 8);
    memset(&batch, 0, sizeof batch);
    batch.classes = classes;
    batch.smoothing = variant & 1 ? 0.2f : 0;
    batch.mixes = variant & 2;
    batch.weighs = variant & 4;
    batch.accumulates = variant & 8;
    for (size_t i = 0; i < IMAGES * classes; i++)
        batch.logits[i] = random_next_between(&draws, -4, 4);
    for (size_t c = 0; c < classes; c++)
        batch.weights[c] = random_next_between(&draws, 0.1f, 3);
    for (size_t n = 0; n < IMAGES; n++) {
        batch.labels[n] = (int32_t)random_next_below(&draws, (uint32_t)classes);
        batch.partners[n] = (int32_t)random_next_below(&draws, (uint32_t)classes);
        batch.shares[n] = random_next_unit(&draws);
    }
    soft_targets_fill(batch.targets, batch.labels, batch.mixes ? batch.partners : NULL,
                      batch.mixes ? batch.shares : NULL, batch.weighs ? batch.weights : NULL,
                      IMAGES);
}

static double weight_of(size_t c)
{
    return batch.weighs ? (double)batch.weights[c] : 1;
}

/* Returns the sum of W_i over the batch. */
static double total_weight(void)
{
    double total = 0;
    for (size_t n = 0; n < IMAGES; n++) {
        const double share = batch.mixes ? (double)batch.shares[n] : 1;
        const size_t other = (size_t)(batch.mixes ? batch.partners[n] : batch.labels[n]);
        total += share * weight_of((size_t)batch.labels[n]) + (1 - share) * weight_of(other);
    }
    return total;
}

/* Returns the loss of image n, of which logit `moved` is larger by `step`. */
static double formula(size_t n, size_t moved, double step)
{
    const double smoothing = (double)batch.smoothing, classes = (double)batch.classes;
    const double share = batch.mixes ? (double)batch.shares[n] : 1;
    double sum = 0, hard = 0, smooth = 0;
    for (size_t c = 0; c < batch.classes; c++)
        sum += exp((double)batch.logits[n * batch.classes + c] + (c == moved ? step : 0));
    for (size_t c = 0; c < batch.classes; c++) {
        const double x = (double)batch.logits[n * batch.classes + c] + (c == moved ? step : 0);
        const double loss = weight_of(c) * (log(sum) - x);
        smooth += loss / classes;
        hard += c == (size_t)batch.labels[n] ? share * loss : 0;
        hard += batch.mixes && c == (size_t)batch.partners[n] ? (1 - share) * loss : 0;
    }
    return IMAGES * ((1 - smoothing) * hard + smoothing * smooth) / total_weight();
}

static void run(const struct kernel *kernel)
{
    const struct node node = {.op = &op_softmax_cross_entropy,
                              .attributes.loss = {.weight = 0.5f, .smoothing = batch.smoothing}};
    const struct kernel_site site = {.node = &node,
                                     .inputs = {{batch.classes, 1, 1}},
                                     .batch = IMAGES,
                                     .image_blocks = 1,
                                     .training = true,
                                     .threads = 1};
    struct kernel_call call = {.site = &site,
                               .inputs = {batch.logits},
                               .output = batch.losses,
                               .labels = batch.labels,
                               .soft_targets = batch.targets,
                               .class_weights = batch.weighs ? batch.weights : NULL,
                               .pool = pool};
    kernel->forward(&call);
    call.input_gradients[0] = batch.gradient;
    call.accumulate[0] = batch.accumulates;
    for (size_t i = 0; i < IMAGES * batch.classes; i++)
        batch.gradient[i] = batch.accumulates ? 1 : NAN;
    kernel->backward(&call);
}

/* Returns the largest difference from the formula, relative to values of 1. */
static double worst_of(const struct kernel *kernel)
{
    double worst = 0;
    run(kernel);
    for (size_t n = 0; n < IMAGES; n++) {
        const double loss = formula(n, MOST, 0), off = fabs((double)batch.losses[n] - loss);
        worst = off / fmax(1, loss) <= worst ? worst : off / fmax(1, loss);
        for (size_t c = 0; c < batch.classes; c++) {
            /* the loss's weight is 0.5, and the mean is over the images */
            const double slope = (formula(n, c, 1e-5) - formula(n, c, -1e-5)) / 2e-5;
            const double expected = 0.5 * slope / IMAGES + (batch.accumulates ? 1 : 0);
            const double wrong = fabs((double)batch.gradient[n * batch.classes + c] - expected);
            worst = wrong <= worst ? worst : wrong;
        }
    }
    return worst;
}

static void test_kernel(const struct kernel *kernel)
{
    double worst = 0;
    for (size_t classes = 1; classes <= MOST; classes++)
        for (unsigned variant = 0; variant < 16; variant++) {
            draw(classes, variant);
            const double off = worst_of(kernel);
            worst = off <= worst ? worst : off;
        }
    tap_ok(worst < 2e-6, "%s, %s: losses and gradients are those of the formula (%.2g)",
           kernel->name, kernel->instruction_set, worst);
}

TEST_CASE(soft_targets_test)
{
    pool = pool_create(1, NULL);
    test_kernel(op_softmax_cross_entropy.reference);
    for (int set = 0; set < INSTRUCTION_SETS; set++)
        if (instruction_set_force((enum instruction_set)set)) {
            const struct cpu_table *table = cpu_table_for((enum instruction_set)set);
            for (const struct kernel *const *k = table->kernels; *k; k++)
                if ((*k)->op == &op_softmax_cross_entropy)
                    test_kernel(*k);
        }
    instruction_set_release();
    pool_free(pool);
    return tap_done();
}
