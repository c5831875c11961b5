/* tensorboard.h: writes the event files of finished runs, as the setting tensorboard writes them
 * while a run trains. */
#ifndef TINCA_EXCHANGE_TENSORBOARD_TENSORBOARD_H
#define TINCA_EXCHANGE_TENSORBOARD_TENSORBOARD_H

#include "base/error.h"
#include "runs/record/run.h"

#include <stddef.h>

/* Writes FOLDER/ID/events.out.tfevents.* for each run, or replaces the file that this function has
 * written before; a folder that has other event files is refused. If `folder` is a descriptor, FIFO
 * or device, the events of the run, which must be the only one, go there. Their times are those of
 * a run without pauses. Images and weights are those that the run's folder has. Returns false with
 * an error. */
bool tensorboard_export(struct run *const *runs, size_t count, const char *folder,
                        struct error *error);

#endif
