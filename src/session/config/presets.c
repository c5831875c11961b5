/* The protocols of Trindade 2017 (overfit), Gondim Santos 2019 (cifar), Finardi & David 2017 with
 * Caffe's LeNet example (digits), and Isola et al. 2017 (pix2pix).
 *
 * Each row of the table sets one field for one preset. If the row names a network, it applies only
 * to networks whose name begins with that; later rows override earlier ones. */
#include "session/config/presets.h"

#include "base/language.h"
#include "session/config/config_data.h"

#include <stdio.h>
#include <string.h>

struct preset_row {
    const char *preset, *network; /* network NULL: any */
    const char *key, *value;
};

static const struct preset_row rows[] = {
    /* without a preset: two networks that train against each other need small steps */
    {"", "pix2pix", "batch", "1"},
    {"", "pix2pix", "solver", "adam"},
    {"", "pix2pix", "lr", "0.0002"},
    {"", "pix2pix", "momentum", "0.5"},

    /* The overfitting of the training images is the subject, and no images are held out. */
    {"overfit", NULL, "validate", ""},
    {"overfit", NULL, "test", ""},
    {"overfit", NULL, "batch", "32"},
    {"overfit", NULL, "epochs", "10"},
    {"overfit", NULL, "solver", "sgd"},
    {"overfit", NULL, "lr", "0.01"},
    {"overfit", NULL, "momentum", "0.9"},
    {"overfit", NULL, "weight-decay", "0.0005"},
    {"overfit", NULL, "schedule", "fixed"},
    {"overfit", NULL, "average-loss", "1"},
    {"overfit", "googlenet", "weight-decay", "0.0002"},
    {"overfit", "googlenet", "average-loss", "40"},

    /* The dissertation chose its models on the 10,000 test images; it describes no others. Whoever
     * repeats that gives --validate, and whoever does not --data SPEC,validate=0.1 --test auto. */
    {"cifar", NULL, "validate", ""},
    {"cifar", NULL, "test", ""},
    {"cifar", NULL, "batch", "128"},
    {"cifar", NULL, "epochs", "200"},
    {"cifar", NULL, "solver", "sgd"},
    {"cifar", NULL, "lr", "0.1"},
    {"cifar", NULL, "momentum", "0.9"},
    {"cifar", NULL, "weight-decay", "0.0001"},
    {"cifar", NULL, "schedule", "plateau"},
    {"cifar", NULL, "gamma", "0.1"},
    {"cifar", NULL, "augment", "yes"},
    {"cifar", NULL, "average-loss", "1"},

    /* All training pairs are trained on, and the last generator counts: nothing is chosen. */
    {"pix2pix", NULL, "validate", ""},
    {"pix2pix", NULL, "test", "auto"},
    {"pix2pix", NULL, "batch", "1"},
    {"pix2pix", NULL, "epochs", "200"},
    {"pix2pix", NULL, "solver", "adam"},
    {"pix2pix", NULL, "lr", "0.0002"},
    {"pix2pix", NULL, "momentum", "0.5"},
    {"pix2pix", NULL, "weight-decay", "0"},
    {"pix2pix", NULL, "schedule", "linear"},
    {"pix2pix", NULL, "l1-weight", "100"},
    {"pix2pix", NULL, "tolerance", "16"},
    {"pix2pix", NULL, "average-loss", "1"},

    {"digits", NULL, "validate", "auto,share=0.1"},
    {"digits", NULL, "test", "auto"},
    {"digits", NULL, "batch", "64"},
    {"digits", NULL, "epochs", "10"},
    {"digits", NULL, "solver", "sgd"},
    {"digits", NULL, "lr", "0.01"},
    {"digits", NULL, "momentum", "0.9"},
    {"digits", NULL, "weight-decay", "0.0005"},
    {"digits", NULL, "schedule", "fixed"},
    {"digits", NULL, "average-loss", "1"},
};

/* The default network and data of each preset; `shapes` replaces CIFAR, which must be downloaded.
 * `protocol`: why it holds no images out. */
