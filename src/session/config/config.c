/* A field is a row of the table: where it lies in struct run_config, of which kind, within which
 * bounds. Everything else (parsing, printing, JSON, the form, usage texts) walks the table.
 *
 * `given` remembers which fields were asked for, so that presets and defaults that follow from
 * other fields never overwrite them, in whatever order options come. */
#include "session/config/config.h"

#include "base/language.h"
#include "base/text.h"
#include "engine/devices/device.h"
#include "session/config/presets.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order of the engine's enums; config_test compares them. */
static const char *const techniques[] = {"none", "dsc", "shuffle", "shift", NULL};
static const char *const solvers[] = {"sgd", "nesterov", "adam", NULL};
static const char *const schedules[] = {"fixed",   "step",   "poly", "cosine",
                                        "plateau", "linear", NULL};
static const char *const precisions[] = {"float32", "tf32", "bf16", "fp16", NULL};
static const char *const normalisations[] = {"auto",     "measured", "unit",     "signed", "caffe",
                                             "imagenet", "cifar10",  "cifar100", NULL};

const char *const config_presets[] = {"overfit", "cifar", "pix2pix", "digits", NULL};

#define MEMBER(name) offsetof(struct run_config, name), sizeof(((struct run_config *)0)->name)

const struct config_field config_fields[] = {
    {"preset", N_("Preset"), "NAME",
     N_("A study's protocol: fills in what you have not set yourself."), CONFIG_TEXT,
     MEMBER(preset), 0, 0, config_presets, true},
    {"network", N_("Network"), "NET", N_("A built-in network, or the path of a network file."),
     CONFIG_TEXT, MEMBER(network), 0, 0, NULL, true},
    {"technique", N_("Technique"), "NAME",
     N_("An optimization of the architecture, before training."), CONFIG_CHOICE, MEMBER(technique),
     0, 0, techniques, true},
    {"groups", N_("Groups"), "G",
     N_("Groups of the technique shuffle; 0: as the network says, or two."), CONFIG_COUNT,
     MEMBER(groups), 0, NETWORK_MAX_GROUPS, NULL, false},
    {"width-rate", N_("Width rate"), "R",
     N_("Divides every width of the network: above 1 it shrinks, below it grows; 0: none."),
     CONFIG_NUMBER, MEMBER(width_rate), 0, NETWORK_MAX_RATE, NULL, true},
    {"block-rate", N_("Block rate"), "R",
     N_("Residual blocks become bottlenecks of their width divided by this; 0: none."),
     CONFIG_NUMBER, MEMBER(block_rate), 0, NETWORK_MAX_RATE, NULL, false},
    {"widths", N_("Widths"), "N,N...",
     N_("Hidden layers of mlp, and of files that have widths: one a number; empty: the file's."),
     CONFIG_TEXT, MEMBER(widths), 0, 0, NULL, false},
    {"activation", N_("Activation"), "NAME",
     N_("What follows those layers; empty: what the file says."), CONFIG_TEXT, MEMBER(activation),
     0, 0, network_activations, false},
    {"data", N_("Training data"), "SPEC",
     N_("A generated set, or KIND:DIR; options follow after commas."), CONFIG_TEXT, MEMBER(data), 0,
     0, NULL, true},
    {"validate", N_("Validation data"), "SPEC",
     N_("A data set to measure accuracy on after every epoch; empty: none."), CONFIG_TEXT,
     MEMBER(validate), 0, 0, NULL, true},
    {"batch", N_("Batch size"), "N", N_("Images an iteration."), CONFIG_COUNT, MEMBER(batch), 1,
     65536, NULL, true},
    {"device", N_("Device"), "NAME",
     N_("What computes: cpu, reference (slow, readable), cuda[:N[,N...]]."), CONFIG_TEXT,
     MEMBER(device), 0, 0, NULL, true},
    {"threads", N_("Threads"), "N",
     N_("Threads that compute; 0: one a core. Results do not depend on it."), CONFIG_COUNT,
     MEMBER(threads), 0, 1024, NULL, true},
    {"precision", N_("Precision"), "NAME",
     N_("What a GPU multiplies with; sums and what is kept are float32 in any case."),
     CONFIG_CHOICE, MEMBER(precision), 0, 0, precisions, false},
    {"memory-limit", N_("Memory limit"), "SIZE",
     N_("Keeps training within so many bytes (as 600M, 1.5G) by computing values again; empty: no "
        "limit."),
     CONFIG_TEXT, MEMBER(memory_limit), 0, 0, NULL, false},
    {"epochs", N_("Epochs"), "N", N_("How often the whole training set is gone through."),
     CONFIG_COUNT, MEMBER(epochs), 1, 1e6, NULL, false},
    {"iterations", N_("Iterations"), "N", N_("The run's length in batches, instead of epochs."),
     CONFIG_COUNT, MEMBER(iterations), 1, 1e9, NULL, false},
    {"solver", N_("Solver"), "NAME", N_("How the weights follow the gradients."), CONFIG_CHOICE,
     MEMBER(solver), 0, 0, solvers, true},
    {"lr", N_("Learning rate"), "X", N_("The size of a step; the schedule changes it later."),
     CONFIG_NUMBER, MEMBER(learning_rate), 0, 1e6, NULL, true},
    {"momentum", N_("Momentum"), "M", N_("How much of the last step is kept; adam's beta1."),
     CONFIG_NUMBER, MEMBER(momentum), 0, 0.999999, NULL, true},
    {"weight-decay", N_("Weight decay"), "W",
     N_("Pulls weights towards zero: W x weight is added to the "
        "gradient."),
     CONFIG_NUMBER, MEMBER(weight_decay), 0, 10, NULL, true},
    {"schedule", N_("Schedule"), "NAME", N_("How the learning rate falls during the run."),
     CONFIG_CHOICE, MEMBER(schedule), 0, 0, schedules, true},
    {"gamma", N_("Gamma"), "X", N_("Schedules step and plateau: the rate is multiplied by this."),
     CONFIG_NUMBER, MEMBER(gamma), 0, 10, NULL, false},
    {"power", N_("Power"), "X", N_("Schedule poly: the exponent."), CONFIG_NUMBER, MEMBER(power), 0,
     100, NULL, false},
    {"step-size", N_("Step size"), "N",
     N_("Schedule step: iterations between two steps; 0: a third of the run."), CONFIG_COUNT,
     MEMBER(step_size), 0, 1e9, NULL, false},
    {"average-loss", N_("Average loss"), "N",
     N_("Above 1, the smoothed loss is the mean of the last N iterations."), CONFIG_COUNT,
     MEMBER(average_loss), 1, 10000, NULL, false},
    {"l1-weight", N_("L1 weight"), "X",
     N_("Networks with a discriminator: the weight of the difference from the target."),
     CONFIG_NUMBER, MEMBER(l1_weight), 0.000001, 1e6, NULL, false},
    {"tolerance", N_("Pixel tolerance"), "N",
     N_("Pixel accuracy: a pixel is right when no channel differs by more than N of 255."),
     CONFIG_COUNT, MEMBER(tolerance), 0, 255, NULL, false},
    {"augment", N_("Augmentation"), "yes|no", N_("Random crops and flips of the training images."),
     CONFIG_FLAG, MEMBER(augment), 0, 1, NULL, true},
    {"normalise", N_("Normalisation"), "NAME",
     N_("How samples become numbers; auto: as the network expects."), CONFIG_TEXT,
     MEMBER(normalise), 0, 0, normalisations, false},
    {"seed", N_("Seed"), "S", N_("The same seed gives the same bits."), CONFIG_COUNT, MEMBER(seed),
     0, 999999999999999.0, NULL, true},
    {"checkpoint", N_("Checkpoint"), "SECONDS",
     N_("Time between two checkpoints, from which a run can be resumed; 0: at the end of epochs "
        "only."),
     CONFIG_NUMBER, MEMBER(checkpoint), 0, 1e6, NULL, false},
    {"checkpoint-share", N_("Checkpoint share"), "PERCENT",
     N_("How much of the run's time checkpoints may take: they become rarer above it."),
     CONFIG_NUMBER, MEMBER(checkpoint_share), 0.01, 100, NULL, false},
};
const size_t config_field_count = sizeof config_fields / sizeof *config_fields;
_Static_assert(sizeof config_fields / sizeof *config_fields <= 64, "given has 64 bits");

