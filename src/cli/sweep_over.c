/* Joining and leaving the ranks of a sweep.
 *
 * The ranks of one host share its memory, and its cores unless the launcher has bound each rank to
 * cores of its own: then they may run on different cores, which their marks show. */
#include "cli/sweep_over.h"

#include "cli/command.h"
#include "cli/output.h"
#include "cli/processes.h"

#include "base/host/host.h"
#include "base/language.h"
#include "base/memory.h"
#include "engine/cluster/launcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the option that cannot be given with --over, or NULL. */
static const char *contradiction(const struct sweep_request *request)
{
    return request->cell       ? "--cell"
           : request->wait     ? "--wait"
           : request->jobs > 1 ? "--jobs"
           : request->dry_run  ? "--dry-run"
           : request->due      ? "--due"
           : request->report   ? "--report"
           : request->list     ? "--list"
                               : NULL;
}

static bool check_request(const struct sweep_request *request, struct error *error)
{
    const struct launch launch = launcher_find();
    const char *other = contradiction(request);
    if (other)
        return error_set(error, ERROR_USAGE, other,
                         "leave one of them out; more ranks compute more cells at a time",
                         "it cannot be given with --over");
    if (launch.launcher || request->ranks > 0)
        return true;
    return error_set(error, ERROR_USAGE, "--over",
                     "start it as mpirun -n 4 tinca sweep ... --over mpi, or give --jobs",
                     "no launcher such as mpirun or srun has started this process");
}

/* Refuses to start the same sweep once in each process that a launcher has started. */
static bool check_alone(const struct sweep_request *request, struct error *error)
{
    const struct launch launch = launcher_find();
    if (request->ranks > 0)
        return error_set(error, ERROR_USAGE, "--ranks", "give --over mpi as well",
                         "it is the number of processes that share the sweep");
    const bool computes =
        !request->cell && !request->dry_run && !request->due && !request->report && !request->list;
    return !computes || launch.ranks < 2 ||
           error_set(error, ERROR_USAGE, launch.launcher,
                     "give --over mpi, so that they share its cells",
                     "it started %zu processes, each of which would compute the whole sweep",
                     launch.ranks);
}

static int print_error(const struct error *error)
{
    const size_t rank = launcher_find().rank;
    return rank > 0 ? processes_print_error(rank, error) : output_error(error);
}

/* Divides this host among its ranks. */
static bool divide_host(struct cluster *cluster, struct sweep_request *request, struct error *error)
{
    const size_t ranks = cluster_ranks(cluster), mine = cluster_rank(cluster);
    const uint32_t mark = host_cores_mark();
    size_t on_host = 0, on_cores = 0;
    uint32_t *marks = memory_new(ranks, sizeof *marks, "the ranks", error);
    if (!marks) {
        cluster_fail(cluster, error);
        return false;
    }
    if (!cluster_gather(cluster, &mark, sizeof mark, marks)) /* MPI may still write to the array */
        return cluster_check(cluster, error);
    for (size_t r = 0; r < ranks; r++) {
        const bool here = strcmp(cluster_host(cluster, r), cluster_host(cluster, mine)) == 0;
        on_host += here;
        on_cores += here && marks[r] == mark;
    }
    free(marks);
    const size_t cores = host_cores() > on_cores ? host_cores() / on_cores : 1;
    if (on_host > 1 || request->cores > 0)
        request->cores = (request->cores > 0 ? request->cores : cores) * on_host;
    request->jobs = on_host;
    return true;
}

bool sweep_over_join(struct sweep_over *over, struct sweep_request *request, int *status)
{
    struct error error;
    over->active = request->over;
    if (!over->active) {
        if (check_alone(request, &error))
            return true;
        *status = launcher_find().rank > 0 ? EXIT_USAGE : output_error(&error);
        return false;
    }
    if (!check_request(request, &error)) {
        *status = launcher_find().rank > 0 ? EXIT_USAGE : output_error(&error);
        return false;
    }
    if (!cluster_join(request->ranks, &over->cluster, &error)) {
        *status = print_error(&error);
        return false;
    }
    launcher_forget(); /* the cells' processes are no ranks */
    if (!over->cluster)
        return true;
    const size_t rank = cluster_rank(over->cluster);
    if (divide_host(over->cluster, request, &error)) {
        if (rank == 0)
            return true;
        *status = sweep_over_serve(over->cluster, request);
        return false;
    }
    *status = EXIT_FAILED;
    if (rank == 0)
        *status = output_error(&error);
    else if (!cluster_failed_elsewhere(over->cluster))
        *status = processes_print_error(rank, &error);
    processes_close(over->cluster, *status);
    return false;
}

int sweep_over_leave(struct sweep_over *over, int status)
{
    if (!over->cluster)
        return status;
    struct sweep_call call = {.status = status};
    if (!over->called)
        cluster_broadcast(over->cluster, &call, sizeof call);
    processes_close(over->cluster, status);
    over->cluster = NULL;
    return status;
}

bool sweep_over_agree(struct cluster *cluster, const struct sweep_answer *mine, size_t *unlocked,
                      struct error *error)
{
    const size_t ranks = cluster_ranks(cluster);
    bool agree = true;
    struct sweep_answer *answers = memory_new(ranks, sizeof *answers, "the ranks", error);
    *unlocked = 0;
    if (!answers) {
        cluster_fail(cluster, error);
        return false;
    }
    if (!cluster_gather(cluster, mine, sizeof *mine, answers)) /* MPI may still write to it */
        return cluster_check(cluster, error);
    for (size_t r = ranks; r-- > 0;) {
        if (r > 0 && !answers[r].locked)
            *unlocked = r;
        if (answers[r].ready)
            continue;
        agree = false;
        *error = answers[r].error;
        if (r > 0)
            snprintf(error->what, sizeof error->what, "rank %zu on %s: %.160s", r,
                     cluster_host(cluster, r), answers[r].error.what);
    }
    free(answers);
    return agree;
}
