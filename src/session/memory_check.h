/* memory_check.h: will it fit? Asked before anything is started. Internal to session/. */
#ifndef TINCA_SESSION_MEMORY_CHECK_H
#define TINCA_SESSION_MEMORY_CHECK_H

#include "engine/network.h"
#include "engine/plan.h"
#include "session/forecast.h"

/* What the network takes, when it is trained with its discriminator, by plans that are thrown away.
 */
bool memory_plan(const struct network *network, const struct device_driver *driver,
                 const struct plan_settings *settings, struct memory_forecast *memory,
                 struct error *error);

/* Fills feed_bytes, memory_free, fits and largest_batch of a forecast whose `memory`, `input` and
 * `device_free` are filled, for a plan of these settings. `beforehand`: data set and threads are
 * still to come, and room is left for them. */
void memory_check(const struct network *network, const struct device_driver *driver,
                  const struct plan_settings *settings, bool beforehand, struct forecast *forecast);

#endif
