/* handover.h: finds out in the background whether another process has taken a run over: it computes
 * the run of a folder, or waits for it in the queue. */
#ifndef TINCA_SESSION_HISTORY_HANDOVER_H
#define TINCA_SESSION_HISTORY_HANDOVER_H

#include "base/error.h"

#include <stdbool.h>

struct handover;

/* Begins to look whether `process` has resumed the run in `directory` or, if that is "", has a
 * place in the queue. Returns NULL with an error if no thread can start. */
struct handover *handover_look(long process, const char *directory, struct error *error);

/* Returns whether the look is over; sets *taken to whether the process has taken over. */
bool handover_result(const struct handover *handover, bool *taken);

/* Frees the look; never waits for its end. NULL is allowed. */
void handover_drop(struct handover *handover);

#endif
