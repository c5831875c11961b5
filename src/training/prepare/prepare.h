/* prepare.h: builds everything that a run needs from its configuration.
 *
 * It has two parts. prepare_plans needs milliseconds and opens no data: it builds the network and
 * the plans, and forecasts the run's memory with them. prepare opens data and device and continues
 * with the same network and plans. */
#ifndef TINCA_TRAINING_PREPARE_PREPARE_H
#define TINCA_TRAINING_PREPARE_PREPARE_H

#include "data/loader/data_loader.h"
#include "engine/cluster/cluster.h"
#include "engine/weights/weights_match.h"
#include "models/saved/class_match.h"
#include "models/saved/evaluator.h"
#include "models/saved/model_file.h"
#include "models/saved/run_preprocessing.h"
#include "models/saved/samples.h"
#include "runs/settings/settings.h"
#include "training/methods/method.h"
#include "training/prepare/forecast.h"

/* The device-dependent settings with which the method's plans and `inference` were built. */
struct planned {
    bool done;
    size_t threads;
    struct machine_model machine;
    bool recorded;               /* the kernels are `choices` */
    struct plan_choices choices; /* their list is borrowed */
};

/* The extent of a run that is forecast, from which observers compute their memory. */
struct run_extent {
    const struct run_config *config;
    const struct network *network;
    size_t rank;                  /* the rank of the forecast */
    uint64_t iterations;          /* 0: not known */
    bool on_host;                 /* `bytes` are of the host's memory, else of the device's */
    bool tests;                   /* the run reads a model for its test set at the end */
    const struct plan *inference; /* of single images, if the run makes samples of its network */
};
typedef uint64_t run_bytes(const struct run_extent *extent);

struct preparation;

/* The work of a run on each of its ranks besides the training (training/observer.h). */
struct run_besides {
    run_bytes *bytes;   /* memory that it will use there */
    run_bytes *at_rest; /* memory for a moment, while no decode worker runs */
    /* Returns whether the work is possible with this network and method. Returns false with an
     * error. */
    bool (*check)(const struct preparation *prepared, struct error *error);
    /* Allocates its part of the preparation, as soon as that has the weights. Returns false with an
     * error. */
    bool (*prepare)(struct preparation *prepared, struct error *error);
    /* Is called when the step of iteration number `iteration` has updated the weights. */
    void (*follow)(struct preparation *prepared, uint64_t iteration);
};

/* The settings by class; texts are those of the configuration. */
struct prepared_settings {
    struct network_settings network;
    struct data_settings data;
    struct training_settings training;
    struct machine_settings machine;
};

struct preparation {
    const struct run_config *config; /* borrowed */
    struct prepared_settings settings;
    struct cluster *cluster; /* the processes that share every batch; NULL: there are no others */
    struct network *network;
    size_t classes; /* of the data, for which the network was built; 0: not known */
    struct dataset *data, *validation; /* validation NULL: none */
    struct dataset *test;              /* NULL: none, or a rank other than 0 */
    struct error no_validation; /* ranks other than 0: why `validation` cannot be used here */
    struct device *device;
    struct method method; /* how the network is trained: plans and executions */
    struct weights weights;
    /* These weights are computed from `weights` (run_besides), and validated and saved in their
     * place; without values there are none. */
    struct weights derived;
    struct weights_match match; /* of the configured file of weights, if there is one */
    enum class_order
        order; /* order of the file's classes compared with the data's; SAME without names */
    char parent[MODEL_CHECKSUM];    /* tinca.parent of the models that are saved; "": not known */
    struct parameter_groups groups; /* empty: all weights are trained at one rate */
    bool unfrozen;                  /* `groups` are those after the configured number of epochs */
    bool goes_on; /* the run is resumed: prepare_plans was given its recorded kernels */
    struct plan_choices recorded;
    struct planned planned;
    struct plan *inference; /* of validations, the test and samples; NULL: there are none */
    size_t inference_batch; /* its batch, unless memory makes it smaller; 0: only samples use it */
    struct samples samples;
    struct data_loader *loader;
    float *class_weights;             /* [network->classes]; NULL: none */
    struct soft_target *soft_targets; /* [batch], with mixup, cutmix or class weights; else NULL */
    /* With a cluster and class weights: the weight of each image of the last batch
     * (soft_targets.h), of this rank's part and of the whole batch; else NULL. */
    double *part_weights, *batch_weights;
    struct evaluator evaluator;        /* with validation only; shares weights and device */
    struct recording_refusals refused; /* of an evaluator that was freed */
    struct preprocessing preprocessing;
    struct run_preprocessing from; /* the preprocessing that it follows */
    bool follows;                  /* its normalisation is also that of `from` */
    struct forecast forecast;
    const struct run_besides *besides; /* borrowed; NULL: only the training */
    uint64_t per_epoch, iterations;    /* iterations of an epoch and of the run */
    uint64_t memory_expected;          /* resident bytes of the process by the forecast */
};

