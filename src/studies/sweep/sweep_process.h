/* sweep_process.h: computes a cell in a process of its own, this program with `sweep --cell`.
 *
 * A cell that runs out of memory or crashes therefore cannot harm the others, and the memory that
 * its run measures is that of this cell alone. The process that starts it only reads the cell's
 * files and records how its process ended.
 *
 * Not thread-safe.
 */
#ifndef TINCA_STUDIES_SWEEP_SWEEP_PROCESS_H
#define TINCA_STUDIES_SWEEP_SWEEP_PROCESS_H

#include "base/host/spawn.h"
#include "studies/sweep/sweep.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The exit status by which the process of a cell says to the one that started it, and to no other
 * (sweep_process_is_child), that the disk was too full to record how its run began or ended. */
enum { CELL_UNSAVED = 3 };

struct sweep_process {     /* starts as {0} */
    pid_t id;              /* 0: none */
    size_t cell;           /* the index of the cell that it computes */
    bool stopped;          /* it was asked to stop, so its end is no failure */
    bool beside_others;    /* the user has asked for several processes at a time */
    uint64_t memory_kills; /* how many processes the kernel had killed for memory before it began */
};

/* Starts a process that computes the cell of a saved sweep, and sets the cell's state to
 * SWEEP_RUNNING. Its output, messages of a crash included, goes to output.txt in the cell's folder.
 * If memory runs out, the kernel ends it rather than this process. Returns false if it cannot be
 * started; the cell has then failed, with the reason. */
bool sweep_process_start(struct sweep_process *process, struct sweep *sweep, size_t index,
                         enum spawn_group group);

/* Asks the process to finish the iteration, save and exit. Does nothing if there is none. */
void sweep_process_stop(struct sweep_process *process);

/* Asks the process to save a checkpoint now and to go on. Does nothing if there is none. */
void sweep_process_save(const struct sweep_process *process);

/* Returns whether the process has ended since the last call. Then its cell has its new state, a
 * crash or a lack of memory is recorded as the reason, and process->id is 0. */
bool sweep_process_has_ended(struct sweep_process *process, struct sweep *sweep);

/* Returns whether sweep_process_start of another process has started this one. */
bool sweep_process_is_child(void);

#endif
