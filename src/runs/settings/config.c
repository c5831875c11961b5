/* The values of a configuration: parsed into and printed from the members that the rows name, and
 * taken over by task. config_set.c sets given ones, with what follows from them. */
#include "runs/settings/internal.h"

#include "base/language.h"
#include "base/text.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- given fields --- */

void config_share(struct run_config *config, size_t processes)
{
    config->processes = processes > 1 ? processes : 1;
    if (config->processes > 1 && !config_is_given(config, KEY(blocks)) && !config_on_gpu(config))
        config->blocks = config->processes;
}

bool config_is_given(const struct run_config *config, const char *key)
{
    return config->given.fields[config_find(key) - config_fields];
}

bool config_is_known(const struct run_config *config, const char *imported, const char *key)
{
    const struct config_field *field = config_find(key);
    if (!imported || !imported[0])
        return true;
    return config_is_given(config, key) &&
           (field->kind != CONFIG_TEXT ||
            strcmp((const char *)config + field->offset, "unknown") != 0);
}

/* --- tasks --- */

/* Returns the classes whose settings have a meaning in a task, unless they lack it. */
static unsigned classes_of(enum config_task task)
{
    switch (task) {
    case TASK_TRAIN:
        return SETTINGS_ALL;
    case TASK_FIND_RATE:
        return SETTINGS_NETWORK | SETTINGS_DATA | SETTINGS_TRAINING | SETTINGS_MACHINE;
    case TASK_FINE_TUNE: /* the network is that of the model */
        return SETTINGS_ALL & ~(unsigned)SETTINGS_NETWORK;
    case TASK_COMPRESS:
        return SETTINGS_DATA | SETTINGS_MEASUREMENT | SETTINGS_MACHINE;
    case TASK_TIME:
    case TASK_BENCH:
    case TASK_INFO:
    case TASK_WEIGHTS:
        return SETTINGS_NETWORK;
    default:
        return 0;
    }
}

bool config_has_meaning(const struct config_field *field, enum config_task task)
{
    return field->class & classes_of(task) ? !(field->lacks & task) : field->serves & task;
}

void config_take(struct run_config *to, const struct run_config *from, enum config_task task)
{
    for (size_t i = 0; i < config_field_count; i++) {
        const struct config_field *field = &config_fields[i];
        if (!config_has_meaning(field, task))
            continue;
        memcpy((char *)to + field->offset, (const char *)from + field->offset, field->size);
        to->given.fields[i] = from->given.fields[i];
        if (IS_MEMBER(field, iterations))
            to->has_iterations = from->has_iterations;
        if (IS_MEMBER(field, reset_classes))
            to->outputs_kept = from->outputs_kept;
        if (IS_MEMBER(field, validate))
            to->data_divides = from->data_divides;
        if (IS_MEMBER(field, device))
            to->processes = from->processes;
    }
}

bool config_gives_any(const struct run_config *config)
{
    for (size_t i = 0; i < config_field_count; i++)
        if (config->given.fields[i])
            return true;
    return false;
}

bool config_gives(const struct run_config *config, enum config_about about)
{
    for (size_t i = 0; i < config_field_count; i++)
        if (config_fields[i].about == about && config->given.fields[i])
            return true;
    return false;
}

void config_reset(struct run_config *config, enum config_about about)
{
    struct run_config defaults;
    config_defaults(&defaults);
    for (size_t i = 0; i < config_field_count; i++)
        if (config_fields[i].about == about)
            memcpy((char *)config + config_fields[i].offset,
                   (const char *)&defaults + config_fields[i].offset, config_fields[i].size);
}

void config_forget(struct run_config *config, const char *key)
{
    config->given.fields[config_find(key) - config_fields] = false;
}

/* --- parsing --- */

static bool refuse(const struct config_field *field, const char *value, const char *expected,
                   struct error *error)
{
    char what[256], advice[224];
    snprintf(what, sizeof what, "--%s %s", field->key, value);
    snprintf(advice, sizeof advice, _("give %s"), expected);
    return error_set(error, ERROR_USAGE, what, advice,
                     value[0] ? N_("this is not understood, or out of range")
                              : N_("nothing was given"));
}

static bool list_choices(const struct config_field *field, const char *value, struct error *error)
{
    char list[160];
    size_t used = (size_t)snprintf(list, sizeof list, "%s ", _("one of"));
    for (size_t i = 0; field->choices[i] && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                 field->choices[i]);
    return refuse(field, value, list, error);
}

static bool find_choice(const struct config_field *field, const char *value, size_t *choice)
{
    for (*choice = 0; field->choices[*choice]; ++*choice)
        if (strcmp(field->choices[*choice], value) == 0)
            return true;
    return false;
}

