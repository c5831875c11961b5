/* Rank 0 does the command's work, the others serve it. A message of another rank carries its number
 * and host; where all ranks have the same thing to say, only rank 0 says it. */
#include "cli/processes.h"

#include "base/host/host.h"
#include "cli/command.h"
#include "cli/output.h"
#include "engine/cluster/launcher.h"
#include "runs/settings/settings.h"
#include "training/ranks/ranks.h"
#include "training/run_start.h"
#include "ui/terminal/signals.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int processes_print_error(size_t rank, const struct error *error)
{
    struct host host;
    struct error named = *error;
    host_describe(&host);
    snprintf(named.what, sizeof named.what, "rank %zu on %.60s: %.160s", rank, host.name,
             error->what);
    return output_error(&named);
}

void processes_close(struct cluster *cluster, int status)
{
    struct error error;
    const bool left = cluster_leave(cluster, &error);
    if (!left)
        processes_print_failure(cluster, &error);
    fflush(NULL); /* from here on the launcher may end this process */
    cluster_close(cluster, status);
    if (!left)
        _exit(status); /* the thread of MPI still runs: nothing may be unloaded under it */
}

/* Computes for rank 0. Returns the exit status. */
static int serve(struct cluster *cluster, const struct run_config *config)
{
    struct error error;
    int status = EXIT_DONE;
    const size_t rank = cluster_rank(cluster);
    signals_leave_to_others(); /* they come to rank 0, too, which stops or saves the run */
    if (!run_serve(cluster, machine_settings(config).threads, &error)) {
        status = EXIT_FAILED;
        if (!cluster_failed_elsewhere(cluster))
            processes_print_error(rank, &error);
    }
    processes_close(cluster, status);
    return status;
}

int processes_print_failure(struct cluster *cluster, const struct error *error)
{
    const size_t rank = cluster_rank(cluster);
    if (rank == 0)
        return output_error(error);
    return cluster_failed_elsewhere(cluster) ? EXIT_FAILED : processes_print_error(rank, error);
}

bool processes_alone(const char *command, int *status)
{
    const struct launch launch = launcher_find();
    /* of a launcher that does not say how many it has started, only the second is sure to know */
    const size_t speaker = launch.ranks ? 0 : 1;
    struct error error;
    if (launch.ranks < 2 && launch.rank == 0)
        return true;
    error_set(&error, ERROR_USAGE, launch.launcher,
              "start it once, without the launcher; train, resume, ui, devices, sweep --over mpi "
              "and bench --cluster share their work",
              "it started several processes, each of which would do all the work of tinca %s",
              command);
    *status = launch.rank == speaker ? output_error(&error) : EXIT_USAGE;
    return false;
}

bool processes_meet(size_t ranks, struct cluster **cluster, int *status)
{
    struct error error;
    const size_t rank = launcher_find().rank; /* MPI may change the environment */
    if (!cluster_join(ranks, cluster, &error)) {
        *status = rank > 0 ? processes_print_error(rank, &error) : output_error(&error);
        return false;
    }
    if (*cluster)
        launcher_forget(); /* children are no ranks */
    return true;
}

bool processes_join(size_t ranks, const struct run_config *config, struct cluster **cluster,
                    int *status)
{
    struct error error;
    if (!processes_meet(ranks, cluster, status))
        return false;
    if (!*cluster)
        return true;
    if (!ranks_compare(*cluster, config, &error)) {
        *status = cluster_rank(*cluster) == 0 ? output_error(&error) : EXIT_USAGE;
        processes_close(*cluster, *status);
        return false;
    }
    if (cluster_rank(*cluster) == 0)
        return true;
    *status = serve(*cluster, config);
    return false;
}

int processes_leave(struct cluster *cluster, int status)
{
    if (!cluster)
        return status;
    ranks_quit(cluster);
    processes_close(cluster, status);
    return status;
}

void processes_announce(const struct cluster *cluster, const struct run_config *config)
{
    const struct machine_settings machine = machine_settings(config);
    if (cluster && config_on_gpu(config)) {
        output_note(_("NCCL adds the gradients of the GPUs, in an order of its own: --blocks, "
                      "--reduce, --compress and --bucket have no effect, and another number of "
                      "ranks gives other bits\n"));
        return;
    }
    if (machine.reduce == REDUCE_EXACT && machine.compress == COMPRESS_NONE)
        return;
    if (!cluster)
        output_note(_("one process adds no gradients of others: --reduce and --compress have no "
                      "effect\n"));
    else if (machine.reduce == REDUCE_FAST)
        output_note(_("--reduce fast: MPI chooses the order of sums, so other processes, and even "
                      "the same again, may give other bits\n"));
    else
        output_note(_("--compress bf16: another number of processes than %zu gives other bits\n"),
                    cluster_ranks(cluster));
}

struct option_row processes_row(size_t *ranks)
{
    return (struct option_row){
        .name = "ranks",
        .argument = "N",
        .help = N_("The number of processes, for a launcher that tinca does not recognise."),
        .kind = OPTION_COUNT,
        .low = 1,
        .high = CLUSTER_MAX_RANKS,
        .value = ranks};
}
