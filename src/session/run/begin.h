/* begin.h: the first start of a run, after everything was prepared. Internal to session/. */
#ifndef TINCA_SESSION_RUN_BEGIN_H
#define TINCA_SESSION_RUN_BEGIN_H

#include "session/run/trainer.h"

/* Initialises the schedule, the loss meter and the snapshot. A resumed run needs it, too. Returns
 * false with *trainer->error. */
bool begin_prepare(struct trainer *trainer);

/* Starts a run with its first iteration: curves, network.json, data.json, the journal's start
 * event. Returns false with *trainer->error. */
bool begin_run(struct trainer *trainer);

/* Returns the facts about a prepared run. */
struct run_facts begin_facts(const struct trainer *trainer);

#endif
