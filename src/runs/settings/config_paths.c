/* A value may be a name or contain a path; find_path finds the path within it. */
#include "runs/settings/config_paths.h"

#include "base/files/file.h"
#include "base/files/user_path.h"
#include "data/images/spec_value.h"
#include "engine/network/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

/* Returns the path within a value of the field; *length is 0 if there is none. */
static const char *find_path(const struct config_field *field, const char *value, size_t *length)
{
    const char *path = value;
    *length = 0;
    switch (field ? field->holds : HOLDS_WORDS) {
    case HOLDS_WORDS:
        break;
    case HOLDS_NETWORK:
    case HOLDS_MAPPING:
        *length = network_is_path(value) ? strlen(value) : 0;
        break;
    case HOLDS_WEIGHTS:
    case HOLDS_MODEL:
    case HOLDS_FOLDER:
        *length = strlen(value);
        break;
    case HOLDS_LIST: /* else a word, or a list of numbers */
        if (strspn(value, "0123456789.,eE+-") != strlen(value) && strcmp(value, "balanced") != 0)
            *length = strlen(value);
        break;
    case HOLDS_SPEC:
        path = value + strcspn(value, ":,");
        if (*path == ':')
            *length = spec_value_length(++path);
        break;
    }
    return path;
}

static bool refuse_long(const char *value, size_t size, struct error *error)
{
    return error_set(error, ERROR_USAGE, value, "move it to a folder with a shorter path",
                     "its absolute path has more than %zu characters", size - 1);
}

/* Writes the folder, with "/" at its end, that makes `path` absolute; it replaces the first *skip
 * characters of the path. Only the shell expands ~ in the path of a network. */
static bool choose_base(const struct config_field *field, const char *path, char *base,
                        size_t *skip, struct error *error)
{
    const char *home = field->holds != HOLDS_NETWORK ? user_path_home(path) : NULL;
    *skip = 0;
    base[0] = '\0';
    if (path[0] == '/')
        return true;
    if (home) {
        *skip = 1;
        return snprintf(base, PATH_SIZE, "%s", home) < PATH_SIZE ||
               refuse_long(path, PATH_SIZE, error);
    }
    if (!getcwd(base, PATH_SIZE - 1))
        return error_set_errno(error, path, "give an absolute path",
                               "the current folder cannot be found");
    strcat(base, strcmp(base, "/") == 0 ? "" : "/");
    while (strncmp(path + *skip, "./", 2) == 0)
        *skip += 2 + strspn(path + *skip + 2, "/");
    return true;
}

/* Does what config_absolute_value does for a SPEC whose path is quoted. */
static bool absolute_quoted(const struct config_field *field, const char *value, const char *path,
                            size_t length, char *text, size_t size, struct error *error)
{
    char plain[PATH_SIZE], base[PATH_SIZE], whole[2 * PATH_SIZE], quoted[2 * PATH_SIZE];
    size_t skip;
    if (!spec_value_read(path, length, plain, sizeof plain)) /* opening the set will say why */
        return snprintf(text, size, "%s", value) < (int)size || refuse_long(value, size, error);
    if (!choose_base(field, plain, base, &skip, error))
        return false;
    snprintf(whole, sizeof whole, "%s%s", base, plain + skip);
    if (!spec_value_write(whole, quoted, sizeof quoted))
        return refuse_long(value, size, error);
    const int written =
        snprintf(text, size, "%.*s%s%s", (int)(path - value), value, quoted, path + length);
    return (size_t)written < size || refuse_long(value, size, error);
}

bool config_absolute_value(const char *key, const char *value, char *text, size_t size,
                           struct error *error)
{
    char base[PATH_SIZE];
    size_t length, skip;
    const struct config_field *field = config_find(key);
    const char *path = find_path(field, value, &length);
    if (length == 0)
        return snprintf(text, size, "%s", value) < (int)size || refuse_long(value, size, error);
    if (path[0] == '"' && path > value)
        return absolute_quoted(field, value, path, length, text, size, error);
    if (!choose_base(field, path, base, &skip, error))
        return false;
    const int written =
        snprintf(text, size, "%.*s%s%s", (int)(path - value), value, base, path + skip);
    return (size_t)written < size || refuse_long(value, size, error);
}

char *config_short_value(const char *key, const char *value, char *text, size_t size)
{
    char here[PATH_SIZE];
    size_t length;
    const char *path = find_path(config_find(key), value, &length);
    const bool quoted = length > 0 && path > value && path[0] == '"';
    path += quoted;
    const size_t below = length && getcwd(here, sizeof here) ? strlen(here) : 0;
    if (below > 1 && length > below + 1 && strncmp(path, here, below) == 0 && path[below] == '/')
        snprintf(text, size, "%.*s%s", (int)(path - value), value, path + below + 1);
    else
        snprintf(text, size, "%s", value);
    return text;
}

bool config_make_absolute(struct run_config *config, struct error *error)
{
    struct run_config absolute = *config;
    for (size_t i = 0; i < config_field_count; i++) {
        const struct config_field *field = &config_fields[i];
        if (field->holds != HOLDS_WORDS &&
            !config_absolute_value(field->key, (const char *)config + field->offset,
                                   (char *)&absolute + field->offset, field->size, error))
            return false;
    }
    *config = absolute;
    return true;
}

char *config_network_name(const char *network, char *name, size_t size)
{
    const char *base = file_base_name(network);
    snprintf(name, size, "%.*s", (int)network_path_stem(base), base);
    return name;
}
