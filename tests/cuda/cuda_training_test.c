/* Trains networks on a real GPU: as on the cpu, in every precision, recorded as CUDA graphs, with
 * fused epilogues, with and without cuDNN, within a memory limit, adversarially, and on several
 * GPUs. Every test is skipped, with the reason, where there is no GPU. Compiled with -DEMULATED it
 * uses the emulated module and a small network, so that the test itself is tested on every machine.
 * `--list` prints the names of the tests; arguments are the names, or patterns, of those to run.
 * After two minutes no further test begins (budget.h).
 */
#include "choose_tests.h"
#ifdef EMULATED
#include "sample.h"
#endif
#include "cuda/budget.h"
#include "cuda/lab.h"

#include "base/host/host.h"
#include "engine/devices/device_backend.h"
#include "engine/execution/gan.h"
#include "engine/ops/op.h"

#ifdef EMULATED
#include "cuda/emulated_device.h"
#include "cuda/emulated_module.h"
#endif

enum { BATCH = 8 };

static const char mixed[] =
    "{\"name\": \"mixed\", \"input\": [3, 12, 12], \"classes\": 10, \"normalise\": \"unit\",\n"
    " \"layers\": [{\"op\": \"conv\", \"output\": 40, \"kernel\": 3, \"pad\": 1},\n"
    "  {\"op\": \"batch_norm\"}, {\"op\": \"relu\"},\n"
    "  {\"op\": \"max_pool\", \"kernel\": 2, \"stride\": 2},\n"
    "  {\"op\": \"conv\", \"output\": 40, \"kernel\": 3, \"pad\": 1, \"groups\": 40},\n"
    "  {\"op\": \"conv\", \"output\": 48, \"kernel\": 1}, {\"op\": \"relu\"},\n"
    "  {\"op\": \"flatten\"}, {\"op\": \"dropout\", \"rate\": 0.3},\n"
    "  {\"op\": \"linear\", \"output\": \"classes\"}]}\n";

/* Its 1x1 convolutions have more tiles of 128 x 128 than a GPU has multiprocessors (132): 64 images
 * of 16 x 16 are 128 x 2 of them. */
static const char wide[] =
    "{\"name\": \"wide\", \"input\": [3, 16, 16], \"classes\": 10, \"normalise\": \"unit\",\n"
    " \"layers\": [{\"op\": \"conv\", \"output\": 136, \"kernel\": 3, \"pad\": 1},\n"
    "  {\"op\": \"conv\", \"output\": 132, \"kernel\": 1}, {\"op\": \"relu\"},\n"
    "  {\"op\": \"conv\", \"output\": 136, \"kernel\": 1},\n"
    "  {\"op\": \"average_pool\", \"global\": true},\n"
    "  {\"op\": \"linear\", \"output\": \"classes\"}]}\n";
#ifdef EMULATED
enum { WIDE_BATCH = 1 };
#else
enum { WIDE_BATCH = 64 };
#endif

static const char painter[] =
    "{\"name\": \"painter\", \"input\": [3, 16, 16], \"normalise\": \"signed\", \"loss\": "
    "\"l1_loss\",\n"
    " \"layers\": [{\"block\": \"unet\", \"name\": \"unet\", \"width\": 8, \"widest\": 16,\n"
    "   \"steps\": 3, \"dropout_steps\": 1}, {\"op\": \"tanh\", \"name\": \"tanh\"}],\n"
    " \"discriminator\": {\"layers\": [\n"
    "  {\"op\": \"conv\", \"output\": 8, \"kernel\": 4, \"stride\": 2, \"pad\": 1},\n"
    "  {\"op\": \"leaky_relu\", \"slope\": 0.2},\n"
    "  {\"op\": \"conv\", \"output\": 1, \"kernel\": 4, \"stride\": 2, \"pad\": 1}]}}\n";

/* The network of most tests. */
#ifdef EMULATED
static const char usual[] = "mixed";
#else
static const char usual[] = "resnet20";
#endif

/* Returns whether something is tried in a precision: on an emulated GPU in every second one. */
static bool is_tried(int precision)
{
#ifdef EMULATED
    return sample_has((size_t)precision, 2, 2);
#else
    (void)precision;
    return true;
#endif
}

static const struct solver_settings sgd = {SOLVER_SGD, 0.9f, 0, 0, 0.0005f, MOMENTUM_CAFFE};

/* --- networks at work --- */