static bool parse_text(const struct config_field *field, const char *value, void *out,
                       struct error *error)
{
    char expected[64];
    size_t unused;
    if (strlen(value) >= field->size) {
        snprintf(expected, sizeof expected, _("at most %zu characters"), field->size - 1);
        return refuse(field, value, expected, error);
    }
    if (field->choices && value[0] && !find_choice(field, value, &unused))
        return list_choices(field, value, error);
    const size_t length = strlen(value);
    memmove(out, value, length); /* `value` may lie in the configuration */
    memset((char *)out + length, 0, field->size - length);
    return true;
}

static bool parse_count(const struct config_field *field, const char *value, size_t *out,
                        struct error *error)
{
    char expected[96];
    size_t count;
    if (text_to_size(value, &count) && (double)count >= field->low &&
        (double)count <= field->high) {
        *out = count;
        return true;
    }
    snprintf(expected, sizeof expected, _("a whole number of %.0f to %.0f"), field->low,
             field->high);
    return refuse(field, value, expected, error);
}

static bool parse_number(const struct config_field *field, const char *value, double *out,
                         struct error *error)
{
    char expected[96];
    double number;
    if (text_to_double(value, &number) && number >= field->low && number <= field->high) {
        *out = number;
        return true;
    }
    snprintf(expected, sizeof expected, _("a number of %.10g to %.10g"), field->low, field->high);
    return refuse(field, value, expected, error);
}

static bool parse_flag(const struct config_field *field, const char *value, bool *out,
                       struct error *error)
{
    static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], value) == 0) {
            *out = i % 2;
            return true;
        }
    return refuse(field, value, _("yes or no"), error);
}

/* Changes *out only if the value is valid. */
static bool parse_value(const struct config_field *field, const char *value, void *out,
                        struct error *error)
{
    size_t choice;
    switch (field->kind) {
    case CONFIG_COUNT:
        return parse_count(field, value, out, error);
    case CONFIG_NUMBER:
        return parse_number(field, value, out, error);
    case CONFIG_FLAG:
        return parse_flag(field, value, out, error);
    case CONFIG_CHOICE:
        if (!find_choice(field, value, &choice))
            return list_choices(field, value, error);
        *(size_t *)out = choice;
        return true;
    default:
        return parse_text(field, value, out, error);
    }
}

/* Parses the value into the field's member, which an invalid value leaves as it was. */
bool config_store(struct run_config *config, const struct config_field *field, const char *value,
                  struct error *error)
{
    char text[CONFIG_REWRITTEN];
    if (field->rewrite && !(value = field->rewrite(value, text, error)))
        return false;
    if (field->pattern.fits && !field->pattern.fits(value))
        return refuse(field, value, gettext(field->pattern.expected), error);
    return parse_value(field, value, (char *)config + field->offset, error);
}

bool config_put(struct run_config *config, const char *key, const char *value, struct error *error)
{
    const struct config_field *field = config_find(key);
    if (!field)
        return error_set(error, ERROR_USAGE, key, "the options are those of tinca train --help",
                         "there is no such setting");
    return config_store(config, field, value, error);
}

void config_put_count(struct run_config *config, const char *key, size_t count)
{
    const struct config_field *field = config_find(key);
    assert(field->kind == CONFIG_COUNT);
    *(size_t *)((char *)config + field->offset) = count;
}

/* --- printing --- */

/* Writes the shortest decimal that reads back as the same double, without exponent if the integer
 * part is short: 100, not 1e+02. */
static void print_number(double value, char *text, size_t size)
{
    int whole = 1;
    for (double power = 10; power <= fabs(value) && whole < 15; power *= 10)
        whole++;
    for (int precision = whole; precision <= 17; precision++) {
        snprintf(text, size, "%.*g", precision, value);
        if (strtod(text, NULL) == value)
            return;
    }
}

char *config_get(const struct run_config *config, const char *key, char *text, size_t size)
{
    const struct config_field *field = config_find(key);
    const void *value = field ? (const char *)config + field->offset : NULL;
    if (size > 0)
        text[0] = '\0';
    if (!field || (strcmp(key, KEY(iterations)) == 0 && !config->has_iterations))
        return text;
    switch (field->kind) {
    case CONFIG_TEXT:
        snprintf(text, size, "%s", (const char *)value);
        break;
    case CONFIG_COUNT:
        snprintf(text, size, "%zu", *(const size_t *)value);
        break;
    case CONFIG_NUMBER:
        print_number(*(const double *)value, text, size);
        break;
    case CONFIG_CHOICE:
        snprintf(text, size, "%s", field->choices[*(const size_t *)value]);
        break;
    case CONFIG_FLAG:
        snprintf(text, size, "%s", *(const bool *)value ? "yes" : "no");
        break;
    }
    return text;
}
