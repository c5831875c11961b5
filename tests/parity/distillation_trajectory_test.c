/* Ten iterations of a student beside a teacher, from the same weights and batches as PyTorch: the
 * losses and their two parts, and every gradient of the first iteration, must agree within 1e-4
 * relative. The teacher has batch norms, whose running statistics are used and not changed, and
 * dropout, which does nothing in inference. Two batches take turns, so that training visibly moves
 * the losses.
 *
 * The goldens lie in goldens/distillation.json; make_distillation_trajectories.py makes them from
 * what `distillation_trajectory_test --dump DIR CASE` writes: both networks' weights, the batches,
 * and the directions that tensors are projected on. */
#include "base/json/json.h"
#include "base/memory.h"
#include "base/random.h"
#include "engine/execution/distillation.h"
#include "engine/ops/op.h"
#include "engine/training/soft_targets.h"
#include "engine/weights/safetensors.h"
#include "golden.h"
#include "instruction_sets.h"
#include "random_fill.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 10, BATCHES = 2, BATCH = 4, CLASSES = 10, VALUES = 3 * 8 * 8 };
enum { WEIGHT_STREAM = 100 }; /* the first stream of the teacher's weights */
static const uint64_t seed = 20260131;

static const char student_text[] =
    "{\"name\": \"student\", \"input\": [3, 8, 8], \"classes\": 10, \"normalise\": \"unit\",\n"
    " \"layers\": [\n"
    "  {\"op\": \"conv\", \"name\": \"conv1\", \"output\": 6, \"kernel\": 3, \"pad\": 1},\n"
    "  {\"op\": \"batch_norm\", \"name\": \"bn1\"}, {\"op\": \"relu\"},\n"
    "  {\"op\": \"max_pool\", \"kernel\": 2, \"stride\": 2},\n"
    "  {\"op\": \"linear\", \"name\": \"fc\", \"output\": \"classes\"}]}";
static const char teacher_text[] =
    "{\"name\": \"teacher\", \"input\": [3, 8, 8], \"classes\": 10, \"normalise\": \"unit\",\n"
    " \"layers\": [\n"
    "  {\"op\": \"conv\", \"name\": \"conv1\", \"output\": 12, \"kernel\": 3, \"pad\": 1},\n"
    "  {\"op\": \"batch_norm\", \"name\": \"bn1\"}, {\"op\": \"relu\"},\n"
    "  {\"op\": \"conv\", \"name\": \"conv2\", \"output\": 16, \"kernel\": 3, \"stride\": 2},\n"
    "  {\"op\": \"batch_norm\", \"name\": \"bn2\"}, {\"op\": \"relu\"},\n"
    "  {\"op\": \"dropout\", \"rate\": 0.5},\n"
    "  {\"op\": \"linear\", \"name\": \"fc\", \"output\": \"classes\"}]}";

static const struct lesson {
    const char *name;
    float temperature, weight, smoothing;
    bool weighs; /* class weights */
    size_t blocks;
} lessons[] = {
    {"usual", 4, 0.9f, 0, false, 1},
    {"teacher-alone", 2, 1, 0, false, 1},
    {"smoothed-weights", 8, 0.5f, 0.1f, true, 1},
    {"cold", 0.5f, 0.25f, 0, false, 2},
};
enum { LESSONS = sizeof lessons / sizeof *lessons };

struct trial {
    const struct lesson *lesson;
    struct network *student, *teacher;
    struct device *device;
    struct distillation_plan plan;
    struct weights weights, teacher_weights;
    struct execution *execution, *teaching;
    float *logits; /* of the teacher, if it runs in blocks */
    float images[BATCH * VALUES], class_weights[CLASSES];
    int32_t labels[BATCH];
    struct soft_target soft_targets[BATCH];
};

static const struct solver_settings solver = {SOLVER_SGD, 0.9f, 0, 0, 0.0005f, MOMENTUM_CAFFE};
static const float learning_rate = 0.01f;

static void trial_free(struct trial *trial)
{
    execution_free(trial->execution);
    execution_free(trial->teaching);
    free(trial->logits);
    weights_free(&trial->weights);
    weights_free(&trial->teacher_weights);
    distillation_plan_free(&trial->plan);
    device_close(trial->device);
    network_free(trial->student);
    network_free(trial->teacher);
}

