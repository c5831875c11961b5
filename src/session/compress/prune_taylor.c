/* Gradients of a saved model, from the batches of a training that updates nothing. */
#include "session/compress/prune_taylor.h"

#include "base/memory.h"
#include "session/config/config_data.h"
#include "session/prepare/prepare.h"

#include <stdio.h>
#include <stdlib.h>

/* Sets up a training of so many iterations that begins with the model. */
static bool make_config(struct run_config *config, const char *path,
                        const struct prune_request *request, struct error *error)
{
    char spec[CONFIG_SPEC];
    *config = request->config;
    if (config_holds_out(config)) /* what is held out is not read */
        snprintf(config->data, sizeof config->data, "%s", config_training_spec(config, spec));
    config->validate[0] = '\0';
    config->stop_patience = 0;
    config->ema = 0;
    if (!config_set(config, "network", path, error) || !config_set(config, "weights", path, error))
        return false;
    config->has_iterations = true;
    config->iterations = request->batches;
    /* epochs that were given do not contradict the iterations */
    config->given = (struct config_given){0};
    return config_check(config, error);
}

/* Adds the values of the next batch. */
static bool add_batch(struct preparation *prepared, const struct channel_groups *groups, uint64_t i,
                      double *sums, struct error *error)
{
    struct data_batch batch;
    if (!data_loader_next(prepared->loader, &batch, error))
        return false;
    const struct execution_batch bound = prepare_batch(prepared, &batch);
    struct execution *execution = method_execution(&prepared->method);
    execution_bind(execution, &bound);
    execution_forward(execution, i);
    execution_backward(execution);
    execution_wait(execution);
    if (!device_check(prepared->device, error))
        return false;
    const float *gradients = execution_parameter_gradients(execution);
    if (!gradients)
        return error_set_memory(error, "the gradients", 0);
    return channel_importance_add_taylor(groups, prepared->weights.values, gradients, sums, error);
}

static bool add_batches(struct preparation *prepared, const struct prune_subject *subject,
                        const struct prune_request *request, const struct prune_hooks *hooks,
                        double *sums, struct error *error)
{
    if (!method_has_one_loss(&prepared->method))
        return error_set(error, ERROR_UNSUPPORTED, prepared->network->name, "choose --criterion l1",
                         "two networks that train against each other have no loss whose change "
                         "could be estimated");
    for (size_t i = 0; i < request->batches; i++)
        if (!add_batch(prepared, &subject->groups, i, sums, error) ||
            !hooks->go_on(hooks->context, error))
            return false;
    return true;
}

double *prune_taylor_sums(const struct prune_subject *subject, const struct prune_request *request,
                          const struct prune_hooks *hooks, struct error *error)
{
    struct run_config config;
    struct preparation prepared = {0};
    double *sums = memory_new(subject->groups.channel_count, sizeof *sums, "the criterion", error);
    bool summed = sums && make_config(&config, subject->path, request, error);
    if (summed) {
        const struct run_preprocessing from = run_preprocessing_of(&config, NULL);
        summed = prepare(&prepared, &config, &from, 0, NULL, NULL, error);
    }
    if (summed) {
        summed = add_batches(&prepared, subject, request, hooks, sums, error);
        prepare_free(&prepared);
    }
    if (summed)
        return sums;
    free(sums);
    return NULL;
}
