/* The model of the machine: made-up figures lead to the choices that they should; its file keeps
 * what is stored, and a file that is damaged, foreign or cannot be written stops nothing; predicted
 * kernels are recorded and chosen again; and no division of the work that figures lead to, however
 * extreme, changes a bit. */
#include "base/files/file.h"
#include "base/memory.h"
#include "engine/execution/execution.h"
#include "engine/network/network.h"
#include "instruction_sets.h"
#include "random_fill.h"
#include "runs/folder/computed_with.h"
#include "runs/machine/machine_file.h"
#include "runs/machine/tuned_device.h"

#include "sample.h"
#include "session_files.h"

#include <sys/stat.h>

/* Usual figures, in seconds. */
static const struct machine_model usual = {.measured = true,
                                           .seconds = {[MACHINE_HAND_OVER] = 1e-6,
                                                       [MACHINE_TASK] = 1e-8,
                                                       [MACHINE_OPERATION] = 2e-10,
                                                       [MACHINE_CONV_1] = 2e-10,
                                                       [MACHINE_CONV_2] = 2e-10,
                                                       [MACHINE_PRODUCT_1] = 2e-10,
                                                       [MACHINE_PRODUCT_2] = 2e-10,
                                                       [MACHINE_TRANSFORM] = 1e-8,
                                                       [MACHINE_READ] = 2e-11}};

/* Figures with which direct convolution is always predicted to be faster, or Winograd's. */
static struct machine_model favouring(bool winograd)
{
    struct machine_model model = usual;
    const enum machine_figure slow_1 = winograd ? MACHINE_CONV_1 : MACHINE_PRODUCT_1;
    const enum machine_figure slow_2 = winograd ? MACHINE_CONV_2 : MACHINE_PRODUCT_2;
    model.seconds[slow_1] = model.seconds[slow_2] = 1e-6;
    return model;
}

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
    model = usual;
    model.seconds[MACHINE_TASK] = NAN;
    refused = !machine_model_is_plausible(&model);
    model = usual;
    model.seconds[MACHINE_HAND_OVER] = NAN;
    tap_ok(refused && machine_model_is_plausible(&model),
           "a hand-over that could not be measured is, but no other figure");
    const size_t amounts[] = {1, 1 << 12, 1 << 20};
    bool fixed = true;
    for (size_t i = 0; i < 3; i++)
        fixed &= machine_tasks(&model, MACHINE_CONV_2, amounts[i], 2) ==
                 machine_tasks(NULL, MACHINE_CONV_2, amounts[i], 2);
    tap_ok(fixed, "without a hand-over the fixed rules share steps");
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
    struct machine_model busy = usual;
    more.seconds[MACHINE_HAND_OVER] = 1.0 / 3e6;
    busy.seconds[MACHINE_HAND_OVER] = NAN;
    tap_ok(!machine_file_read(path, &two, &model, &alone) && !alone && !model.measured,
           "no file, no figures");
    tap_ok(machine_file_write(path, &two, &usual, &error), "figures are stored in a new folder %s",
           error.why);
    tap_ok(machine_file_read(path, &two, &model, NULL) && same(&model, &usual), "and read back");
    machine_file_write(path, &two, &busy, &error);
    tap_ok(machine_file_read(path, &two, &model, NULL) && isnan(model.seconds[MACHINE_HAND_OVER]) &&
               memcmp(model.seconds + 1, usual.seconds + 1,
                      sizeof model.seconds - sizeof(double)) == 0,
           "also without a hand-over");
    busy.seconds[MACHINE_READ] = NAN;
    machine_file_write(path, &two, &busy, &error);
    tap_ok(!machine_file_read(path, &two, &model, &alone) && !alone,
           "but not without another figure, which would remain when the rest is measured");
    alone = false;
    machine_file_write(path, &two, &usual, &error);
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

/* --- kernels --- */

