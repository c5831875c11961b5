/* A saved model carries the text of its network file and the variation, so that loading it rebuilds
 * the same network (model_describe.c); the metadata also has preprocessing and class names. */
#include "models/saved/model_file.h"

#include "base/json/json.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *model_print_class_names(const struct model_facts *facts, struct error *error)
{
    struct json *list = json_new_array();
    bool listed = list;
    for (size_t i = 0; listed && i < facts->network->classes; i++)
        listed = json_add_string(list, NULL,
                                 facts->origin ? facts->origin->class_names[i]
                                               : dataset_class_name(facts->dataset, i));
    char *text = listed ? json_print(list, false, error) : NULL;
    json_free(list);
    if (!listed)
        error_set_memory(error, "the names of the classes", 0);
    return text;
}

static void print_triple(const float *values, char *text, size_t size)
{
    snprintf(text, size, "%.9g %.9g %.9g", (double)values[0], (double)values[1], (double)values[2]);
}

/* Prints the height and width of the training images before the crop. */
static void print_stored_size(const struct model_facts *facts, char *text, size_t size)
{
    snprintf(text, size, "%zu %zu", facts->preprocessing.stored_height,
             facts->preprocessing.stored_width);
}

struct preprocessing model_preprocessing(const struct network *network)
{
    const struct shape input = network->input;
    return (struct preprocessing){.recorded = true,
                                  .channels = input.channels,
                                  .height = input.height,
                                  .width = input.width,
                                  .stretched = network->classes == 0,
                                  .stored_height = input.height,
                                  .stored_width = input.width};
}

const char *model_parent(const struct network *network, const struct model *source)
{
    char name[256], before[256];
    network_full_name(network, name, sizeof name);
    network_full_name(source->network, before, sizeof before);
    if (!network->compression[0])
        return "";
    return strcmp(name, before) == 0 ? source->parent : source->checksum;
}

bool model_file_save(const struct model_facts *facts, const struct weights *weights,
                     enum weights_format format, const char *path, struct error *error)
{
    const struct network *network = facts->network;
    char classes[24], groups[24], width_rate[32], block_rate[32], mean[64], deviation[64],
        stored[48], widths[8 * NETWORK_MAX_WIDTHS];
    char *names = model_print_class_names(facts, error);
    char *preprocessing = names ? preprocessing_print(&facts->preprocessing, error) : NULL;
    if (!preprocessing) {
        free(names);
        return false;
    }
    snprintf(classes, sizeof classes, "%zu", network->classes);
    snprintf(groups, sizeof groups, "%zu", network->groups);
    snprintf(width_rate, sizeof width_rate, "%.17g", network->width_rate);
    snprintf(block_rate, sizeof block_rate, "%.17g", network->block_rate);
    network_widths_print(&network->widths, ',', widths, sizeof widths);
    print_stored_size(facts, stored, sizeof stored);
    print_triple(facts->preprocessing.normalisation.mean, mean, sizeof mean);
    print_triple(facts->preprocessing.normalisation.deviation, deviation, sizeof deviation);
    const char *parent = facts->origin ? model_parent(network, facts->origin) : facts->parent;
    const char *metadata[2 * 17 + 1] = {
        "tinca.network",       network->name,
        "tinca.network_text",  network->source,
        "tinca.technique",     technique_name(network->technique),
        "tinca.groups",        groups,
        "tinca.width_rate",    width_rate,
        "tinca.block_rate",    block_rate,
        "tinca.widths",        widths,
        "tinca.activation",    network->activation,
        "tinca.classes",       classes,
        "tinca.normalisation", facts->preprocessing.normalisation.name,
        "tinca.mean",          mean,
        "tinca.deviation",     deviation,
        "tinca.stored",        stored,
        "tinca.class_names",   names};
    size_t count = 0;
    while (metadata[count])
        count += 2;
    const char *const optional[][2] = {
        {MODEL_PREPROCESSING_KEY, facts->preprocessing.recorded ? preprocessing : NULL},
        {"tinca.parent", parent && parent[0] ? parent : NULL},
        {"tinca.quantization", facts->quantization},
        {MODEL_RECORD_KEY, facts->record}};
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
        if (optional[i][1]) {
            metadata[count++] = optional[i][0];
            metadata[count++] = optional[i][1];
        }
    bool saved = weights_save(weights, format, path, metadata, error);
    free(preprocessing);
    free(names);
    return saved;
}

bool model_save_derived(const struct model *origin, const struct network *network,
                        const struct weights *weights, enum weights_format format, const char *path,
                        struct error *error)
{
    const struct model_facts facts = {
        .network = network, .origin = origin, .preprocessing = origin->preprocessing};
    return model_file_save(&facts, weights, format, path, error);
}
