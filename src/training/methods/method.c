/* Chooses the method, and skips the functions that a method does not have. */
#include "runs/settings/settings.h"
#include "training/methods/internal.h"

bool method_is_distilled(const struct method *method)
{
    return method->type == &method_distilled;
}

bool method_begin(struct method *method, const struct run_config *config, struct error *error)
{
    const bool taught = training_settings(config).teacher[0];
    *method = (struct method){.type = taught ? &method_distilled : NULL};
    return !taught || method->type->begin(method, config, error);
}

size_t method_classes(const struct method *method)
{
    return method->type && method->type->classes ? method->type->classes(method) : 0;
}

bool method_open(struct method *method, const struct run_config *config, struct network *network,
                 struct error *error)
{
    if (!method->type && !method_begin(method, config, error))
        return false;
    if (!method->type)
        method->type =
            network_has_discriminator(network) ? &method_adversarial : &method_supervised;
    method->network = network;
    return method->type->open(method, config, error);
}

void method_close(struct method *method)
{
    if (method->state)
        method->type->close(method);
    if (method->plans)
        method->type->free_plans(method->plans);
    *method = (struct method){0};
}

struct method method_of_network(struct network *network, enum plan_mode mode)
{
    const bool adversarial = mode == PLAN_TRAINING && network_has_discriminator(network);
    return (struct method){.type = adversarial ? &method_adversarial : &method_supervised,
                           .network = network};
}

bool method_open_data(struct method *method, const struct run_config *config,
                      const struct dataset *data, struct error *error)
{
    return !method->type->open_data || method->type->open_data(method, config, data, error);
}

bool method_check_preprocessing(const struct method *method,
                                const struct preprocessing *preprocessing, bool fixed,
                                struct error *error)
{
    return !method->type->check_preprocessing ||
           method->type->check_preprocessing(method, preprocessing, fixed, error);
}

bool method_check(const struct method *method, const struct run_config *config,
                  const struct cluster *cluster, struct error *error)
{
    return !method->type->check || method->type->check(method, config, cluster, error);
}

bool method_has_one_loss(const struct method *method)
{
    return method->type != &method_adversarial;
}

bool method_begins_with_weights(const struct method *method)
{
    return method->type != &method_adversarial;
}

/* --- plans --- */

bool method_plan(struct method *method, const struct device_driver *driver,
                 const struct plan_settings *settings, struct error *error)
{
    method->type->free_plans(method->plans);
    method->plans = method->type->plan(method, driver, settings, error);
    return method->plans;
}

const struct memory_forecast *method_memory(const struct method *method)
{
    return method->type->memory(method->plans);
}

bool method_forecast(const struct method *method, const struct device_driver *driver,
                     const struct plan_settings *settings, struct memory_forecast *memory,
                     struct error *error)
{
    void *plans = method->type->plan(method, driver, settings, error);
    const bool planned = plans;
    if (planned)
        *memory = *method->type->memory(plans);
    method->type->free_plans(plans);
    return planned;
}

/* --- training --- */

bool method_create(struct method *method, struct device *device, struct weights *weights,
                   const struct run_config *config, struct error *error)
{
    return method->type->create(method, device, weights, config, error);
}

bool method_step(struct method *method, const struct execution_batch *batch, uint64_t iteration,
                 float learning_rate, struct step_losses *losses)
{
    return method->type->step(method, batch, iteration, learning_rate, losses);
}

bool method_find_first_bad_layer(const struct method *method, uint64_t iteration,
                                 struct bad_layer *layer)
{
    return method->type->find_first_bad_layer
               ? method->type->find_first_bad_layer(method, iteration, layer)
               : execution_find_first_bad_layer(method_execution(method), iteration, layer);
}

struct recording_refusals method_recording_refusals(const struct method *method)
{
    return method->type && method->type->recording_refusals
               ? method->type->recording_refusals(method)
               : execution_recording_refusals(method_execution(method));
}

/* --- the networks --- */

size_t method_networks(const struct method *method, struct method_network networks[METHOD_NETWORKS])
{
    return method->state ? method->type->networks(method, networks) : 0;
}

struct execution *method_execution(const struct method *method)
{
    struct method_network networks[METHOD_NETWORKS];
    return method_networks(method, networks) > 0 ? networks[0].execution : NULL;
}

void method_set_profiles(struct method *method, struct profile *const profiles[METHOD_NETWORKS])
{
    if (!method_execution(method))
        return;
    if (method->type->set_profiles)
        method->type->set_profiles(method, profiles);
    else
        execution_set_profile(method_execution(method), profiles[0]);
}

void method_set_momentum(struct method *method, float momentum)
{
    struct method_network networks[METHOD_NETWORKS];
    const size_t count = method_networks(method, networks);
    for (size_t i = 0; i < count; i++)
        execution_set_momentum(networks[i].execution, momentum);
}

/* --- the state --- */

bool method_fetch(const struct method *method, struct error *error)
{
    struct method_network networks[METHOD_NETWORKS];
    const size_t count = method_networks(method, networks);
    for (size_t i = 0; i < count; i++)
        if (!execution_fetch(networks[i].execution, error))
            return false;
    return true;
}

struct method_counters method_save(const struct method *method)
{
    struct method_network networks[METHOD_NETWORKS];
    struct method_counters counters = {0};
    const size_t count = method_networks(method, networks);
    for (size_t i = 0; i < count; i++) {
        counters.steps[i] = execution_solver_step(networks[i].execution);
        counters.loss_scales[i] = execution_loss_scale(networks[i].execution);
    }
    return counters;
}

void method_restore(struct method *method, const struct method_counters *counters)
{
    struct method_network networks[METHOD_NETWORKS];
    const size_t count = method_networks(method, networks);
    for (size_t i = 0; i < count; i++) {
        execution_touch(networks[i].execution);
        execution_set_solver_step(networks[i].execution, counters->steps[i]);
        execution_set_loss_scale(networks[i].execution, counters->loss_scales[i]);
    }
}

uint32_t method_checksum(const struct method *method)
{
    return method->type->checksum ? method->type->checksum(method) : 0;
}

bool method_to_json(const struct method *method, struct json *tree)
{
    return !method->type->to_json || method->type->to_json(method, tree);
}