struct try_settings {
    const char *network, *device;
    size_t batch; /* 0: BATCH */
    enum device_precision precision;
    uint64_t memory_limit;
    bool separate;        /* no fused epilogues */
    bool without_library; /* the plan does not know the device, so cuDNN is not used */
    const struct device_autotune *autotune; /* NULL: nothing is measured */
};

static const struct device_driver *gpu_driver;

/* Lists the kernels of the GPU without the trait that lets the plan fuse epilogues. */
static size_t list_separate(const struct op *op, const struct kernel **list, size_t capacity)
{
    enum { MOST = 32 };
    static struct kernel separate[MOST];
    static const struct kernel *of[MOST];
    const unsigned fuses = KERNEL_FUSES_EPILOGUE | KERNEL_FUSES_ACTIVATION;
    const size_t count = gpu_driver->kernels(op, list, capacity);
    for (size_t i = 0; i < count && i < capacity; i++) {
        size_t place = 0;
        if (!(list[i]->traits & fuses))
            continue;
        while (place < MOST - 1 && of[place] && of[place] != list[i])
            place++;
        of[place] = list[i];
        separate[place] = *list[i];
        separate[place].traits &= ~fuses;
        list[i] = &separate[place];
    }
    return count;
}

static bool plan_lab(struct lab *lab, const struct try_settings *try, struct error *error)
{
    static struct device_driver separate;
    const struct device_driver *driver = lab->device->driver;
    const struct plan_settings settings = {.mode = PLAN_TRAINING,
                                           .batch = try->batch ? try->batch : BATCH,
                                           .threads = lab->device->threads,
                                           .ranks = lab->device->other_count + 1,
                                           .solver = sgd,
                                           .memory_limit = try->memory_limit,
                                           .device = try->without_library ? NULL : lab->device};
    if (try->separate) {
        gpu_driver = driver;
        separate = *driver;
        separate.kernels = list_separate;
        driver = &separate;
    }
    lab->plan = plan_build(&lab->network->graph, driver, &settings, error);
    if (!lab->plan || !weights_create(&lab->weights, &lab->network->graph, error))
        return false;
    weights_initialise(&lab->weights, 11, NULL);
    lab->execution = execution_create(lab->plan, lab->device, &lab->weights, &sgd, 11, error);
    return lab->execution && lab_make_batch(lab, settings.batch, error);
}

static bool lab_try(struct lab *lab, const struct try_settings *try)
{
    struct error error = {0};
    const struct network_request request = {.network = try->network,
                                            .text = strcmp(try->network, "mixed") == 0  ? mixed
                                                    : strcmp(try->network, "wide") == 0 ? wide
                                                                                        : NULL};
    *lab = (struct lab){
        .device = device_open(try->device ? try->device : "cuda", try->device ? 0 : 1, &error)};
    if (lab->device && try->autotune)
        device_use_autotune(lab->device, try->autotune);
    if (lab->device && device_set_precision(lab->device, try->precision, &error))
        lab->network = network_build(&request, &error);
    if (lab->network && plan_lab(lab, try, &error))
        return true;
    tap_ok(false, "%s: %s: %s", try->network, error.what, error.why);
    lab_close(lab);
    return false;
}

/* Trains both; returns how far apart the losses are, relative to those of `wanted`. */
static double apart(struct lab *got, struct lab *wanted, size_t iterations)
{
    double worst = 0;
    for (size_t i = 0; i < iterations; i++) {
        const double right =
            (double)lab_iterate(wanted, i, wanted->plan->batch * wanted->plan->ranks);
        const double loss = (double)lab_iterate(got, i, got->plan->batch * got->plan->ranks);
        worst = isfinite(loss) ? fmax(worst, fabs(loss - right) / fabs(right)) : INFINITY;
    }
    return is_well(got) ? worst : INFINITY;
}

static double try_apart(const struct try_settings *got, const struct try_settings *wanted,
                        size_t iterations, bool *same)
{
    struct lab first, second;
    if (!lab_try(&first, got))
        return INFINITY;
    if (!lab_try(&second, wanted)) {
        lab_close(&first);
        return INFINITY;
    }
    const double worst = apart(&first, &second, iterations);
    *same = worst == 0 && same_weights(&first, &second);
    lab_close(&first);
    lab_close(&second);
    return worst;
}

/* --- comparing gradients, then losses --- */

