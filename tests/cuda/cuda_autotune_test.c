/* Measured choices of convolution algorithms, on the emulated device: a plan measures each pass
 * once and stores what it found, later plans choose the same and compute the same bits, and what
 * the store says is obeyed. Algorithms that refuse lose. The file of the store survives damage. */
#include "choose_tests.h"
#include "cuda/emulated_device.h"
#include "cuda/emulated_module.h"
#include "cuda/lab.h"
#include "sample.h"

#include "base/files/file.h"
#include "engine/devices/cuda/cuda.h"
#include "engine/ops/op.h"
#include "runs/machine/autotune_file.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BATCH = 8, STORED = 64 };

size_t emulator_tensor_maps(void); /* how many products of gemm_wgmma.cu have begun */
void emulator_refuse_tensor_maps(bool refuse);

static const char text[] =
    "{\"name\": \"three\", \"input\": [8, 8, 8], \"classes\": 4, \"normalise\": \"unit\",\n"
    " \"layers\": [{\"op\": \"conv\", \"output\": 12, \"kernel\": 3, \"pad\": 1},\n"
    "  {\"op\": \"conv\", \"output\": 12, \"kernel\": 3, \"pad\": 1}, {\"op\": \"relu\"},\n"
    "  {\"op\": \"conv\", \"output\": 32, \"kernel\": 1},\n"
    "  {\"op\": \"flatten\"}, {\"op\": \"linear\", \"output\": \"classes\"}]}\n";

/* The values of all but the first convolution's input are channels-last below float32. With 136
 * channels the products are large enough for gemm_wgmma.cu, but for the last one's. */
static const char pointwise[] =
    "{\"name\": \"pointwise\", \"input\": [8, 8, 8], \"classes\": 4, \"normalise\": \"unit\",\n"
    " \"layers\": [{\"op\": \"conv\", \"output\": 136, \"kernel\": 3, \"pad\": 1},\n"
    "  {\"op\": \"conv\", \"output\": 132, \"kernel\": 1}, {\"op\": \"relu\"},\n"
    "  {\"op\": \"conv\", \"output\": 42, \"kernel\": 1, \"name\": \"third\"},\n"
    "  {\"op\": \"average_pool\", \"global\": true},\n"
    "  {\"op\": \"linear\", \"output\": \"classes\"}]}\n";

/* The same without the smaller layer, which gemm_wgmma.cu cannot compute. */
static const char wide_pointwise[] =
    "{\"name\": \"wide\", \"input\": [8, 8, 8], \"classes\": 4, \"normalise\": \"unit\",\n"
    " \"layers\": [{\"op\": \"conv\", \"output\": 136, \"kernel\": 3, \"pad\": 1},\n"
    "  {\"op\": \"conv\", \"output\": 132, \"kernel\": 1}, {\"op\": \"relu\"},\n"
    "  {\"op\": \"average_pool\", \"global\": true},\n"
    "  {\"op\": \"linear\", \"output\": \"classes\"}]}\n";

/* All values are plain, because the network's input is, and what flatten reads. */
static const char plain_pointwise[] =
    "{\"name\": \"wide\", \"input\": [136, 8, 8], \"classes\": 4, \"normalise\": \"unit\",\n"
    " \"layers\": [{\"op\": \"conv\", \"output\": 132, \"kernel\": 1},\n"
    "  {\"op\": \"conv\", \"output\": 136, \"kernel\": 1}, {\"op\": \"relu\"},\n"
    "  {\"op\": \"flatten\"}, {\"op\": \"linear\", \"output\": \"classes\"}]}\n";

/* --- a store in memory --- */

static struct {
    char keys[STORED][256], values[STORED][80];
    size_t count, found;
    const char *always; /* the value of every key; NULL: what was added */
} store;

static bool find(const struct device_autotune *autotune, const char *key, char *value, size_t size)
{
    (void)autotune;
    size_t i = 0;
    while (i < store.count && !store.always && strcmp(store.keys[i], key) != 0)
        i++;
    if (i == store.count && !store.always)
        return false;
    snprintf(value, size, "%s", store.always ? store.always : store.values[i]);
    store.found++;
    return true;
}

