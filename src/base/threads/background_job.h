/* errand.h: one piece of work in a thread of its own, with its progress, that can be called off.
 *
 * Who starts it keeps what it works on until errand_finish; nothing else is shared. */
#ifndef TINCA_BASE_THREADS_BACKGROUND_JOB_H
#define TINCA_BASE_THREADS_BACKGROUND_JOB_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct errand;

/* The work, in the errand's thread. Progress goes to errand_progress. */
typedef bool errand_work(void *subject, struct errand *errand, struct error *error);

/* NULL with an error when there can be no thread. */
struct errand *errand_start(errand_work *work, void *subject, struct error *error);

/* For the work: what an evaluation_progress (evaluate.h) with the errand as context wants. False
 * when the errand was called off. */
bool errand_progress(void *errand, uint64_t done, uint64_t of, struct error *error);

/* How far it is (of: 0, not known yet); true when it is over. Waits for nothing. */
bool errand_look(struct errand *errand, uint64_t *done, uint64_t *of);

/* It ends at its next progress. */
void errand_call_off(struct errand *errand);

/* Waits until it is over, frees it and tells what the work returned. */
bool errand_finish(struct errand *errand, struct error *error);

#endif
