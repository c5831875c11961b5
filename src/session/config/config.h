/* config.h: what a run is asked to do.
 *
 * One table of fields serves the command line (--KEY), the workbench's form, config.json and the
 * session file, so that they cannot disagree. Plain values: a config is copied by assignment.
 */
#ifndef TINCA_SESSION_CONFIG_CONFIG_H
#define TINCA_SESSION_CONFIG_CONFIG_H

#include "base/error.h"
#include "base/json/json.h"
#include "engine/devices/device.h"
#include "engine/network/network.h"
#include "engine/training/lr_schedule.h"
#include "engine/training/solver.h"

#include <stddef.h>
#include <stdint.h>

struct run_config {
    char network[512];             /* name with suffixes, or path of a file */
    size_t technique;              /* enum technique */
    size_t groups;                 /* of shuffle; 0: as the studies */
    double width_rate, block_rate; /* 0: none */
    char widths[128];              /* "512,256"; empty: as the network says */
    char activation[16];           /* empty: as the network says */
    char data[512];                /* SPEC, see data/dataset/dataset.h */
    char validate[512];            /* SPEC; empty: none */
    size_t batch;                  /* images */
    char device[DEVICE_NAME_SIZE];
    size_t threads;        /* 0: all cores */
    size_t precision;      /* enum device_precision */
    char memory_limit[32]; /* "600MiB": of what the plan forecasts; empty: none */
    size_t epochs;
    size_t iterations; /* with has_iterations: the run's length, instead of epochs */
    bool has_iterations;
    size_t seed;
    double checkpoint;       /* seconds between two; 0: at the end of epochs only */
    double checkpoint_share; /* percent of the run's time that they may take */
    size_t solver;           /* enum solver_kind */
    double learning_rate, momentum, weight_decay;
    size_t schedule; /* enum lr_schedule_kind */
    double gamma, power;
    size_t step_size;    /* iterations; 0: a third of the run */
    char preset[16];     /* the preset that filled the form; empty: none */
    size_t average_loss; /* window of the means of the loss, iterations */
    double l1_weight;    /* of a generator's main loss, beside the discriminator's verdict */
    size_t tolerance;    /* of a pixel that counts as right: 8-bit levels, in every channel */
    bool augment;
    char normalise[16]; /* a name of normalisation_choose, or "auto": what the network expects */
    uint64_t given;     /* bit i: config_fields[i] was set by config_set; presets leave it alone */
};

enum config_kind { CONFIG_TEXT, CONFIG_COUNT, CONFIG_NUMBER, CONFIG_CHOICE, CONFIG_FLAG };

struct config_field {
    const char *key;      /* "batch": --batch, the form's row, config.json */
    const char *label;    /* "Batch size" */
    const char *argument; /* "N", for usage texts */
    const char *help;     /* one sentence */
    enum config_kind kind;
    size_t offset, size;        /* in struct run_config */
    double low, high;           /* of counts and numbers */
    const char *const *choices; /* NULL-terminated; CONFIG_CHOICE: names by value; CONFIG_TEXT: what
                                   is accepted, or NULL when anything is */
    bool in_form;               /* the workbench's form shows it always; others: config_applies */
};

extern const struct config_field config_fields[];
extern const size_t config_field_count;
const struct config_field *config_find(const char *key); /* NULL: none */

void config_defaults(struct run_config *config);

/* Fills the preset's values (overfit, cifar, pix2pix, digits), but for fields that config_set was
 * asked for, whatever the order; which network's solver settings apply is decided by
 * config->network, and setting another network applies them again. Network and data become the
 * preset's own where they are still the defaults. "": none. */
bool config_apply_preset(struct run_config *config, const char *name, struct error *error);
extern const char *const config_presets[]; /* those that can be used; NULL-terminated */

/* Parses `value` for a field; the error names the option, the value and what is accepted. "preset"
 * applies the preset; `augment` follows the data set (folders and large generated pictures are
 * cropped and flipped) until it is set; "" takes back validate, preset and iterations. */
bool config_set(struct run_config *config, const char *key, const char *value, struct error *error);
/* Whether config_set was asked for this field. */
bool config_is_given(const struct run_config *config, const char *key);
/* The field's value as config_set would read it. Returns `text`. */
char *config_get(const struct run_config *config, const char *key, char *text, size_t size);

/* Choices for a field that are known beforehand, for the form: networks, devices, powers of two for
 * batch, generated data sets. The n-th, or NULL past the end. */
const char *config_suggestion(const char *key, size_t n);

/* Whether a field means something beside the others as they are: groups with the technique shuffle,
 * power with the schedule poly. One that has been changed from its default always does. */
bool config_applies(const struct run_config *config, const struct config_field *field);

/* The memory limit in bytes; 0: none. */
uint64_t config_memory_limit(const struct run_config *config);

/* Contradictions between fields. */
bool config_check(const struct run_config *config, struct error *error);

bool config_to_json(const struct run_config *config, struct json *object);
/* The same of the fields that config_set was asked for, and no others. */
bool config_known_to_json(const struct run_config *config, struct json *object);
bool config_from_json(struct run_config *config, const struct json_document *document,
                      const struct json *object, struct error *error);

#endif
