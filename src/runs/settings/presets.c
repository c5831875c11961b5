/* The protocols of Trindade 2017 (overfit), Gondim Santos 2019 (cifar), Finardi & David 2017 with
 * Caffe's LeNet example (digits), and Isola et al. 2017 (pix2pix).
 *
 * Each row of the table sets one field for one preset. If the row names a network, it applies only
 * to networks whose name begins with that; later rows override earlier ones. */
#include "runs/settings/internal.h"

#include "base/language.h"
#include "runs/settings/config_data.h"

#include <stdio.h>
#include <string.h>

struct preset_row {
    const char *preset, *network; /* network NULL: any */
    const char *key, *value;
};

static const struct preset_row rows[] = {
    /* without a preset: two networks that train against each other need small steps */
    {"", "pix2pix", KEY(batch), "1"},
    {"", "pix2pix", KEY(solver), "adam"},
    {"", "pix2pix", KEY(learning_rate), "0.0002"},
    {"", "pix2pix", KEY(momentum), "0.5"},

    /* The overfitting of the training images is the subject, and no images are held out. */
    {"overfit", NULL, KEY(validate), ""},
    {"overfit", NULL, KEY(test), ""},
    {"overfit", NULL, KEY(batch), "32"},
    {"overfit", NULL, KEY(epochs), "10"},
    {"overfit", NULL, KEY(solver), "sgd"},
    {"overfit", NULL, KEY(learning_rate), "0.01"},
    {"overfit", NULL, KEY(momentum), "0.9"},
    {"overfit", NULL, KEY(weight_decay), "0.0005"},
    {"overfit", NULL, KEY(schedule), "fixed"},
    {"overfit", NULL, KEY(average_loss), "1"},
    {"overfit", "googlenet", KEY(weight_decay), "0.0002"},
    {"overfit", "googlenet", KEY(average_loss), "40"},

    /* The dissertation chose its models on the 10,000 test images; it describes no others. Whoever
     * repeats that gives --validate, and whoever does not --data SPEC,validate=0.1 --test auto. */
    {"cifar", NULL, KEY(validate), ""},
    {"cifar", NULL, KEY(test), ""},
    {"cifar", NULL, KEY(batch), "128"},
    {"cifar", NULL, KEY(epochs), "200"},
    {"cifar", NULL, KEY(solver), "sgd"},
    {"cifar", NULL, KEY(learning_rate), "0.1"},
    {"cifar", NULL, KEY(momentum), "0.9"},
    {"cifar", NULL, KEY(weight_decay), "0.0001"},
    {"cifar", NULL, KEY(schedule), "plateau"},
    {"cifar", NULL, KEY(gamma), "0.1"},
    {"cifar", NULL, KEY(augment), "yes"},
    {"cifar", NULL, KEY(average_loss), "1"},

    /* All training pairs are trained on, and the last generator counts: nothing is chosen. */
    {"pix2pix", NULL, KEY(validate), ""},
    {"pix2pix", NULL, KEY(test), "auto"},
    {"pix2pix", NULL, KEY(batch), "1"},
    {"pix2pix", NULL, KEY(epochs), "200"},
    {"pix2pix", NULL, KEY(solver), "adam"},
    {"pix2pix", NULL, KEY(learning_rate), "0.0002"},
    {"pix2pix", NULL, KEY(momentum), "0.5"},
    {"pix2pix", NULL, KEY(weight_decay), "0"},
    {"pix2pix", NULL, KEY(schedule), "linear"},
    {"pix2pix", NULL, KEY(l1_weight), "100"},
    {"pix2pix", NULL, KEY(tolerance), "16"},
    {"pix2pix", NULL, KEY(average_loss), "1"},

    {"digits", NULL, KEY(validate), "auto,share=0.1"},
    {"digits", NULL, KEY(test), "auto"},
    {"digits", NULL, KEY(batch), "64"},
    {"digits", NULL, KEY(epochs), "10"},
    {"digits", NULL, KEY(solver), "sgd"},
    {"digits", NULL, KEY(learning_rate), "0.01"},
    {"digits", NULL, KEY(momentum), "0.9"},
    {"digits", NULL, KEY(weight_decay), "0.0005"},
    {"digits", NULL, KEY(schedule), "fixed"},
    {"digits", NULL, KEY(average_loss), "1"},
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

static bool check_preset(const char *name, struct error *error)
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
            config_put(config, KEY(network), companions[i].network, NULL);
        if (is_unchosen(config, KEY(data), config->data))
            config_put(config, KEY(data), companions[i].data, NULL);
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
            config_put(config, key, config_get(&defaults, key, fallback, sizeof fallback), NULL);
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

static void fill_presets(struct run_config *config)
{
    fill_companions(config);
    reset_network_values(config);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!row_applies(&rows[i], config) || config_is_given(config, rows[i].key))
            continue;
        /* the run's length is given in iterations */
        if (strcmp(rows[i].key, KEY(epochs)) == 0 && config->has_iterations)
            continue;
        config_put(config, rows[i].key, suits_data(&rows[i], config) ? rows[i].value : "", NULL);
    }
}

/* --- what follows from network, data and preset --- */

/* Returns whether the images of a data set are larger than the network's input, so that random
 * crops are possible. */
static bool data_is_cropped(const char *data)
{
    static const char *const cropped[] = {"folder", "tench", "pairs", "maps"};
    size_t length = strcspn(data, ":,");
    for (size_t i = 0; i < sizeof cropped / sizeof *cropped; i++)
        if (strlen(cropped[i]) == length && memcmp(cropped[i], data, length) == 0)
            return true;
    return false;
}

void config_fill_dependent(struct run_config *config)
{
    fill_presets(config);
    if (!config_is_given(config, KEY(augment)) && strcmp(config->preset, "cifar") != 0)
        config_put(config, KEY(augment), data_is_cropped(config->data) ? "yes" : "no", NULL);
}

bool config_apply_preset(struct run_config *config, const char *name, struct error *error)
{
    if (name[0] && !check_preset(name, error))
        return false;
    snprintf(config->preset, sizeof config->preset, "%s", name);
    config_fill_dependent(config);
    return true;
}
