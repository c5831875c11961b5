/* resume.h: which runs can be resumed, and with which changes.
 *
 * A resumed run continues in its folder from its last good checkpoint, or from the start if it has
 * none. It gives the same bits as if it had never stopped, with any number of threads. Records of
 * the journal after the checkpoint are cut off: those iterations are computed once more.
 */
#ifndef TINCA_RUNS_RECORD_RESUME_H
#define TINCA_RUNS_RECORD_RESUME_H

#include "base/error.h"
#include "runs/record/run.h"
#include "runs/settings/config.h"

/* Returns whether a run in this state can be resumed; the error says why not. */
bool resume_allows(const struct run_snapshot *snapshot, const char *id, struct error *error);

/* Copies the settings of TASK_RESUME that are given in `changes`, and sets *changed if something
 * differs. Returns false with an error if another setting is given. */
bool resume_change(struct run_config *config, const struct run_config *changes, bool *changed,
                   struct error *error);

/* Checks that `processes` processes can continue the run, each with as many of its blocks of images
 * (--blocks), which cannot change. The error has the numbers of processes that can. */
bool resume_check_processes(const struct run_config *config, const char *id, size_t processes,
                            struct error *error);

/* Returns false with an error if the network of the run in this folder comes from a file that is
 * missing. The folder's network.json does not take the file's place: it describes the network, but
 * not how the pictures of a saved model are prepared, which data.json of earlier versions lacks. */
bool resume_check_network(const struct run_config *config, const char *directory,
                          struct error *error);

#endif
