/* background_job.h: one piece of work in a thread of its own, with its progress, that can be called
 * off.
 *
 * Who starts it keeps what it works on until background_job_finish; nothing else is shared. */
#ifndef TINCA_BASE_THREADS_BACKGROUND_JOB_H
#define TINCA_BASE_THREADS_BACKGROUND_JOB_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct background_job;

/* The work, in the background_job's thread. Progress goes to background_job_progress. */
typedef bool background_job_work(void *subject, struct background_job *background_job,
                                 struct error *error);

/* NULL with an error when there can be no thread. */
struct background_job *background_job_start(background_job_work *work, void *subject,
                                            struct error *error);

/* For the work: what an evaluation_progress (evaluate.h) with the background_job as context wants.
 * False when the background_job was called off. */
bool background_job_progress(void *background_job, uint64_t done, uint64_t of, struct error *error);

/* How far it is (of: 0, not known yet); true when it is over. Waits for nothing. */
bool background_job_poll(struct background_job *background_job, uint64_t *done, uint64_t *of);

/* It ends at its next progress. */
void background_job_cancel(struct background_job *background_job);

/* Waits until it is over, frees it and tells what the work returned. */
bool background_job_finish(struct background_job *background_job, struct error *error);

#endif
