/* Decides which settings have an effect with the present values of the others. A form shows these.
 */
#include "session/config/config.h"

#include "engine/network/network.h"

#include <string.h>

static bool shuffles(const struct run_config *config)
{
    return config->technique == TECHNIQUE_SHUFFLE || strstr(config->network, "-shuffle");
}

/* Returns whether the network may have residual blocks; a network file may. */
static bool has_blocks(const struct run_config *config)
{
    return strncmp(config->network, "resnet", 6) == 0 || network_is_path(config->network);
}

static bool counts_epochs(const struct run_config *config)
{
    return !config->has_iterations;
}

static bool counts_iterations(const struct run_config *config)
{
    return config->has_iterations;
}

static bool has_gamma(const struct run_config *config)
{
    return config->schedule == LR_SCHEDULE_STEP || config->schedule == LR_SCHEDULE_PLATEAU ||
           config->schedule == LR_SCHEDULE_INV;
}

static bool has_power(const struct run_config *config)
{
    return config->schedule == LR_SCHEDULE_POLY || config->schedule == LR_SCHEDULE_INV;
}

static bool keeps_squares(const struct run_config *config)
{
    return solver_is_adam((enum solver_kind)config->solver) || config->solver == SOLVER_RMSPROP;
}

/* Returns whether the momentum can have two forms that differ, once the rate changes. */
static bool has_velocity(const struct run_config *config)
{
    return (config->solver == SOLVER_SGD || config->solver == SOLVER_NESTEROV) &&
           config->momentum > 0 && config->schedule != LR_SCHEDULE_FIXED;
}

static bool cycles(const struct run_config *config)
{
    return config->schedule == LR_SCHEDULE_ONECYCLE;
}

static bool begins_with_weights(const struct run_config *config)
{
    return config->weights[0];
}

static bool has_teacher(const struct run_config *config)
{
    return config->teacher[0];
}

static bool freezes(const struct run_config *config)
{
    return config->freeze[0];
}

static bool stops_early(const struct run_config *config)
{
    return config->stop_patience > 0;
}

static bool has_steps(const struct run_config *config)
{
    return config->schedule == LR_SCHEDULE_STEP;
}

/* Returns whether average-loss is offered: the preset overfit studies the mean that Caffe prints.
 */
static bool studies_mean(const struct run_config *config)
{
    return strcmp(config->preset, "overfit") == 0;
}

static bool makes_pictures(const struct run_config *config)
{
    return strncmp(config->network, "pix2pix", 7) == 0 || strcmp(config->preset, "pix2pix") == 0;
}

static bool shares_batches(const struct run_config *config)
{
    return config->processes > 1 && !config_on_gpu(config); /* NCCL adds those of GPUs */
}

static const struct {
    const char *key;
    bool (*applies)(const struct run_config *config);
} rules[] = {{"strict-device", config_on_gpu},
             {"reduce", shares_batches},
             {"compress", shares_batches},
             {"bucket", shares_batches},
             {"groups", shuffles},
             {"momentum-form", has_velocity},
             {"cycle-momentum", cycles},
             {"beta2", keeps_squares},
             {"epsilon", keeps_squares},
             {"names", begins_with_weights},
             {"reset", begins_with_weights},
             {"unfreeze-at", freezes},
             {"temperature", has_teacher},
             {"distill-weight", has_teacher},
             {"stop-metric", stops_early},
             {"stop-change", stops_early},
             {"block-rate", has_blocks},
             {"epochs", counts_epochs},
             {"iterations", counts_iterations},
             {"gamma", has_gamma},
             {"power", has_power},
             {"step-size", has_steps},
             {"average-loss", studies_mean},
             {"l1-weight", makes_pictures},
             {"tolerance", makes_pictures}};

static bool is_changed(const struct run_config *config, const struct config_field *field)
{
    struct run_config defaults;
    config_defaults(&defaults);
    return memcmp((const char *)config + field->offset, (const char *)&defaults + field->offset,
                  field->size) != 0;
}

bool config_applies(const struct run_config *config, const struct config_field *field)
{
    /* only one of the two is the run's length, even if both differ from their defaults */
    bool length = strcmp(field->key, "epochs") == 0 || strcmp(field->key, "iterations") == 0;
    if (field->in_form || (!length && is_changed(config, field)))
        return true;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rules[i].key, field->key) == 0)
            return rules[i].applies(config);
    return false;
}
