/* A saved model carries the text of its network file and the variation, so that the same network
 * can be built again. Options cannot change that network; only the number of classes, which a data
 * set decides, and the size of the input can be others. */
#include "engine/network/network_model.h"

#include "base/language.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

bool network_refuse_metadata(const struct safetensors *file, const char *key, const char *why,
                             struct error *error)
{
    return error_set(error, ERROR_INPUT, file->path,
                     "use a file that tinca train --save has written", "its metadata %s %s", key,
                     language_text(why));
}

static bool read_variation(const struct safetensors *file, struct network_request *request,
                           struct error *error)
{
    const char *technique = safetensors_metadata(file, "tinca.technique");
    const char *groups = safetensors_metadata(file, "tinca.groups");
    const char *width_rate = safetensors_metadata(file, "tinca.width_rate");
    const char *block_rate = safetensors_metadata(file, "tinca.block_rate");
    const char *widths = safetensors_metadata(file, "tinca.widths");
    if (!technique || !technique_parse(technique, &request->technique))
        return network_refuse_metadata(file, "tinca.technique", N_("names no technique"), error);
    if (!groups || !text_to_size(groups, &request->groups))
        return network_refuse_metadata(file, "tinca.groups", N_("is not a number"), error);
    if (!width_rate || !text_to_double(width_rate, &request->width_rate))
        return network_refuse_metadata(file, "tinca.width_rate", N_("is not a number"), error);
    if (!block_rate || !text_to_double(block_rate, &request->block_rate))
        return network_refuse_metadata(file, "tinca.block_rate", N_("is not a number"), error);
    if (widths && *widths && !network_widths_parse(widths, ',', &request->widths))
        return network_refuse_metadata(file, "tinca.widths", N_("is not a list of widths"), error);
    request->activation = safetensors_metadata(file, "tinca.activation");
    return true;
}

/* Fills the request from the metadata, whose texts the file owns. */
static bool read_request(const struct safetensors *file, struct network_request *request,
                         struct error *error)
{
    const char *classes = safetensors_metadata(file, "tinca.classes");
    *request = (struct network_request){.network = safetensors_metadata(file, "tinca.network"),
                                        .text = safetensors_metadata(file, "tinca.network_text")};
    if (!request->network || !request->text)
        return network_refuse_metadata(
            file, "tinca.network", N_("is missing: it does not say which network it is"), error);
    if (!classes || !text_to_size(classes, &request->classes))
        return network_refuse_metadata(file, "tinca.classes", N_("is not a number"), error);
    return read_variation(file, request, error);
}

/* Builds the network. One from a file is called like the file, not like its text says. */
static struct network *build(const struct network_request *request, struct error *error)
{
    struct network *network = network_build(request, error);
    if (network)
        snprintf(network->name, sizeof network->name, "%s", request->network);
    return network;
}

struct network *network_of_model(const struct safetensors *file, struct error *error)
{
    struct network_request request;
    return read_request(file, &request, error) ? build(&request, error) : NULL;
}

static bool same_text(const char *asked, const char *saved)
{
    return !asked || !*asked || (saved && strcmp(asked, saved) == 0);
}

/* Checks that the options ask for nothing that the saved network is not. */
static bool check_options(const struct network_request *asked, const struct network_request *saved,
                          struct error *error)
{
    const char *option =
        asked->technique != TECHNIQUE_NONE && asked->technique != saved->technique ? "--technique"
        : asked->groups && asked->groups != saved->groups                          ? "--groups"
        : asked->width_rate > 0 && asked->width_rate != saved->width_rate          ? "--width-rate"
        : asked->block_rate > 0 && asked->block_rate != saved->block_rate          ? "--block-rate"
        : asked->widths.count && memcmp(&asked->widths, &saved->widths, sizeof asked->widths) != 0
            ? "--widths"
        : !same_text(asked->activation, saved->activation) ? "--activation"
                                                           : NULL;
    return !option ||
           error_set(error, ERROR_USAGE, option,
                     "leave it out, or name the network instead of the saved model",
                     "%s is a saved model, whose network cannot be changed", asked->network);
}

struct network *network_build_saved(const struct network_request *request, struct error *error)
{
    struct safetensors file;
    struct network_request saved;
    struct network *network = NULL;
    if (!safetensors_open(&file, request->network, error))
        return NULL;
    if (read_request(&file, &saved, error) && check_options(request, &saved, error)) {
        if (request->classes)
            saved.classes = request->classes;
        saved.remake_outputs = request->remake_outputs;
        saved.input_height = request->input_height;
        saved.input_width = request->input_width;
        network = build(&saved, error);
    }
    safetensors_close(&file);
    return network;
}
