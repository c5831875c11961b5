/* Two values differ if they would have another effect: a number of epochs has none where iterations
 * are given. Most values of two runs are the same bytes, which is looked at first, since lists ask
 * for thousands of runs. */
#include "session/config/config_differences.h"

#include "base/language.h"

#include <stdio.h>
#include <string.h>

enum { VALUE_SIZE = 512 };

static bool has_equal_bytes(const struct run_config *a, const struct run_config *b,
                            const struct config_field *field)
{
    const char *first = (const char *)a + field->offset, *second = (const char *)b + field->offset;
    if (field->kind == CONFIG_TEXT) /* the bytes after the NUL do not count */
        return strncmp(first, second, field->size) == 0;
    return memcmp(first, second, field->size) == 0;
}

/* Writes the value of a field as it counts: a number of iterations replaces the epochs. Returns
 * `text`. */
static char *effective_value(const struct run_config *config, const struct config_field *field,
                             char *text, size_t size)
{
    if (config->has_iterations && strcmp(field->key, "epochs") == 0)
        snprintf(text, size, "%s", "");
    else
        config_get(config, field->key, text, size);
    return text;
}

bool config_field_equal(const struct run_config *a, const struct run_config *b,
                        const struct config_field *field)
{
    /* Bytes are not enough where has_iterations decides whether the epochs count. */
    if (a->has_iterations == b->has_iterations && has_equal_bytes(a, b, field))
        return true;
    char first[VALUE_SIZE], second[VALUE_SIZE];
    return strcmp(effective_value(a, field, first, sizeof first),
                  effective_value(b, field, second, sizeof second)) == 0;
}

static bool differs(const struct run_config *const *configs, size_t count,
                    const struct config_field *field)
{
    for (size_t i = 1; i < count; i++)
        if (!config_field_equal(configs[0], configs[i], field))
            return true;
    return false;
}

size_t config_differences(const struct run_config *const *configs, size_t count,
                          const struct config_field **fields)
{
    size_t found = 0;
    for (size_t i = 0; i < config_field_count && found < CONFIG_MAX_FIELDS; i++)
        if (differs(configs, count, &config_fields[i]))
            fields[found++] = &config_fields[i];
    return found;
}

/* Returns whether a value of the field is understood without the field's key. */
static bool explains_itself(const struct config_field *field)
{
    static const char *const keys[] = {"network", "technique", "data", "device"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(field->key, keys[i]) == 0)
            return true;
    return false;
}

char *config_difference_label(const struct run_config *config,
                              const struct config_field *const *fields, size_t count, char *text,
                              size_t size)
{
    char value[VALUE_SIZE];
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count && used < size; i++) {
        effective_value(config, fields[i], value, sizeof value);
        /* "none" alone would not say what is absent */
        const bool bare = explains_itself(fields[i]) && value[0] && strcmp(value, "none") != 0;
        used += (size_t)snprintf(text + used, size - used, "%s%s%s%s", i > 0 ? ", " : "",
                                 bare ? "" : fields[i]->key, bare ? "" : " ",
                                 value[0] ? value : _("none"));
    }
    return text;
}
