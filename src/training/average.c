/* The exponential moving average of the weights (--ema), which is validated and saved in their
 * place. All ranks keep it, since they share the validations. A checkpoint has the averages of
 * learnable parameters; running statistics are those of the weights. */
#include "training/observer.h"

#include "engine/weights/weights_average.h"

static bool is_kept(const struct run_config *config)
{
    return training_settings(config).ema > 0;
}

static uint64_t bytes_of_average(const struct run_extent *extent)
{
    return is_kept(extent->config) ? extent->network->graph.total_floats * sizeof(float) : 0;
}

static bool check(const struct preparation *prepared, struct error *error)
{
    if (!is_kept(prepared->config) || method_has_one_loss(&prepared->method))
        return true;
    return error_set(error, ERROR_UNSUPPORTED, OPTION(ema), "train without it",
                     "%s trains against a discriminator, and its weights are not averaged",
                     prepared->network->name);
}

static bool allocate(struct preparation *prepared, struct error *error)
{
    return !is_kept(prepared->config) ||
           (weights_create(&prepared->derived, &prepared->network->graph, error) &&
            weights_on_device(&prepared->derived, prepared->device, error));
}

static void follow(struct preparation *prepared, uint64_t iteration)
{
    if (!is_kept(prepared->config))
        return;
    if (iteration == 0)
        weights_average_begin(&prepared->derived, &prepared->weights);
    else
        weights_average_update(&prepared->derived, &prepared->weights,
                               prepared->settings.training.ema, prepared->device->pool);
}

static bool open_average(void *state, struct trainer *trainer)
{
    struct preparation *prepared = &trainer->prepared;
    (void)state;
    if (is_kept(prepared->config) && !trainer->resumption.file.file)
        weights_average_begin(&prepared->derived, &prepared->weights);
    return true;
}

static const float *values_of(const struct trainer *trainer)
{
    return is_kept(trainer->prepared.config) ? trainer->prepared.derived.values : NULL;
}

static void restore(void *state, struct trainer *trainer)
{
    struct preparation *prepared = &trainer->prepared;
    (void)state;
    if (is_kept(prepared->config))
        weights_average_restore(&prepared->derived, &prepared->weights);
}

static const struct saved_arrays arrays = {
    .prefix = "average.", .are_used = is_kept, .values = values_of};

const struct observer observer_average = {.name = "average",
                                          .arrays = &arrays,
                                          .bytes = bytes_of_average,
                                          .on_all_ranks.check = check,
                                          .on_all_ranks.prepare = allocate,
                                          .on_all_ranks.follow = follow,
                                          .open = open_average,
                                          .restore = restore};
