/* A field is a row of the table config_fields: its place in struct run_config, its kind, its
 * bounds. Parsing, printing, JSON, the form and usage texts all loop over this table.
 *
 * `given` has a bit for each field that config_set has set. Presets, and defaults that depend on
 * other fields, never overwrite these fields, so the order of options does not matter. */
#include "session/config/config.h"

#include "base/language.h"
#include "base/text.h"
#include "engine/devices/device.h"
#include "engine/devices/rank_device.h"
#include "session/config/config_data.h"
#include "session/config/config_internal.h"
#include "session/config/presets.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether `field` is the one of this member of struct run_config. */
#define IS_MEMBER(field, member) ((field)->offset == offsetof(struct run_config, member))

const struct config_field *config_find(const char *key)
{
    for (size_t i = 0; i < config_field_count; i++)
        if (strcmp(config_fields[i].key, key) == 0)
            return &config_fields[i];
    return NULL;
}

/* --- given fields --- */

bool config_on_gpu(const struct run_config *config)
{
    return strncmp(config->device, "cuda", 4) == 0;
}

void config_share(struct run_config *config, size_t processes)
{
    config->processes = processes > 1 ? processes : 1;
    if (config->processes > 1 && !config_is_given(config, KEY(blocks)) && !config_on_gpu(config))
        config->blocks = config->processes;
}

bool config_is_given(const struct run_config *config, const char *key)
{
    return config->given.fields[config_find(key) - config_fields];
}

bool config_is_known(const struct run_config *config, const char *imported, const char *key)
{
    const struct config_field *field = config_find(key);
    if (!imported || !imported[0])
        return true;
    return config_is_given(config, key) &&
           (field->kind != CONFIG_TEXT ||
            strcmp((const char *)config + field->offset, "unknown") != 0);
}

/* --- classes --- */

bool config_has_meaning(const struct config_field *field, enum config_task task)
{
    return task == TASK_RESUME ? field->resumes : !(field->lacks & task);
}

static bool is_taken(const struct config_field *field, unsigned classes, enum config_task task)
{
    return (field->class & classes) && config_has_meaning(field, task);
}

void config_take(struct run_config *to, const struct run_config *from, unsigned classes,
                 enum config_task task)
{
    for (size_t i = 0; i < config_field_count; i++) {
        const struct config_field *field = &config_fields[i];
        if (!is_taken(field, classes, task))
            continue;
        memcpy((char *)to + field->offset, (const char *)from + field->offset, field->size);
        to->given.fields[i] = from->given.fields[i];
        if (IS_MEMBER(field, iterations))
            to->has_iterations = from->has_iterations;
        if (IS_MEMBER(field, reset_classes))
            to->outputs_kept = from->outputs_kept;
        if (IS_MEMBER(field, validate))
            to->data_divides = from->data_divides;
        if (IS_MEMBER(field, device))
            to->processes = from->processes;
    }
}

const struct config_field *config_refused(const struct run_config *config, unsigned classes,
                                          enum config_task task)
{
    for (size_t i = 0; i < config_field_count; i++)
        if (config->given.fields[i] && !is_taken(&config_fields[i], classes, task))
            return &config_fields[i];
    return NULL;
}

bool config_gives_any(const struct run_config *config)
{
    for (size_t i = 0; i < config_field_count; i++)
        if (config->given.fields[i])
            return true;
    return false;
}

void config_forget(struct run_config *config, const char *key)
{
    config->given.fields[config_find(key) - config_fields] = false;
}

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
    presets_fill(config);
    if (!config_is_given(config, KEY(augment)) && strcmp(config->preset, "cifar") != 0)
        config_put(config, KEY(augment), data_is_cropped(config->data) ? "yes" : "no", NULL);
}

bool config_apply_preset(struct run_config *config, const char *name, struct error *error)
{
    if (name[0] && !presets_check(name, error))
        return false;
    snprintf(config->preset, sizeof config->preset, "%s", name);
    config_fill_dependent(config);
    return true;
}

/* --- parsing --- */

static bool refuse(const struct config_field *field, const char *value, const char *expected,
                   struct error *error)
{
    char what[256], advice[224];
    snprintf(what, sizeof what, "--%s %s", field->key, value);
    snprintf(advice, sizeof advice, _("give %s"), expected);
    return error_set(error, ERROR_USAGE, what, advice,
                     value[0] ? N_("this is not understood, or out of range")
                              : N_("nothing was given"));
}

static bool list_choices(const struct config_field *field, const char *value, struct error *error)
{
    char list[160];
    size_t used = (size_t)snprintf(list, sizeof list, "%s ", _("one of"));
    for (size_t i = 0; field->choices[i] && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                 field->choices[i]);
    return refuse(field, value, list, error);
}

