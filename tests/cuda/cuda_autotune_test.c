/* Measured choices of convolution algorithms, on the emulated device: a plan measures each pass
 * once and stores what it found, later plans choose the same and compute the same bits, and what
 * the store says is obeyed. Algorithms that refuse lose. The file of the store survives damage. */
#include "choose_tests.h"
#include "cuda/emulated_device.h"
#include "cuda/emulated_module.h"
#include "cuda/lab.h"

#include "base/files/file.h"
#include "engine/devices/cuda/cuda.h"
#include "engine/ops/op.h"
#include "session/machine/autotune_file.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BATCH = 8, STORED = 64 };

static const char text[] =
    "{\"name\": \"three\", \"input\": [8, 8, 8], \"classes\": 4, \"normalise\": \"unit\",\n"
    " \"layers\": [{\"op\": \"conv\", \"output\": 12, \"kernel\": 3, \"pad\": 1},\n"
    "  {\"op\": \"conv\", \"output\": 12, \"kernel\": 3, \"pad\": 1}, {\"op\": \"relu\"},\n"
    "  {\"op\": \"conv\", \"output\": 32, \"kernel\": 1},\n"
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
    for (size_t i = 0; i < store.count; i++)
        if (strcmp(store.keys[i], key) == 0 || store.always) {
            snprintf(value, size, "%s", store.always ? store.always : store.values[i]);
            store.found++;
            return true;
        }
    return false;
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

static bool lab_open(struct lab *lab, bool measures, uint64_t limit)
{
    struct error error = {0};
    const struct network_request request = {.network = "test", .text = text};
    const struct plan_settings settings = {.mode = PLAN_TRAINING,
                                           .batch = BATCH,
                                           .threads = 1,
                                           .memory_limit = limit,
                                           .solver = {SOLVER_SGD, 0.9f, 0, 0, 0.0005f}};
    const struct device_autotune autotune = {.measures = measures, .find = find, .add = add};
    struct device *opened = device_open("cuda", 1, &error);
    if (opened)
        device_use_autotune(opened, &autotune);
    if (opened && lab_make_on(lab, &request, opened, &settings, &error))
        return true;
    tap_ok(false, "%s: %s", error.what, error.why);
    return false;
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
    {"measured", test_measured}, {"limit", test_limit}, {"obeyed", test_obeyed},
    {"refused", test_refused},   {"file", test_file},
};

int main(int argc, char **argv)
{
    return tests_main(tests, sizeof tests / sizeof *tests, argc, argv, begin);
}