/* How far a gradient may be off, and how fast the network learns while ten losses are compared.
 *
 * Two instruction sets of the cpu (avx2 and generic, batch 8 or 4), which only add in another
 * order, differ by this much in the first gradient of one parameter (relative L2 distance), and in
 * ten losses at the rate that is used here:
 *
 *     lenet, mlp, alexnet, resnet20 and its variants     3e-6     1e-5
 *     googlenet                                          3e-3     1e-7
 *     vgg19, squeezenet                                  8e-3     4e-5
 *     mobilenet                                          2e-2     5e-5
 *
 * Where an activation is within rounding of 0, relu is on in one of them and off in the other, and
 * one such kink among 100,000 values changes a gradient by about 1/sqrt(100,000) = 3e-3; a largest
 * value of a max pool that has an equal is another kink. The lower networks have many, and batch
 * norm over 8 images of one pixel magnifies what follows. So `steady` allows one or two kinks, and
 * catches a kernel that is wrong by 1 %; `few_kinks`, for networks in which an H200 was 1e-2 from
 * the cpu, catches 2 %, and the others 5 %. Where kinks are many, steps of 0.001 let the losses go
 * apart by themselves (vgg19: 0.2 in ten iterations); their rates let the loss change by about 5 %,
 * of which a gradient that is off by 2 % is 1e-3.
 * Parameters with less than FLOOR of the whole gradient's norm are compared with that: biases in
 * front of a batch norm have a gradient of 0, and only rounding is left of it. */
struct tolerance {
    double gradient;
    float rate;
};
static const struct tolerance steady = {5e-3, 1e-3f};
#ifndef EMULATED
static const struct tolerance few_kinks = {2e-2, 5e-4f};
static const struct tolerance googlenet = {5e-2, 1e-4f}, squeezenet = {5e-2, 2e-6f},
                              mobilenet = {5e-2, 2e-7f}, vgg19 = {5e-2, 5e-8f};
#endif
#define FLOOR      1e-3
#define LOSS_APART 2e-3
enum { COMPARED = 10 }; /* iterations */

static double norm_of(const float *values, const float *without, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const double value = (double)values[i] - (without ? (double)without[i] : 0);
        sum += value * value;
    }
    return sqrt(sum);
}

/* Returns the largest relative distance of a parameter's gradient, and names the parameter. */
static double gradients_apart(const struct graph *graph, const float *got, const float *wanted,
                              const char **where)
{
    const double least = FLOOR * norm_of(wanted, NULL, graph->learnable_floats);
    double worst = 0;
    *where = "";
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        if (!parameter->learnable)
            continue;
        const float *a = got + parameter->offset, *b = wanted + parameter->offset;
        const double distance =
            norm_of(a, b, parameter->count) / fmax(norm_of(b, NULL, parameter->count), least);
        if (distance <= worst)
            continue;
        worst = distance;
        *where = parameter->name;
    }
    return worst;
}

/* Runs the passes of the first iteration, and leaves the gradients. */
static const float *first_gradients(struct lab *lab)
{
    lab_bind(lab, lab->plan->batch);
    execution_forward(lab->execution, 0);
    execution_backward(lab->execution);
    return execution_parameter_gradients(lab->execution);
}

/* Compares the gradients of the first iteration, then the losses of some iterations. */
static void compare_labs(struct lab *got, struct lab *wanted, const struct tolerance *allowed,
                         const char *what)
{
    const char *where = "";
    const float *a = first_gradients(got), *b = first_gradients(wanted);
    const double gradients =
        a && b ? gradients_apart(&got->network->graph, a, b, &where) : INFINITY;
    double losses = 0;
    for (size_t i = 0; i < COMPARED; i++) {
        lab_bind(wanted, wanted->plan->batch);
        lab_bind(got, got->plan->batch);
        const double right = (double)execution_iterate(wanted->execution, i, allowed->rate);
        const double loss = (double)execution_iterate(got->execution, i, allowed->rate);
        losses = isfinite(loss) ? fmax(losses, fabs(loss - right) / fabs(right)) : INFINITY;
    }
    tap_ok(is_well(got) && gradients < allowed->gradient && losses < LOSS_APART,
           "%s, %s: gradients within %.1e (%.0e allowed; %s), %d losses within %.1e (%.0e)",
           got->network->name, what, gradients, allowed->gradient, where, COMPARED, losses,
           LOSS_APART);
}

static void compare(const struct try_settings *got, const struct try_settings *wanted,
                    const struct tolerance *allowed, const char *what)
{
    struct lab first, second;
    if (!lab_try(&first, got))
        return;
    if (lab_try(&second, wanted)) {
        compare_labs(&first, &second, allowed, what);
        lab_close(&second);
    }
    lab_close(&first);
}

