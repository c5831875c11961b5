/* background_job.h: work in a separate thread, with progress, that can be cancelled and is joined.
 *
 * The caller must keep `subject` alive, and must not touch it, until background_job_finish returns.
 * The two threads share nothing else.
 */
#ifndef TINCA_BASE_THREADS_BACKGROUND_JOB_H
#define TINCA_BASE_THREADS_BACKGROUND_JOB_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct background_job;

/* The work, which runs in the job's thread. It should call background_job_progress now and then. */
typedef bool background_job_work(void *subject, struct background_job *job, struct error *error);

/* Starts the work. Returns NULL with an error if no thread can start. */
struct background_job *background_job_start(background_job_work *work, void *subject,
                                            struct error *error);

/* Reports that `done` of `total` steps are complete. Only the work function calls it. It has the
 * type evaluation_progress, so an evaluation can call it with the job as context. Returns false
 * with ERROR_INTERRUPTED if the job was cancelled; the work should then return false. */
bool background_job_progress(void *job, uint64_t done, uint64_t total, struct error *error);

/* Reads the progress (`total` is 0 while it is unknown). Returns whether the work is over. Never
 * waits. */
bool background_job_poll(struct background_job *job, uint64_t *done, uint64_t *total);

/* Asks the work to end when it next reports progress. */
void background_job_cancel(struct background_job *job);

/* Waits until the work is over, frees the job and returns what the work returned. */
bool background_job_finish(struct background_job *job, struct error *error);

#endif
