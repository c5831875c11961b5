/* forecast_make.h: the memory and time of a run, before it starts. */
#ifndef TINCA_TRAINING_FORECAST_MAKE_H
#define TINCA_TRAINING_FORECAST_MAKE_H

#include "runs/settings/config.h"
#include "training/prepare/forecast.h"

/* Fills the forecast of a configuration as prepare_plans does (prepare/prepare.h), with the memory
 * of the run's observers, and keeps no plan. Returns false with an error if the configuration
 * cannot work. */
bool forecast_make(const struct run_config *config, size_t classes, struct forecast *forecast,
                   struct error *error);

#endif
