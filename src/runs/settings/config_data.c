/* The data of a run with --validate auto: training gets all but a share of its data, validation
 * that share. Both are SPECs of the same set, with rest= and share= and the run's seed as draw=. */
#include "runs/settings/config_data.h"

#include "base/text.h"
#include "data/dataset/dataset.h"
#include "data/images/spec_value.h"

#include <stdio.h>
#include <string.h>

static const char automatic[] = "auto", share_option[] = ",share=";

/* Returns the share as it was written, or "0.1"; NULL if something else follows "auto". */
static const char *share_of(const struct run_config *config)
{
    const char *rest = config->validate + strlen(automatic);
    double share;
    if (!*rest)
        return "0.1";
    if (strncmp(rest, share_option, strlen(share_option)) != 0)
        return NULL;
    rest += strlen(share_option);
    return strlen(rest) < 16 && text_to_double(rest, &share) && share > 0 && share < 1 ? rest
                                                                                       : NULL;
}

bool config_holds_out(const struct run_config *config)
{
    const char *after = config->validate + strlen(automatic);
    return strncmp(config->validate, automatic, strlen(automatic)) == 0 &&
           (*after == '\0' || *after == ',');
}

bool config_check_validation(const struct run_config *config, struct error *error)
{
    if (!config_holds_out(config))
        return true;
    if (!share_of(config))
        return error_set(error, ERROR_USAGE, OPTION(validate),
                         "write auto,share=F with a number F between 0 and 1, as in auto,share=0.1",
                         "'%s' does not say which share of the data to hold out", config->validate);
    if (config_data_is_part(config->data))
        return error_set(error, ERROR_USAGE, OPTION(validate),
                         "give --validate the other part, or leave share= and rest= out",
                         "auto holds out a share of the training data, which %s already divides",
                         config->data);
    if (strstr(config->data, ",draw="))
        return error_set(error, ERROR_USAGE, OPTION(validate),
                         "leave draw= out of the training data, or name both parts with share= and "
                         "rest=",
                         "auto draws the share by the run's seed, but %s has a seed of its own",
                         config->data);
    return true;
}

/* --- options of a SPEC --- */

/* Returns the item ",NAME=VALUE" of a SPEC and sets *length; NULL if there is none. */
static const char *find_option(const char *spec, const char *name, size_t *length)
{
    const size_t named = strlen(name);
    for (const char *item = spec + spec_head_length(spec); *item; item += *length) {
        const size_t word = strcspn(item + 1, "=,");
        const bool has_value = item[1 + word] == '=';
        *length = 1 + word + (has_value ? 1 + spec_value_length(item + 1 + word + 1) : 0);
        if (has_value && word == named && strncmp(item + 1, name, named) == 0)
            return item;
    }
    return NULL;
}

bool config_data_take_option(const char *spec, const char *name, char *rest, size_t size,
                             char *value, size_t value_size)
{
    size_t length;
    const char *item = find_option(spec, name, &length);
    const size_t skipped = strlen(name) + 2;
    return item && strlen(spec) - length < size &&
           spec_value_read(item + skipped, length - skipped, value, value_size) &&
           snprintf(rest, size, "%.*s%s", (int)(item - spec), spec, item + length) >= 0;
}

static bool has_option(const char *spec, const char *name)
{
    size_t length;
    return find_option(spec, name, &length);
}

bool config_data_is_part(const char *spec)
{
    return has_option(spec, "share") || has_option(spec, "rest");
}

bool config_data_has_test(const char *spec)
{
    const struct dataset_kind *kind = dataset_kind_of(spec);
    return kind && !has_option(spec, "split") &&
           (!kind->argument[0] || strncmp(kind->name, "cifar", 5) == 0 ||
            strcmp(kind->name, "idx") == 0);
}

/* --- the parts --- */

static char *write_part(const struct run_config *config, const char *part, char *text)
{
    const char *share = share_of(config);
    snprintf(text, CONFIG_SPEC, "%s,%s=%s,draw=%zu", config->data, part, share ? share : "0.1",
             config->seed);
    return text;
}

