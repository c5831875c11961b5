/* begin.h: the first start of a run, after everything was prepared. Internal to session/. */
#ifndef TINCA_SESSION_TRAINING_BEGIN_H
#define TINCA_SESSION_TRAINING_BEGIN_H

#include "session/training/trainer.h"

/* Initialises the schedule, the loss meter and the snapshot. A resumed run needs it, too. Returns
 * false with *trainer->error. */
bool begin_prepare(struct trainer *trainer);

/* Starts a run with its first iteration: curves, network.json, data.json, the journal's start
 * event. Returns false with *trainer->error. */
bool begin_run(struct trainer *trainer);

/* Returns the facts about a prepared run. */
struct run_facts begin_facts(const struct trainer *trainer);

/* Opens TensorBoard's event file, with the setting tensorboard, after `done` iterations, and notes
 * it in the journal. A new run without it returns false with *trainer->error; a resumed run goes on
 * and has a finding. */
bool begin_events(struct trainer *trainer, const struct run_facts *facts, uint64_t done);

#endif
