/* Trains a student beside a teacher, a saved model whose weights do not change
 * (engine/execution/distillation.h). The teacher is read as eval and predict read a model, but
 * without opening a device. The metadata of its file are enough for a forecast; its weights are
 * read when the data are known. A run records the file's checksum, so that it is not resumed with
 * another teacher. */
#include "base/memory.h"
#include "data/dataset/dataset.h"
#include "engine/cluster/cluster.h"
#include "engine/execution/distillation.h"
#include "engine/network/network_compression.h"
#include "engine/weights/weights_match.h"
#include "models/saved/class_match.h"
#include "models/saved/evaluate.h"
#include "models/saved/model_file.h"
#include "runs/settings/settings.h"
#include "training/methods/internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* --- the teacher --- */

enum { BLOCK = 1 << 16, TEACHER_NAME = 48 /* characters in a chain */ };

struct teacher {
    struct model model; /* network, weights, normalisation, names of the classes; no device */
    struct distillation_settings settings;
    size_t *numbers; /* its output for each class of the data; NULL: they are in the same order */
    uint64_t bytes;  /* of the file */
    uint32_t crc32;  /* of its contents */
};

static void teacher_free(struct teacher *teacher)
{
    model_free(&teacher->model);
    free(teacher->numbers);
    *teacher = (struct teacher){0};
}

/* Reads the description of the configured teacher. Returns false with an error. */
static bool teacher_describe(struct teacher *teacher, const struct run_config *config,
                             struct error *error)
{
    const struct training_settings training = training_settings(config);
    *teacher = (struct teacher){0};
    if (!model_file_describe(&teacher->model, training.teacher, error)) {
        teacher_free(teacher);
        return false;
    }
    teacher->settings = (struct distillation_settings){.teacher = &teacher->model.network->graph,
                                                       .temperature = (float)training.temperature,
                                                       .weight = (float)training.distill_weight};
    return true;
}

/* Computes size and checksum of the file. */
static bool read_checksum(struct teacher *teacher, const char *path, struct error *error)
{
    unsigned char block[BLOCK];
    size_t got;
    FILE *file = fopen(path, "rb");
    uLong sum = crc32_z(0, NULL, 0);
    teacher->bytes = 0;
    while (file && (got = fread(block, 1, sizeof block, file)) > 0) {
        sum = crc32_z(sum, block, got);
        teacher->bytes += got;
    }
    const bool read = file && !ferror(file);
    if (!read)
        error_set_errno(error, path, "check the file", "it cannot be read");
    if (file)
        fclose(file);
    teacher->crc32 = (uint32_t)sum;
    return read;
}

/* Reads the weights of a described teacher, and the checksum of the file. Returns false with an
 * error. */
static bool teacher_load(struct teacher *teacher, const struct run_config *config,
                         struct error *error)
{
    const struct training_settings training = training_settings(config);
    return weights_create(&teacher->model.weights, &teacher->model.network->graph, error) &&
           weights_load(&teacher->model.weights, training.teacher, error) &&
           (!teacher->numbers ||
            weights_order_outputs(&teacher->model.weights, teacher->numbers, error)) &&
           read_checksum(teacher, training.teacher, error);
}

/* Returns whether the student can learn from the teacher: its loss is softmax_cross_entropy, and
 * both have the same input and number of classes. Returns false with an error that says why not. */
static bool teacher_suits(const struct teacher *teacher, const struct network *student,
                          struct error *error)
{
    const char *loss = network_class_loss(student);
    if (!loss)
        return error_set(error, ERROR_USAGE, OPTION(teacher), "train without it",
                         "%s has no loss over classes (softmax_cross_entropy)", student->name);
    if (!network_has_cross_entropy(student))
        return error_set(
            error, ERROR_USAGE, OPTION(teacher),
            "train without it, or a network whose loss is softmax_cross_entropy",
            "%s has the loss %s, which has no probabilities to compare with the teacher's",
            student->name, loss);
    return distillation_check(&student->graph, &teacher->model.network->graph, error);
}

/* Returns whether the teacher's classes have the names of the data set's; teacher_load puts its
 * outputs into their order. Returns false with an error that names the first that differs. */
static bool teacher_knows_classes(struct teacher *teacher, const struct dataset *dataset,
                                  struct error *error)
{
    struct error inner;
    return class_match_teacher(&teacher->model, dataset, &teacher->numbers, &inner) ||
           error_set(error, inner.kind, OPTION(teacher),
                     "choose a teacher that was trained on the same classes", "%s: %s", inner.what,
                     inner.why);
}