static const struct {
    const char *preset, *network, *data, *protocol;
} companions[] = {
    {"overfit", "alexnet", "tench",
     N_("the preset overfit holds no images out: its study is about those of the training")},
    {"cifar", "resnet20", "shapes",
     N_("the preset cifar neither holds images out nor tests: its study chose the models on the "
        "test images; --data SPEC,validate=0.1 --test auto does both")},
    {"pix2pix", "pix2pix", "maps",
     N_("the preset pix2pix holds no images out: its study takes the last generator")},
    {"digits", "lenet", "digits", NULL}};

bool presets_check(const char *name, struct error *error)
{
    for (size_t i = 0; i < sizeof companions / sizeof *companions; i++)
        if (strcmp(companions[i].preset, name) == 0)
            return true;
    char what[64];
    snprintf(what, sizeof what, "--preset %.40s", name);
    return error_set(error, ERROR_USAGE, what, "give one of overfit, cifar, pix2pix, digits",
                     "there is no such preset");
}

const char *config_protocol(const struct run_config *config)
{
    for (size_t i = 0; i < sizeof companions / sizeof *companions; i++)
        if (strcmp(companions[i].preset, config->preset) == 0 && !config->validate[0])
            return companions[i].protocol;
    return NULL;
}

/* Returns whether a value comes from the defaults or a preset, and not from the user. */
static bool is_unchosen(const struct run_config *config, const char *key, const char *value)
{
    char fallback[512];
    struct run_config defaults;
    config_defaults(&defaults);
    if (config_is_given(config, key))
        return false;
    bool found = strcmp(config_get(&defaults, key, fallback, sizeof fallback), value) == 0;
    for (size_t i = 0; i < sizeof companions / sizeof *companions; i++)
        found = found || strcmp(companions[i].network, value) == 0 ||
                strcmp(companions[i].data, value) == 0;
    return found;
}

/* Fills network and data, unless the user has chosen them. */
static void fill_companions(struct run_config *config)
{
    for (size_t i = 0; i < sizeof companions / sizeof *companions; i++) {
        if (strcmp(companions[i].preset, config->preset) != 0)
            continue;
        if (is_unchosen(config, KEY(network), config->network))
            config_set_default(config, KEY(network), companions[i].network, NULL);
        if (is_unchosen(config, KEY(data), config->data))
            config_set_default(config, KEY(data), companions[i].data, NULL);
    }
}

static bool row_applies(const struct preset_row *row, const struct run_config *config)
{
    return strcmp(row->preset, config->preset) == 0 &&
           (!row->network || strncmp(config->network, row->network, strlen(row->network)) == 0);
}

/* Resets the values that rows without preset have set for another network. */
static void reset_network_values(struct run_config *config)
{
    char value[512], fallback[512];
    struct run_config defaults;
    config_defaults(&defaults);
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !config->preset[0]; i++) {
        const char *key = rows[i].key;
        if (rows[i].preset[0] || row_applies(&rows[i], config) || config_is_given(config, key))
            continue;
        if (strcmp(config_get(config, key, value, sizeof value), rows[i].value) == 0)
            config_set_default(config, key, config_get(&defaults, key, fallback, sizeof fallback),
                               NULL);
    }
}

/* Returns whether the data can be divided as the row says: a set that is a part of another one is
 * not divided again, and not every kind has a test split. */
static bool suits_data(const struct preset_row *row, const struct run_config *config)
{
    if (strcmp(row->key, KEY(validate)) == 0)
        return !config_data_is_part(config->data);
    return strcmp(row->key, KEY(test)) != 0 || config_data_has_test(config->data);
}

void presets_fill(struct run_config *config)
{
    fill_companions(config);
    reset_network_values(config);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!row_applies(&rows[i], config) || config_is_given(config, rows[i].key))
            continue;
        /* the run's length is given in iterations */
        if (strcmp(rows[i].key, KEY(epochs)) == 0 && config->has_iterations)
            continue;
        config_set_default(config, rows[i].key, suits_data(&rows[i], config) ? rows[i].value : "",
                           NULL);
    }
}
