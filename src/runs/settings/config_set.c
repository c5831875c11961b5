/* Sets given values, and checks that they go together.
 *
 * `given` has a flag for each field that config_set has set. Presets, and defaults that depend on
 * other fields, never overwrite these fields, so the order of options does not matter. */
#include "runs/settings/internal.h"

#include "engine/devices/rank_device.h"
#include "runs/settings/config_data.h"

#include <stdio.h>
#include <string.h>

static void mark_given(struct run_config *config, const struct config_field *field)
{
    config->given.fields[field - config_fields] = true;
    if (IS_MEMBER(field, iterations))
        config->has_iterations = true;
}

void config_allow_share(struct run_config *config)
{
    config->data_divides = false;
}

/* Refuses a value of `validate` beside another share that the data names. */
static bool check_division(const struct run_config *config, const char *value, struct error *error)
{
    if (!config->data_divides || strcmp(value, config->validate) == 0)
        return true;
    return error_set(
        error, ERROR_USAGE, OPTION(validate), "give --validate, or validate= of --data",
        "the training data holds out a share for validation already (%s)", config->validate);
}

/* Sets the data. Its option validate=F becomes the value of the setting `validate`. */
static bool set_data(struct run_config *config, const char *value, struct error *error)
{
    char data[sizeof config->data], share[64], validate[sizeof config->validate];
    const struct config_field *field = config_find(KEY(data)), *held = config_find(KEY(validate));
    if (!config_data_take_option(value, "validate", data, sizeof data, share, sizeof share))
        return config_store(config, field, value, error);
    snprintf(validate, sizeof validate, "auto,share=%s", share);
    if (config_is_given(config, KEY(validate)) && strcmp(config->validate, validate) != 0)
        return error_set(error, ERROR_USAGE, OPTION(data),
                         "give --validate, or validate= of --data",
                         "validate=%s contradicts --validate %s", share, config->validate);
    if (!config_store(config, field, data, error) || !config_store(config, held, validate, error))
        return false;
    mark_given(config, held);
    config->data_divides = true;
    return true;
}

bool config_set_field(struct run_config *config, const struct config_field *field,
                      const char *value, struct error *error)
{
    if (IS_MEMBER(field, preset))
        return config_apply_preset(config, value, error);
    if (IS_MEMBER(field, validate) && !check_division(config, value, error))
        return false;
    if (IS_MEMBER(field, iterations) && !value[0]) {
        config->has_iterations = false;
        config->given.fields[field - config_fields] = false;
        return true;
    }
    if (!(IS_MEMBER(field, data) ? set_data(config, value, error)
                                 : config_store(config, field, value, error)))
        return false;
    mark_given(config, field);
    return true;
}

bool config_set_number(struct run_config *config, const struct config_field *field, double number)
{
    void *member = (char *)config + field->offset;
    if (!(number >= field->low && number <= field->high))
        return false;
    if (field->kind == CONFIG_COUNT)
        *(size_t *)member = (size_t)number;
    else
        *(double *)member = number;
    mark_given(config, field);
    return true;
}

void config_set_flag(struct run_config *config, const struct config_field *field, bool flag)
{
    *(bool *)((char *)config + field->offset) = flag;
    mark_given(config, field);
}

bool config_has_dependents(const struct config_field *field)
{
    return IS_MEMBER(field, network) || IS_MEMBER(field, data);
}

bool config_set(struct run_config *config, const char *key, const char *value, struct error *error)
{
    const struct config_field *field = config_find(key);
    if (!field)
        return config_put(config, key, value, error);
    if (!config_set_field(config, field, value, error))
        return false;
    if (config_has_dependents(field))
        config_fill_dependent(config);
    return true;
}

/* --- contradictions --- */

static bool check_targets(const struct run_config *config, struct error *error)
{
    struct augmentation augmentation = {0};
    augmentation_parse(&augmentation, config->augment, NULL); /* config_set checked it */
    const bool mixes = augmentation_mixes(&augmentation);
    if (mixes && config->batch < 2)
        return error_set(error, ERROR_USAGE, OPTION(augment), "give --batch 2 or more",
                         "mixup and cutmix mix the images of a batch, and it has only one");
    return true;
}

static bool check_teacher(const struct run_config *config, struct error *error)
{
    struct run_config defaults;
    config_defaults(&defaults);
    const bool warm = config->temperature != defaults.temperature;
    if (config->teacher[0] || (!warm && config->distill_weight == defaults.distill_weight))
        return true;
    return error_set(error, ERROR_USAGE, warm ? OPTION(temperature) : OPTION(distill_weight),
                     "give --teacher a saved model", "there is no teacher to compare with");
}