/* Returns whether the teacher was trained on the same numbers for a picture as `student` gives;
 * `fixed`: pictures are neither resized nor turned. Returns false with an error that names the
 * setting. */
static bool teacher_prepares_alike(const struct teacher *teacher,
                                   const struct preprocessing *student, bool fixed,
                                   struct error *error)
{
    const struct preprocessing *own = &teacher->model.preprocessing;
    if (!normalisation_same(&own->normalisation, &student->normalisation, own->channels))
        return error_set(error, ERROR_USAGE, OPTION(normalise),
                         "leave it out: both then have the teacher's",
                         "the teacher was trained on other numbers (\"%s\") than the student "
                         "would get (\"%s\")",
                         own->normalisation.name, student->normalisation.name);
    return fixed || (own->filter == student->filter && own->as_stored == student->as_stored) ||
           error_set(
               error, ERROR_USAGE, OPTION(filter),
               "leave it out, and filter= and orient= of the data: both then have the "
               "teacher's",
               "the teacher was trained on pictures that are prepared by filter=%s,orient=%s, "
               "those of the student by filter=%s,orient=%s",
               image_filter_names[own->filter], own->as_stored ? "no" : "yes",
               image_filter_names[student->filter], student->as_stored ? "no" : "yes");
}

/* Writes the full name of the teacher's network without techniques after training. */
static char *name_of(const struct teacher *teacher, char *name, size_t size)
{
    network_full_name(teacher->model.network, name, size);
    name[strcspn(name, "+")] = '\0';
    return name;
}

/* Writes the technique "distill:NAME" with the name of the teacher's network, as a chain of
 * techniques has it (network_compression.h). Returns `step`. */
static char *teacher_step(const struct teacher *teacher, char *step, size_t size)
{
    char name[256];
    size_t length = 0, limit = TEACHER_NAME;
    name_of(teacher, name, sizeof name);
    for (size_t i = 0; name[i] && length < limit; i++)
        if (isalnum((unsigned char)name[i]) || strchr("-_.", name[i]))
            name[length++] = name[i];
        else if (length > 0 && name[length - 1] != '-') /* as in "resnet20-shuffle (4 groups)" */
            name[length++] = '-';
    while (length > 0 && name[length - 1] == '-')
        length--;
    name[length] = '\0';
    snprintf(step, size, "distill%s%.*s", length ? ":" : "", TEACHER_NAME, name);
    return step;
}

/* Adds the teacher to the tree of data.json: {"name", "bytes", "crc32"}. Returns false if out of
 * memory. */
static bool teacher_to_json(const struct teacher *teacher, struct json *tree)
{
    char name[256], sum[16];
    struct json *object = json_add_object(tree, "teacher");
    snprintf(sum, sizeof sum, "%08" PRIx32, teacher->crc32);
    return json_add_string(object, "name", name_of(teacher, name, sizeof name)) &&
           json_add_count(object, "bytes", teacher->bytes) && json_add_string(object, "crc32", sum);
}

/* --- the method --- */

struct distilled {
    struct teacher teacher;
    struct weights *weights; /* the student's, borrowed */
    struct execution *student, *teaching;
    float *logits; /* distillation_bind; NULL: none */
};

static bool begin_distilled(struct method *method, const struct run_config *config,
                            struct error *error)
{
    struct distilled *state = memory_new(1, sizeof *state, "the teacher", error);
    method->state = state;
    return state && teacher_describe(&state->teacher, config, error);
}

static size_t classes_of(const struct method *method)
{
    const struct distilled *state = method->state;
    return state->teacher.model.network->classes;
}

static bool open_distilled(struct method *method, const struct run_config *config,
                           struct error *error)
{
    const struct distilled *state = method->state;
    (void)config;
    return teacher_suits(&state->teacher, method->network, error);
}

static void close_distilled(struct method *method)
{
    struct distilled *state = method->state;
    execution_free(state->student);
    execution_free(state->teaching);
    free(state->logits);
    teacher_free(&state->teacher);
    free(state);
}

static bool open_data(struct method *method, const struct run_config *config,
                      const struct dataset *data, struct error *error)
{
    struct distilled *state = method->state;
    char step[96];
    return teacher_knows_classes(&state->teacher, data, error) &&
           network_append_compression(method->network,
                                      teacher_step(&state->teacher, step, sizeof step), error) &&
           teacher_load(&state->teacher, config, error);
}