const struct config_field *config_find(const char *key)
{
    for (size_t i = 0; i < config_field_count; i++)
        if (strcmp(config_fields[i].key, key) == 0)
            return &config_fields[i];
    return NULL;
}

void config_defaults(struct run_config *config)
{
    *config = (struct run_config){.network = "lenet",
                                  .data = "digits",
                                  .batch = 64,
                                  .device = "cpu",
                                  .epochs = 10,
                                  .seed = 1,
                                  .checkpoint = 60,
                                  .checkpoint_share = 1,
                                  .solver = SOLVER_SGD,
                                  .learning_rate = 0.01,
                                  .momentum = 0.9,
                                  .schedule = LR_SCHEDULE_FIXED,
                                  .gamma = 0.1,
                                  .power = 1,
                                  .average_loss = 1,
                                  .l1_weight = 100,
                                  .tolerance = 16,
                                  .normalise = "auto"};
}

/* --- what was asked for --- */

static uint64_t bit_of(const char *key)
{
    return UINT64_C(1) << (config_find(key) - config_fields);
}

bool config_is_given(const struct run_config *config, const char *key)
{
    return config->given & bit_of(key);
}

/* Pictures that are larger than the network's input leave room for random crops. */
static bool data_is_cropped(const char *data)
{
    static const char *const cropped[] = {"folder", "tench", "pairs", "maps"};
    size_t length = strcspn(data, ":,");
    for (size_t i = 0; i < sizeof cropped / sizeof *cropped; i++)
        if (strlen(cropped[i]) == length && memcmp(cropped[i], data, length) == 0)
            return true;
    return false;
}

