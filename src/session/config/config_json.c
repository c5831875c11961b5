/* A configuration as a JSON object: one member for each field, with the JSON type of its kind. */
#include "base/language.h"
#include "session/config/config.h"
#include "session/config/presets.h"

#include <stdio.h>
#include <string.h>

static bool add_field(struct json *object, const struct run_config *config,
                      const struct config_field *field)
{
    const void *value = (const char *)config + field->offset;
    switch (field->kind) {
    case CONFIG_COUNT:
        return json_add_count(object, field->key, *(const size_t *)value);
    case CONFIG_NUMBER:
        return json_add_number(object, field->key, *(const double *)value);
    case CONFIG_FLAG:
        return json_add_bool(object, field->key, *(const bool *)value);
    case CONFIG_CHOICE:
        return json_add_string(object, field->key, field->choices[*(const size_t *)value]);
    default:
        if (field->or_flag && (strcmp(value, "yes") == 0 || strcmp(value, "no") == 0))
            return json_add_bool(object, field->key, strcmp(value, "yes") == 0);
        return json_add_string(object, field->key, value);
    }
}

/* Returns whether to write a field. Of epochs and iterations, only the run's length is written. */
static bool field_is_written(const struct run_config *config, const struct config_field *field)
{
    if (strcmp(field->key, "iterations") == 0)
        return config->has_iterations;
    if (strcmp(field->key, "epochs") == 0)
        return !config->has_iterations;
    return true;
}

bool config_to_json(const struct run_config *config, struct json *object)
{
    for (size_t i = 0; i < config_field_count; i++)
        if (field_is_written(config, &config_fields[i]) &&
            !add_field(object, config, &config_fields[i]))
            return false;
    return object;
}

bool config_given_to_json(const struct run_config *config, struct json *object)
{
    for (size_t i = 0; i < config_field_count; i++)
        if (config_is_given(config, config_fields[i].key) &&
            !add_field(object, config, &config_fields[i]))
            return false;
    return object;
}

/* --- reading --- */

/* Writes the value as text for config_set. Returns false if its type is wrong. */
static bool value_to_text(const struct config_field *field, const struct json *value, char *text,
                          size_t size)
{
    double number;
    size_t count;
    bool flag;
    switch (field->kind) {
    case CONFIG_COUNT:
        return json_count(value, &count) && snprintf(text, size, "%zu", count) > 0;
    case CONFIG_NUMBER:
        return json_number(value, &number) && snprintf(text, size, "%.17g", number) > 0;
    case CONFIG_FLAG:
        return json_bool(value, &flag) && snprintf(text, size, "%s", flag ? "yes" : "no") > 0;
    default:
        if (field->or_flag && json_bool(value, &flag))
            return snprintf(text, size, "%s", flag ? "yes" : "no") > 0;
        return json_string(value) && (size_t)snprintf(text, size, "%s", json_string(value)) < size;
    }
}

static bool fail_at(const struct json_document *document, const struct json *value, const char *why,
                    struct error *error)
{
    return error_set(error, ERROR_INPUT, document->name, NULL, "line %zu: \"%s\": %s",
                     json_line(document, value), json_key(value), why);
}

static bool read_member(struct run_config *config, const struct json_document *document,
                        const struct json *member, struct error *error)
{
    static const char *const expected[] = {[CONFIG_TEXT] = N_("a text was expected"),
                                           [CONFIG_COUNT] = N_("a whole number was expected"),
                                           [CONFIG_NUMBER] = N_("a number was expected"),
                                           [CONFIG_CHOICE] = N_("a name was expected"),
                                           [CONFIG_FLAG] = N_("true or false was expected")};
    char text[1024], why[800];
    struct error inner;
    const struct config_field *field = config_find(json_key(member));
    if (!field)
        return fail_at(document, member, _("there is no such setting"), error);
    if (!value_to_text(field, member, text, sizeof text))
        return fail_at(document, member, gettext(expected[field->kind]), error);
    if (config_set(config, field->key, text, &inner))
        return true;
    snprintf(why, sizeof why, "%s: %s", inner.why, inner.advice);
    return fail_at(document, member, why, error);
}

bool config_from_json(struct run_config *config, const struct json_document *document,
                      const struct json *object, struct error *error)
{
    if (!json_is_object(object))
        return error_set(error, ERROR_INPUT, document->name, NULL,
                         "a configuration was expected: { \"network\": ... }");
    config_defaults(config);
    for (const struct json *member = json_first(object); member; member = json_next(member))
        if (!read_member(config, document, member, error))
            return false;
    return true;
}
