/* Each function copies the members of its class, and fills in what follows from them. */
#include "runs/settings/settings.h"

#include "base/text.h"
#include "runs/settings/config_data.h"

#include <math.h>
#include <string.h>

/* An initializer for each row of the class whose macro says so. */
#define SETTING(class, member, ...) class##_MEMBER(.member = config->member, )
#define NETWORK_MEMBER(...)
#define DATA_MEMBER(...)
#define TRAINING_MEMBER(...)
#define MEASUREMENT_MEMBER(...)
#define MACHINE_MEMBER(...)
#define RECORD_MEMBER(...)

static struct network_request make_request(const struct run_config *config)
{
    struct network_request request = {
        .network = config->network,
        .technique = (enum technique)config->technique,
        .groups = config->groups,
        .width_rate = config->width_rate,
        .block_rate = config->block_rate,
        .activation = config->activation,
        .remake_outputs = !config->outputs_kept && (config->reset_classes || config->weights[0])};
    if (config->widths[0])
        network_widths_parse(config->widths, ',', &request.widths); /* config_set checked it */
    return request;
}

struct network_settings network_settings(const struct run_config *config)
{
    return (struct network_settings){
#undef NETWORK_MEMBER
#define NETWORK_MEMBER(...) __VA_ARGS__
#include "runs/settings/settings.inc"
#undef NETWORK_MEMBER
#define NETWORK_MEMBER(...)
        .request = make_request(config),
    };
}

struct data_settings data_settings(const struct run_config *config)
{
    return (struct data_settings){
#undef DATA_MEMBER
#define DATA_MEMBER(...) __VA_ARGS__
#include "runs/settings/settings.inc"
#undef DATA_MEMBER
#define DATA_MEMBER(...)
        .holds_out = config_holds_out(config),
        .divides = config->data_divides,
    };
}

static struct solver_settings make_solver(const struct run_config *config)
{
    /* the defaults are those of the papers, and PyTorch's for rmsprop */
    const bool adam = solver_is_adam((enum solver_kind)config->solver);
    const double beta2 = adam ? 0.999 : 0.99, epsilon = 1e-8;
    return (struct solver_settings){.kind = (enum solver_kind)config->solver,
                                    .form = (enum momentum_form)config->momentum_form,
                                    .momentum = (float)config->momentum,
                                    .beta2 = (float)(config->beta2 > 0 ? config->beta2 : beta2),
                                    .epsilon =
                                        (float)(config->epsilon > 0 ? config->epsilon : epsilon),
                                    .weight_decay = (float)config->weight_decay};
}

struct training_settings training_settings(const struct run_config *config)
{
    struct augmentation augmentation = {0};
    double seconds;
    const bool timed = text_to_seconds(config->max_time, &seconds);
    augmentation_parse(&augmentation, config->augment, NULL); /* config_set checked it */
    return (struct training_settings){
#undef TRAINING_MEMBER
#define TRAINING_MEMBER(...) __VA_ARGS__
#include "runs/settings/settings.inc"
#undef TRAINING_MEMBER
#define TRAINING_MEMBER(...)
        .has_iterations = config->has_iterations,
        .outputs_kept = config->outputs_kept,
        .time_limit = timed ? seconds : INFINITY,
        .augmentation = augmentation,
        .soft_targets = augmentation_mixes(&augmentation) || config->class_weights[0],
        .solver_settings = make_solver(config),
        .clipping = {.norm = (float)config->clip_norm, .value = (float)config->clip_value},
        .early_stopping = {.metric = (enum early_stopping_metric)config->stop_metric,
                           .patience = config->stop_patience,
                           .change = config->stop_change},
    };
}

struct measurement_settings measurement_settings(const struct run_config *config)
{
    return (struct measurement_settings){
#undef MEASUREMENT_MEMBER
#define MEASUREMENT_MEMBER(...) __VA_ARGS__
#include "runs/settings/settings.inc"
#undef MEASUREMENT_MEMBER
#define MEASUREMENT_MEMBER(...)
    };
}

static struct gradient_sums make_sums(const struct run_config *config)
{
    uint64_t bytes = 0;
    const bool by_itself = strcmp(config->bucket, "auto") == 0;
    struct gradient_sums sums = {.share = by_itself, .bucket_bytes = SIZE_MAX};
    if (!by_itself && text_to_bytes(config->bucket, &bytes) && bytes < SIZE_MAX)
        sums.bucket_bytes = (size_t)bytes;
    if (config->reduce == REDUCE_FAST)
        sums.kind = CLUSTER_SUM_FAST;
    else if (config->compress == COMPRESS_BF16)
        sums.kind = CLUSTER_SUM_BF16;
    return sums;
}

struct machine_settings machine_settings(const struct run_config *config)
{
    uint64_t bytes;
    const bool limited = text_to_bytes(config->memory_limit, &bytes);
    return (struct machine_settings){
#undef MACHINE_MEMBER
#define MACHINE_MEMBER(...) __VA_ARGS__
#include "runs/settings/settings.inc"
#undef MACHINE_MEMBER
#define MACHINE_MEMBER(...)
        .on_gpu = config_on_gpu(config),
        .processes = config->processes > 1 ? config->processes : 1,
        .memory_bytes = limited ? bytes : 0,
        .gradient_sums = make_sums(config),
    };
}

struct record_settings record_settings(const struct run_config *config)
{
    return (struct record_settings){
#undef RECORD_MEMBER
#define RECORD_MEMBER(...) __VA_ARGS__
#include "runs/settings/settings.inc"
#undef RECORD_MEMBER
#define RECORD_MEMBER(...)
    };
}

struct lr_schedule_settings training_schedule(const struct training_settings *training,
                                              uint64_t iterations)
{
    const uint64_t third = (iterations + 2) / 3;
    return (struct lr_schedule_settings){.kind = (enum lr_schedule_kind)training->schedule,
                                         .learning_rate = training->learning_rate,
                                         .gamma = training->gamma,
                                         .step_size =
                                             training->step_size ? training->step_size : third,
                                         .power = training->power,
                                         .momentum = training->momentum,
                                         .low_momentum = training->cycle_momentum,
                                         .warm_up = training->warm_up,
                                         .iterations = iterations,
                                         .patience = 10,
                                         .threshold = 0.01,
                                         .plateaus = 4};
}

/* --- of the configuration as a whole --- */

const char *settings_technique(const struct run_config *config)
{
    const struct network_request request = make_request(config);
    return technique_name(network_request_technique(&request));
}

/* Returns how many GPUs share a batch: one of each process, or those of this one. */
static size_t ranks_of(const struct machine_settings *machine, enum plan_mode mode)
{
    if (mode != PLAN_TRAINING)
        return 1;
    return machine->on_gpu && machine->processes > 1 ? machine->processes
                                                     : device_ranks(machine->device);
}

struct plan_settings settings_plan(const struct run_config *config, size_t threads,
                                   enum plan_mode mode)
{
    const struct training_settings training = training_settings(config);
    const struct machine_settings machine = machine_settings(config);
    return (struct plan_settings){.mode = mode,
                                  .batch = training.batch,
                                  .threads = threads,
                                  .ranks = ranks_of(&machine, mode),
                                  .image_blocks = training.blocks,
                                  .processes = machine.on_gpu ? 1 : config->processes,
                                  .solver = training.solver_settings,
                                  .memory_limit = machine.memory_bytes,
                                  .strict_device = machine.strict_device,
                                  .precision = (enum device_precision)machine.precision,
                                  .soft_targets = mode == PLAN_TRAINING && training.soft_targets,
                                  .with_loss = true};
}