/* Returns the plan of the network's inference; NULL if it cannot be built. */
static struct plan *make_plan(const struct network *network, size_t batch, size_t threads,
                              const struct machine_model *machine,
                              const struct plan_choices *choices)
{
    struct error error = {0};
    const struct plan_settings settings = {.mode = PLAN_INFERENCE,
                                           .batch = batch,
                                           .threads = threads,
                                           .machine = machine,
                                           .choices = choices};
    const struct device_driver *driver = device_find("cpu", NULL, &error);
    struct plan *plan = driver ? plan_build(&network->graph, driver, &settings, &error) : NULL;
    if (!plan)
        note_error(&error);
    return plan;
}

/* Returns how many steps with a predicted kernel have the kernel `name`; NULL: any. */
static size_t count_kernels(const struct plan *plan, const char *name)
{
    size_t count = 0;
    for (size_t s = 0; s < plan->step_count; s++)
        if (plan->steps[s].predicted)
            count += !name || strcmp(plan->steps[s].kernel->name, name) == 0;
    return count;
}

/* Returns the reason of the first predicted choice. */
static const char *first_reason(const struct plan *plan)
{
    for (size_t s = 0; s < plan->step_count; s++)
        if (plan->steps[s].predicted)
            return plan->steps[s].choice;
    return "";
}

static void test_prediction(const struct network *network)
{
    const struct machine_model direct = favouring(false), winograd = favouring(true);
    struct plan *fixed = make_plan(network, 1, 1, NULL, NULL);
    struct plan *first = make_plan(network, 1, 1, &direct, NULL);
    struct plan *second = make_plan(network, 7, 3, &winograd, NULL);
    struct plan *third = make_plan(network, 7, 3, &direct, NULL);
    const size_t all = count_kernels(fixed, NULL);
    tap_ok(all > 10 && count_kernels(fixed, "conv winograd") == all,
           "without figures the first kernel of the list is chosen, %zu times", all);
    tap_ok(count_kernels(first, "conv blocked") == all && count_kernels(first, NULL) == all,
           "the kernel that is predicted to be faster is chosen: direct");
    tap_ok(count_kernels(second, "conv winograd") == all, "  or Winograd's");
    tap_ok(count_kernels(third, "conv blocked") == all, "  for any batch and number of threads");
    const char *reason = first_reason(first);
    tap_ok(strstr(reason, "conv blocked chosen; ") && strstr(reason, "; predicted ") &&
               strstr(reason, ", conv winograd "),
           "the reason has both times: %s", reason);
    plan_free(fixed);
    plan_free(first);
    plan_free(second);
    plan_free(third);
}

static void test_record(const struct network *network)
{
    const struct machine_model direct = favouring(false), winograd = favouring(true);
    struct error error = {0};
    struct plan_choices choices = {0}, none = {0};
    struct plan *before = make_plan(network, 1, 1, &direct, NULL);
    char *text = kernel_choices_text(before, &error), *again = NULL;
    char summary[KERNEL_CHOICES_SUMMARY];
    tap_ok(kernel_choices_read(text, &choices, &error) &&
               choices.count == count_kernels(before, NULL),
           "the record has every node that was chosen by prediction");
    struct plan *after = make_plan(network, 5, 2, &winograd, &choices);
    again = kernel_choices_text(after, &error);
    tap_ok(strcmp(text, again) == 0, "a plan with the record has the same kernels");
    tap_ok(strstr(first_reason(after), "as the run has recorded"), "and says why");
    struct plan *fixed = make_plan(network, 1, 1, &direct, &none);
    tap_ok(count_kernels(fixed, "conv winograd") == count_kernels(fixed, NULL),
           "an empty record stands for fixed rules");
    kernel_choices_summarise(text, summary);
    tap_ok(strncmp(summary, "conv blocked ", 13) == 0 && strstr(summary, ", crc32 "),
           "in short: %s", summary);
    tap_ok(!kernel_choices_summarise("{}", summary)[0], "nothing to say about an empty record");
    kernel_choices_free(&choices);
    plan_free(before);
    plan_free(after);
    plan_free(fixed);
    free(text);
    free(again);
}