/* --- as on the cpu --- */

static void test_cpu(void)
{
    static const struct {
        const char *network;
        size_t batch;
        const struct tolerance *allowed;
    } cases[] = {
#ifdef EMULATED
        {"mixed", BATCH, &steady},
#else
        {"lenet", BATCH, &steady},          {"mlp", BATCH, &steady},
        {"resnet20", BATCH, &steady},       {"resnet20-dsc", BATCH, &steady},
        {"resnet20-shift", BATCH, &steady}, {"resnet20-shuffle", BATCH, &few_kinks},
        {"alexnet", 4, &few_kinks},         {"googlenet", 4, &googlenet},
        {"squeezenet", 4, &squeezenet},     {"vgg19", BATCH, &vgg19},
        {"mobilenet", BATCH, &mobilenet},
#endif
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct try_settings gpu = {.network = cases[i].network, .batch = cases[i].batch};
        struct try_settings cpu = gpu;
        cpu.device = "cpu";
        compare(&gpu, &cpu, cases[i].allowed, "as on the cpu");
    }
}

/* --- precision --- */

static void test_precisions(void)
{
    static const double allowed[PRECISIONS] = {0, 2e-2, 1e-1, 2e-2};
    for (int p = PRECISION_TF32; p < PRECISION_INT8; p++) {
        const struct try_settings rounded = {.network = usual, .precision = p};
        const struct try_settings exact = {.network = usual};
        bool same;
        const double worst = try_apart(&rounded, &exact, 5, &same);
        tap_ok(worst > 0 && worst < allowed[p],
               "%s: the losses are rounded, and near float32 (%.1e)", device_precision_names[p],
               worst);
    }
}

static void test_bits(void)
{
    for (int p = 0; p < PRECISION_INT8; p++) {
        const struct try_settings settings = {.network = usual, .precision = p};
        bool same = false;
        if (!is_tried(p))
            continue;
        try_apart(&settings, &settings, 6, &same);
        tap_ok(same, "%s: two trainings give the same bits", device_precision_names[p]);
    }
}

/* --- the scale of the loss in float16 --- */

static void test_scale_rules(void)
{
    struct loss_scale scale = loss_scale_start();
    bool good = scale.scale == 65536;
    for (size_t i = 0; i < 1999; i++)
        loss_scale_step(&scale, false);
    good = good && scale.scale == 65536;
    loss_scale_step(&scale, false);
    good = good && scale.scale == 131072 && scale.steps == 0;
    loss_scale_step(&scale, false);
    loss_scale_step(&scale, true);
    good = good && scale.scale == 65536 && scale.steps == 0 && scale.skipped == 1;
    scale = (struct loss_scale){.scale = 0x1p127f, .steps = 1999};
    loss_scale_step(&scale, false);
    tap_ok(good && scale.scale == 0x1p127f, "the scale follows the rules of GradScaler");
}

/* Trains with a scale with which gradients overflow, until they do not. */
#ifdef EMULATED
static const float too_large = 0x1p24f;
#else
static const float too_large = 0x1p50f;
#endif

static void test_scale_overflow(void)
{
    struct lab lab;
    if (!lab_try(&lab, &(struct try_settings){.network = usual, .precision = PRECISION_FP16}))
        return;
    const size_t count = lab.network->graph.learnable_floats;
    float *before = memory_new(count, sizeof *before, "a test", NULL);
    for (size_t i = 0; i < 3; i++)
        lab_iterate(&lab, i, BATCH);
    const uint64_t steps = execution_solver_step(lab.execution);
    const struct loss_scale started = execution_loss_scale(lab.execution);
    execution_set_loss_scale(lab.execution, (struct loss_scale){.scale = too_large});
    if (before && execution_fetch(lab.execution, NULL)) {
        memcpy(before, lab.weights.values, count * sizeof *before);
        const bool finite = isfinite(lab_iterate(&lab, 3, BATCH));
        const struct loss_scale scale = execution_loss_scale(lab.execution);
        tap_ok(finite && execution_fetch(lab.execution, NULL) &&
                   memcmp(before, lab.weights.values, count * sizeof *before) == 0 &&
                   execution_solver_step(lab.execution) == steps && scale.scale == too_large / 2 &&
                   scale.skipped == 1,
               "a gradient that overflows changes no weight and halves the scale");
        for (size_t i = 0; i < 50 && execution_solver_step(lab.execution) == steps; i++)
            lab_iterate(&lab, 4, BATCH);
        tap_ok(steps > 0 && execution_fetch(lab.execution, NULL) && is_well(&lab) &&
                   memcmp(before, lab.weights.values, count * sizeof *before) != 0,
               "  until gradients are finite, with a scale of %g; training began with %g",
               (double)execution_loss_scale(lab.execution).scale, (double)started.scale);
    }
    free(before);
    lab_close(&lab);
}

