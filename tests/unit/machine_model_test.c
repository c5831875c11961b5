/* The model of the machine: made-up figures lead to the choices that they should; its file keeps
 * what is stored, and a file that is damaged, foreign or cannot be written stops nothing; and no
 * figures, however extreme, change a bit of what is computed with any number of threads. */
#include "base/files/file.h"
#include "base/memory.h"
#include "engine/execution/execution.h"
#include "engine/network/network.h"
#include "instruction_sets.h"
#include "random_fill.h"
#include "session/machine/machine_file.h"
#include "session/machine/tuned_device.h"

#include "session_files.h"

#include <sys/stat.h>

/* Usual figures, in seconds. */
static const struct machine_model usual = {.measured = true,
                                           .seconds = {[MACHINE_HAND_OVER] = 1e-6,
                                                       [MACHINE_TASK] = 1e-8,
                                                       [MACHINE_OPERATION] = 2e-10,
                                                       [MACHINE_CONV_2] = 2e-10}};

/* --- tasks --- */

static void test_tasks(void)
{
    struct machine_model slow = usual, fast = usual, busy = usual;
    slow.seconds[MACHINE_HAND_OVER] = 0.5;
    fast.seconds[MACHINE_HAND_OVER] = fast.seconds[MACHINE_TASK] = 1e-9;
    busy.seconds[MACHINE_CONV_2] = 1e-6;
    const size_t work = 10000; /* 2 microseconds alone */
    tap_ok(machine_tasks(&usual, MACHINE_OPERATION, work, 1) == 1, "one thread gets one task");
    tap_ok(machine_tasks(&slow, MACHINE_OPERATION, work, 4) == 1,
           "a slow hand-over: one task, which no other thread is told of");
    tap_ok(machine_tasks(&fast, MACHINE_OPERATION, work, 4) > 1,
           "a fast hand-over: several threads share");
    tap_ok(machine_tasks(&usual, MACHINE_OPERATION, work, 4) == 4, "a task for each of 4 threads");
    tap_ok(machine_tasks(&usual, MACHINE_OPERATION, 1000, 4) == 1, "a tenth of it is not shared");
    tap_ok(machine_tasks(&usual, MACHINE_OPERATION, 100000000, 4) == 16,
           "long steps get several tasks for each thread");
    tap_ok(machine_tasks(&busy, MACHINE_CONV_2, 1000, 4) == 16 &&
               machine_tasks(&busy, MACHINE_OPERATION, 1000, 4) == 1,
           "each kind of work has its own figure");
}

static void test_fixed_rules(void)
{
    const struct machine_model none = {0};
    bool agree = true;
    for (size_t work = 1; work < 10000000; work *= 3)
        agree &= machine_tasks(NULL, MACHINE_CONV_2, work, 3) ==
                 machine_tasks(&none, MACHINE_CONV_2, work, 3);
    tap_ok(agree, "a model that is not measured counts as none");
    tap_ok(machine_tasks(NULL, MACHINE_CONV_2, 100, 3) == 1 &&
               machine_tasks(NULL, MACHINE_CONV_2, 10000, 3) == 3 &&
               machine_tasks(NULL, MACHINE_CONV_2, 1000000, 3) == 12,
           "without one, the amount of work decides");
}

static void test_plausible(void)
{
    struct machine_model model = usual;
    tap_ok(machine_model_is_plausible(&model), "usual figures are plausible");
    bool refused = true;
    const double wrong[] = {0, -1, 1, 1e300};
    for (size_t i = 0; i < MACHINE_FIGURES; i++)
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
            model = usual;
            model.seconds[i] = wrong[k];
            refused &= !machine_model_is_plausible(&model);
        }
    tap_ok(refused, "zero, negative numbers and whole seconds are not");
}

/* --- the file --- */

static bool same(const struct machine_model *a, const struct machine_model *b)
{
    return a->measured == b->measured && memcmp(a->seconds, b->seconds, sizeof a->seconds) == 0;
}

