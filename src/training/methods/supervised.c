/* Trains one network on its own losses. */
#include "base/memory.h"
#include "runs/settings/settings.h"
#include "training/methods/internal.h"

#include <math.h>
#include <stdlib.h>

struct supervised {
    struct weights *weights; /* borrowed */
    struct execution *execution;
};

static bool open_supervised(struct method *method, const struct run_config *config,
                            struct error *error)
{
    (void)config;
    method->state = memory_new(1, sizeof(struct supervised), "the training", error);
    return method->state;
}

static void close_supervised(struct method *method)
{
    struct supervised *state = method->state;
    execution_free(state->execution);
    free(state);
}

static void *plan_supervised(const struct method *method, const struct device_driver *driver,
                             const struct plan_settings *settings, struct error *error)
{
    return plan_build(&method->network->graph, driver, settings, error);
}

static void free_plans(void *plans)
{
    plan_free(plans);
}

static const struct memory_forecast *memory_of(const void *plans)
{
    const struct plan *plan = plans;
    return &plan->forecast;
}

struct execution *method_create_execution(const struct plan *plan, struct device *device,
                                          struct weights *weights, const struct run_config *config,
                                          struct error *error)
{
    const struct training_settings training = training_settings(config);
    const struct gradient_sums sums = machine_settings(config).gradient_sums;
    struct execution *execution =
        execution_create(plan, device, weights, &training.solver_settings, training.seed, error);
    if (!execution)
        return NULL;
    execution_set_sums(execution, &sums);
    if (execution_set_clipping(execution, &training.clipping, error))
        return execution;
    execution_free(execution);
    return NULL;
}

static bool create(struct method *method, struct device *device, struct weights *weights,
                   const struct run_config *config, struct error *error)
{
    struct supervised *state = method->state;
    state->weights = weights;
    state->execution = method_create_execution(method->plans, device, weights, config, error);
    return state->execution;
}

static bool step(struct method *method, const struct execution_batch *batch, uint64_t iteration,
                 float learning_rate, struct step_losses *losses)
{
    const struct supervised *state = method->state;
    execution_bind(state->execution, batch);
    *losses =
        (struct step_losses){.total = execution_iterate(state->execution, iteration, learning_rate),
                             .discriminator = NAN,
                             .l1 = NAN,
                             .labels = NAN,
                             .teacher = NAN};
    return isfinite(losses->total);
}

static size_t list_networks(const struct method *method, struct method_network *networks)
{
    const struct supervised *state = method->state;
    networks[0] = (struct method_network){"network",       "", method->plans, NULL, state->weights,
                                          state->execution};
    return method->plans ? 1 : 0;
}

const struct method_type method_supervised = {
    .open = open_supervised,
    .close = close_supervised,
    .plan = plan_supervised,
    .free_plans = free_plans,
    .memory = memory_of,
    .create = create,
    .step = step,
    .networks = list_networks,
};
