/* config.h: the configuration of a run.
 *
 * The rows of settings.inc serve the command line (--KEY), the workbench's form, config.json and
 * the session file, so all of them agree. A configuration has plain values only; copy it by
 * assignment. Read it through the structs of its classes (settings.h).
 */
#ifndef TINCA_RUNS_SETTINGS_CONFIG_H
#define TINCA_RUNS_SETTINGS_CONFIG_H

#include "base/error.h"
#include "base/json/json.h"
#include "data/loader/augmentation.h"
#include "engine/devices/device.h"
#include "engine/network/network.h"
#include "engine/training/early_stopping.h"
#include "engine/training/lr_schedule.h"
#include "engine/training/solver.h"
#include "engine/weights/weights.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No configuration has more fields than this. */
enum { CONFIG_MAX_FIELDS = 80, CONFIG_REWRITTEN = AUGMENTATION_TEXT };

/* No text of a setting has more bytes, with its final zero. */
enum { CONFIG_LONGEST = 512 };

/* Which fields config_set has set, in the order of config_fields. */
struct config_given {
    bool fields[CONFIG_MAX_FIELDS];
};

/* A member for each row of settings.inc, in the type that its TYPE says, and what belongs to no
 * row. */
struct run_config {
#define CONFIG_TYPE_TEXT(size) char
#define CONFIG_TYPE_COUNT      size_t
#define CONFIG_TYPE_NUMBER     double
#define CONFIG_TYPE_CHOICE     size_t
#define CONFIG_TYPE_FLAG       bool
#define CONFIG_SIZE_TEXT(size) [size]
#define CONFIG_SIZE_COUNT
#define CONFIG_SIZE_NUMBER
#define CONFIG_SIZE_CHOICE
#define CONFIG_SIZE_FLAG
#define SETTING(class, member, key, type, ...) CONFIG_TYPE_##type member CONFIG_SIZE_##type;
#include "runs/settings/settings.inc"
#undef SETTING
    bool has_iterations; /* `iterations` is the run's length, and not `epochs` */
    bool outputs_kept;   /* of a run of an earlier version: no output layers are made anew */
    size_t processes;    /* that share every batch in this start; not recorded; 0 counts as 1 */
    bool data_divides;   /* `validate` is what the option validate= of the data says */
    struct config_given given; /* what config_set has set, so presets must not */
};

/* KEY(batch) is the key of the row of this member, "batch", and OPTION(batch) the option,
 * "--batch". No key is quoted where these can stand, so a row that is removed is missed by the
 * compiler. */
#define KEY(member)                      (config_option_##member + 2)
#define OPTION(member)                   config_option_##member
#define SETTING(class, member, key, ...) extern const char config_option_##member[];
#include "runs/settings/settings.inc"
#undef SETTING

/* The class of a setting. Functions and commands take whole classes of settings. */
enum config_class {
    SETTINGS_NETWORK = 1,     /* which network, and its shapes */
    SETTINGS_DATA = 2,        /* which images, and how they become numbers */
    SETTINGS_TRAINING = 4,    /* what decides the weights that come out */
    SETTINGS_MEASUREMENT = 8, /* how results are counted */
    SETTINGS_MACHINE = 16,    /* where and in which numbers it is computed */
    SETTINGS_RECORD = 32,     /* what is kept of the run, and of which group it is one */
    SETTINGS_ALL = 63
};

/* The tasks that use settings. */
enum config_task {
    TASK_TRAIN = 1,
    TASK_RESUME = 2,     /* the rest of a training, for which only some can change */
    TASK_FIND_RATE = 4,  /* iterations with a growing rate */
    TASK_FINE_TUNE = 8,  /* prune, factorize and quantize train a saved model */
    TASK_COMPRESS = 16,  /* they do without training */
    TASK_TIME = 32,      /* an iteration takes its time and memory */
    TASK_BENCH = 64,     /* tinca bench */
    TASK_INFO = 128,     /* tinca info */
    TASK_WEIGHTS = 256,  /* tinca weights */
    TASK_EVALUATE = 512, /* tinca eval */
    TASK_PREDICT = 1024, /* tinca predict */
    TASK_MODELS = 2048,  /* tinca models */
    TASK_ADVISE = 4096   /* tinca advise */
};

/* The purposes for which two configurations are compared. */
enum config_comparison {
    COMPARE_CELLS = 1,  /* cells of sweeps that have the same id are one */
    COMPARE_WORK = 2,   /* a run that was interrupted goes on with the work of a cell */
    COMPARE_RANKS = 4,  /* all ranks of a cluster are started with the same settings */
    COMPARE_SEEDS = 8,  /* runs that differ in their seed alone are one group */
    COMPARE_LABELS = 16 /* the user is told in what runs differ */
};