static void test_round_trip(void)
{
    struct error error = {0};
    const char *path = home_path("deep/folder/machines.json");
    const struct machine_key two = {"a processor", "avx2", 2}, three = {"a processor", "avx2", 3},
                             other = {"another \"one\"", "avx512", 2};
    struct machine_model model, more = usual;
    bool alone = true;
    more.seconds[MACHINE_HAND_OVER] = 1.0 / 3e6;
    tap_ok(!machine_file_read(path, &two, &model, &alone) && !alone && !model.measured,
           "no file, no figures");
    tap_ok(machine_file_write(path, &two, &usual, &error), "figures are stored in a new folder %s",
           error.why);
    tap_ok(machine_file_read(path, &two, &model, NULL) && same(&model, &usual), "and read back");
    tap_ok(!machine_file_read(path, &three, &model, &alone) && alone,
           "another number of threads has those of one thread only");
    machine_file_write(path, &three, &more, &error);
    machine_file_write(path, &other, &more, &error);
    tap_ok(machine_file_read(path, &two, &model, NULL) && same(&model, &usual) &&
               machine_file_read(path, &three, &model, NULL) && same(&model, &more) &&
               machine_file_read(path, &other, &model, NULL) && same(&model, &more),
           "numbers of threads and processors keep their figures beside each other");
    machine_file_write(path, &two, &more, &error);
    tap_ok(machine_file_read(path, &two, &model, NULL) && same(&model, &more), "new ones replace");
}

static void test_damaged(void)
{
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "\"x\"",
        "{\"format\": \"tinca-machines\", \"version\": 2, \"machines\": []}",
        "{\"format\": \"another\", \"version\": 1, \"machines\": []}",
        "{\"format\": \"tinca-machines\", \"version\": 1, \"machines\": {\"a\": 1}}",
        "{\"format\": \"tinca-machines\", \"version\": 1, \"machines\": [1, null, [], {}, "
        "{\"processor\": \"p\", \"instruction_set\": \"avx2\", \"seconds\": 3, \"threads\": 4}, "
        "{\"processor\": 1, \"instruction_set\": [], \"seconds\": {}, \"threads\": [1, {}]}]}",
        "{\"format\": \"tinca-machines\", \"version\": 1, \"machines\": [{\"processor\": \"p\", "
        "\"instruction_set\": \"avx2\", \"seconds\": {\"vector_operation\": -1, "
        "\"conv_multiply_add_1\": 1e99}, \"threads\": [{\"threads\": 2, \"hand_over\": 1e-6, "
        "\"task\": 0}]}]}"};
    const struct machine_key key = {"p", "avx2", 2};
    const char *path = home_path("damaged.json");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct machine_model model;
        struct error error = {0};
        write_text(path, texts[i]);
        tap_ok(!machine_file_read(path, &key, &model, NULL) && !model.measured &&
                   machine_file_write(path, &key, &usual, &error) &&
                   machine_file_read(path, &key, &model, NULL) && same(&model, &usual),
               "damaged or foreign file %zu counts as empty and is replaced %s", i, error.why);
    }
}

/* --- devices --- */

static enum machine_source open_source(const char *name, size_t threads,
                                       struct machine_model *model)
{
    struct machine_origin origin = {.source = MACHINE_SOURCES};
    struct error error = {0};
    struct device *device = tuned_device_open(name, threads, &origin, &error);
    if (!device)
        tap_note("%s", error.why);
    *model = device ? device->machine : (struct machine_model){0};
    device_close(device);
    return device ? origin.source : MACHINE_SOURCES;
}

static void test_devices(void)
{
    struct machine_model first, second, third, fixed;
    char cache[600];
    snprintf(cache, sizeof cache, "%s", home_path("cache"));
    setenv("XDG_CACHE_HOME", cache, 1);
    tap_ok(open_source("reference", 1, &first) == MACHINE_UNUSED && !first.measured,
           "the device reference uses no figures");
    tap_ok(open_source("cpu", 2, &first) == MACHINE_MEASURED && first.measured,
           "the device cpu is measured once");
    tap_ok(open_source("cpu", 2, &second) == MACHINE_STORED && same(&first, &second),
           "then the stored figures hold");
    tap_ok(open_source("cpu", 1, &third) == MACHINE_MEASURED &&
               memcmp(first.seconds + MACHINE_OF_THREADS, third.seconds + MACHINE_OF_THREADS,
                      (MACHINE_FIGURES - MACHINE_OF_THREADS) * sizeof *first.seconds) == 0,
           "another number of threads keeps those of one thread");
    tuned_device_measure_again();
    tap_ok(open_source("cpu", 2, &second) == MACHINE_MEASURED, "--tune measures again");
    tap_ok(open_source("cpu", 2, &third) == MACHINE_STORED && same(&second, &third), "once");
    /* root may write into any folder, but not into a file */
    snprintf(cache, sizeof cache, "%s", home_path("file"));
    write_text(cache, "no folder");
    setenv("XDG_CACHE_HOME", cache, 1);
    tap_ok(open_source("cpu", 2, &fixed) == MACHINE_FIXED && !fixed.measured,
           "figures that cannot be stored are not measured: fixed rules");
    tuned_device_measure_again();
    tap_ok(open_source("cpu", 2, &fixed) == MACHINE_UNSTORED && fixed.measured, "except by --tune");
    tap_ok(open_source("cpu", 2, &third) == MACHINE_UNSTORED && same(&fixed, &third),
           "which holds for the process");
}