/* Gives the teacher weights and running statistics as if it had been trained. */
static void draw_teacher(struct trial *trial)
{
    const struct graph *graph = &trial->teacher->graph;
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        const bool variance = strstr(parameter->name, "running_var");
        const bool norm = strstr(parameter->name, "bn");
        random_fill_uniform(seed, RANDOM_TEST, WEIGHT_STREAM + (uint32_t)p, variance ? 0.5f : -0.5f,
                            variance ? 1.5f
                            : norm   ? 1
                                     : 0.5f,
                            trial->teacher_weights.values + parameter->offset, parameter->count);
    }
}

static bool trial_prepare(struct trial *trial, const struct lesson *lesson, const char *device,
                          size_t threads, struct error *error)
{
    *trial = (struct trial){.lesson = lesson};
    trial->student = network_build(
        &(struct network_request){.network = "student.json", .text = student_text}, error);
    trial->teacher = network_build(
        &(struct network_request){.network = "teacher.json", .text = teacher_text}, error);
    trial->device = device_open(device, threads, error);
    if (!trial->student || !trial->teacher || !trial->device)
        return false;
    const struct distillation_settings distillation = {.teacher = &trial->teacher->graph,
                                                       .temperature = lesson->temperature,
                                                       .weight = lesson->weight};
    const struct plan_settings settings = {.mode = PLAN_TRAINING,
                                           .batch = BATCH,
                                           .threads = threads,
                                           .image_blocks = lesson->blocks,
                                           .solver = solver,
                                           .soft_targets = lesson->weighs,
                                           .distillation = &distillation};
    network_set_label_smoothing(trial->student, lesson->smoothing);
    if (!distillation_plan_build(&trial->plan, &trial->student->graph, trial->device->driver,
                                 &settings, error) ||
        !weights_create(&trial->weights, &trial->student->graph, error) ||
        !weights_create(&trial->teacher_weights, &trial->teacher->graph, error))
        return false;
    const size_t logits = distillation_logits(&trial->plan);
    if (logits && !(trial->logits = memory_new(logits, sizeof(float), "the teacher", error)))
        return false;
    weights_initialise(&trial->weights, seed, trial->device->pool);
    draw_teacher(trial);
    for (size_t c = 0; c < CLASSES; c++)
        trial->class_weights[c] = 0.2f * (float)(c + 1);
    trial->execution =
        execution_create(trial->plan.student, trial->device, &trial->weights, &solver, seed, error);
    trial->teaching = execution_create(trial->plan.teacher, trial->device, &trial->teacher_weights,
                                       NULL, seed, error);
    return trial->execution && trial->teaching;
}

static void draw_batch(struct trial *trial, size_t iteration)
{
    const uint32_t stream = 2 * (uint32_t)(iteration % BATCHES);
    random_fill_uniform(seed, RANDOM_TEST, stream, -1, 1, trial->images, BATCH * VALUES);
    struct random_stream draws = random_stream_at(seed, RANDOM_TEST, stream + 1, 0);
    for (size_t i = 0; i < BATCH; i++)
        trial->labels[i] = (int32_t)random_next_below(&draws, CLASSES);
}

/* --- comparing --- */

struct differences {
    double loss, gradient;
    const char *gradient_of;
    bool teacher_changed;
};

static double difference(float loss, const struct json *golden, const char *key, size_t iteration)
{
    const double expected = golden_number(json_member(golden, key), iteration);
    const double relative = fabs((double)loss - expected) / fabs(expected);
    tap_note("%s %zu: %.9g, PyTorch %.9g", key, iteration, (double)loss, expected);
    return isfinite(relative) ? relative : INFINITY;
}

static void bind(struct trial *trial, size_t iteration)
{
    struct execution_batch batch = {
        .images = trial->images, .labels = trial->labels, .count = BATCH};
    draw_batch(trial, iteration);
    if (trial->lesson->weighs) {
        batch.soft_targets = trial->soft_targets;
        batch.class_weights = trial->class_weights;
        soft_targets_fill(trial->soft_targets, trial->labels, NULL, NULL, trial->class_weights,
                          BATCH);
    }
    distillation_bind(trial->execution, trial->teaching, trial->logits, &batch, iteration);
}

