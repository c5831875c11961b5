/* settings.h: translates a configuration into the engine's settings. */
#ifndef TINCA_SESSION_CONFIG_SETTINGS_H
#define TINCA_SESSION_CONFIG_SETTINGS_H

#include "data/dataset/dataset.h"
#include "engine/execution/execution.h"
#include "engine/plan/plan.h"
#include "engine/training/clipping.h"
#include "engine/training/lr_schedule.h"
#include "session/config/config.h"

/* Returns the request for the configured network with `classes` outputs (0: as in its file). */
struct network_request settings_network(const struct run_config *config, size_t classes);

/* Returns the name of the configured technique, which may be a suffix of the network's name. */
const char *settings_technique(const struct run_config *config);

/* Each returns the settings of one part of the engine. */
struct solver_settings settings_solver(const struct run_config *config);
struct lr_schedule_settings settings_schedule(const struct run_config *config, uint64_t iterations);
struct gradient_clipping settings_clipping(const struct run_config *config);
struct gradient_sums settings_sums(const struct run_config *config);
struct early_stopping_settings settings_early_stopping(const struct run_config *config);
struct plan_settings settings_plan(const struct run_config *config, size_t threads,
                                   enum plan_mode mode);

/* Returns the augmentation of the training images of a set. */
struct augmentation settings_augmentation(const struct run_config *config,
                                          const struct dataset_facts *facts);

/* Returns whether training needs soft targets: mixup, cutmix or class weights. */
bool settings_soft_targets(const struct run_config *config);

#endif