/* A power of two scales gradients without rounding, as long as float16 has them: it loses little
 * with 64 and with 4096. Rounding to float16 itself changes gradients far more (about 0.1 in
 * resnet20), but not 64 times. */
static void test_scale_gradients(void)
{
    struct lab scaled, more, exact;
    const struct try_settings half = {.network = usual, .precision = PRECISION_FP16};
    if (!lab_try(&scaled, &half))
        return;
    if (!lab_try(&more, &half)) {
        lab_close(&scaled);
        return;
    }
    if (lab_try(&exact, &(struct try_settings){.network = usual})) {
        const struct graph *graph = &exact.network->graph;
        const size_t count = graph->learnable_floats;
        const char *where;
        execution_set_loss_scale(scaled.execution, (struct loss_scale){.scale = 64});
        execution_set_loss_scale(more.execution, (struct loss_scale){.scale = 4096});
        const float *got = first_gradients(&scaled), *other = first_gradients(&more);
        const float *wanted = first_gradients(&exact);
        const bool made = got && other && wanted;
        const double scales = made ? gradients_apart(graph, got, other, &where) : INFINITY;
        const double whole =
            made ? norm_of(got, wanted, count) / norm_of(wanted, NULL, count) : INFINITY;
        tap_ok(scales < 1e-2 && whole < 0.5 && execution_loss_scale(exact.execution).scale == 0,
               "gradients that are read are not scaled (%.1e between scales, %.1e from float32)",
               scales, whole);
        lab_close(&exact);
    }
    lab_close(&more);
    lab_close(&scaled);
}

static void test_loss_scale(void)
{
    test_scale_rules();
    test_scale_overflow();
    test_scale_gradients();
}

/* --- CUDA graphs --- */

static void compare_with_passes(const char *network, enum device_precision precision)
{
    struct lab replayed, stepped;
    const struct try_settings settings = {.network = network, .precision = precision};
    bool same = true;
    if (!lab_try(&replayed, &settings))
        return;
    if (lab_try(&stepped, &settings)) {
        for (size_t i = 0; i < 6; i++) {
            const size_t count = i == 4 ? BATCH - 3 : BATCH;
            same = lab_iterate(&replayed, i, count) == lab_step(&stepped, i, count) && same;
        }
        const char *refusal = execution_recording_refusals(replayed.execution).why;
        tap_ok(!refusal[0], "%s, %s: the driver accepts the graph %s", network,
               device_precision_names[precision], refusal);
        tap_ok(same && is_well(&replayed) && same_weights(&replayed, &stepped),
               "  which has the bits of separate passes");
        lab_close(&stepped);
    }
    lab_close(&replayed);
}

static void test_graphs(void)
{
    for (int p = 0; p < PRECISION_INT8; p++)
        if (is_tried(p + 1))
            compare_with_passes(usual, p);
    if (strcmp(usual, "mixed") != 0)
        compare_with_passes("mixed", PRECISION_FLOAT32); /* dropout */
}

static void test_inference(void)
{
    struct lab lab;
    struct error error = {0};
    float first[BATCH * 10];
    bool same = true;
    if (!lab_try(&lab, &(struct try_settings){.network = usual}))
        return;
    const struct plan_settings settings = {
        .mode = PLAN_INFERENCE, .batch = BATCH, .device = lab.device};
    struct plan *plan = plan_build(&lab.network->graph, lab.device->driver, &settings, &error);
    struct execution *execution =
        plan ? execution_create(plan, lab.device, &lab.weights, NULL, 11, &error) : NULL;
    const struct execution_batch batch = {.images = lab.images, .count = BATCH};
    for (size_t i = 0; execution && i < 4; i++) {
        execution_bind(execution, &batch);
        execution_forward(execution, 0);
        const float *output = execution_output(execution);
        same = same && (i == 0 || memcmp(first, output, sizeof first) == 0);
        memcpy(first, output, sizeof first);
    }
    tap_ok(execution && same && is_well(&lab) && isfinite(first[0]) &&
               !execution_recording_refusals(execution).why[0],
           "inference is replayed with the same bits %s", error.why);
    execution_free(execution);
    plan_free(plan);
    lab_close(&lab);
}