static void add(const struct device_autotune *autotune, const char *key, const char *value,
                double seconds)
{
    (void)autotune;
    if (store.count == STORED || seconds <= 0)
        return;
    snprintf(store.keys[store.count], sizeof store.keys[0], "%s", key);
    snprintf(store.values[store.count++], sizeof store.values[0], "%s", value);
}

struct opening {
    const char *text, *device; /* NULL: the usual ones */
    bool measures;
    uint64_t limit;
    enum device_precision precision;
};

static bool lab_open_as(struct lab *lab, const struct opening *how)
{
    struct error error = {0};
    const struct network_request request = {.network = "test",
                                            .text = how->text ? how->text : text};
    const struct plan_settings settings = {
        .mode = PLAN_TRAINING,
        .batch = BATCH,
        .threads = 1,
        .memory_limit = how->limit,
        .solver = {SOLVER_SGD, 0.9f, 0, 0, 0.0005f, MOMENTUM_CAFFE}};
    const struct device_autotune autotune = {.measures = how->measures, .find = find, .add = add};
    struct device *opened = device_open(how->device ? how->device : "cuda", 1, &error);
    if (opened && !how->device)
        device_use_autotune(opened, &autotune);
    if (opened && device_set_precision(opened, how->precision, &error) &&
        lab_make_on(lab, &request, opened, &settings, &error))
        return true;
    tap_ok(false, "%s: %s", error.what, error.why);
    return false;
}

static bool lab_open(struct lab *lab, bool measures, uint64_t limit)
{
    return lab_open_as(lab, &(struct opening){.measures = measures, .limit = limit});
}

/* Trains for some iterations, one of them with a smaller batch; returns the last loss. */
static float train(struct lab *lab)
{
    float loss = 0;
    for (size_t i = 0; i < 4; i++)
        loss = lab_iterate(lab, i, i == 2 ? BATCH - 3 : BATCH);
    return loss;
}

static float loss_with(const char *always, char kernel[PLAN_KERNEL_NAME_SIZE])
{
    struct lab lab;
    store.always = always;
    if (!lab_open(&lab, false, 0))
        return NAN;
    const float loss = train(&lab);
    tap_ok(is_well(&lab), "the GPU is well");
    snprintf(kernel, PLAN_KERNEL_NAME_SIZE, "%s", lab_computed_by(&lab));
    lab_close(&lab);
    store.always = NULL;
    return loss;
}

static void test_measured(void)
{
    struct lab first, second;
    store.count = store.found = 0;
    if (!lab_open(&first, true, 0))
        return;
    const size_t measured = store.count;
    tap_ok(measured == 2 + 3 + 3, "a plan measures the passes of three convolutions: %zu",
           measured);
    for (size_t i = 0; i < measured; i++)
        tap_note("%s: %s", store.keys[i], store.values[i]);
    if (!lab_open(&second, true, 0))
        return;
    tap_ok(store.count == measured && store.found >= measured, "another one measures nothing");
    tap_ok(strcmp(lab_computed_by(&first), lab_computed_by(&second)) == 0,
           "  and chooses the same: %s", lab_computed_by(&second));
    const float loss = train(&first);
    tap_ok(loss == train(&second) && same_weights(&first, &second), "  and computes the same bits");
    tap_ok(is_well(&first) && is_well(&second), "  on a GPU that is well");
    lab_close(&first);
    lab_close(&second);
}

/* The limit leaves no room for the workspace of what may be the fastest: the run that measures and
 * one that finds the times in the store must take the same instead. */
static void test_limit(void)
{
    struct lab first, second;
    store.count = 0;
    emulator_set_cudnn_workspace((size_t)1 << 20);
    if (lab_open(&first, true, PLAN_LEAST_MEMORY)) {
        if (lab_open(&second, true, PLAN_LEAST_MEMORY)) {
            const float loss = train(&first);
            tap_ok(store.count > 0 &&
                       strcmp(lab_computed_by(&first), lab_computed_by(&second)) == 0 &&
                       loss == train(&second) && same_weights(&first, &second),
                   "in little memory a run that measures has the bits of a later one: %s",
                   lab_computed_by(&second));
            lab_close(&second);
        }
        lab_close(&first);
    }
    emulator_set_cudnn_workspace(8192);
}

