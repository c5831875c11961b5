/* json_look FILE [PATH]...: checks that FILE is exactly one JSON document and prints the value at
 * each PATH ("runs.0.series.loss.3"; "#" at the end is a length) in a line. Exit status 1 when
 * either is not so. */
#include "base/json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct json *step(const struct json *value, const char *name)
{
    if (!json_is_array(value))
        return json_member(value, name);
    size_t index = (size_t)strtoul(name, NULL, 10);
    const struct json *item = json_first(value);
    for (; item && index > 0; index--)
        item = json_next(item);
    return item;
}

static const struct json *walk(const struct json *value, char *path, bool *length)
{
    for (char *name = strtok(path, "."); name && value; name = strtok(NULL, ".")) {
        *length = strcmp(name, "#") == 0;
        if (!*length)
            value = step(value, name);
    }
    return value;
}

static void print_value(const struct json *value)
{
    double number;
    bool flag;
    if (json_string(value))
        printf("%s\n", json_string(value));
    else if (json_number(value, &number))
        printf("%.9g\n", number);
    else if (json_bool(value, &flag))
        printf("%s\n", flag ? "true" : "false");
    else
        printf("%s\n", json_is_null(value) ? "null" : json_is_object(value) ? "object" : "array");
}

/* Prints the value at a path. Returns whether there is one. */
static bool print_path(const struct json *root, const char *name)
{
    char path[256];
    bool length = false;
    snprintf(path, sizeof path, "%s", name);
    const struct json *value = walk(root, path, &length);
    if (!value)
        printf("there is no %s\n", name);
    else if (length)
        printf("%zu\n", json_is_object(value) ? json_member_count(value) : json_length(value));
    else
        print_value(value);
    return value;
}

int main(int argc, char **argv)
{
    struct json_document document;
    struct error error;
    char text[1200];
    bool found = true;
    if (argc < 2)
        return 2;
    if (!json_read_file(&document, argv[1], JSON_MAX_BYTES, &error)) {
        printf("%s\n", error_format(&error, text, sizeof text));
        return 1;
    }
    for (int i = 2; i < argc; i++)
        found = print_path(document.root, argv[i]) && found;
    json_document_free(&document);
    return found ? 0 : 1;
}