char *config_training_spec(const struct run_config *config, char text[CONFIG_SPEC])
{
    if (config_holds_out(config))
        return write_part(config, "rest", text);
    snprintf(text, CONFIG_SPEC, "%s", config->data);
    return text;
}

char *config_validation_spec(const struct run_config *config, char text[CONFIG_SPEC])
{
    if (config_holds_out(config))
        return write_part(config, "share", text);
    snprintf(text, CONFIG_SPEC, "%s", config->validate);
    return text;
}

/* Writes the test split of the training data: the options that choose images do not apply to it. */
static void write_test_split(const char *data, char text[CONFIG_SPEC])
{
    static const char *const choosing[] = {"split", "limit", "sample", "share", "rest", "draw"};
    char value[64], rest[CONFIG_SPEC];
    snprintf(text, CONFIG_SPEC, "%s", data);
    for (size_t i = 0; i < sizeof choosing / sizeof *choosing; i++)
        if (config_data_take_option(text, choosing[i], rest, sizeof rest, value, sizeof value))
            memcpy(text, rest, sizeof rest);
    const size_t used = strlen(text);
    snprintf(text + used, CONFIG_SPEC - used, ",split=test");
}

bool config_check_test(const struct run_config *config, struct error *error)
{
    char value[64], rest[CONFIG_SPEC];
    if (strcmp(config->test, automatic) != 0 ||
        !config_data_take_option(config->data, "split", rest, sizeof rest, value, sizeof value) ||
        strcmp(value, "test") != 0)
        return true;
    return error_set(error, ERROR_USAGE, OPTION(test), "name another set, or train on split=train",
                     "auto is the test split of the training data, and %s is that split already",
                     config->data);
}

char *config_test_spec(const struct run_config *config, char text[CONFIG_SPEC])
{
    if (strcmp(config->test, automatic) == 0)
        write_test_split(config->data, text);
    else
        snprintf(text, CONFIG_SPEC, "%s", config->test);
    return text;
}

/* --- sets that share images --- */

/* Writes the split of a SPEC; `usual` if it names none and is no part of a set, which is one of the
 * training split. */
static void read_split(const char *spec, const char *usual, char split[64])
{
    char rest[CONFIG_SPEC];
    if (!config_data_take_option(spec, "split", rest, sizeof rest, split, 64))
        snprintf(split, 64, "%s", config_data_is_part(spec) ? "train" : usual);
}

/* Returns whether two SPECs name images of the same place and split, and not two parts that
 * complement each other. `usual_a` and `usual_b`: the splits where they name none. */
static bool may_overlap(const char *a, const char *usual_a, const char *b, const char *usual_b)
{
    char split_a[64], split_b[64];
    const size_t head = spec_head_length(a);
    if (spec_head_length(b) != head || strncmp(a, b, head) != 0)
        return false;
    read_split(a, usual_a, split_a);
    read_split(b, usual_b, split_b);
    const bool complements = (has_option(a, "share") && has_option(b, "rest")) ||
                             (has_option(a, "rest") && has_option(b, "share"));
    return strcmp(split_a, split_b) == 0 && !complements;
}

enum config_overlap config_test_overlap(const struct run_config *config)
{
    char test[CONFIG_SPEC];
    if (!config_test_spec(config, test)[0])
        return OVERLAP_NONE;
    if (may_overlap(test, "test", config->data, "train"))
        return OVERLAP_TRAINING;
    return !config_holds_out(config) && config->validate[0] &&
                   may_overlap(test, "test", config->validate, "test")
               ? OVERLAP_VALIDATION
               : OVERLAP_NONE;
}

char *config_measured_spec(const struct run_config *config, char text[CONFIG_SPEC])
{
    if (config->validate[0])
        return config_validation_spec(config, text);
    snprintf(text, CONFIG_SPEC, "%s", config->data);
    return text;
}
