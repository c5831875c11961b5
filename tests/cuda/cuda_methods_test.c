/* Methods of training on the emulated device cuda: soft targets (mixup, cutmix, class weights, with
 * and without label smoothing) give the losses and weights of the reference, also in captured
 * graphs, in smaller batches, on two GPUs, in float16, and where the loss falls back on the
 * reference kernel; so does a student beside a teacher; an average of the weights on the device has
 * the bits of one on the host. */
#include "choose_tests.h"
#include "cuda/emulated_module.h"
#include "cuda/lab.h"
#include "cuda/lacking.h"

#include "base/threads/pool.h"
#include "engine/execution/distillation.h"
#include "engine/training/soft_targets.h"
#include "engine/weights/weights_average.h"

#include <math.h>
#include <string.h>

enum { BATCH = LAB_IMAGES, CLASSES = 37, ITERATIONS = 6 };

/* More classes than a warp has lanes. */
static const char network[] =
    "{\"name\": \"wide\", \"input\": [2, 6, 6], \"classes\": 37, \"normalise\": \"unit\",\n"
    " \"layers\": [{\"op\": \"conv\", \"output\": 5, \"kernel\": 3}, {\"op\": \"batch_norm\"},\n"
    "  {\"op\": \"relu\"}, {\"op\": \"flatten\"}, {\"op\": \"linear\", \"output\": "
    "\"classes\"}]}\n";

static const struct solver_settings sgd = {SOLVER_SGD, 0.9f, 0, 0, 0.0005f, MOMENTUM_CAFFE};

struct method {
    const char *name;
    bool mixes, weighs;
    float smoothing;
};
static const struct method methods[] = {{"mixed labels", true, false, 0},
                                        {"class weights", false, true, 0},
                                        {"mixed labels and class weights", true, true, 0},
                                        {"all of them, smoothed", true, true, 0.1f},
                                        {"mixed labels, smoothed", true, false, 0.2f}};

static bool lab_open(struct lab *lab, const char *name, const char *lacks, const struct method *m,
                     enum device_precision precision)
{
    struct error error = {0};
    const struct network_request request = {.network = "wide", .text = network};
    const struct plan_settings settings = {.mode = PLAN_TRAINING,
                                           .batch = BATCH,
                                           .ranks = device_ranks(name),
                                           .threads = 1,
                                           .solver = sgd,
                                           .soft_targets = m};
    struct device *device =
        lacks ? lacking_open(name, lacks, &error) : device_open(name, 1, &error);
    const bool made = device && device_set_precision(device, precision, &error) &&
                      lab_make_on(lab, &request, device, &settings, &error);
    if (made && m)
        network_set_label_smoothing(lab->network, m->smoothing);
    return tap_ok(made, "%s opens: %s %s", name, error.what, error.why);
}

/* --- soft targets --- */

/* Trains for one iteration with targets that depend on its number only. */
static float iterate(struct lab *lab, const struct method *m, size_t iteration, size_t count)
{
    int32_t partners[BATCH];
    float shares[BATCH], weights[CLASSES];
    struct soft_target targets[BATCH];
    for (size_t i = 0; i < BATCH; i++) {
        partners[i] = (int32_t)((5 * i + iteration) % CLASSES);
        shares[i] = (float)((i + iteration) % 5) / 4;
    }
    for (size_t c = 0; c < CLASSES; c++)
        weights[c] = 0.25f + (float)(c % 7) / 2;
    soft_targets_fill(targets, lab->labels, m->mixes ? partners : NULL, m->mixes ? shares : NULL,
                      m->weighs ? weights : NULL, count);
    const struct execution_batch batch = {.images = lab->images,
                                          .labels = lab->labels,
                                          .soft_targets = targets,
                                          .class_weights = m->weighs ? weights : NULL,
                                          .count = count};
    execution_bind(lab->execution, &batch);
    return execution_iterate(lab->execution, iteration, 0.05f);
}

