/* The table of a run's settings, made of the rows of settings.inc, and the functions that they
 * name. */
#include "runs/settings/config.h"

#include "base/language.h"
#include "base/text.h"
#include "data/dataset/dataset.h"
#include "engine/devices/device.h"
#include "engine/network/network.h"

#include <string.h>

static const char *const normalisations[] = {"auto",  "measured", "unit",    "unit256",  "signed",
                                             "caffe", "imagenet", "cifar10", "cifar100", NULL};

static const char *const filters[] = {"auto", "bilinear", "bicubic", "bilinear2", NULL};

const char *const sampling_names[] = {"shuffled", "balanced", NULL};

static const char *const reductions[] = {"exact", "fast", NULL};
static const char *const compressions[] = {"none", "bf16", NULL};

const char *const config_presets[] = {"overfit", "cifar", "pix2pix", "digits", NULL};

/* --- when a setting has an effect --- */

bool config_on_gpu(const struct run_config *config)
{
    return strncmp(config->device, "cuda", 4) == 0;
}

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

/* --- values that the form offers --- */

static const char *nth_network(size_t n)
{
    return n < network_builtin_count ? network_builtins[n].name : NULL;
}

/* Returns the n-th device that can be chosen, or NULL. The first GPU is called `cuda`. */
static const char *nth_device(size_t n)
{
    static const char *const gpus[] = {"cuda:1", "cuda:2", "cuda:3", "cuda:4",
                                       "cuda:5", "cuda:6", "cuda:7", NULL};
    char reason[256];
    for (size_t i = 0; device_drivers[i]; i++) {
        const struct device_driver *driver = device_drivers[i];
        if (!driver->available(reason, sizeof reason))
            continue;
        if (n == 0)
            return driver->name;
        const size_t more = driver->count ? driver->count() - 1 : 0;
        if (n <= more && n < sizeof gpus / sizeof *gpus)
            return gpus[n - 1];
        n -= 1 + more;
    }
    return NULL;
}

/* Generated sets need no files, so they can be chosen without a path. */
static const char *nth_generated(size_t n)
{
    size_t count;
    const struct dataset_kind *kinds = dataset_kinds(&count);
    for (size_t i = 0; i < count; i++)
        if (!kinds[i].argument[0] && n-- == 0)
            return kinds[i].name;
    return NULL;
}

/* The generated sets, and a share of the training data. */
static const char *nth_validation(size_t n)
{
    size_t sets = 0;
    while (nth_generated(sets))
        sets++;
    return n < sets ? nth_generated(n) : n == sets ? "auto,share=0.1" : NULL;
}

/* The test split of the training data, and the generated sets. */
static const char *nth_test(size_t n)
{
    return n == 0 ? "auto" : nth_generated(n - 1);
}

/* --- the forms of texts --- */

static bool fits_widths(const char *value)
{
    struct network_widths widths;
    return !value[0] || network_widths_parse(value, ',', &widths);
}

static bool fits_bytes(const char *value)
{
    uint64_t bytes;
    return !value[0] || text_to_bytes(value, &bytes);
}

static bool fits_bucket(const char *value)
{
    uint64_t bytes;
    return strcmp(value, "auto") == 0 || strcmp(value, "whole") == 0 ||
           (text_to_bytes(value, &bytes) && bytes > 0);
}

static bool fits_time(const char *value)
{
    double seconds;
    return !value[0] || (text_to_seconds(value, &seconds) && seconds > 0);
}

static const char *rewrite_augmentation(const char *value, char text[CONFIG_REWRITTEN],
                                        struct error *error)
{
    struct augmentation augmentation;
    return augmentation_parse(&augmentation, value, error)
               ? augmentation_format(&augmentation, text, CONFIG_REWRITTEN)
               : NULL;
}

/* --- the table --- */

#define SETTING(class, member, key, ...) const char config_option_##member[] = "--" key;
#include "runs/settings/settings.inc"
#undef SETTING

#define KIND_TEXT(size) CONFIG_TEXT
#define KIND_COUNT      CONFIG_COUNT
#define KIND_NUMBER     CONFIG_NUMBER
#define KIND_CHOICE     CONFIG_CHOICE
#define KIND_FLAG       CONFIG_FLAG
#define LIST(...)                                                                                  \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

const struct config_field config_fields[] = {
#define SETTING(of, member, name, type, standard, ...)                                             \
    {.key = KEY(member),                                                                           \
     .kind = KIND_##type,                                                                          \
     .class = SETTINGS_##of,                                                                       \
     .offset = offsetof(struct run_config, member),                                                \
     .size = sizeof(((struct run_config *)0)->member),                                             \
     __VA_ARGS__},
#include "runs/settings/settings.inc"
#undef SETTING
};
const size_t config_field_count = sizeof config_fields / sizeof *config_fields;
_Static_assert(sizeof config_fields / sizeof *config_fields <= CONFIG_MAX_FIELDS, "it is larger");

const struct config_field *config_find(const char *key)
{
    for (size_t i = 0; i < config_field_count; i++)
        if (strcmp(config_fields[i].key, key) == 0)
            return &config_fields[i];
    return NULL;
}

void config_defaults(struct run_config *config)
{
    static const struct run_config defaults = {
#define SETTING(class, member, key, type, standard, ...) .member = standard,
#include "runs/settings/settings.inc"
#undef SETTING
    };
    *config = defaults;
}

static const char *nth(const char *const *list, size_t n)
{
    for (size_t i = 0; list && list[i]; i++)
        if (i == n)
            return list[i];
    return NULL;
}

const char *config_suggestion(const char *key, size_t n)
{
    const struct config_field *field = config_find(key);
    if (!field || field->suggest)
        return field ? field->suggest(n) : NULL;
    return nth(field->suggestions ? field->suggestions : field->choices, n);
}

bool config_counts(const struct run_config *config, const struct config_field *field)
{
    return field->about != ABOUT_LENGTH || field->applies(config);
}

static bool is_changed(const struct run_config *config, const struct config_field *field)
{
    struct run_config defaults;
    config_defaults(&defaults);
    return memcmp((const char *)config + field->offset, (const char *)&defaults + field->offset,
                  field->size) != 0;
}

bool config_applies(const struct run_config *config, const struct config_field *field)
{
    /* only one of the lengths counts, even if all differ from their defaults */
    if (field->in_form || (field->about != ABOUT_LENGTH && is_changed(config, field)))
        return true;
    return field->applies && field->applies(config);
}
