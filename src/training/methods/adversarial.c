/* A generator is trained against a discriminator (engine/execution/gan.h). Both begin with random
 * weights, have a solver each, and are trained in each iteration. */
#include "base/memory.h"
#include "engine/cluster/cluster.h"
#include "engine/execution/gan.h"
#include "runs/settings/settings.h"
#include "training/methods/internal.h"

#include <math.h>
#include <stdlib.h>

struct adversarial {
    struct weights *weights; /* the generator's, borrowed */
    struct gan *gan;
};

static bool open_adversarial(struct method *method, const struct run_config *config,
                             struct error *error)
{
    network_set_loss_weight(method->network, (float)training_settings(config).l1_weight);
    method->state = memory_new(1, sizeof(struct adversarial), "the training", error);
    return method->state;
}

static void close_adversarial(struct method *method)
{
    struct adversarial *state = method->state;
    gan_free(state->gan);
    free(state);
}

static bool check(const struct method *method, const struct run_config *config,
                  const struct cluster *cluster, struct error *error)
{
    const char *name = method->network->name;
    const struct training_settings training = training_settings(config);
    if (cluster && machine_settings(config).on_gpu)
        return error_set(error, ERROR_UNSUPPORTED, name,
                         "train it in one process, or choose the device cpu",
                         "a network with a discriminator trains on one GPU");
    if (training.weights[0] || training.freeze[0] || training.rates[0])
        return error_set(error, ERROR_UNSUPPORTED, name,
                         "leave out --weights, --freeze and --rates",
                         "a network with a discriminator cannot begin with weights or freeze them");
    return true;
}

/* --- plans --- */

static void free_plans(void *plans)
{
    if (plans)
        gan_plan_free(plans);
    free(plans);
}

static void *plan_adversarial(const struct method *method, const struct device_driver *driver,
                              const struct plan_settings *settings, struct error *error)
{
    struct gan_plan *plans = memory_new(1, sizeof *plans, "the plan", error);
    if (plans && gan_plan_build(plans, method->network, driver, settings, error))
        return plans;
    free_plans(plans);
    return NULL;
}

static const struct memory_forecast *memory_of(const void *plans)
{
    const struct gan_plan *built = plans;
    return &built->forecast;
}

/* --- training --- */

static bool create(struct method *method, struct device *device, struct weights *weights,
                   const struct run_config *config, struct error *error)
{
    struct adversarial *state = method->state;
    const struct training_settings training = training_settings(config);
    const struct gradient_sums sums = machine_settings(config).gradient_sums;
    state->weights = weights;
    state->gan =
        gan_create(method->plans, device, weights, &training.solver_settings, training.seed, error);
    if (state->gan)
        gan_set_sums(state->gan, &sums);
    return state->gan && gan_set_clipping(state->gan, &training.clipping, error);
}

static bool step(struct method *method, const struct execution_batch *batch, uint64_t iteration,
                 float learning_rate, struct step_losses *losses)
{
    const struct adversarial *state = method->state;
    struct gan_losses parts;
    const bool finite = gan_iterate(state->gan, batch, iteration, learning_rate, &parts);
    *losses = (struct step_losses){.total = parts.generator,
                                   .discriminator = parts.discriminator,
                                   .l1 = parts.main,
                                   .labels = NAN,
                                   .teacher = NAN};
    return finite;
}

static bool find_first_bad_layer(const struct method *method, uint64_t iteration,
                                 struct bad_layer *layer)
{
    const struct adversarial *state = method->state;
    return gan_find_first_bad_layer(state->gan, iteration, layer);
}

static struct recording_refusals recording_refusals(const struct method *method)
{
    const struct adversarial *state = method->state;
    return state->gan ? gan_recording_refusals(state->gan) : (struct recording_refusals){.why = ""};
}

static size_t list_networks(const struct method *method, struct method_network *networks)
{
    const struct adversarial *state = method->state;
    const struct gan_plan *plans = method->plans;
    struct gan *gan = state->gan;
    if (!plans)
        return 0;
    networks[0] =
        (struct method_network){"generator",      "",
                                plans->generator, NULL,
                                state->weights,   gan ? gan_generator_execution(gan) : NULL};
    networks[1] = (struct method_network){"discriminator",
                                          "discriminator.",
                                          plans->discriminator_step,
                                          plans->frozen_discriminator,
                                          gan ? gan_discriminator(gan) : NULL,
                                          gan ? gan_discriminator_execution(gan) : NULL};
    return 2;
}

static void set_profiles(struct method *method, struct profile *const *profiles)
{
    const struct adversarial *state = method->state;
    gan_set_profiles(state->gan, profiles[0], profiles[1]);
}

const struct method_type method_adversarial = {
    .open = open_adversarial,
    .close = close_adversarial,
    .check = check,
    .plan = plan_adversarial,
    .free_plans = free_plans,
    .memory = memory_of,
    .create = create,
    .step = step,
    .find_first_bad_layer = find_first_bad_layer,
    .recording_refusals = recording_refusals,
    .networks = list_networks,
    .set_profiles = set_profiles,
};
