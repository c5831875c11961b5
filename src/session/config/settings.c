/* Each function copies what its part of the engine wants, and fills in what follows from it. */
#include "session/config/settings.h"

#include "base/text.h"

#include <string.h>

struct network_request settings_network(const struct run_config *config, size_t classes)
{
    struct network_request request = {
        .network = config->network,
        .technique = (enum technique)config->technique,
        .classes = classes,
        .groups = config->groups,
        .width_rate = config->width_rate,
        .block_rate = config->block_rate,
        .activation = config->activation,
        .remake_outputs = !config->outputs_kept && (config->reset_classes || config->weights[0])};
    if (config->widths[0])
        network_widths_parse(config->widths, ',', &request.widths); /* config_set checked it */
    return request;
}

const char *settings_technique(const struct run_config *config)
{
    const struct network_request request = settings_network(config, 0);
    return technique_name(network_request_technique(&request));
}

struct solver_settings settings_solver(const struct run_config *config)
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

struct lr_schedule_settings settings_schedule(const struct run_config *config, uint64_t iterations)
{
    uint64_t third = (iterations + 2) / 3;
    return (struct lr_schedule_settings){.kind = (enum lr_schedule_kind)config->schedule,
                                         .learning_rate = config->learning_rate,
                                         .gamma = config->gamma,
                                         .step_size = config->step_size ? config->step_size : third,
                                         .power = config->power,
                                         .momentum = config->momentum,
                                         .low_momentum = config->cycle_momentum,
                                         .warm_up = config->warm_up,
                                         .iterations = iterations,
                                         .patience = 10,
                                         .threshold = 0.01,
                                         .plateaus = 4};
}

struct gradient_clipping settings_clipping(const struct run_config *config)
{
    return (struct gradient_clipping){.norm = (float)config->clip_norm,
                                      .value = (float)config->clip_value};
}

struct early_stopping_settings settings_early_stopping(const struct run_config *config)
{
    return (struct early_stopping_settings){.metric =
                                                (enum early_stopping_metric)config->stop_metric,
                                            .patience = config->stop_patience,
                                            .change = config->stop_change};
}

struct gradient_sums settings_sums(const struct run_config *config)
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

bool settings_soft_targets(const struct run_config *config)
{
    struct augmentation augmentation = {0};
    augmentation_parse(&augmentation, config->augment, NULL); /* config_set checked it */
    return augmentation_mixes(&augmentation) || config->class_weights[0];
}

/* Returns how many GPUs share a batch: one of each process, or those of this one. */
static size_t ranks_of(const struct run_config *config, enum plan_mode mode)
{
    if (mode != PLAN_TRAINING)
        return 1;
    return config_on_gpu(config) && config->processes > 1 ? config->processes
                                                          : device_ranks(config->device);
}

struct plan_settings settings_plan(const struct run_config *config, size_t threads,
                                   enum plan_mode mode)
{
    return (struct plan_settings){.mode = mode,
                                  .batch = config->batch,
                                  .threads = threads,
                                  .ranks = ranks_of(config, mode),
                                  .image_blocks = config->blocks,
                                  .processes = config_on_gpu(config) ? 1 : config->processes,
                                  .solver = settings_solver(config),
                                  .memory_limit = config_memory_limit(config),
                                  .strict_device = config->strict_device,
                                  .precision = (enum device_precision)config->precision,
                                  .soft_targets =
                                      mode == PLAN_TRAINING && settings_soft_targets(config),
                                  .with_loss = true};
}

struct augmentation settings_augmentation(const struct run_config *config,
                                          const struct dataset_facts *facts)
{
    struct augmentation augmentation = {0};
    augmentation_parse(&augmentation, config->augment, NULL); /* config_set checked it */
    return augmentation_for(&augmentation, facts);
}
