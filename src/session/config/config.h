/* config.h: the configuration of a run.
 *
 * One table of fields serves the command line (--KEY), the workbench's form, config.json and the
 * session file, so all of them agree. A configuration has plain values only; copy it by assignment.
 */
#ifndef TINCA_SESSION_CONFIG_CONFIG_H
#define TINCA_SESSION_CONFIG_CONFIG_H

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
enum { CONFIG_MAX_FIELDS = 80 };

/* Which fields config_set has set, in the order of config_fields. */
struct config_given {
    bool fields[CONFIG_MAX_FIELDS];
};

struct run_config {
    char network[512];             /* name with suffixes, or path of a file or saved model */
    size_t technique;              /* enum technique */
    size_t groups;                 /* groups of the technique shuffle; 0: as in the studies */
    double width_rate, block_rate; /* 0: none */
    char widths[128];              /* "512,256"; empty: as in the network file */
    char activation[16];           /* empty: as in the network file */
    char data[512];                /* SPEC, see data/dataset/dataset.h */
    char validate[512];            /* SPEC, or a share of the training data; empty: none */
    char test[512];                /* SPEC, or "auto" (config_data.h); empty: none */
    size_t batch;                  /* images */
    char device[DEVICE_NAME_SIZE];
    size_t threads;        /* 0: all cores */
    size_t precision;      /* enum device_precision */
    size_t blocks;         /* blocks of images for sums (engine/graph/image_blocks.h); 1: none */
    size_t reduce;         /* enum config_reduce: how processes add gradients */
    size_t compress;       /* enum config_compress: of the gradients that processes send */
    char bucket[32];       /* bytes that they send at once: "auto", "whole", "256K" */
    bool strict_device;    /* refuse a network that the device lacks a kernel for */
    char memory_limit[32]; /* limit for the plan's forecast: "600MiB"; empty: none */
    size_t epochs;
    size_t iterations; /* the run's length instead of `epochs`, if has_iterations */
    bool has_iterations;
    size_t seed;
    size_t seeds;            /* runs of the group, with the seed and those that follow it */
    char seed_group[64];     /* the group of seeds that the run belongs to; empty: none */
    double checkpoint;       /* seconds between two checkpoints; 0: at the end of epochs only */
    double checkpoint_share; /* percent of the run's time that checkpoints may take */
    size_t save_precision;   /* enum weights_format, of saved models */
    char tensorboard[512];   /* folder of event files (tensorboard/run_events.h); empty: none */
    size_t solver;           /* enum solver_kind */
    double learning_rate, momentum, weight_decay;
    size_t momentum_form;   /* enum momentum_form, of sgd and nesterov */
    double cycle_momentum;  /* the lowest momentum of the schedule onecycle; 0: it stays */
    char weights[512];      /* a file of weights to begin with; empty: none */
    char names[512];        /* mapping of the file's names (weights_names.h); empty: automatic */
    char reset[256];        /* patterns of layers that do not begin with them (name_pattern.h) */
    bool reset_classes;     /* neither do the output layers, which fit the data set */
    char freeze[256];       /* patterns of layers that are not trained */
    size_t unfreeze_at;     /* epochs after which they are; 0: never */
    char rates[256];        /* "PATTERN=FACTOR,...": factors of the learning rate */
    double beta2, epsilon;  /* 0: the solver's usual ones */
    double label_smoothing; /* in [0, 1) */
    char teacher[512];      /* a saved model to learn from; empty: none */
    double temperature;     /* of distillation */
    double distill_weight;  /* share of the loss against the teacher, in (0, 1] */
    double ema;             /* decay of the averaged weights, in [0, 1); 0: none */
    double clip_norm, clip_value; /* limits of the gradients; 0: none */
    size_t schedule;              /* enum lr_schedule_kind */
    double gamma, power;
    size_t step_size;     /* iterations; 0: a third of the run */
    size_t warm_up;       /* iterations; 0: none */
    size_t stop_patience; /* validations without improvement that end the run; 0: no number does */
    size_t stop_metric;   /* enum early_stopping_metric */
    double stop_change;   /* what counts as an improvement */
    char max_time[24];    /* "8h": training time after which the run is stopped; empty: none */
    char preset[16];      /* empty: none */
    size_t average_loss;  /* iterations in the window of the mean loss */
    double l1_weight;     /* weight of a generator's main loss, relative to the adversarial one */
    size_t tolerance;     /* 8-bit levels by which every channel of a correct pixel may differ */
    char augment[AUGMENTATION_TEXT]; /* as augmentation_format writes it: "no", "yes", "crop=4" */
    char class_weights[512];         /* "balanced", "1,2,0.5" or a file's path; empty: none */
    size_t sampling;                 /* enum sampling */
    bool outputs_kept;  /* of a run of an earlier version: no output layers are made anew */
    char normalise[16]; /* a name of normalisation_choose, or "auto": as the network expects */
    char filter[16];    /* a name of image_filter_parse, or "auto": a saved model's, or bilinear */
    size_t processes;   /* that share every batch in this start; not recorded; 0 counts as 1 */
    struct config_given given; /* what config_set has set, so presets must not */
    bool data_divides;         /* `validate` is what the option validate= of the data says */
};

