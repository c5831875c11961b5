/* What a command line must say is what differs from the configuration that it would give without
 * saying so: that one is made here with the same network, preset and data. */
#include "session/train_command.h"

#include "base/visible.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static bool is_hidden(const char *word)
{
    bool visible = true;
    while (*word && visible)
        word += visible_character(word, &visible);
    return !visible;
}

/* $'...' (POSIX.1-2024, bash, zsh, ksh): what cannot be shown is written by its bytes. */
static void append_escaped(struct text *text, const char *word)
{
    text_append(text, "$'");
    while (*word) {
        bool visible;
        const size_t length = visible_character(word, &visible);
        for (size_t i = 0; !visible && i < length; i++)
            text_append(text, "\\%03o", (unsigned char)word[i]);
        if (visible && strchr("'\\", *word))
            text_append(text, "\\");
        if (visible)
            text_append_bytes(text, word, length);
        word += length;
    }
    text_append(text, "'");
}

void shell_word_append(struct text *text, const char *word)
{
    size_t plain = 0;
    while (word[plain] &&
           (isalnum((unsigned char)word[plain]) || strchr("_./:,=@%+-", word[plain])))
        plain++;
    if (plain > 0 && !word[plain]) {
        text_append(text, "%s", word);
        return;
    }
    if (is_hidden(word)) {
        append_escaped(text, word);
        return;
    }
    text_append(text, "'");
    for (const char *c = word; *c; c++)
        if (*c == '\'')
            text_append(text, "'\\''");
        else
            text_append_bytes(text, c, 1);
    text_append(text, "'");
}

char *shell_operand(const char *word, char *out, size_t size)
{
    struct text text = {0};
    text_append(&text, "%s", word[0] == '-' ? "-- " : "");
    shell_word_append(&text, word);
    snprintf(out, size, "%s", text.data && !text.failed && text.length < size ? text.data : "RUN");
    text_free(&text);
    return out;
}

static bool is_path(const char *network)
{
    size_t length = strlen(network);
    return strchr(network, '/') || (length > 5 && strcmp(network + length - 5, ".json") == 0);
}

static struct run_config unsaid(const struct run_config *config)
{
    struct run_config plain;
    config_defaults(&plain);
    config_set(&plain, "network", config->network, NULL);
    if (config->preset[0])
        config_set(&plain, "preset", config->preset, NULL);
    config_set(&plain, "data", config->data, NULL);
    return plain;
}

/* Groups are shuffle's alone. */
static void append_settings(struct text *text, const struct run_config *config, bool shuffle)
{
    static const char *const said[] = {"network", "technique", "data", "preset"};
    const struct run_config plain = unsaid(config);
    for (size_t i = 0; i < config_field_count; i++) {
        const char *key = config_fields[i].key;
        char value[1024], without[1024];
        bool skip = config->has_iterations && strcmp(key, "epochs") == 0;
        skip = skip || (!shuffle && strcmp(key, "groups") == 0);
        for (size_t s = 0; s < sizeof said / sizeof *said; s++)
            skip = skip || strcmp(key, said[s]) == 0;
        config_get(config, key, value, sizeof value);
        config_get(&plain, key, without, sizeof without);
        if (skip || !value[0] || strcmp(value, without) == 0)
            continue;
        text_append(text, " --%s ", key);
        shell_word_append(text, value);
    }
}

void train_command_append(struct text *text, const struct run_config *config, const char *network,
                          const char *technique)
{
    char name[320];
    const char *own = config_find("technique")->choices[config->technique];
    const char *wanted = technique ? technique : config->technique ? own : "none";
    bool path = is_path(network ? network : config->network), plain = strcmp(wanted, "none") == 0;
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
