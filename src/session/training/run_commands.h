/* run_commands.h: does what the user asks of a run. Internal to session/. */
#ifndef TINCA_SESSION_TRAINING_RUN_COMMANDS_H
#define TINCA_SESSION_TRAINING_RUN_COMMANDS_H

#include "session/training/trainer.h"

/* Takes the pending commands (record/commands.h) and obeys them; waits while the run is paused. */
void run_commands_obey(struct trainer *trainer);

#endif