/* How an epoch chooses its images (data/loader/epoch_order.h). */
enum sampling { SAMPLING_SHUFFLED, SAMPLING_BALANCED };
extern const char *const sampling_names[]; /* NULL-terminated, by value */

/* How several processes add and send gradients (engine/cluster/cluster_sums.h). */
enum config_reduce { REDUCE_EXACT, REDUCE_FAST };
enum config_compress { COMPRESS_NONE, COMPRESS_BF16 };

enum config_kind { CONFIG_TEXT, CONFIG_COUNT, CONFIG_NUMBER, CONFIG_CHOICE, CONFIG_FLAG };

struct config_field {
    const char *key;      /* "batch": --batch, the form's row, config.json */
    const char *label;    /* "Batch size" */
    const char *argument; /* "N", for usage texts */
    const char *help;     /* one sentence */
    enum config_kind kind;
    size_t offset, size;        /* in struct run_config */
    double low, high;           /* range of counts and numbers */
    const char *const *choices; /* NULL-terminated; CONFIG_CHOICE: the names by value; CONFIG_TEXT:
                                   the accepted values, or NULL if any text is accepted */
    bool in_form;               /* the form always shows it; if false, see config_applies */
    bool value_optional;        /* CONFIG_FLAG: the option without a value means yes */
    bool or_flag;               /* CONFIG_TEXT: "yes" and "no" are booleans in JSON */
};

extern const struct config_field config_fields[];
extern const size_t config_field_count;

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

/* Returns whether the device is one GPU or several. */
bool config_on_gpu(const struct run_config *config);

/* Lets `processes` share each batch (0 counts as 1): without the option, it gets as many blocks. */
void config_share(struct run_config *config, size_t processes);

/* Returns whether config_set has set this field. */
bool config_is_given(const struct run_config *config, const char *key);

/* Returns whether a run has a setting. Of a run that was imported from a log of `imported` (NULL or
 * "": tinca trained it), only what the log gives is known: neither a default nor "unknown" is. */
bool config_is_known(const struct run_config *config, const char *imported, const char *key);

/* Returns whether config_set has set any field. */
bool config_gives_any(const struct run_config *config);

/* Makes a field count as not given; its value stays. */
void config_forget(struct run_config *config, const char *key);

/* Writes a field's value in the form that config_set reads. Returns `text`. */
char *config_get(const struct run_config *config, const char *key, char *text, size_t size);

/* Returns the n-th value that the form offers for a field (networks, devices, powers of two for
 * batch, generated data sets), or NULL after the last. */
const char *config_suggestion(const char *key, size_t n);

/* Returns whether a field has an effect with the present values of the others: groups with the
 * technique shuffle, power with the schedule poly. True for fields that differ from the default. */
bool config_applies(const struct run_config *config, const struct config_field *field);

/* Returns the memory limit in bytes, or 0 for none. */
uint64_t config_memory_limit(const struct run_config *config);

/* Returns the longest training time in seconds, or +infinity for none. */
double config_max_time(const struct run_config *config);

/* Returns false with an error if fields contradict each other or a necessary one is empty. */
bool config_check(const struct run_config *config, struct error *error);

/* Add the fields to `object`: all of them, or only those that config_set has set. Return false if
 * out of memory. */
bool config_to_json(const struct run_config *config, struct json *object);
bool config_given_to_json(const struct run_config *config, struct json *object);

/* Reads a configuration; missing members get their defaults. Returns false with an error that names
 * the line. */
bool config_from_json(struct run_config *config, const struct json_document *document,
                      const struct json *object, struct error *error);

#endif