/* Trains on a device and on the reference. */
static void compare(const char *name, const char *lacks, const struct method *m,
                    enum device_precision precision, double tolerance)
{
    struct lab gpu = {0}, plain = {0};
    double worst = 0;
    if (!lab_open(&gpu, name, lacks, m, precision) ||
        !lab_open(&plain, "reference", NULL, m, PRECISION_FLOAT32))
        return;
    for (size_t i = 0; i < ITERATIONS; i++) {
        const size_t count = i == 4 ? BATCH / 2 : BATCH;
        const double wanted = (double)iterate(&plain, m, i, count);
        worst = fmax(worst, fabs((double)iterate(&gpu, m, i, count) - wanted) / fabs(wanted));
    }
    const bool fetched = execution_fetch(gpu.execution, NULL);
    const double apart = distance(gpu.weights.values, plain.weights.values, floats_of(&gpu));
    tap_ok(is_well(&gpu) && fetched && worst < tolerance && apart < 10 * tolerance,
           "%s on %s%s%s: losses %.1e and weights %.1e from the reference", m->name, name,
           lacks ? " without " : "", lacks ? lacks : "", worst, apart);
    lab_close(&gpu);
    lab_close(&plain);
}

static void test_targets(void)
{
    const size_t graphs = emulator_graphs_run();
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        compare("cuda", NULL, &methods[i], PRECISION_FLOAT32, 1e-5);
    tap_ok(emulator_graphs_run() > graphs, "captured graphs were replayed");
}

/* The targets are divided by their sum over the whole batch, of which each GPU has a part. */
static void test_ranks(void)
{
    compare("cuda:0,1", NULL, &methods[3], PRECISION_FLOAT32, 1e-5);
}

static void test_float16(void)
{
    compare("cuda", NULL, &methods[3], PRECISION_FP16, 2e-2);
}

static void test_fallback(void)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        compare("cuda", "softmax_cross_entropy", &methods[i], PRECISION_FLOAT32, 1e-5);
}

/* --- the average of the weights --- */

/* Averages on the device what it trains, and on the host what is fetched from it. */
static void test_average(double decay)
{
    struct lab lab = {0};
    struct weights here = {0}, there = {0};
    struct error error = {0};
    if (!lab_open(&lab, "cuda", NULL, NULL, PRECISION_FLOAT32) ||
        !tap_ok(weights_create(&here, lab.weights.graph, &error) &&
                    weights_create(&there, lab.weights.graph, &error) &&
                    weights_on_device(&there, lab.device, &error),
                "the averages are allocated"))
        return;
    struct pool *pool = pool_create(1, &error);
    bool fetched = pool;
    for (size_t i = 0; fetched && i < ITERATIONS; i++) {
        lab_iterate(&lab, i, BATCH);
        fetched = execution_fetch(lab.execution, &error);
        struct weights copy = {.graph = lab.weights.graph, .values = lab.weights.values};
        if (i == 0) {
            weights_average_begin(&there, &lab.weights);
            weights_average_begin(&here, &copy);
        } else {
            weights_average_update(&there, &lab.weights, decay, NULL);
            weights_average_update(&here, &copy, decay, pool);
        }
    }
    fetched = fetched && weights_fetch(&there, &error);
    tap_ok(fetched && memcmp(here.values, there.values, floats_of(&lab) * sizeof(float)) == 0,
           "an average with decay %g: the bits of one on the host", decay);
    tap_ok(memcmp(there.values, lab.weights.values,
                  lab.weights.graph->learnable_floats * sizeof(float)) != 0,
           "  which are not those of the weights");
    pool_free(pool);
    weights_free(&there);
    weights_free(&here);
    lab_close(&lab);
}

static void test_averages(void)
{
    test_average(0.9);
    test_average(0.4); /* torch.lerp has another formula for it */
}

/* --- a teacher --- */

struct lesson {
    struct lab lab; /* its plan is NULL: `plan` has the student's */
    struct network *teacher;
    struct distillation_plan plan;
    struct weights teacher_weights;
    struct execution *teaching;
};

static void lesson_close(struct lesson *lesson)
{
    execution_free(lesson->teaching);
    weights_free(&lesson->teacher_weights);
    execution_free(lesson->lab.execution);
    lesson->lab.execution = NULL;
    distillation_plan_free(&lesson->plan);
    lab_close(&lesson->lab);
    network_free(lesson->teacher);
}