static bool find_choice(const struct config_field *field, const char *value, size_t *choice)
{
    for (*choice = 0; field->choices[*choice]; ++*choice)
        if (strcmp(field->choices[*choice], value) == 0)
            return true;
    return false;
}

static bool parse_text(const struct config_field *field, const char *value, void *out,
                       struct error *error)
{
    char expected[64];
    size_t unused;
    if (strlen(value) >= field->size) {
        snprintf(expected, sizeof expected, _("at most %zu characters"), field->size - 1);
        return refuse(field, value, expected, error);
    }
    if (field->choices && value[0] && !find_choice(field, value, &unused))
        return list_choices(field, value, error);
    const size_t length = strlen(value);
    memmove(out, value, length); /* `value` may lie in the configuration */
    memset((char *)out + length, 0, field->size - length);
    return true;
}

static bool parse_count(const struct config_field *field, const char *value, size_t *out,
                        struct error *error)
{
    char expected[96];
    size_t count;
    if (text_to_size(value, &count) && (double)count >= field->low &&
        (double)count <= field->high) {
        *out = count;
        return true;
    }
    snprintf(expected, sizeof expected, _("a whole number of %.0f to %.0f"), field->low,
             field->high);
    return refuse(field, value, expected, error);
}

static bool parse_number(const struct config_field *field, const char *value, double *out,
                         struct error *error)
{
    char expected[96];
    double number;
    if (text_to_double(value, &number) && number >= field->low && number <= field->high) {
        *out = number;
        return true;
    }
    snprintf(expected, sizeof expected, _("a number of %.10g to %.10g"), field->low, field->high);
    return refuse(field, value, expected, error);
}

static bool parse_flag(const struct config_field *field, const char *value, bool *out,
                       struct error *error)
{
    static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], value) == 0) {
            *out = i % 2;
            return true;
        }
    return refuse(field, value, _("yes or no"), error);
}

/* Changes *out only if the value is valid. */
static bool parse_value(const struct config_field *field, const char *value, void *out,
                        struct error *error)
{
    size_t choice;
    switch (field->kind) {
    case CONFIG_COUNT:
        return parse_count(field, value, out, error);
    case CONFIG_NUMBER:
        return parse_number(field, value, out, error);
    case CONFIG_FLAG:
        return parse_flag(field, value, out, error);
    case CONFIG_CHOICE:
        if (!find_choice(field, value, &choice))
            return list_choices(field, value, error);
        *(size_t *)out = choice;
        return true;
    default:
        return parse_text(field, value, out, error);
    }
}

/* Parses the value into the field's member, which an invalid value leaves as it was. */
static bool store(struct run_config *config, const struct config_field *field, const char *value,
                  struct error *error)
{
    char text[CONFIG_REWRITTEN];
    if (field->rewrite && !(value = field->rewrite(value, text, error)))
        return false;
    if (field->fits && !field->fits(value))
        return refuse(field, value, gettext(field->expected), error);
    return parse_value(field, value, (char *)config + field->offset, error);
}

bool config_put(struct run_config *config, const char *key, const char *value, struct error *error)
{
    const struct config_field *field = config_find(key);
    if (!field)
        return error_set(error, ERROR_USAGE, key, "the options are those of tinca train --help",
                         "there is no such setting");
    return store(config, field, value, error);
}

void config_put_count(struct run_config *config, const char *key, size_t count)
{
    const struct config_field *field = config_find(key);
    assert(field->kind == CONFIG_COUNT);
    *(size_t *)((char *)config + field->offset) = count;
}

void config_allow_share(struct run_config *config)
{
    config->data_divides = false;
}

static void mark_given(struct run_config *config, const struct config_field *field)
{
    config->given.fields[field - config_fields] = true;
    if (IS_MEMBER(field, iterations))
        config->has_iterations = true;
}

/* Refuses a value of `validate` beside another share that the data names. */
static bool check_division(const struct run_config *config, const char *value, struct error *error)
{
    if (!config->data_divides || strcmp(value, config->validate) == 0)
        return true;
    return error_set(
        error, ERROR_USAGE, OPTION(validate), "give --validate, or validate= of --data",
        "the training data holds out a share for validation already (%s)", config->validate);
}