/* Builds network and plans of a checked or unchecked configuration and fills the forecast, whether
 * or not that fits. A GPU is opened meanwhile, because cuDNN tells only there how much workspace it
 * needs. `classes` is the data set's number of classes if the caller knows it; 0: the expected
 * number (dataset_expected_classes), else the network's own. `choices` are the recorded kernels of
 * a resumed run, which `prepared` takes over; NULL: a new run. `besides` is the run's other work,
 * here and in prepare. Returns false with an error, and frees everything, if the configuration
 * cannot work. */
bool prepare_plans(struct preparation *prepared, const struct run_config *config, size_t classes,
                   struct plan_choices *choices, const struct run_besides *besides,
                   struct error *error);

/* Returns the FLOPs of one image's forward pass, for which only the network is built; 0 if it
 * cannot be. */
uint64_t prepare_flops(const struct run_config *config);

/* Opens data and device, and creates the executions of the plans that prepare_plans has made with
 * the same configuration, or that it makes itself if `prepared` is {0} or has only `besides`. Call
 * it in the thread that trains, because the device belongs to that thread. Pictures are prepared by
 * `from`. The first batch is that of `first_iteration` (0, except in a resumed run). `choices`,
 * which must live as long, are the recorded kernels; NULL: a new run. `cluster`, which must live as
 * long too, has the processes that share every batch; NULL: there are no others. Ranks other than 0
 * make no samples and no evaluator (prepare_evaluator), and need no validation set. Returns false
 * with an error, and frees everything, if the configuration cannot work. */
bool prepare(struct preparation *prepared, const struct run_config *config,
             const struct run_preprocessing *from, uint64_t first_iteration,
             const struct plan_choices *choices, struct cluster *cluster, struct error *error);

/* Puts the outputs that were read from a file of weights, a model or a checkpoint, into the order
 * of the data's classes, if their names in the file have another order; sets `order`. Returns false
 * with an error if these outputs cannot change places. */
bool prepare_order_outputs(struct preparation *prepared, const char *weights, struct error *error);

/* Freezes and unfreezes layers as configured, before iteration number `iteration`. Returns false
 * with an error if a pattern matches nothing or the device cannot. */
bool prepare_groups(struct preparation *prepared, uint64_t iteration, struct error *error);

/* Makes the evaluator of a rank other than 0, in batches of `batch` images and with the kernels
 * that rank 0 has chosen. Returns false with an error, and frees it, if this rank cannot validate:
 * it lacks the set or the memory. */
bool prepare_evaluator(struct preparation *prepared, size_t batch,
                       const struct plan_choices *choices, struct error *error);

/* Evaluates the model of a file, which has the network's weights, on the test set. Frees the
 * evaluator of validations. Returns false with an error. */
bool prepare_test(struct preparation *prepared, const char *model, evaluator_progress *progress,
                  void *context, struct evaluation *evaluation, struct error *error);

/* Sets the momentum of iteration number `iteration`, if the run changes it. */
void prepare_momentum(struct preparation *prepared, uint64_t iteration);

/* Does the run's other work (run_besides.follow) after the step of iteration number `iteration`;
 * each rank calls it. */
void prepare_follow(struct preparation *prepared, uint64_t iteration);

/* Returns the weights that are validated and saved: those that are trained, or `derived`. */
struct weights *prepare_model_weights(struct preparation *prepared);

/* Returns the arguments of execution_bind for training on a batch of the loader, which it borrows.
 * Its soft targets are valid until the next call. With a cluster, prepare_share must follow on all
 * ranks. */
struct execution_batch prepare_batch(const struct preparation *prepared,
                                     const struct data_batch *batch);

/* Lets the ranks exchange the data on which their parts of a batch depend; all of them call it.
 * Does nothing without a cluster. After a failure, cluster_check returns false. */
void prepare_share(const struct preparation *prepared, const struct execution_batch *batch);

/* Returns the CUDA graphs that the device has refused: those of training and of validations. */
struct recording_refusals prepare_recording_refusals(const struct preparation *prepared);

/* Returns the plan of validations or, without a validation, that of samples; NULL: there is none.
 */
const struct plan *prepare_inference_plan(const struct preparation *prepared);

/* Frees everything and resets it to {0}. */
void prepare_free(struct preparation *prepared);

/* Returns the description of the network that a model file stores. */
struct model_facts prepare_model_facts(const struct preparation *prepared);

#endif