/* --- bits --- */

enum { BATCH = 3, MOST_VALUES = 1 << 19 };

/* What was computed: the output, or the gradients. */
struct result {
    float values[MOST_VALUES];
    size_t count;
};

static bool compute(const char *network_name, enum plan_mode mode, size_t threads,
                    const struct machine_model *machine, struct result *result)
{
    struct error error = {0};
    const struct network_request request = {.network = network_name};
    const struct solver_settings solver = {.kind = SOLVER_SGD};
    const struct plan_settings settings = {
        .mode = mode, .batch = BATCH, .threads = threads, .solver = solver, .machine = machine};
    static const int32_t labels[BATCH] = {1, 0, 7};
    struct network *network = network_build(&request, &error);
    struct device *device = device_open("cpu", threads, &error);
    struct plan *plan = plan_build(&network->graph, device->driver, &settings, &error);
    struct weights weights;
    weights_create(&weights, &network->graph, &error);
    weights_initialise(&weights, 1, device->pool);
    struct execution *execution = execution_create(plan, device, &weights, &solver, 1, &error);
    const size_t count = BATCH * shape_count(network->input);
    float *images = memory_new_aligned(count, sizeof *images, "a batch", &error);
    random_fill_uniform(2, RANDOM_TEST, 0, -1, 1, images, count);
    execution_bind(execution,
                   &(struct execution_batch){.images = images, .labels = labels, .count = BATCH});
    execution_forward(execution, 0);
    const float *values = execution_output(execution);
    result->count = BATCH * network->classes;
    if (mode == PLAN_TRAINING) {
        execution_backward(execution);
        values = execution_parameter_gradients(execution);
        result->count = network->graph.learnable_floats;
    }
    const bool fits = result->count <= MOST_VALUES;
    memcpy(result->values, values, fits ? result->count * sizeof(float) : 0);
    execution_free(execution);
    weights_free(&weights);
    plan_free(plan);
    device_close(device);
    network_free(network);
    free(images);
    return fits;
}

static void test_bits_of(const char *network, enum plan_mode mode)
{
    static struct result expected, result;
    struct machine_model alone = usual, many = usual;
    alone.seconds[MACHINE_HAND_OVER] = 0.9;
    for (size_t i = 0; i < MACHINE_OF_THREADS; i++)
        many.seconds[i] = 1e-12;
    many.seconds[MACHINE_OPERATION] = many.seconds[MACHINE_CONV_2] = 1e-3;
    const struct machine_model *const models[] = {NULL, &usual, &alone, &many};
    bool equal = compute(network, mode, 1, NULL, &expected);
    for (size_t threads = 1; threads <= 3; threads++)
        for (size_t i = 0; i < sizeof models / sizeof *models; i++)
            equal = equal && compute(network, mode, threads, models[i], &result) &&
                    result.count == expected.count &&
                    memcmp(result.values, expected.values, result.count * sizeof(float)) == 0;
    tap_ok(equal, "%s, %s: no figures change a bit, for 1, 2 and 3 threads", network,
           mode == PLAN_TRAINING ? "training" : "inference");
}

static void test_bits(void)
{
    static const char *const networks[] = {"resnet20", "resnet20-dsc-0.5", "lenet"};
    for (int set = 0; set < INSTRUCTION_SETS; set++)
        for (size_t i = 0; instruction_set_force((enum instruction_set)set) &&
                           i < sizeof networks / sizeof *networks;
             i++) {
            test_bits_of(networks[i], PLAN_INFERENCE);
            test_bits_of(networks[i], PLAN_TRAINING);
        }
    instruction_set_release();
}

int main(void)
{
    if (!make_home())
        return 99;
    test_tasks();
    test_fixed_rules();
    test_plausible();
    test_round_trip();
    test_damaged();
    test_devices();
    test_bits();
    remove_home();
    return tap_done();
}