/* Sets the data. Its option validate=F becomes the value of the setting `validate`. */
static bool set_data(struct run_config *config, const char *value, struct error *error)
{
    char data[sizeof config->data], share[64], validate[sizeof config->validate];
    const struct config_field *field = config_find(KEY(data)), *held = config_find(KEY(validate));
    if (!config_data_take_option(value, "validate", data, sizeof data, share, sizeof share))
        return store(config, field, value, error);
    snprintf(validate, sizeof validate, "auto,share=%s", share);
    if (config_is_given(config, KEY(validate)) && strcmp(config->validate, validate) != 0)
        return error_set(error, ERROR_USAGE, OPTION(data),
                         "give --validate, or validate= of --data",
                         "validate=%s contradicts --validate %s", share, config->validate);
    if (!store(config, field, data, error) || !store(config, held, validate, error))
        return false;
    mark_given(config, held);
    config->data_divides = true;
    return true;
}

bool config_set_field(struct run_config *config, const struct config_field *field,
                      const char *value, struct error *error)
{
    if (IS_MEMBER(field, preset))
        return config_apply_preset(config, value, error);
    if (IS_MEMBER(field, validate) && !check_division(config, value, error))
        return false;
    if (IS_MEMBER(field, iterations) && !value[0]) {
        config->has_iterations = false;
        config->given.fields[field - config_fields] = false;
        return true;
    }
    if (!(IS_MEMBER(field, data) ? set_data(config, value, error)
                                 : store(config, field, value, error)))
        return false;
    mark_given(config, field);
    return true;
}

bool config_set_number(struct run_config *config, const struct config_field *field, double number)
{
    void *member = (char *)config + field->offset;
    if (!(number >= field->low && number <= field->high))
        return false;
    if (field->kind == CONFIG_COUNT)
        *(size_t *)member = (size_t)number;
    else
        *(double *)member = number;
    mark_given(config, field);
    return true;
}

void config_set_flag(struct run_config *config, const struct config_field *field, bool flag)
{
    *(bool *)((char *)config + field->offset) = flag;
    mark_given(config, field);
}

bool config_has_dependents(const struct config_field *field)
{
    return IS_MEMBER(field, network) || IS_MEMBER(field, data);
}

bool config_set(struct run_config *config, const char *key, const char *value, struct error *error)
{
    const struct config_field *field = config_find(key);
    if (!field)
        return config_put(config, key, value, error);
    if (!config_set_field(config, field, value, error))
        return false;
    if (config_has_dependents(field))
        config_fill_dependent(config);
    return true;
}

/* --- printing --- */

/* Writes the shortest decimal that reads back as the same double, without exponent if the integer
 * part is short: 100, not 1e+02. */
static void print_number(double value, char *text, size_t size)
{
    int whole = 1;
    for (double power = 10; power <= fabs(value) && whole < 15; power *= 10)
        whole++;
    for (int precision = whole; precision <= 17; precision++) {
        snprintf(text, size, "%.*g", precision, value);
        if (strtod(text, NULL) == value)
            return;
    }
}

char *config_get(const struct run_config *config, const char *key, char *text, size_t size)
{
    const struct config_field *field = config_find(key);
    const void *value = field ? (const char *)config + field->offset : NULL;
    if (size > 0)
        text[0] = '\0';
    if (!field || (strcmp(key, KEY(iterations)) == 0 && !config->has_iterations))
        return text;
    switch (field->kind) {
    case CONFIG_TEXT:
        snprintf(text, size, "%s", (const char *)value);
        break;
    case CONFIG_COUNT:
        snprintf(text, size, "%zu", *(const size_t *)value);
        break;
    case CONFIG_NUMBER:
        print_number(*(const double *)value, text, size);
        break;
    case CONFIG_CHOICE:
        snprintf(text, size, "%s", field->choices[*(const size_t *)value]);
        break;
    case CONFIG_FLAG:
        snprintf(text, size, "%s", *(const bool *)value ? "yes" : "no");
        break;
    }
    return text;
}

uint64_t config_memory_limit(const struct run_config *config)
{
    uint64_t bytes = 0;
    return text_to_bytes(config->memory_limit, &bytes) ? bytes : 0;
}

double config_max_time(const struct run_config *config)
{
    double seconds = INFINITY;
    return text_to_seconds(config->max_time, &seconds) ? seconds : INFINITY;
}

/* --- contradictions --- */

static bool check_targets(const struct run_config *config, struct error *error)
{
    struct augmentation augmentation = {0};
    augmentation_parse(&augmentation, config->augment, NULL); /* config_set checked it */
    const bool mixes = augmentation_mixes(&augmentation);
    if (mixes && config->batch < 2)
        return error_set(error, ERROR_USAGE, OPTION(augment), "give --batch 2 or more",
                         "mixup and cutmix mix the images of a batch, and it has only one");
    return true;
}