static bool lesson_make(struct lesson *lesson, const char *name, const char *lacks,
                        enum device_precision precision, struct error *error)
{
    const struct network_request request = {.network = "wide", .text = network};
    struct lab *lab = &lesson->lab;
    lab->device = lacks ? lacking_open(name, lacks, error) : device_open(name, 1, error);
    lab->network = network_build(&request, error);
    lesson->teacher = network_build(&request, error);
    if (!lab->device || !lab->network || !lesson->teacher ||
        !device_set_precision(lab->device, precision, error))
        return false;
    const struct distillation_settings distillation = {&lesson->teacher->graph, 3, 0.7f};
    const struct plan_settings settings = {.mode = PLAN_TRAINING,
                                           .batch = BATCH,
                                           .ranks = device_ranks(name),
                                           .threads = 1,
                                           .solver = sgd,
                                           .device = lab->device,
                                           .distillation = &distillation};
    if (!distillation_plan_build(&lesson->plan, &lab->network->graph, lab->device->driver,
                                 &settings, error) ||
        !weights_create(&lab->weights, &lab->network->graph, error) ||
        !weights_create(&lesson->teacher_weights, &lesson->teacher->graph, error))
        return false;
    weights_initialise(&lab->weights, 11, NULL);
    weights_initialise(&lesson->teacher_weights, 12, NULL);
    lab->execution =
        execution_create(lesson->plan.student, lab->device, &lab->weights, &sgd, 11, error);
    lesson->teaching = execution_create(lesson->plan.teacher, lab->device, &lesson->teacher_weights,
                                        NULL, 11, error);
    return lab->execution && lesson->teaching && lab_make_batch(lab, BATCH, error);
}

static float lesson_iterate(struct lesson *lesson, size_t iteration, size_t count)
{
    const struct execution_batch batch = {
        .images = lesson->lab.images, .labels = lesson->lab.labels, .count = count};
    distillation_bind(lesson->lab.execution, lesson->teaching, NULL, &batch, iteration);
    return execution_iterate(lesson->lab.execution, iteration, 0.05f);
}

/* Trains beside a teacher on the device and on the reference. */
static void compare_lessons(const char *lacks, enum device_precision precision, double tolerance)
{
    struct error error = {0};
    struct lesson gpu = {0}, plain = {0};
    double worst = 0;
    const bool made = lesson_make(&gpu, "cuda", lacks, precision, &error) &&
                      lesson_make(&plain, "reference", NULL, PRECISION_FLOAT32, &error);
    for (size_t i = 0; made && i < ITERATIONS; i++) {
        const size_t count = i == 4 ? BATCH / 2 : BATCH;
        const double wanted = (double)lesson_iterate(&plain, i, count);
        worst = fmax(worst, fabs((double)lesson_iterate(&gpu, i, count) - wanted) / wanted);
        const struct distillation_losses a = distillation_losses(gpu.lab.execution),
                                         b = distillation_losses(plain.lab.execution);
        worst = fmax(worst, fabs((double)a.labels - (double)b.labels) / (double)b.labels);
        worst = fmax(worst, fabs((double)a.teacher - (double)b.teacher) / (double)b.teacher);
    }
    const bool fetched = made && execution_fetch(gpu.lab.execution, NULL);
    const double apart =
        fetched ? distance(gpu.lab.weights.values, plain.lab.weights.values, floats_of(&gpu.lab))
                : INFINITY;
    tap_ok(fetched && is_well(&gpu.lab) && worst < tolerance && apart < 10 * tolerance,
           "a teacher%s%s: losses %.1e and weights %.1e from the reference %s",
           lacks ? " without " : "", lacks ? lacks : "", worst, apart, error.why);
    lesson_close(&gpu);
    lesson_close(&plain);
}

static void test_teacher(void)
{
    struct error error = {0};
    struct lesson two = {0};
    const size_t graphs = emulator_graphs_run();
    compare_lessons(NULL, PRECISION_FLOAT32, 1e-5);
    tap_ok(emulator_graphs_run() > graphs, "captured graphs were replayed");
    compare_lessons(NULL, PRECISION_FP16, 2e-2);
    compare_lessons("distillation", PRECISION_FLOAT32, 1e-5);
    tap_ok(!lesson_make(&two, "cuda:0,1", NULL, PRECISION_FLOAT32, &error) &&
               error.kind == ERROR_UNSUPPORTED,
           "two GPUs refuse a teacher: %s", error.why);
    lesson_close(&two);
}

static void begin(void)
{
    cuda_use_module(tinca_cuda_module());
    emulator_set_gpus(2);
}

static const struct named_test tests[] = {
    {"targets", test_targets},   {"ranks", test_ranks},       {"float16", test_float16},
    {"fallback", test_fallback}, {"averages", test_averages}, {"teacher", test_teacher},
};

TEST_CASE(cuda_methods_test)
{
    return tests_main(tests, sizeof tests / sizeof *tests, argc, argv, begin);
}