/* The aspect of a run that a setting affects, where functions need to know more than its class. */
enum config_about {
    ABOUT_ITS_CLASS,
    ABOUT_BEGINNING, /* the weights that a training begins with: one that goes on has its own */
    ABOUT_LENGTH     /* how long a run is: only the one that applies counts */
};

/* The turn of a setting that no label leaves out. */
enum { TOLD_ALWAYS = -1 };

/* How an epoch chooses its images (data/loader/epoch_order.h). */
enum sampling { SAMPLING_SHUFFLED, SAMPLING_BALANCED };
extern const char *const sampling_names[]; /* NULL-terminated, by value */

/* How several processes add and send gradients (engine/cluster/cluster_sums.h). */
enum config_reduce { REDUCE_EXACT, REDUCE_FAST };
enum config_compress { COMPRESS_NONE, COMPRESS_BF16 };

enum config_kind { CONFIG_TEXT, CONFIG_COUNT, CONFIG_NUMBER, CONFIG_CHOICE, CONFIG_FLAG };

/* The contents of a text setting: paths become absolute, and each kind has its own completion. */
enum config_holds {
    HOLDS_WORDS,
    HOLDS_NETWORK, /* a name or the path of a file */
    HOLDS_SPEC,    /* of a data set, KIND:DIR,OPTIONS */
    HOLDS_MAPPING, /* a name or the path of a file */
    HOLDS_LIST,    /* "balanced", numbers, or the path of a file */
    HOLDS_WEIGHTS, /* the path of a file */
    HOLDS_MODEL,   /* the path of a saved model; where it is typed, also a run */
    HOLDS_FOLDER   /* the path of a folder */
};

/* The way in which a fork begins if the setting differs from the ancestor's. */
enum config_fork {
    FORK_TAKES_WEIGHTS, /* it takes the weights alone: the solver's state is another, or the data */
    FORK_CONTINUES,     /* it goes on from the checkpoint */
    FORK_RESCHEDULES,   /* it goes on, and begins the learning-rate schedule again */
    FORK_REFUSES        /* the ancestor's weights have other shapes or another meaning */
};

/* A row of settings.inc. */
struct config_field {
    const char *key;      /* "batch": --batch, the form's row, config.json */
    const char *label;    /* "Batch size" */
    const char *argument; /* "N", for usage texts */
    const char *help;     /* one sentence */
    enum config_kind kind;
    enum config_class class;
    size_t offset, size;        /* in struct run_config */
    double low, high;           /* range of counts and numbers */
    const char *const *choices; /* NULL-terminated; CONFIG_CHOICE: the names by value; CONFIG_TEXT:
                                   the accepted values, or NULL if any text is accepted */
    bool in_form;               /* the form always shows it; if false, see config_applies */
    bool value_optional;        /* CONFIG_FLAG: the option without a value means yes */
    bool or_flag;               /* CONFIG_TEXT: "yes" and "no" are booleans in JSON */
    bool optional;              /* the form offers to leave it empty */
    const char *zero;           /* what 0 means, where the number does not say it; NULL */
    const char *divides;        /* format of what another number does: "widths / %g"; NULL */
    /* The values that the form offers: a list, NULL-terminated, or a function that returns the n-th
     * or NULL; both NULL: the choices. */
    const char *const *suggestions;
    const char *(*suggest)(size_t n);
    /* Returns whether it has an effect with the present values of the others; NULL: no. */
    bool (*applies)(const struct run_config *config);
    struct {
        bool (*fits)(const char *value); /* returns whether a text is as `expected`; NULL: any is */
        const char *expected;
    } pattern;
    /* Writes the text as it is stored. Returns NULL with an error if it cannot be read. */
    const char *(*rewrite)(const char *value, char text[CONFIG_REWRITTEN], struct error *error);
    enum config_holds holds;
    enum config_about about;
    /* The tasks in which it has no meaning although its class has one, and those in which it has
     * one although its class has none (config_has_meaning). */
    unsigned lacks, serves;
    enum config_fork fork; /* what a fork does when it changes */
    unsigned ignored_by;   /* of enum config_comparison */
    /* The axis of a sweep's grid. Settings with a plural are axes of every grid. */
    struct {
        const char *plural; /* "networks": the axis in a grid's file; NULL: its key */
        const char *label;  /* "Networks" */
        int place; /* below 0: its axis varies more slowly than others; above 0: faster; 0: axes
                      vary in the order of the rows */
    } grid;
    /* How the user is told of it beside other runs. */
    struct {
        bool by_value; /* its value needs no key before it: "resnet20", "dsc" */
        bool usual;    /* it tells most runs apart: lists show it, and words are looked for in it */
        int turn; /* when a label that is too long leaves it out: 1 first; 0: after those, the last
                     row first; TOLD_ALWAYS: never */
    } told;
};

