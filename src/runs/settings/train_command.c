/* A command line needs an option for each field that differs from the configuration that the
 * command would have without options. That configuration is built here, with the same network,
 * preset and data. */
#include "runs/settings/train_command.h"

#include "base/escape/shell.h"
#include "engine/network/network.h"

#include <stdio.h>
#include <string.h>

/* Returns the configuration that the command has before further options. A run that is started
 * joins no group of seeds. */
static struct run_config without_options(const struct run_config *config)
{
    struct run_config plain;
    config_defaults(&plain);
    config_set(&plain, KEY(network), config->network, NULL);
    if (config->preset[0])
        config_set(&plain, KEY(preset), config->preset, NULL);
    config_set(&plain, KEY(data), config->data, NULL);
    config_put(&plain, KEY(seed_group), config->seed_group, NULL);
    return plain;
}

static void append_setting(struct text *text, const struct run_config *config,
                           const struct run_config *plain, const struct config_field *field)
{
    char value[1024], without[1024];
    config_get(config, field->key, value, sizeof value);
    config_get(plain, field->key, without, sizeof without);
    if (!config_counts(config, field) || strcmp(value, without) == 0)
        return;
    text_append(text, " --%s%s", field->key, field->value_optional || !value[0] ? "=" : " ");
    if (value[0]) /* else the preset has a value, and the run none */
        shell_word_append(text, value);
}

/* Appends the settings that have a meaning in the task, those of some classes alone. */
static void append_settings(struct text *text, const struct run_config *config,
                            const struct run_config *plain, unsigned classes, enum config_task task)
{
    for (size_t i = 0; i < config_field_count; i++)
        if ((config_fields[i].class & classes) && config_has_meaning(&config_fields[i], task))
            append_setting(text, config, plain, &config_fields[i]);
}

/* Returns whether a technique has groups: no option gives them to the others. */
static bool has_groups(const char *technique)
{
    return strcmp(technique, technique_names[TECHNIQUE_SHUFFLE]) == 0;
}

void train_command_append(struct text *text, const struct run_config *config, const char *network,
                          const char *technique)
{
    char name[sizeof config->network + 64];
    struct run_config written = without_options(config);
    const char *own = technique_names[config->technique];
    const char *wanted = technique ? technique : config->technique ? own : "none";
    bool path = network_is_path(network ? network : config->network),
         plain = strcmp(wanted, "none") == 0;
    bool suffix = network && !path && !plain;
    snprintf(name, sizeof name, "%s%s%s", network ? network : config->network, suffix ? "-" : "",
             suffix ? wanted : "");
    text_append(text, "tinca train ");
    shell_word_append(text, name);
    if (!suffix && !plain)
        text_append(text, " --technique %s", wanted);
    if (config->preset[0])
        text_append(text, " --preset %s", config->preset);
    text_append(text, " --data ");
    shell_word_append(text, config->data);
    written.technique = config->technique;
    if (technique && !has_groups(technique))
        written.groups = config->groups;
    append_settings(text, config, &written, SETTINGS_ALL, TASK_TRAIN);
}

void bench_command_append(struct text *text, const struct run_config *config)
{
    struct run_config bare = *config;
    bare.preset[0] = '\0'; /* tinca bench has no presets */
    struct run_config written = without_options(&bare);
    char network[4 * sizeof config->network + 8];
    text_append(text, "tinca bench");
    if (config->batch > 0) /* of an imported run it may be unknown, as the device */
        text_append(text, " --batch %zu", config->batch);
    if (strcmp(config->device, "unknown") != 0) {
        text_append(text, " --device ");
        shell_word_append(text, config->device);
    }
    written.batch = config->batch;
    memcpy(written.device, config->device, sizeof written.device);
    written.threads = config->threads; /* of the machine on which the command is started */
    written.seed = config->seed;
    if (!has_groups(technique_names[config->technique]))
        written.groups = config->groups;
    append_settings(text, config, &written, SETTINGS_NETWORK, TASK_BENCH);
    append_settings(text, config, &written, SETTINGS_MACHINE, TASK_BENCH);
    append_settings(text, config, &written, SETTINGS_TRAINING, TASK_BENCH);
    text_append(text, " --profile %s", shell_operand(config->network, network, sizeof network));
}