static bool check_teacher(const struct run_config *config, struct error *error)
{
    struct run_config defaults;
    config_defaults(&defaults);
    const bool warm = config->temperature != defaults.temperature;
    if (config->teacher[0] || (!warm && config->distill_weight == defaults.distill_weight))
        return true;
    return error_set(error, ERROR_USAGE, warm ? OPTION(temperature) : OPTION(distill_weight),
                     "give --teacher a saved model", "there is no teacher to compare with");
}

static bool check_momentum(const struct run_config *config, struct error *error)
{
    if (config->cycle_momentum == 0)
        return true;
    if (config->schedule != LR_SCHEDULE_ONECYCLE)
        return error_set(error, ERROR_USAGE, OPTION(cycle_momentum), "give --schedule onecycle",
                         "the schedule %s has no cycle", lr_schedule_names[config->schedule]);
    if (!(config->cycle_momentum < config->momentum))
        return error_set(
            error, ERROR_USAGE, OPTION(cycle_momentum), "give a lower one, or a higher --momentum",
            "it is the lowest momentum, and --momentum %g the highest", config->momentum);
    return !config_on_gpu(config) ||
           error_set(error, ERROR_USAGE, OPTION(cycle_momentum),
                     "train without it, or choose the device cpu or reference",
                     "the device %s cannot change the momentum", config->device);
}

static bool check_training(const struct run_config *config, struct error *error)
{
    if ((config->clip_norm > 0 || config->clip_value > 0) && config_on_gpu(config))
        return error_set(error, ERROR_USAGE,
                         config->clip_norm > 0 ? OPTION(clip_norm) : OPTION(clip_value),
                         "train without it, or choose the device cpu or reference",
                         "the device %s cannot limit gradients", config->device);
    if ((config->freeze[0] || config->rates[0]) && config_on_gpu(config))
        return error_set(error, ERROR_USAGE, config->freeze[0] ? OPTION(freeze) : OPTION(rates),
                         "train without it, or choose the device cpu or reference",
                         "the device %s cannot give layers rates of their own", config->device);
    if (config->reduce == REDUCE_FAST && config->compress != COMPRESS_NONE)
        return error_set(error, ERROR_USAGE, OPTION(compress),
                         "leave out --compress or --reduce fast",
                         "MPI adds no values of bf16 itself");
    if (config->names[0] && !config->weights[0])
        return error_set(error, ERROR_USAGE, OPTION(names), "give --weights a file",
                         "it says how a file names its weights");
    if (config->reset[0] && !config->weights[0])
        return error_set(error, ERROR_USAGE, OPTION(reset), "give --weights a file",
                         "without weights to begin with, every layer begins anew");
    if (!check_teacher(config, error) || !check_momentum(config, error))
        return false;
    if (config->stop_patience > 0 && !config->validate[0])
        return error_set(error, ERROR_USAGE, OPTION(stop_patience), "give --validate a data set",
                         "it counts validations, and this run has none");
    return true;
}

bool config_check(const struct run_config *config, struct error *error)
{
    if (!config->network[0])
        return error_set(error, ERROR_USAGE, "the network", "name one: tinca networks lists them",
                         "none was given");
    if (!config->data[0])
        return error_set(error, ERROR_USAGE, OPTION(data), "name one: tinca datasets lists them",
                         "no data set was given");
    if (config_is_given(config, KEY(epochs)) && config_is_given(config, KEY(iterations)))
        return error_set(error, ERROR_USAGE, "--epochs and --iterations", "give one of them",
                         "both say how long the run is");
    if (config->batch == 0 || config->average_loss == 0 ||
        (!config->has_iterations && config->epochs == 0))
        return error_set(error, ERROR_USAGE, "the configuration", NULL,
                         "batch, epochs and average-loss begin at 1");
    if (config->precision == PRECISION_INT8)
        return error_set(error, ERROR_USAGE, OPTION(precision),
                         "train in float32, and then quantize the model with tinca quantize",
                         "only trained networks compute in int8");
    if (config->precision != PRECISION_FLOAT32 && config->precision != PRECISION_BF16 &&
        !config_on_gpu(config))
        return error_set(error, ERROR_USAGE, OPTION(precision),
                         "choose float32 or bf16, or the device cuda",
                         "the device %s does not compute in %s", config->device,
                         device_precision_names[config->precision]);
    if (config->processes > 1 && !rank_device_check(config->device, error))
        return false;
    const double last_seed = 999999999999999.0;
    if ((double)config->seed + (double)config->seeds - 1 > last_seed)
        return error_set(error, ERROR_USAGE, OPTION(seeds), "choose a lower --seed",
                         "the seeds would exceed %.0f", last_seed);
    return config_check_validation(config, error) && config_check_test(config, error) &&
           check_targets(config, error) && check_training(config, error);
}