static void test_obeyed(void)
{
    char kernel[PLAN_KERNEL_NAME_SIZE];
    const size_t slow = emulator_cudnn_passes(false), best = emulator_cudnn_passes(true);
    const float by_cudnn = loss_with("cudnn algorithm 2 math 3", kernel);
    tap_ok(emulator_cudnn_passes(false) > slow && emulator_cudnn_passes(true) == best &&
               strcmp(kernel, "conv cuDNN") == 0,
           "the stored algorithm of cuDNN computes every pass: %s", kernel);
    const size_t passes = emulator_cudnn_passes(false);
    const float by_ours = loss_with("general", kernel);
    tap_ok(emulator_cudnn_passes(false) == passes && strcmp(kernel, "conv implicit gemm") == 0,
           "where our kernels are stored they do: %s", kernel);
    tap_ok(fabsf(by_cudnn - by_ours) < 1e-3f * fabsf(by_ours), "  with the same loss");
    const float unknown = loss_with("cudnn algorithm 99 math 0", kernel);
    tap_ok(strcmp(kernel, "conv cuDNN") == 0 && isfinite(unknown),
           "an algorithm that does not exist is not looked for: %s", kernel);
}

static void test_refused(void)
{
    struct lab lab;
    store.count = store.found = 0;
    for (int pass = 0; pass < 4; pass++)
        emulator_fail_cudnn(pass, 3000);
    const bool open = lab_open(&lab, true, 0);
    for (int pass = 0; pass < 4; pass++)
        emulator_fail_cudnn(pass, 0);
    if (!open)
        return;
    bool ours = store.count > 0;
    for (size_t i = 0; i < store.count; i++)
        ours = ours && !strstr(store.values[i], "cudnn");
    tap_ok(ours && isfinite(train(&lab)) && is_well(&lab),
           "an algorithm that cuDNN refuses is not chosen: %s", lab_computed_by(&lab));
    lab_close(&lab);
}

/* --- 1x1 convolutions of channels-last values --- */

/* Returns the name of what computes a layer. */
static const char *name_of(const struct lab *lab, const char *layer,
                           char name[PLAN_KERNEL_NAME_SIZE])
{
    for (size_t i = 0; i < lab->plan->step_count; i++)
        if (strcmp(lab->plan->graph->nodes[lab->plan->steps[i].node].name, layer) == 0)
            return plan_step_kernel_name(lab->plan, &lab->plan->steps[i], name,
                                         PLAN_KERNEL_NAME_SIZE);
    return "";
}

/* Returns the largest difference of a parameter's gradients as a share of their norm: where a value
 * near 0 is rounded, the relu passes a gradient on or does not. */
static double gradients_apart(struct lab *lab, struct lab *plain)
{
    const struct graph *graph = &lab->network->graph;
    const float *got = execution_parameter_gradients(lab->execution);
    const float *wanted = execution_parameter_gradients(plain->execution);
    double worst = got && wanted ? 0 : INFINITY;
    for (size_t i = 0; worst < INFINITY && i < graph->parameter_count; i++) {
        const struct parameter *of = &graph->parameters[i];
        double norm = 0, apart = 0;
        for (size_t k = of->offset; of->learnable && k < of->offset + of->count; k++) {
            norm += (double)wanted[k] * (double)wanted[k];
            apart += ((double)got[k] - (double)wanted[k]) * ((double)got[k] - (double)wanted[k]);
        }
        worst = norm > 0 ? fmax(worst, sqrt(apart / norm)) : worst;
    }
    return worst;
}

