/* launcher.h: whether a launcher such as mpirun or srun has started this process as one of several.
 */
#ifndef TINCA_ENGINE_CLUSTER_LAUNCHER_H
#define TINCA_ENGINE_CLUSTER_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>

struct launch {
    const char *launcher; /* its name for messages; NULL: none was recognised */
    size_t ranks;         /* how many processes it started; 0: it does not say */
    size_t rank;          /* the number of this one */
    bool by_option;       /* the launcher gives no number, and `ranks` comes from --ranks */
};

/* Returns the launch that the environment describes. A batch script's environment without srun is
 * no launch. */
struct launch launcher_find(void);

/* Removes from the environment what launcher_find reads, so that children count as started by hand.
 */
void launcher_forget(void);

#endif