static void test_divergence(void)
{
    struct lab lab;
    if (!lab_try(&lab, &(struct try_settings){.network = usual}))
        return;
    const size_t count = lab.network->graph.learnable_floats;
    float *before = memory_new(count, sizeof *before, "a test", NULL);
    for (size_t i = 0; i < 3; i++)
        lab_iterate(&lab, i, BATCH);
    if (before && execution_fetch(lab.execution, NULL)) {
        memcpy(before, lab.weights.values, count * sizeof *before);
        lab.images[5] = NAN;
        const float loss = lab_iterate(&lab, 3, BATCH);
        lab.images[5] = 0;
        tap_ok(!isfinite(loss) && execution_fetch(lab.execution, NULL) &&
                   memcmp(before, lab.weights.values, count * sizeof *before) == 0,
               "a loss that is no number changes no weight, replayed, too");
    }
    free(before);
    lab_close(&lab);
}

/* --- fusion, libraries, memory --- */

static size_t count_fused(const struct lab *lab)
{
    size_t fused = 0;
    for (size_t s = 0; s < lab->plan->step_count; s++)
        fused += lab->plan->steps[s].site.fused_add || lab->plan->steps[s].site.fused_activation;
    return fused;
}

static void test_fusion(void)
{
    struct lab fused, separate;
    const struct try_settings settings[] = {{.network = usual},
                                            {.network = usual, .separate = true}};
    if (!lab_try(&fused, &settings[0]))
        return;
    if (lab_try(&separate, &settings[1])) {
        const double worst = apart(&fused, &separate, 5);
        tap_ok(count_fused(&fused) > 0 && count_fused(&separate) == 0 && worst == 0 &&
                   same_weights(&fused, &separate),
               "%zu fused epilogues give the bits of separate kernels", count_fused(&fused));
        lab_close(&separate);
    }
    lab_close(&fused);
}

/* Names what computes the convolutions, which differs from GPU to GPU. */
static size_t note_kernels(const struct lab *lab)
{
    size_t by_library = 0;
    for (size_t s = 0; s < lab->plan->step_count; s++) {
        char text[PLAN_KERNEL_NAME_SIZE];
        const struct plan_step *step = &lab->plan->steps[s];
        const char *name = plan_step_kernel_name(lab->plan, step, text, sizeof text);
        if (step->site.node->op == &op_conv && step->kernel)
            tap_note("%s: %s", step->site.node->name, name);
        by_library += strstr(name, "cuDNN") != NULL;
    }
    return by_library;
}

static void compare_libraries(const char *network, size_t batch, const struct tolerance *allowed)
{
    struct lab with, without;
    struct device_facts facts = {0};
    char what[160];
    struct try_settings settings = {.network = network, .batch = batch};
    if (!lab_try(&with, &settings))
        return;
    settings.without_library = true;
    with.device->driver->describe(with.device->number, &facts);
    if (lab_try(&without, &settings)) {
        snprintf(what, sizeof what, "%zu convolutions by cuDNN %s as by our kernels %.80s",
                 note_kernels(&with), facts.cudnn, facts.no_cudnn);
        compare_labs(&with, &without, allowed, what);
        lab_close(&without);
    }
    lab_close(&with);
}

static void test_libraries(void)
{
#ifdef EMULATED
    compare_libraries("mixed", BATCH, &steady);
#else
    compare_libraries("alexnet", 4, &few_kinks);
    compare_libraries("vgg19", BATCH, &vgg19);
#endif
}

/* --- products of warpgroups (gemm_wgmma.cu) --- */

/* Says of every pass that gemm_wgmma.cu was measured to be the fastest. */
static bool find_wgmma(const struct device_autotune *autotune, const char *key, char *value,
                       size_t size)
{
    (void)autotune, (void)key;
    snprintf(value, size, "wgmma");
    return true;
}

static size_t count_by_wgmma(const struct lab *lab)
{
    char text[PLAN_KERNEL_NAME_SIZE];
    size_t count = 0;
    for (size_t s = 0; s < lab->plan->step_count; s++)
        count += strstr(plan_step_kernel_name(lab->plan, &lab->plan->steps[s], text, sizeof text),
                        "wgmma") != NULL;
    return count;
}