/* Trains with what the store says of every pass, and compares with a lab that is trained. */
static void compare_pointwise(struct lab *plain, const char *network,
                              enum device_precision precision, const char *always,
                              const char *wanted, double most)
{
    struct lab lab;
    char name[PLAN_KERNEL_NAME_SIZE];
    store.always = always;
    const bool open = lab_open_as(&lab, &(struct opening){.text = network, .precision = precision});
    if (open) {
        train(&lab);
        const double apart = gradients_apart(&lab, plain);
        tap_ok(is_well(&lab) && apart < most && strcmp(lab_computed_by(&lab), wanted) == 0,
               "%s: 1x1 convolutions by %s (gradients: %.1e)", device_precision_names[precision],
               lab_computed_by(&lab), apart);
        if (strcmp(always, "products") == 0)
            tap_ok(strcmp(name_of(&lab, "third", name), "conv 1x1 cuBLAS NHWC") == 0,
                   "  and a smaller one by %s", name_of(&lab, "third", name));
        lab_close(&lab);
    }
    store.always = NULL;
}

/* cuDNN, which the emulator has, is not used in bf16. */
static void test_pointwise(void)
{
    static const double most[] = {0, 3e-2, 1e-1, 3e-2}; /* the general kernel: 0.012 and 0.052 */
    struct lab plain;
    if (!lab_open_as(&plain, &(struct opening){.text = pointwise, .device = "reference"}))
        return;
    train(&plain);
    for (int p = PRECISION_TF32; p <= PRECISION_FP16; p++) {
        if (!sample_has((size_t)(p - PRECISION_TF32), 2, 3))
            continue;
        compare_pointwise(&plain, pointwise, p, "products", "conv 1x1 cuBLAS NHWC", most[p]);
        if (p == PRECISION_TF32)
            compare_pointwise(&plain, pointwise, p, "general", "conv implicit gemm NHWC", most[p]);
    }
    lab_close(&plain);
}

/* The gradient of the weights of plain values is no product, so cuDNN computes it. */
static void test_wgmma(void)
{
    static const double most[] = {0, 3e-2, 1e-1, 3e-2};
    struct lab plain;
    if (!lab_open_as(&plain, &(struct opening){.text = wide_pointwise, .device = "reference"}))
        return;
    train(&plain);
    for (int p = PRECISION_TF32; p <= (sample_is_whole() ? PRECISION_FP16 : PRECISION_BF16); p++)
        compare_pointwise(&plain, wide_pointwise, p, "wgmma", "conv 1x1 wgmma NHWC", most[p]);
    lab_close(&plain);
    if (!lab_open_as(&plain, &(struct opening){.text = plain_pointwise, .device = "reference"}))
        return;
    train(&plain);
    compare_pointwise(&plain, plain_pointwise, PRECISION_TF32, "wgmma", "conv cuDNN + 1x1 wgmma",
                      3e-2);
    emulator_refuse_tensor_maps(true);
    compare_pointwise(&plain, plain_pointwise, PRECISION_TF32, "wgmma", "conv cuDNN + 1x1 wgmma",
                      3e-2);
    emulator_refuse_tensor_maps(false);
    lab_close(&plain);
}

/* In bf16 cuBLAS, gemm_wgmma.cu and the general kernel are measured in turn. What the driver
 * refuses to map for gemm_wgmma.cu, cuBLAS computes: that is no time of gemm_wgmma.cu's. */
static void test_pointwise_measured(bool refused)
{
    struct lab lab;
    const size_t maps = emulator_tensor_maps();
    store.count = 0;
    emulator_refuse_tensor_maps(refused);
    const struct opening how = {.text = pointwise, .measures = true, .precision = PRECISION_BF16};
    if (!lab_open_as(&lab, &how))
        return;
    bool ours = true;
    for (size_t i = 0; i < store.count; i++)
        ours = ours && (strcmp(store.values[i], "products") == 0 ||
                        strcmp(store.values[i], "general") == 0 ||
                        (strcmp(store.values[i], "wgmma") == 0 && !refused));
    tap_ok(store.count == 6 && ours && emulator_tensor_maps() > maps,
           "in bf16 the passes of two 1x1 layers are measured: %zu, with %zu products of wgmma%s",
           store.count, emulator_tensor_maps() - maps, refused ? ", which the driver refuses" : "");
    tap_ok(isfinite(train(&lab)) && is_well(&lab), "  and the network trains");
    lab_close(&lab);
    emulator_refuse_tensor_maps(false);
}

