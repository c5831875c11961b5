#include "engine/cluster/launcher.h"

#include <errno.h>
#include <stdlib.h>

/* The variables that launchers set. The first launcher that has both counts: mpirun within a job of
 * Slurm, which has the variables of both, is mpirun. */
static const struct {
    const char *launcher, *ranks, *rank;
} known[] = {
    {"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"mpiexec", "PMI_SIZE", "PMI_RANK"},
    {"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
    {"the launcher (PMIx)", NULL, "PMIX_RANK"},
};
enum { KNOWN = sizeof known / sizeof *known };

/* Reads a number of a variable; returns false if it is not set or no number. */
static bool read_number(const char *variable, size_t *number)
{
    const char *text = getenv(variable);
    char *end;
    if (!text || !*text)
        return false;
    errno = 0;
    const unsigned long value = strtoul(text, &end, 10);
    *number = value;
    return errno == 0 && *end == '\0';
}

struct launch launcher_find(void)
{
    for (size_t i = 0; i < KNOWN; i++) {
        struct launch launch = {.launcher = known[i].launcher};
        if (read_number(known[i].rank, &launch.rank) &&
            (!known[i].ranks || read_number(known[i].ranks, &launch.ranks)))
            return launch;
    }
    return (struct launch){0};
}

void launcher_forget(void)
{
    for (size_t i = 0; i < KNOWN; i++) {
        unsetenv(known[i].rank);
        if (known[i].ranks)
            unsetenv(known[i].ranks);
    }
}