static bool check_momentum(const struct run_config *config, struct error *error)
{
    if (config->cycle_momentum == 0)
        return true;
    if (config->schedule != LR_SCHEDULE_ONECYCLE)
        return error_set(error, ERROR_USAGE, OPTION(cycle_momentum), "give --schedule onecycle",
                         "the schedule %s has no cycle", lr_schedule_names[config->schedule]);
    if (!(config->cycle_momentum < config->momentum))
        return error_set(
            error, ERROR_USAGE, OPTION(cycle_momentum), "give a lower one, or a higher --momentum",
            "it is the lowest momentum, and --momentum %g the highest", config->momentum);
    return !config_on_gpu(config) ||
           error_set(error, ERROR_USAGE, OPTION(cycle_momentum),
                     "train without it, or choose the device cpu or reference",
                     "the device %s cannot change the momentum", config->device);
}

static bool check_training(const struct run_config *config, struct error *error)
{
    if ((config->clip_norm > 0 || config->clip_value > 0) && config_on_gpu(config))
        return error_set(error, ERROR_USAGE,
                         config->clip_norm > 0 ? OPTION(clip_norm) : OPTION(clip_value),
                         "train without it, or choose the device cpu or reference",
                         "the device %s cannot limit gradients", config->device);
    if ((config->freeze[0] || config->rates[0]) && config_on_gpu(config))
        return error_set(error, ERROR_USAGE, config->freeze[0] ? OPTION(freeze) : OPTION(rates),
                         "train without it, or choose the device cpu or reference",
                         "the device %s cannot give layers rates of their own", config->device);
    if (config->reduce == REDUCE_FAST && config->compress != COMPRESS_NONE)
        return error_set(error, ERROR_USAGE, OPTION(compress),
                         "leave out --compress or --reduce fast",
                         "MPI adds no values of bf16 itself");
    if (config->names[0] && !config->weights[0])
        return error_set(error, ERROR_USAGE, OPTION(names), "give --weights a file",
                         "it says how a file names its weights");
    if (config->reset[0] && !config->weights[0])
        return error_set(error, ERROR_USAGE, OPTION(reset), "give --weights a file",
                         "without weights to begin with, every layer begins anew");
    if (!check_teacher(config, error) || !check_momentum(config, error))
        return false;
    if (config->stop_patience > 0 && !config->validate[0])
        return error_set(error, ERROR_USAGE, OPTION(stop_patience), "give --validate a data set",
                         "it counts validations, and this run has none");
    return true;
}

bool config_check(const struct run_config *config, struct error *error)
{
    if (!config->network[0])
        return error_set(error, ERROR_USAGE, "the network", "name one: tinca networks lists them",
                         "none was given");
    if (!config->data[0])
        return error_set(error, ERROR_USAGE, OPTION(data), "name one: tinca datasets lists them",
                         "no data set was given");
    if (config_is_given(config, KEY(epochs)) && config_is_given(config, KEY(iterations)))
        return error_set(error, ERROR_USAGE, "--epochs and --iterations", "give one of them",
                         "both say how long the run is");
    if (config->batch == 0 || config->average_loss == 0 ||
        (!config->has_iterations && config->epochs == 0))
        return error_set(error, ERROR_USAGE, "the configuration", NULL,
                         "batch, epochs and average-loss begin at 1");
    if (config->precision == PRECISION_INT8)
        return error_set(error, ERROR_USAGE, OPTION(precision),
                         "train in float32, and then quantize the model with tinca quantize",
                         "only trained networks compute in int8");
    if (config->precision != PRECISION_FLOAT32 && config->precision != PRECISION_BF16 &&
        !config_on_gpu(config))
        return error_set(error, ERROR_USAGE, OPTION(precision),
                         "choose float32 or bf16, or the device cuda",
                         "the device %s does not compute in %s", config->device,
                         device_precision_names[config->precision]);
    if (config->processes > 1 && !rank_device_check(config->device, error))
        return false;
    const double last_seed = 999999999999999.0;
    if ((double)config->seed + (double)config->seeds - 1 > last_seed)
        return error_set(error, ERROR_USAGE, OPTION(seeds), "choose a lower --seed",
                         "the seeds would exceed %.0f", last_seed);
    return config_check_validation(config, error) && config_check_test(config, error) &&
           check_targets(config, error) && check_training(config, error);
}