static void test_measured_wgmma(void)
{
    test_pointwise_measured(false);
    test_pointwise_measured(true);
}

/* --- the file --- */

static bool usable; /* what autotune_file_use returned last, and its error */
static struct error reason;

static struct device *open_with_file(bool measures, bool again)
{
    struct error error = {0};
    struct device *device = device_open("cuda", 1, &error);
    if (device)
        usable = autotune_file_use(device, measures, again, &reason);
    return device;
}

static bool found_in(struct device *device, const char *key, const char *wanted)
{
    char value[80] = "";
    const bool found = device->autotune.find(&device->autotune, key, value, sizeof value);
    return wanted ? found && strcmp(value, wanted) == 0 : !found;
}

static void append(const char *path, const char *line)
{
    FILE *file = fopen(path, "a");
    if (file) {
        fputs(line, file);
        fclose(file);
    }
}

static void test_file(void)
{
    struct error error = {0};
    char folder[] = "/tmp/tinca-autotune-XXXXXX";
    if (!mkdtemp(folder) || setenv("XDG_CACHE_HOME", folder, 1) != 0)
        return;
    char *path = autotune_file_path(&error);
    struct device *device = open_with_file(true, false);
    tap_ok(device && device->autotune.measures && found_in(device, "a", NULL),
           "an empty store is made");
    device->autotune.add(&device->autotune, "a", "one", 1e-5);
    device->autotune.add(&device->autotune, "a", "two", 1e-5);
    device->autotune.add(&device->autotune, "b", "three", 1e-5);
    tap_ok(found_in(device, "a", "two"), "the last value of a key counts");
    append(path, "no tabs\n\t\n\t\t\t\nGPU\tc\tcut off");
    device_close(device);
    device = open_with_file(true, true);
    tap_ok(found_in(device, "a", NULL), "measured anew, nothing is found");
    device->autotune.add(&device->autotune, "d", "four", 1e-5);
    device_close(device);
    char other[] = "/tmp/tinca-autotune-XXXXXX";
    if (!mkdtemp(other) || setenv("XDG_CACHE_HOME", other, 1) != 0)
        return;
    device_close(open_with_file(true, false)); /* another path: the first is read again below */
    setenv("XDG_CACHE_HOME", folder, 1);
    device = open_with_file(false, false);
    tap_ok(found_in(device, "a", "two") && found_in(device, "b", "three") &&
               found_in(device, "c", NULL) && found_in(device, "d", "four"),
           "a later process finds all complete lines");
    tap_ok(!device->autotune.measures, "  and measures only if it is told to");
    device_close(device);
    char *blocked = file_join(other, "tinca");
    char *in_the_way = file_join(blocked, "autotune.tsv");
    unlink(in_the_way);
    mkdir(in_the_way, 0700);
    setenv("XDG_CACHE_HOME", other, 1);
    device = open_with_file(true, false);
    tap_ok(!device->autotune.measures && !usable && reason.why[0],
           "where the file cannot be written, nothing is measured, and why is said: %s",
           reason.why);
    device_close(device);
    rmdir(in_the_way);
    rmdir(blocked);
    rmdir(other);
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    rmdir(folder);
    free(path);
    free(blocked);
    free(in_the_way);
}

/* So that small convolutions are large. */
static void begin(void)
{
    struct error error = {0};
    cuda_use_module(tinca_cuda_module());
    device_close(device_open("cuda", 1, &error));
    emulated_set_busy_blocks(2);
}

static const struct named_test tests[] = {
    {"measured", test_measured},
    {"limit", test_limit},
    {"obeyed", test_obeyed},
    {"refused", test_refused},
    {"pointwise", test_pointwise},
    {"wgmma", test_wgmma},
    {"pointwise-measured", test_measured_wgmma},
    {"file", test_file},
};

TEST_CASE(cuda_autotune_test)
{
    return tests_main(tests, sizeof tests / sizeof *tests, argc, argv, begin);
}
