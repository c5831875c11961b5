/* settings.h: the settings of a run by class, as the code that they control takes them.
 *
 * One function a class makes a struct of a configuration. It has a member for each row of the class
 * in settings.inc, named as the row's (texts point into the configuration, which must outlive
 * them), and what follows from the rows: texts that are parsed, defaults that are resolved, and
 * settings of the engine. config_set has checked all of it, so nothing fails here.
 */
#ifndef TINCA_RUNS_SETTINGS_SETTINGS_H
#define TINCA_RUNS_SETTINGS_SETTINGS_H

#include "data/dataset/dataset.h"
#include "engine/execution/execution.h"
#include "engine/plan/plan.h"
#include "engine/training/clipping.h"
#include "engine/training/lr_schedule.h"
#include "runs/settings/config.h"

/* Declares a member for each row of the class whose macro says so. */
#define SETTING(class, member, key, type, ...) class##_MEMBER(SETTINGS_TYPE_##type member;)
#define SETTINGS_TYPE_TEXT(size)               const char *
#define SETTINGS_TYPE_COUNT                    size_t
#define SETTINGS_TYPE_NUMBER                   double
#define SETTINGS_TYPE_CHOICE                   size_t
#define SETTINGS_TYPE_FLAG                     bool
#define NETWORK_MEMBER(...)
#define DATA_MEMBER(...)
#define TRAINING_MEMBER(...)
#define MEASUREMENT_MEMBER(...)
#define MACHINE_MEMBER(...)
#define RECORD_MEMBER(...)

struct network_settings {
#undef NETWORK_MEMBER
#define NETWORK_MEMBER(...) __VA_ARGS__
#include "runs/settings/settings.inc"
#undef NETWORK_MEMBER
#define NETWORK_MEMBER(...)
    /* with 0 classes: as in the network's file. Output layers are made anew for the data where the
     * run begins with weights, which may have been trained on other classes */
    struct network_request request;
};

struct data_settings {
#undef DATA_MEMBER
#define DATA_MEMBER(...) __VA_ARGS__
#include "runs/settings/settings.inc"
#undef DATA_MEMBER
#define DATA_MEMBER(...)
    bool holds_out; /* the validation data is a share of `data`, and training has the rest */
    bool divides;   /* the option validate= of `data` has named the share */
};

struct training_settings {
#undef TRAINING_MEMBER
#define TRAINING_MEMBER(...) __VA_ARGS__
#include "runs/settings/settings.inc"
#undef TRAINING_MEMBER
#define TRAINING_MEMBER(...)
    bool has_iterations; /* `iterations` is the run's length, and not `epochs` */
    bool outputs_kept;   /* of a run of an earlier version: no output layers are made anew */
    double time_limit;   /* seconds; +infinity: none */
    struct augmentation augmentation; /* `augment`; augmentation_for adapts it to the data */
    bool soft_targets;                /* mixup, cutmix or class weights need them */
    struct solver_settings solver_settings;
    struct gradient_clipping clipping;
    struct early_stopping_settings early_stopping;
};

struct measurement_settings {
#undef MEASUREMENT_MEMBER
#define MEASUREMENT_MEMBER(...) __VA_ARGS__
#include "runs/settings/settings.inc"
#undef MEASUREMENT_MEMBER
#define MEASUREMENT_MEMBER(...)
};

struct machine_settings {
#undef MACHINE_MEMBER
#define MACHINE_MEMBER(...) __VA_ARGS__
#include "runs/settings/settings.inc"
#undef MACHINE_MEMBER
#define MACHINE_MEMBER(...)
    bool on_gpu;           /* the device is one GPU or several */
    size_t processes;      /* that share every batch; 1: this one alone */
    uint64_t memory_bytes; /* limit of the plan's forecast; 0: none */
    struct gradient_sums gradient_sums;
};

struct record_settings {
#undef RECORD_MEMBER
#define RECORD_MEMBER(...) __VA_ARGS__
#include "runs/settings/settings.inc"
#undef RECORD_MEMBER
#define RECORD_MEMBER(...)
};

#undef SETTING
#undef SETTINGS_TYPE_TEXT
#undef SETTINGS_TYPE_COUNT
#undef SETTINGS_TYPE_NUMBER
#undef SETTINGS_TYPE_CHOICE
#undef SETTINGS_TYPE_FLAG
#undef NETWORK_MEMBER
#undef DATA_MEMBER
#undef TRAINING_MEMBER
#undef MEASUREMENT_MEMBER
#undef MACHINE_MEMBER
#undef RECORD_MEMBER

/* Each returns the settings of one class. */
struct network_settings network_settings(const struct run_config *config);
struct data_settings data_settings(const struct run_config *config);
struct training_settings training_settings(const struct run_config *config);
struct measurement_settings measurement_settings(const struct run_config *config);
struct machine_settings machine_settings(const struct run_config *config);
struct record_settings record_settings(const struct run_config *config);

/* Returns the learning-rate schedule of a run of so many iterations. */
struct lr_schedule_settings training_schedule(const struct training_settings *training,
                                              uint64_t iterations);

/* Returns the name of the configured technique, which may be a suffix of the network's name. */
const char *settings_technique(const struct run_config *config);

/* Returns what a plan of the configured network needs to know beside it. */
struct plan_settings settings_plan(const struct run_config *config, size_t threads,
                                   enum plan_mode mode);

#endif