/* Brings the fields that nobody asked for in line with those that somebody did. */
static void settle(struct run_config *config)
{
    presets_fill(config);
    if (!config_is_given(config, "augment") && strcmp(config->preset, "cifar") != 0)
        config->augment = data_is_cropped(config->data);
}

bool config_apply_preset(struct run_config *config, const char *name, struct error *error)
{
    if (name[0] && !presets_check(name, error))
        return false;
    snprintf(config->preset, sizeof config->preset, "%s", name);
    settle(config);
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
    memset(out, 0, field->size);
    memcpy(out, value, strlen(value));
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

static bool parse_value(const struct config_field *field, const char *value, void *out,
                        struct error *error)
{
    switch (field->kind) {
    case CONFIG_COUNT:
        return parse_count(field, value, out, error);
    case CONFIG_NUMBER:
        return parse_number(field, value, out, error);
    case CONFIG_FLAG:
        return parse_flag(field, value, out, error);
    case CONFIG_CHOICE:
        return find_choice(field, value, out) || list_choices(field, value, error);
    default:
        return parse_text(field, value, out, error);
    }
}

bool config_fill(struct run_config *config, const char *key, const char *value, struct error *error)
{
    const struct config_field *field = config_find(key);
    if (!field)
        return error_set(error, ERROR_USAGE, key, "the options are those of tinca train --help",
                         "there is no such setting");
    struct network_widths widths;
    if (strcmp(key, "widths") == 0 && value[0] && !network_widths_parse(value, ',', &widths))
        return refuse(field, value, _("1 to 16 numbers of 1 to 65536, as in 512,256"), error);
    uint64_t bytes;
    if (strcmp(key, "memory-limit") == 0 && value[0] && !text_to_bytes(value, &bytes))
        return refuse(field, value, _("a number of bytes, as in 600M or 1.5G"), error);
    /* parsed aside: a refused value changes nothing */
    struct run_config changed = *config;
    if (!parse_value(field, value, (char *)&changed + field->offset, error))
        return false;
    *config = changed;
    return true;
}

bool config_set(struct run_config *config, const char *key, const char *value, struct error *error)
{
    const struct config_field *field = config_find(key);
    if (field && strcmp(key, "preset") == 0)
        return config_apply_preset(config, value, error);
    if (field && strcmp(key, "iterations") == 0 && !value[0]) {
        config->has_iterations = false;
        config->given &= ~bit_of(key);
        return true;
    }
    if (!config_fill(config, key, value, error))
        return false;
    config->given |= bit_of(key);
    if (strcmp(key, "iterations") == 0)
        config->has_iterations = true;
    if (strcmp(key, "network") == 0 || strcmp(key, "data") == 0)
        settle(config);
    return true;
}

/* --- printing --- */

/* The shortest decimal that reads back as the same double: 100, not 1e+02. */
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
    if (!field || (strcmp(key, "iterations") == 0 && !config->has_iterations))
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

/* --- contradictions --- */

static bool is_gpu(const struct run_config *config)
{
    return strncmp(config->device, "cuda", 4) == 0;
}

bool config_check(const struct run_config *config, struct error *error)
{
    if (!config->network[0])
        return error_set(error, ERROR_USAGE, "the network", "name one: tinca networks lists them",
                         "none was given");
    if (!config->data[0])
        return error_set(error, ERROR_USAGE, "--data", "name one: tinca datasets lists them",
                         "no data set was given");
    if (config_is_given(config, "epochs") && config_is_given(config, "iterations"))
        return error_set(error, ERROR_USAGE, "--epochs and --iterations", "give one of them",
                         "both say how long the run is");
    if (config->batch == 0 || config->average_loss == 0 ||
        (config->has_iterations ? config->iterations : config->epochs) == 0)
        return error_set(error, ERROR_USAGE, "the configuration", NULL,
                         "batch, epochs, iterations and average-loss begin at 1");
    if (config->precision != PRECISION_FLOAT32 && !is_gpu(config))
        return error_set(error, ERROR_USAGE, "--precision", "choose float32, or the device cuda",
                         "the device %s computes in float32 only", config->device);
    return true;
}