static void test_damaged_record(void)
{
    static const char *const texts[] = {"",
                                        "[",
                                        "[1]",
                                        "3",
                                        "{\"conv blocked\": 3}",
                                        "{\"conv blocked\": [3]}",
                                        "{\"conv blocked\": [[]]}"};
    struct plan_choices choices = {0};
    struct error error;
    bool refused = true;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        refused &= !kernel_choices_read(texts[i], &choices, &error) && !choices.list;
    tap_ok(refused, "damaged records are refused");
    tap_ok(kernel_choices_read(NULL, &choices, &error) && choices.count == 0,
           "a missing record reads as an empty one");
}

static void test_kernels(void)
{
    struct error error = {0};
    const struct network_request request = {.network = "resnet20"};
    struct network *network = network_build(&request, &error);
    for (int set = 0; set < INSTRUCTION_SETS; set++)
        if (instruction_set_force((enum instruction_set)set)) {
            test_prediction(network);
            test_record(network);
        }
    instruction_set_release();
    network_free(network);
    test_damaged_record();
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

/* Returns whether all models give the same bits with 1, 2 and 3 threads. */
static bool all_equal(const char *network, enum plan_mode mode,
                      const struct machine_model *const *models, size_t count)
{
    static struct result expected, result;
    bool equal = compute(network, mode, 1, models[0], &expected);
    for (size_t threads = 1; threads <= 3; threads++)
        for (size_t i = 0; i < count; i++)
            equal = equal && compute(network, mode, threads, models[i], &result) &&
                    result.count == expected.count &&
                    memcmp(result.values, expected.values, result.count * sizeof(float)) == 0;
    return equal;
}

static void test_bits_of(const char *network, enum plan_mode mode)
{
    const struct machine_model winograd = favouring(true), direct = favouring(false);
    struct machine_model alone = winograd, many = winograd;
    struct machine_model direct_alone = direct, direct_many = direct;
    alone.seconds[MACHINE_HAND_OVER] = direct_alone.seconds[MACHINE_HAND_OVER] = 0.9;
    for (size_t i = 0; i < MACHINE_FIGURES; i++) { /* with the ratios that decide on the kernel */
        many.seconds[i] *= i < MACHINE_OF_THREADS ? 1e-4 : 1e5;
        direct_many.seconds[i] *= i < MACHINE_OF_THREADS ? 1e-4 : 1e5;
    }
    const struct machine_model *const models[] = {NULL, &winograd, &alone, &many};
    const struct machine_model *const directs[] = {&direct, &direct_alone, &direct_many};
    tap_ok(all_equal(network, mode, models, sizeof models / sizeof *models),
           "%s, %s: no division changes a bit, for 1, 2 and 3 threads", network,
           mode == PLAN_TRAINING ? "training" : "inference");
    if (mode == PLAN_INFERENCE)
        tap_ok(all_equal(network, mode, directs, sizeof directs / sizeof *directs),
               "  nor with direct convolutions");
}

/* `make check` infers or trains with each network and instruction set, in turn. */
static void test_bits(void)
{
    static const char *const networks[] = {"resnet20", "resnet20-dsc-0.5", "lenet"};
    for (int set = 0; set < INSTRUCTION_SETS; set++)
        for (size_t i = 0; instruction_set_force((enum instruction_set)set) &&
                           i < sizeof networks / sizeof *networks;
             i++) {
            if (sample_has(i + (size_t)set, 2, 2))
                test_bits_of(networks[i], PLAN_INFERENCE);
            if (sample_has(i + (size_t)set + 1, 2, 2))
                test_bits_of(networks[i], PLAN_TRAINING);
        }
    instruction_set_release();
}

TEST_CASE(machine_model_test)
{
    if (!make_home())
        return 99;
    test_tasks();
    test_fixed_rules();
    test_plausible();
    test_round_trip();
    test_damaged();
    test_devices();
    test_kernels();
    test_bits();
    remove_home();
    return tap_done();
}
