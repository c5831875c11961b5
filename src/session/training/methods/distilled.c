/* A student is trained beside a teacher, a saved model whose weights do not change
 * (engine/execution/distillation.h). */
#include "base/memory.h"
#include "engine/cluster/cluster.h"
#include "engine/network/network_compression.h"
#include "session/teacher/teacher.h"
#include "session/training/methods/internal.h"

#include <math.h>
#include <stdlib.h>

struct distilled {
    struct teacher teacher;
    struct distillation_plan plans;
    struct weights *weights; /* the student's, borrowed */
    struct execution *student, *teaching;
    float *logits; /* distillation_bind; NULL: none */
};

static bool open_distilled(struct method *method, const struct run_config *config,
                           struct error *error)
{
    struct distilled *state = memory_new(1, sizeof *state, "the teacher", error);
    method->state = state;
    return state && teacher_describe(&state->teacher, config, error) &&
           teacher_suits(&state->teacher, method->network, error);
}

static void close_distilled(struct method *method)
{
    struct distilled *state = method->state;
    execution_free(state->student);
    execution_free(state->teaching);
    free(state->logits);
    distillation_plan_free(&state->plans);
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
    return !cluster || !config_on_gpu(config) ||
           error_set(error, ERROR_UNSUPPORTED, "--teacher",
                     "train it in one process, or choose the device cpu",
                     "a student with a teacher trains on one GPU");
}

/* --- plans --- */

static bool build(const struct method *method, struct distillation_plan *plans,
                  const struct device_driver *driver, const struct plan_settings *settings,
                  struct error *error)
{
    const struct distilled *state = method->state;
    struct plan_settings taught = *settings;
    taught.distillation = &state->teacher.settings;
    return distillation_plan_build(plans, &method->network->graph, driver, &taught, error);
}

static bool plan_distilled(struct method *method, const struct device_driver *driver,
                           const struct plan_settings *settings, struct error *error)
{
    struct distilled *state = method->state;
    distillation_plan_free(&state->plans);
    return build(method, &state->plans, driver, settings, error);
}

static bool forecast(const struct method *method, const struct device_driver *driver,
                     const struct plan_settings *settings, struct memory_forecast *memory,
                     struct error *error)
{
    struct distillation_plan plans;
    const bool built = build(method, &plans, driver, settings, error);
    *memory = plans.forecast;
    distillation_plan_free(&plans);
    return built;
}

static const struct memory_forecast *memory_of(const struct method *method)
{
    const struct distilled *state = method->state;
    return &state->plans.forecast;
}

/* --- training --- */

static bool create_teacher(struct distilled *state, struct device *device,
                           const struct run_config *config, struct error *error)
{
    const size_t logits = distillation_logits(&state->plans);
    if (logits > 0)
        state->logits =
            memory_new_aligned(logits, sizeof *state->logits, "the teacher's predictions", error);
    state->teaching = execution_create(state->plans.teacher, device, &state->teacher.model.weights,
                                       NULL, config->seed, error);
    return state->teaching && (logits == 0 || state->logits);
}

static bool create(struct method *method, struct device *device, struct weights *weights,
                   const struct run_config *config, struct error *error)
{
    struct distilled *state = method->state;
    state->weights = weights;
    state->student = method_create_execution(state->plans.student, device, weights, config, error);
    return state->student && create_teacher(state, device, config, error);
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
    networks[0] = (struct method_network){
        "network", "", state->plans.student, NULL, state->weights, state->student};
    return state->student ? 1 : 0;
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
    .open = open_distilled,
    .close = close_distilled,
    .open_data = open_data,
    .check_preprocessing = check_preprocessing,
    .check = check,
    .plan = plan_distilled,
    .forecast = forecast,
    .memory = memory_of,
    .create = create,
    .step = step,
    .recording_refusals = recording_refusals,
    .networks = list_networks,
    .checksum = checksum,
    .to_json = to_json,
};
