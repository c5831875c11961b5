/* A command line needs an option for each field that differs from the configuration that the
 * command would have without options. That configuration is built here, with the same network,
 * preset and data. */
#include "session/config/train_command.h"

#include "base/escape/shell.h"
#include "engine/network/network.h"

#include <stdio.h>
#include <string.h>

/* Returns the configuration without options. */
static struct run_config without_options(const struct run_config *config)
{
    struct run_config plain;
    config_defaults(&plain);
    config_set(&plain, KEY(network), config->network, NULL);
    if (config->preset[0])
        config_set(&plain, KEY(preset), config->preset, NULL);
    config_set(&plain, KEY(data), config->data, NULL);
    return plain;
}

static void append_setting(struct text *text, const struct run_config *config,
                           const struct run_config *plain, const char *key)
{
    char value[1024], without[1024];
    config_get(config, key, value, sizeof value);
    config_get(plain, key, without, sizeof without);
    if (strcmp(value, without) == 0)
        return;
    text_append(text, " --%s%s", key, config_find(key)->value_optional || !value[0] ? "=" : " ");
    if (value[0]) /* else the preset has a value, and the run none */
        shell_word_append(text, value);
}

/* Appends the options. `shuffle`: the technique is shuffle, the only one that has groups. */
static void append_settings(struct text *text, const struct run_config *config, bool shuffle)
{
    static const char *const written[] = {KEY(network), KEY(technique), KEY(data), KEY(preset),
                                          KEY(seed_group)};
    const struct run_config plain = without_options(config);
    for (size_t i = 0; i < config_field_count; i++) {
        const char *key = config_fields[i].key;
        bool skip = !config_counts(config, &config_fields[i]) || (!shuffle && key == KEY(groups));
        for (size_t w = 0; w < sizeof written / sizeof *written; w++)
            skip = skip || strcmp(key, written[w]) == 0;
        if (!skip)
            append_setting(text, config, &plain, key);
    }
}

void train_command_append(struct text *text, const struct run_config *config, const char *network,
                          const char *technique)
{
    char name[sizeof config->network + 64];
    const char *own = config_find(KEY(technique))->choices[config->technique];
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
    append_settings(text, config, !technique || strcmp(technique, "shuffle") == 0);
}

void bench_command_append(struct text *text, const struct run_config *config)
{
    static const char *const keys[] = {
        KEY(technique),  KEY(groups),    KEY(width_rate),    KEY(block_rate),   KEY(widths),
        KEY(activation), KEY(precision), KEY(strict_device), KEY(memory_limit), KEY(blocks)};
    const char *technique = config_find(KEY(technique))->choices[config->technique];
    struct run_config plain;
    char network[4 * sizeof config->network + 8];
    config_defaults(&plain);
    config_set(&plain, KEY(network), config->network, NULL);
    text_append(text, "tinca bench");
    if (config->batch > 0) /* of an imported run it may be unknown, as the device */
        text_append(text, " --batch %zu", config->batch);
    if (strcmp(config->device, "unknown") != 0) {
        text_append(text, " --device ");
        shell_word_append(text, config->device);
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], KEY(groups)) != 0 || strcmp(technique, "shuffle") == 0)
            append_setting(text, config, &plain, keys[i]);
    text_append(text, " --profile %s", shell_operand(config->network, network, sizeof network));
}