extern const struct config_field config_fields[]; /* in the order of settings.inc */
extern const size_t config_field_count;

/* Returns whether a setting has a meaning in a task, and can be given there: the task has its
 * class, which it does not lack, or it serves the task. */
bool config_has_meaning(const struct config_field *field, enum config_task task);

/* Copies the settings that have a meaning in the task: values, also those of a preset, and whether
 * they were given. The others of *to stay. Set network and data before, since these fill what was
 * not given. */
void config_take(struct run_config *to, const struct run_config *from, enum config_task task);

/* Returns whether a field counts: of epochs and iterations, only the run's length does. */
bool config_counts(const struct run_config *config, const struct config_field *field);

/* Returns the field with this key, or NULL. */
const struct config_field *config_find(const char *key);

/* Fills *config with the defaults. */
void config_defaults(struct run_config *config);

/* Applies a preset (overfit, cifar, pix2pix, digits; "" for none): fills its values into all fields
 * that were not set with config_set, before or after. Some values depend on the network, so setting
 * another network fills them again. Network and data become the preset's if they are still
 * defaults. Returns false with an error if there is no such preset. */
bool config_apply_preset(struct run_config *config, const char *name, struct error *error);

/* Returns, untranslated, why a run without validation holds no images out: the protocol of its
 * preset's study. NULL if it validates, or its preset's study says nothing of the kind. */
const char *config_protocol(const struct run_config *config);
extern const char *const config_presets[]; /* NULL-terminated */

/* Parses `value` and sets a field. Returns false with an error that names the option, the value and
 * what is accepted. Setting "preset" applies the preset. An empty value resets validate, test,
 * preset and iterations. The option validate=F of the data becomes the value auto,share=F of
 * validate, which must not be set to anything else then. Until `augment` is set, it follows the
 * data set: folders and large generated pictures are cropped and flipped. */
bool config_set(struct run_config *config, const char *key, const char *value, struct error *error);

/* Sets a field like config_set, but does not mark it as given and updates no other field: for what
 * the program decides itself. Returns false with an error. */
bool config_put(struct run_config *config, const char *key, const char *value, struct error *error);

/* Sets a CONFIG_COUNT in the same way to a number that is in its range. */
void config_put_count(struct run_config *config, const char *key, size_t count);

/* Returns whether the device is one GPU or several. */
bool config_on_gpu(const struct run_config *config);

/* Lets `processes` share each batch (0 counts as 1): without the option, it gets as many blocks. */
void config_share(struct run_config *config, size_t processes);

/* Returns whether config_set has set this field. */
bool config_is_given(const struct run_config *config, const char *key);

/* Returns whether a run has a setting. Of a run that was imported from a log of `imported` (NULL or
 * "": tinca trained it), only what the log gives is known: neither a default nor "unknown" is. */
bool config_is_known(const struct run_config *config, const char *imported, const char *key);

/* Returns whether config_set has set any field, or one about this. */
bool config_gives_any(const struct run_config *config);
bool config_gives(const struct run_config *config, enum config_about about);

/* Gives the fields about this their defaults; what was given stays given. */
void config_reset(struct run_config *config, enum config_about about);

/* Lets `validate` be set to another share than the option validate= of the data has named. */
void config_allow_share(struct run_config *config);

/* Makes a field count as not given; its value stays. */
void config_forget(struct run_config *config, const char *key);

/* Writes a field's value in the form that config_set reads. Returns `text`. */
char *config_get(const struct run_config *config, const char *key, char *text, size_t size);

/* Returns the n-th value that the form offers for a field (networks, devices, usual numbers,
 * generated data sets), or NULL after the last. */
const char *config_suggestion(const char *key, size_t n);

/* Returns whether a field has an effect with the present values of the others: groups with the
 * technique shuffle, power with the schedule poly. True for fields that differ from the default. */
bool config_applies(const struct run_config *config, const struct config_field *field);

/* Returns false with an error if fields contradict each other or a necessary one is empty. */
bool config_check(const struct run_config *config, struct error *error);

/* Add the fields to `object`: all of them, or only those that config_set has set. Return false if
 * out of memory. */
bool config_to_json(const struct run_config *config, struct json *object);
bool config_given_to_json(const struct run_config *config, struct json *object);

/* Sets what a run of an earlier version did, whose settings have no member of some rows: it
 * prepared pictures by bilinear2, and made no output layers anew. */
void config_fill_earlier(struct run_config *config, const struct json *settings);

/* Reads a configuration; missing members get their defaults. Returns false with an error that names
 * the line. */
bool config_from_json(struct run_config *config, const struct json_document *document,
                      const struct json *object, struct error *error);

#endif
