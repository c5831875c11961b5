/* Finds the launcher, and opens the module of MPI if it has started several processes.
 *
 * The file is looked for beside the program first, where the build puts it, and then where it is
 * installed. A module of another build is refused before any of its functions but
 * CLUSTER_MODULE_FUNCTION is called. It is never closed: MPI cannot be initialised twice. */
#include "engine/cluster/launcher.h"

#include "base/language.h"
#include "base/program_file.h"
#include "engine/cluster/cluster.h"
#include "engine/cluster/cluster_module.h"

#include <config.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the launcher --- */

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

/* --- the module --- */

static const char subject[] = N_("training in several processes");

static const struct cluster_module *check_module(const struct cluster_module *module,
                                                 const char *path, struct error *error)
{
    if (module && module->abi == CLUSTER_MODULE_ABI && module->bytes == sizeof *module &&
        strcmp(module->version, PACKAGE_VERSION) == 0)
        return module;
    error_set(error, ERROR_UNSUPPORTED, subject, "build and install tinca again",
              "%s was built for another version of tinca", path);
    return NULL;
}

const struct cluster_module *cluster_load_module(const char *path, struct error *error)
{
    cluster_module_function *function;
    if (access(path, F_OK) != 0) {
        error_set(error, ERROR_UNSUPPORTED, subject,
                  "install the package tinca-mpi; if you have built tinca yourself, install Open "
                  "MPI or MPICH (Debian: openmpi-bin and libopenmpi-dev), then run configure, make "
                  "and make install",
                  "the module that talks to MPI is missing: there is no %s", path);
        return NULL;
    }
    /* Open MPI's plugins look for its symbols in the whole process */
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        error_set(error, ERROR_UNSUPPORTED, subject,
                  "install the MPI library that tinca was built with (Debian: openmpi-bin)",
                  "the module that talks to MPI cannot be loaded: %s", dlerror());
        return NULL;
    }
    void *symbol = dlsym(library, CLUSTER_MODULE_FUNCTION);
    memcpy(&function, &symbol, sizeof function); /* ISO C does not cast objects to functions */
    const struct cluster_module *module = check_module(symbol ? function() : NULL, path, error);
    if (!module)
        dlclose(library);
    return module;
}

static const struct cluster_module *find_module(const struct launch *launch, struct error *error)
{
    char path[4096];
    if (!HAVE_MPI) {
        error_set(error, ERROR_UNSUPPORTED, launch->launcher,
                  "install Open MPI or MPICH (Debian: openmpi-bin and libopenmpi-dev), run "
                  "configure and make again; or start tinca once, without the launcher",
                  "it started several processes, but this tinca was built without MPI");
        return NULL;
    }
    if (!program_file_beside(CLUSTER_MODULE_FILE, path, sizeof path))
        snprintf(path, sizeof path, "%s/%s", PKGLIBDIR, CLUSTER_MODULE_FILE);
    return cluster_load_module(path, error);
}

/* Refuses processes that srun started without PMIx or PMI, as with --mpi=none: they cannot find
 * each other, and Open MPI would end them with an unrelated message. */
static bool check_srun(const struct cluster_module *module, const struct launch *launch,
                       struct error *error)
{
    if (!module->needs_pmi || strcmp(launch->launcher, "srun") != 0 || getenv("PMIX_RANK") ||
        getenv("PMI_FD"))
        return true;
    return error_set(error, ERROR_UNSUPPORTED, launch->launcher,
                     "start them with srun --mpi=pmix (srun --mpi=list shows what srun knows)",
                     "it started %zu processes, but without PMIx, by which Open MPI finds the "
                     "others",
                     launch->ranks);
}

bool cluster_join(size_t ranks, struct cluster **cluster, struct error *error)
{
    struct launch launch = launcher_find();
    *cluster = NULL;
    if (launch.launcher && launch.ranks > 0 && ranks > 0 && launch.ranks != ranks)
        return error_set(error, ERROR_USAGE, "--ranks", "leave it out",
                         "it says %zu, but %s started %zu processes", ranks, launch.launcher,
                         launch.ranks);
    if (ranks > 0) {
        launch.by_option = launch.ranks == 0;
        launch.ranks = ranks;
    }
    if (!launch.launcher)
        launch.launcher = "--ranks";
    if (launch.ranks == 1 || (launch.ranks == 0 && strcmp(launch.launcher, "--ranks") == 0))
        return true;
    const struct cluster_module *module = find_module(&launch, error);
    return module && check_srun(module, &launch, error) &&
           cluster_join_module(module, &launch, cluster, error);
}