static bool check_preprocessing(const struct method *method,
                                const struct preprocessing *preprocessing, bool fixed,
                                struct error *error)
{
    const struct distilled *state = method->state;
    return teacher_prepares_alike(&state->teacher, preprocessing, fixed, error);
}

static bool check(const struct method *method, const struct run_config *config,
                  const struct cluster *cluster, struct error *error)
{
    (void)method;
    return !cluster || !machine_settings(config).on_gpu ||
           error_set(error, ERROR_UNSUPPORTED, OPTION(teacher),
                     "train it in one process, or choose the device cpu",
                     "a student with a teacher trains on one GPU");
}

/* --- plans --- */

static void free_plans(void *plans)
{
    if (plans)
        distillation_plan_free(plans);
    free(plans);
}

static void *plan_distilled(const struct method *method, const struct device_driver *driver,
                            const struct plan_settings *settings, struct error *error)
{
    const struct distilled *state = method->state;
    struct plan_settings taught = *settings;
    struct distillation_plan *plans = memory_new(1, sizeof *plans, "the plan", error);
    taught.distillation = &state->teacher.settings;
    if (plans && distillation_plan_build(plans, &method->network->graph, driver, &taught, error))
        return plans;
    free_plans(plans);
    return NULL;
}

static const struct memory_forecast *memory_of(const void *plans)
{
    const struct distillation_plan *built = plans;
    return &built->forecast;
}

/* --- training --- */

static bool create_teacher(struct distilled *state, const struct distillation_plan *plans,
                           struct device *device, const struct run_config *config,
                           struct error *error)
{
    const size_t logits = distillation_logits(plans);
    if (logits > 0)
        state->logits =
            memory_new_aligned(logits, sizeof *state->logits, "the teacher's predictions", error);
    state->teaching = execution_create(plans->teacher, device, &state->teacher.model.weights, NULL,
                                       training_settings(config).seed, error);
    return state->teaching && (logits == 0 || state->logits);
}

static bool create(struct method *method, struct device *device, struct weights *weights,
                   const struct run_config *config, struct error *error)
{
    struct distilled *state = method->state;
    const struct distillation_plan *plans = method->plans;
    state->weights = weights;
    state->student = method_create_execution(plans->student, device, weights, config, error);
    return state->student && create_teacher(state, plans, device, config, error);
}

static bool step(struct method *method, const struct execution_batch *batch, uint64_t iteration,
                 float learning_rate, struct step_losses *losses)
{
    const struct distilled *state = method->state;
    distillation_bind(state->student, state->teaching, state->logits, batch, iteration);
    const float total = execution_iterate(state->student, iteration, learning_rate);
    const struct distillation_losses parts = distillation_losses(state->student);
    *losses = (struct step_losses){.total = total,
                                   .discriminator = NAN,
                                   .l1 = NAN,
                                   .labels = parts.labels,
                                   .teacher = parts.teacher};
    return isfinite(total);
}

static struct recording_refusals recording_refusals(const struct method *method)
{
    const struct distilled *state = method->state;
    const struct recording_refusals of_teacher = execution_recording_refusals(state->teaching);
    struct recording_refusals sum = execution_recording_refusals(state->student);
    recording_refusals_add(&sum, &of_teacher);
    return sum;
}

static size_t list_networks(const struct method *method, struct method_network *networks)
{
    const struct distilled *state = method->state;
    const struct distillation_plan *plans = method->plans;
    if (!plans)
        return 0;
    networks[0] = (struct method_network){"network",     "", plans->student, NULL, state->weights,
                                          state->student};
    return 1;
}

static uint32_t checksum(const struct method *method)
{
    const struct distilled *state = method->state;
    return state->teacher.crc32;
}

static bool to_json(const struct method *method, struct json *tree)
{
    const struct distilled *state = method->state;
    return teacher_to_json(&state->teacher, tree);
}

const struct method_type method_distilled = {
    .begin = begin_distilled,
    .classes = classes_of,
    .open = open_distilled,
    .close = close_distilled,
    .open_data = open_data,
    .check_preprocessing = check_preprocessing,
    .check = check,
    .plan = plan_distilled,
    .free_plans = free_plans,
    .memory = memory_of,
    .create = create,
    .step = step,
    .recording_refusals = recording_refusals,
    .networks = list_networks,
    .checksum = checksum,
    .to_json = to_json,
};