static void try_wgmma(enum device_precision precision, double allowed)
{
    static const struct device_autotune autotune = {.find = find_wgmma};
    struct lab rounded, exact;
    const struct try_settings settings = {
        .network = "wide", .batch = WIDE_BATCH, .precision = precision, .autotune = &autotune};
    if (!lab_try(&rounded, &settings))
        return;
    if (lab_try(&exact, &(struct try_settings){.network = "wide", .batch = WIDE_BATCH})) {
        const size_t count = count_by_wgmma(&rounded);
        const double worst = apart(&rounded, &exact, 5);
        tap_ok(count == 2 && worst > 0 && worst < allowed && is_well(&rounded),
               "%s: %zu layers by wgmma, and the losses are near float32 (%.1e)",
               device_precision_names[precision], count, worst);
        lab_close(&exact);
    }
    lab_close(&rounded);
}

static void test_wgmma(void)
{
    static const double allowed[PRECISIONS] = {0, 2e-2, 1e-1, 2e-2};
    struct error error = {0};
    struct device_facts facts = {0};
    struct device *device = device_open("cuda", 1, &error);
    const bool described = device && device->driver->describe(device->number, &facts);
    device_close(device);
    if (!described || facts.capability[0] != 9 || facts.capability[1] != 0) {
        tap_skip("wgmma: %s has compute capability %u.%u, not 9.0", facts.name, facts.capability[0],
                 facts.capability[1]);
        return;
    }
#ifdef EMULATED
    emulated_set_busy_blocks(2);
#endif
    for (int p = PRECISION_TF32; p < PRECISION_INT8; p++)
        if (is_tried(p))
            try_wgmma((enum device_precision)p, allowed[p]);
#ifdef EMULATED
    emulated_set_busy_blocks(EMULATED_BUSY_BLOCKS);
#endif
}

static void test_memory_limit(void)
{
    struct lab lab;
    if (!lab_try(&lab, &(struct try_settings){.network = usual, .without_library = true}))
        return;
    const uint64_t total = lab.plan->forecast.total;
    const uint64_t used = device_memory_used(lab.device);
    tap_ok(used >= total, "the memory used, %llu bytes, contains the forecast's %llu",
           (unsigned long long)used, (unsigned long long)total);
    lab_close(&lab);
    const struct try_settings less = {
        .network = usual, .memory_limit = PLAN_LEAST_MEMORY, .without_library = true};
    const struct try_settings plain = {.network = usual, .without_library = true};
    bool same = false;
    try_apart(&less, &plain, 5, &same);
    tap_ok(same, "in the least memory, by recomputation, the bits are the same");
}

static void test_out_of_memory(void)
{
    struct error error = {0};
    struct device *device = device_open("cuda", 1, &error);
    size_t bytes = (size_t)1 << 50;
#ifdef EMULATED
    bytes = 1 << 20; /* sanitizers end a program that asks for more than they can have */
    emulator_fail_allocation(1);
#endif
    void *memory = device ? device->driver->allocate(device, bytes, "a test", &error) : NULL;
    tap_ok(device && !memory && error.kind == ERROR_MEMORY, "too large an allocation: %s: %s",
           error.what, error.why);
    tap_ok(device && device_check(device, &error), "  and the GPU still works");
    device_close(device);
}

/* --- adversarial training --- */

struct gan_lab {
    struct network *network;
    struct device *device;
    struct gan_plan plan;
    struct weights weights;
    struct gan *gan;
    float *pictures;
};

static bool gan_lab_make(struct gan_lab *lab, const char *device, struct error *error)
{
    static const struct solver_settings adam = {SOLVER_ADAM, 0.5f, 0.999f,
                                                1e-8f,       0,    MOMENTUM_CAFFE};
    const struct network_request request = {.network = "painter", .text = painter};
    *lab = (struct gan_lab){.network = network_build(&request, error)};
    lab->device = lab->network ? device_open(device, 1, error) : NULL;
    const struct plan_settings settings = {
        .mode = PLAN_TRAINING, .batch = 2, .threads = 1, .solver = adam, .device = lab->device};
    if (!lab->device ||
        !gan_plan_build(&lab->plan, lab->network, lab->device->driver, &settings, error) ||
        !weights_create(&lab->weights, &lab->network->graph, error))
        return false;
    weights_initialise(&lab->weights, 11, NULL);
    const size_t values = 4 * shape_count(lab->network->input);
    lab->gan = gan_create(&lab->plan, lab->device, &lab->weights, &adam, 11, error);
    lab->pictures = memory_new_aligned(values, sizeof(float), "a batch", error);
    if (lab->pictures)
        random_fill_uniform(1, RANDOM_TEST, 0, -1, 1, lab->pictures, values);
    return lab->gan && lab->pictures;
}

