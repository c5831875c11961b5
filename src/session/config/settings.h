/* settings.h: a configuration in the engine's terms. */
#ifndef TINCA_SESSION_CONFIG_SETTINGS_H
#define TINCA_SESSION_CONFIG_SETTINGS_H

#include "data/dataset/dataset.h"
#include "engine/plan/plan.h"
#include "engine/training/lr_schedule.h"
#include "session/config/config.h"

/* The network that is asked for, with `classes` outputs (0: as its file says). */
struct network_request settings_network(const struct run_config *config, size_t classes);
struct solver_settings settings_solver(const struct run_config *config);
struct lr_schedule_settings settings_schedule(const struct run_config *config, uint64_t iterations);
struct plan_settings settings_plan(const struct run_config *config, size_t threads,
                                   enum plan_mode mode);
/* Black pixels around a training image before its random crop. */
size_t settings_pad(const struct run_config *config, const struct dataset_facts *facts);

#endif
