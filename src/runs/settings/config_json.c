/* A configuration as a JSON object: one member for each field, with the JSON type of its kind. */
#include "base/language.h"
#include "runs/settings/internal.h"

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

static bool field_is_written(const struct run_config *config, const struct config_field *field)
{
    /* its absence says that the run is of an earlier version, also once it is resumed */
    const bool left_out = config->outputs_kept && field->key == KEY(reset_classes);
    return config_counts(config, field) && !left_out;
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

/* --- reading ---
 *
 * Lists of runs read thousands of configurations, so numbers and flags are stored without a text in
 * between; a value that is refused is set once more as a text, for the reason. What depends on the
 * network and the data is filled once, at the end: the fields that the file gives are kept anyway.
 */

/* Returns the field with this key, or NULL. Files have the members in the table's order, so the
 * search begins with the field after `last` (NULL: with the first). */
static const struct config_field *find_after(const struct config_field *last, const char *key)
{
    const size_t start = last ? (size_t)(last - config_fields) + 1 : 0;
    for (size_t i = 0; i < config_field_count; i++) {
        const struct config_field *field = &config_fields[(start + i) % config_field_count];
        if (strcmp(field->key, key) == 0)
            return field;
    }
    return NULL;
}

/* Stores a number or a flag. Returns false if it is neither, or out of range. */
static bool store_plain(struct run_config *config, const struct config_field *field,
                        const struct json *value)
{
    double number;
    size_t count;
    bool flag;
    switch (field->kind) {
    case CONFIG_COUNT:
        return json_count(value, &count) && config_set_number(config, field, (double)count);
    case CONFIG_NUMBER:
        return json_number(value, &number) && config_set_number(config, field, number);
    case CONFIG_FLAG:
        if (json_bool(value, &flag))
            config_set_flag(config, field, flag);
        return json_bool(value, &flag);
    default:
        return false;
    }
}

/* Returns the value as text for config_set_field, perhaps written to `text`; NULL if its type is
 * wrong. */
static const char *value_text(const struct config_field *field, const struct json *value,
                              char *text, size_t size)
{
    double number;
    size_t count;
    bool flag;
    const char *string = json_string(value);
    switch (field->kind) {
    case CONFIG_COUNT:
        return json_count(value, &count) && snprintf(text, size, "%zu", count) > 0 ? text : NULL;
    case CONFIG_NUMBER:
        return json_number(value, &number) && snprintf(text, size, "%.17g", number) > 0 ? text
                                                                                        : NULL;
    case CONFIG_FLAG:
        return json_bool(value, &flag) ? (flag ? "yes" : "no") : NULL;
    default:
        if (field->or_flag && json_bool(value, &flag))
            return flag ? "yes" : "no";
        return string && strlen(string) < size ? string : NULL;
    }
}

static bool fail_at(const struct json_document *document, const struct json *value, const char *why,
                    struct error *error)
{
    return error_set(error, ERROR_INPUT, document->name, NULL, "line %zu: \"%s\": %s",
                     json_line(document, value), json_key(value), why);
}

static bool read_member(struct run_config *config, const struct config_field *field,
                        const struct json_document *document, const struct json *member,
                        struct error *error)
{
    static const char *const expected[] = {[CONFIG_TEXT] = N_("a text was expected"),
                                           [CONFIG_COUNT] = N_("a whole number was expected"),
                                           [CONFIG_NUMBER] = N_("a number was expected"),
                                           [CONFIG_CHOICE] = N_("a name was expected"),
                                           [CONFIG_FLAG] = N_("true or false was expected")};
    char text[1024], why[800];
    struct error inner;
    if (!field)
        return fail_at(document, member, _("there is no such setting"), error);
    if (store_plain(config, field, member))
        return true;
    const char *value = value_text(field, member, text, sizeof text);
    if (!value)
        return fail_at(document, member, gettext(expected[field->kind]), error);
    if (config_set_field(config, field, value, &inner))
        return true;
    snprintf(why, sizeof why, "%s: %s", inner.why, inner.advice);
    return fail_at(document, member, why, error);
}

/* Returns whether a run of an earlier version has written the configuration, which names each other
 * setting: its preset then had no test data. */
static bool is_older(const struct run_config *config)
{
    return config->preset[0] && config_is_given(config, KEY(validate)) &&
           !config_is_given(config, KEY(test));
}

void config_fill_earlier(struct run_config *config, const struct json *settings)
{
    if (!json_member(settings, KEY(filter)))
        config_put(config, KEY(filter), "bilinear2", NULL);
    config->outputs_kept = !json_member(settings, KEY(reset_classes));
}

bool config_from_json(struct run_config *config, const struct json_document *document,
                      const struct json *object, struct error *error)
{
    const struct config_field *field = NULL;
    bool pending = false; /* what depends on network and data is not filled yet */
    if (!json_is_object(object))
        return error_set(error, ERROR_INPUT, document->name, NULL,
                         "a configuration was expected: { \"network\": ... }");
    config_defaults(config);
    for (const struct json *member = json_first_member(object); member;
         member = json_next(member)) {
        field = find_after(field, json_key(member));
        if (pending && field &&
            strcmp(field->key, KEY(preset)) == 0) { /* replaces what they filled */
            config_fill_dependent(config);
            pending = false;
        }
        if (!read_member(config, field, document, member, error))
            return false;
        pending = pending || config_has_dependents(field);
    }
    if (pending)
        config_fill_dependent(config);
    return !is_older(config) || config_set(config, KEY(test), "", error);
}