static struct differences compare(struct trial *trial, const struct json *golden)
{
    struct differences worst = {.gradient_of = ""};
    const size_t bytes = trial->teacher->graph.total_floats * sizeof(float);
    float *before = memory_new(bytes, 1, "the teacher's weights", NULL);
    if (before)
        memcpy(before, trial->teacher_weights.values, bytes);
    for (size_t i = 0; i < ITERATIONS; i++) {
        bind(trial, i);
        const float loss = execution_iterate(trial->execution, i, learning_rate);
        const struct distillation_losses parts = distillation_losses(trial->execution);
        worst.loss = fmax(worst.loss, difference(loss, golden, "losses", i));
        worst.loss = fmax(worst.loss, difference(parts.labels, golden, "labels", i));
        worst.loss = fmax(worst.loss, difference(parts.teacher, golden, "teacher", i));
        if (i == 0)
            worst.gradient = golden_gradients_difference(
                &trial->student->graph, execution_parameter_gradients(trial->execution), seed,
                json_member(golden, "gradients"), &worst.gradient_of);
    }
    worst.teacher_changed = !before || memcmp(before, trial->teacher_weights.values, bytes) != 0;
    free(before);
    return worst;
}

static void test_trial(const struct lesson *lesson, const char *device, size_t threads,
                       const struct json *golden)
{
    struct error error = {0};
    struct trial trial;
    char message[1200] = "";
    struct differences worst = {INFINITY, INFINITY, "", true};
    if (!trial_prepare(&trial, lesson, device, threads, &error))
        error_format(&error, message, sizeof message);
    else
        worst = compare(&trial, golden);
    tap_ok(worst.loss < GOLDEN_TOLERANCE && worst.gradient < GOLDEN_TOLERANCE,
           "%s on %s, %zu threads: within 1e-4 of PyTorch's losses (%.2g) and first gradients "
           "(%.2g %s) %s",
           lesson->name, device, threads, worst.loss, worst.gradient, worst.gradient_of, message);
    tap_ok(!worst.teacher_changed, "%s on %s: the teacher is as it was", lesson->name, device);
    trial_free(&trial);
}

/* Trains with these threads and returns the checksum of the student's weights; 0 if it cannot. */
static uint64_t checksum_after(const struct lesson *lesson, size_t threads)
{
    struct error error;
    struct trial trial;
    uint64_t sum = 0;
    const bool prepared = trial_prepare(&trial, lesson, "cpu", threads, &error);
    for (size_t i = 0; prepared && i < ITERATIONS; i++) {
        bind(&trial, i);
        execution_iterate(trial.execution, i, learning_rate);
    }
    for (size_t i = 0; prepared && i < trial.student->graph.total_floats; i++) {
        uint32_t bits;
        memcpy(&bits, &trial.weights.values[i], sizeof bits);
        sum = sum * 31 + bits;
    }
    trial_free(&trial);
    return sum;
}

static void test_threads(const struct lesson *lesson)
{
    const uint64_t one = checksum_after(lesson, 1);
    tap_ok(one != 0 && one == checksum_after(lesson, 2) && one == checksum_after(lesson, 3),
           "%s: the same bits with 1, 2 and 3 threads", lesson->name);
}

/* --- plans --- */

static void test_memory(void)
{
    struct error error = {0};
    struct trial trial;
    struct distillation_plan least;
    const bool prepared = trial_prepare(&trial, &lessons[0], "cpu", 1, &error);
    const struct memory_forecast *memory = &trial.plan.forecast;
    tap_ok(prepared && memory->teacher == trial.plan.teacher->forecast.total &&
               memory->teacher > 0 &&
               memory->total == trial.plan.student->forecast.total + memory->teacher,
           "the forecast is that of both networks");
    const struct distillation_settings distillation = {&trial.teacher->graph, 4, 0.9f};
    struct plan_settings settings = {.mode = PLAN_TRAINING,
                                     .batch = BATCH,
                                     .solver = solver,
                                     .memory_limit = memory->total - 1,
                                     .distillation = &distillation};
    const bool within = distillation_plan_build(&least, &trial.student->graph, trial.device->driver,
                                                &settings, &error);
    tap_ok(within ? least.forecast.total < memory->total : error.kind == ERROR_MEMORY,
           "a memory limit applies to both together");
    distillation_plan_free(&least);
    settings.memory_limit = memory->teacher;
    tap_ok(!distillation_plan_build(&least, &trial.student->graph, trial.device->driver, &settings,
                                    &error) &&
               error.kind == ERROR_MEMORY,
           "a limit that the teacher alone reaches is refused: %s", error.why);
    settings.memory_limit = 0;
    settings.ranks = 2;
    tap_ok(!distillation_plan_build(&least, &trial.student->graph, trial.device->driver, &settings,
                                    &error) &&
               error.kind == ERROR_UNSUPPORTED,
           "several GPUs are refused: %s", error.why);
    trial_free(&trial);
}

