#include "session/storage/provenance.h"

#include "base/host/host.h"
#include "base/host/host_software.h"
#include "base/json/json_checksum.h"
#include "session/files/computed_with.h"

#include <stdlib.h>
#include <string.h>

static bool add_if_known(struct json *object, const char *key, const char *value)
{
    return !value[0] || json_add_string(object, key, value);
}

static bool add_software(struct json *tree, const char *device, enum device_precision precision)
{
    struct host host;
    struct host_software software;
    struct computed_with with;
    struct json *object = json_add_object(tree, "software");
    host_describe(&host);
    host_software_describe(&software);
    computed_with_here(&with, device, precision);
    return add_if_known(object, "tinca", with.values[COMPUTED_PROGRAM]) &&
           add_if_known(object, "numerics", with.values[COMPUTED_NUMERICS]) &&
           add_if_known(object, "compiler", software.compiler) &&
           add_if_known(object, "blas", with.values[COMPUTED_BLAS]) &&
           add_if_known(object, "kernels", with.values[COMPUTED_KERNELS]) &&
           add_if_known(object, "kernel", software.kernel) &&
           add_if_known(object, "cpu", host.cpu) &&
           add_if_known(object, "microcode", software.microcode);
}

/* Adds the arguments of this process. */
static bool add_command(struct json *tree)
{
    size_t size;
    char *line = host_command_line(&size);
    struct json *list = line ? json_add_array(tree, "command") : NULL;
    bool added = !line || list;
    for (size_t at = 0; line && added && at < size; at += strlen(line + at) + 1)
        added = json_add_string(list, NULL, line + at);
    free(line);
    return added;
}

char *provenance_make(const char *device, enum device_precision precision, struct error *error)
{
    struct json *tree = json_new_object();
    const bool complete = json_add_string(tree, "format", "tinca-provenance") &&
                          json_add_count(tree, "version", 1) && add_command(tree) &&
                          add_software(tree, device, precision);
    char *text = complete ? json_print_with_checksum(tree, error) : NULL;
    if (!complete)
        error_set_memory(error, "the run's provenance", 0);
    json_free(tree);
    return text;
}

bool provenance_add(struct json *object, const struct json *root)
{
    static const char *const keys[] = {"command", "software"};
    bool added = true;
    for (size_t i = 0; added && i < sizeof keys / sizeof *keys; i++) {
        const struct json *member = json_member(root, keys[i]);
        added = !member || json_add_tree(object, keys[i], json_copy(member));
    }
    return added;
}