static void gan_lab_close(struct gan_lab *lab)
{
    gan_free(lab->gan);
    weights_free(&lab->weights);
    gan_plan_free(&lab->plan);
    device_close(lab->device);
    network_free(lab->network);
    free(lab->pictures);
}

static bool gan_lab_iterate(struct gan_lab *lab, uint64_t iteration, struct gan_losses *losses)
{
    const struct execution_batch batch = {.images = lab->pictures,
                                          .targets =
                                              lab->pictures + 2 * shape_count(lab->network->input),
                                          .count = 2};
    return gan_iterate(lab->gan, &batch, iteration, 0.002f, losses);
}

static void test_adversarial(void)
{
    struct gan_lab labs[3] = {{0}};
    static const char *const devices[] = {"cuda", "cuda", "cpu"};
    struct error error = {0};
    struct gan_losses losses[3];
    double worst = 0;
    bool good = true, same = true;
    for (size_t i = 0; i < 3; i++)
        good = good && gan_lab_make(&labs[i], devices[i], &error);
    for (uint64_t iteration = 0; good && iteration < 5; iteration++) {
        for (size_t i = 0; i < 3; i++)
            good = gan_lab_iterate(&labs[i], iteration, &losses[i]) && good;
        same = same && memcmp(&losses[0], &losses[1], sizeof losses[0]) == 0;
        worst = fmax(worst, fabs((double)(losses[0].generator - losses[2].generator)) /
                                fabs((double)losses[2].generator));
    }
    tap_ok(good && worst < 2e-3, "adversarial training has the losses of the cpu (%.1e) %s", worst,
           error.why);
    tap_ok(good && same, "  and the same bits twice");
    const char *refusal = good ? gan_recording_refusals(labs[0].gan).why : "not run";
    tap_ok(!refusal[0], "  and its passes are recorded %s", refusal);
    for (size_t i = 0; i < 3; i++)
        gan_lab_close(&labs[i]);
}

/* --- process groups --- */

static void test_group(void)
{
    const struct device_driver *driver = device_find("cuda", NULL, NULL);
    if (driver->count() < 2) {
        tap_skip("groups: this machine has one GPU, and a group needs two");
        return;
    }
    const struct try_settings two = {.network = usual, .device = "cuda:0,1"};
    const struct try_settings one = {.network = usual};
    bool same = false;
    const double worst = try_apart(&two, &one, 5, &same);
    tap_ok(worst < 1e-4, "two GPUs have the losses of one (%.1e)", worst);
    try_apart(&two, &two, 5, &same);
    tap_ok(same, "  and the same bits twice");
}

/* Under sanitizers cuda_layouts_test trains in each precision, cuda_run_test with a loss scale, and
 * cuda_execution_test with graphs. */
static const struct named_test tests[] = {
    {"cpu", test_cpu},
    {"precisions", UNLESS_SANITIZED(test_precisions)},
    {"bits", UNLESS_SANITIZED(test_bits)},
    {"loss-scale", UNLESS_SANITIZED(test_loss_scale)},
    {"graphs", UNLESS_SANITIZED(test_graphs)},
    {"graphs-inference", test_inference},
    {"graphs-divergence", test_divergence},
    {"fusion", test_fusion},
    {"libraries", test_libraries},
    {"memory-limit", test_memory_limit},
    {"memory-out", test_out_of_memory},
    {"adversarial", test_adversarial},
    {"groups", test_group},
    {"wgmma", UNLESS_SANITIZED(test_wgmma)},
};
enum { TESTS = sizeof tests / sizeof *tests };

TEST_CASE(cuda_training_test)
{
    int status;
    struct error error = {0};
    if (tests_listed(tests, TESTS, argc, argv, &status))
        return status;
    if (!budget_begin()) {
        fprintf(stderr, "%s: BUDGET is a number of seconds\n", argv[0]);
        return 2;
    }
#ifdef EMULATED
    emulator_set_gpus(2);
    cuda_use_module(tinca_cuda_module());
#endif
    const bool found = device_find("cuda", NULL, &error);
    status = tests_run(tests, TESTS, argc, argv, found ? NULL : error.why, budget_allows);
    budget_report("tests");
    return status;
}