static int test_all(void)
{
    struct json_document goldens;
    struct error error = {0};
    if (!golden_read(&goldens, "distillation", &error)) {
        tap_ok(false, "reads the goldens: %s", error.why);
        return tap_done();
    }
    tap_ok(json_member_count(goldens.root) == LESSONS, "a golden for each case");
    for (size_t i = 0; i < LESSONS; i++) {
        const struct json *golden = json_member(goldens.root, lessons[i].name);
        const double move =
            golden_move(json_member(golden, "losses"), json_member(golden, "untrained"));
        tap_ok(move >= GOLDEN_LEAST_MOVE, "%s: training moves the last loss (%.2g)",
               lessons[i].name, move);
        test_trial(&lessons[i], "reference", 1, golden);
        for (int set = 0; set < INSTRUCTION_SETS; set++)
            if (instruction_set_force((enum instruction_set)set)) {
                test_trial(&lessons[i], "cpu", 2, golden);
                test_threads(&lessons[i]);
            }
        instruction_set_release();
    }
    test_memory();
    json_document_free(&goldens);
    return tap_done();
}

/* --- dumping --- */

static bool dump_batches(struct trial *trial, const char *path, struct error *error)
{
    float images[BATCHES][BATCH * VALUES];
    int32_t labels[BATCHES][BATCH];
    static const char *const names[BATCHES][2] = {{"images.0", "labels.0"},
                                                  {"images.1", "labels.1"}};
    struct safetensors_array arrays[2 * BATCHES + 1];
    for (size_t i = 0; i < BATCHES; i++) {
        draw_batch(trial, i);
        memcpy(images[i], trial->images, sizeof images[i]);
        memcpy(labels[i], trial->labels, sizeof labels[i]);
        arrays[2 * i] = (struct safetensors_array){.name = names[i][0],
                                                   .type = SAFETENSORS_F32,
                                                   .dims = {BATCH, 3, 8, 8},
                                                   .rank = 4,
                                                   .data = images[i]};
        arrays[2 * i + 1] = (struct safetensors_array){.name = names[i][1],
                                                       .type = SAFETENSORS_I32,
                                                       .dims = {BATCH},
                                                       .rank = 1,
                                                       .data = labels[i]};
    }
    arrays[2 * BATCHES] = (struct safetensors_array){.name = "class_weights",
                                                     .type = SAFETENSORS_F32,
                                                     .dims = {CLASSES},
                                                     .rank = 1,
                                                     .data = trial->class_weights};
    return safetensors_write(path, arrays, 2 * BATCHES + 1, NULL, error);
}

static bool dump_trial(struct trial *trial, const char *directory, struct error *error)
{
    static const char *const names[4] = {"student", "teacher", "batches", "directions"};
    char paths[4][512], numbers[4][32];
    const struct lesson *lesson = trial->lesson;
    const float settings[4] = {lesson->temperature, lesson->weight, lesson->smoothing,
                               learning_rate};
    for (size_t i = 0; i < 4; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s.safetensors", directory, names[i]);
        snprintf(numbers[i], sizeof numbers[i], "%.9g", (double)settings[i]);
    }
    const char *const metadata[] = {
        "temperature", numbers[0], "weight",   numbers[1], "smoothing",
        numbers[2],    "lr",       numbers[3], "weighs",   lesson->weighs ? "yes" : "no",
        NULL};
    return weights_save(&trial->weights, WEIGHTS_FLOAT32, paths[0], metadata, error) &&
           weights_save(&trial->teacher_weights, WEIGHTS_FLOAT32, paths[1], NULL, error) &&
           dump_batches(trial, paths[2], error) &&
           golden_save_directions(&trial->weights, &trial->student->graph, seed, paths[3], error);
}

static int dump(const char *directory, const char *name)
{
    struct error error = {0};
    struct trial trial = {0};
    char message[1200];
    bool dumped = false;
    for (size_t i = 0; i < LESSONS; i++)
        if (strcmp(lessons[i].name, name) == 0)
            dumped = trial_prepare(&trial, &lessons[i], "reference", 1, &error) &&
                     dump_trial(&trial, directory, &error);
    trial_free(&trial);
    if (!dumped)
        fprintf(stderr, "distillation_trajectory_test: %s: %s\n", name,
                error_format(&error, message, sizeof message));
    return !dumped;
}

/* [--list | --dump DIR CASE] */
TEST_CASE(distillation_trajectory_test)
{
    if (argc == 4 && strcmp(argv[1], "--dump") == 0)
        return dump(argv[2], argv[3]);
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < LESSONS; i++)
            printf("%s\n", lessons[i].name);
        return 0;
    }
    return test_all();
}
