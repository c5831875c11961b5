/* Joining and leaving the ranks of a sweep.
 *
 * The ranks of one host share its memory, and its cores unless the launcher has bound each rank to
 * cores of its own: then they may run on different cores, which their marks show. */
#include "cli/sweep.h"

#include "base/clock.h"
#include "base/host/host.h"
#include "base/language.h"
#include "base/memory.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/processes.h"
#include "cli/stop_signal.h"
#include "engine/cluster/launcher.h"
#include "runs/settings/settings.h"
#include "ui/terminal/signals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what all ranks agree on --- */

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

/* --- ranks other than 0 --- */

/* A rank other than 0: it asks for nothing, and computes the cells that rank 0 gives it. After a
 * signal it saves its cell, hands it back, and takes no more; rank 0 gives the cell to another. */

static const double first_poll = 0.005, longest_poll = 0.2; /* seconds */

struct service {
    struct cluster *cluster;
    struct sweep sweep;
    struct sweep_rank rank;
    bool quit;    /* rank 0 has no more cells */
    bool leaving; /* a signal came here */
    double poll;  /* seconds until the next poll: they double while nothing happens */
    struct error error;
};

static bool post(struct service *service, const struct sweep_message *message)
{
    return cluster_post(service->cluster, 0, message, sizeof *message, &service->error);
}

/* Tells rank 0 the state of a cell that this rank does not compute, or no longer. */
static bool report(struct service *service, size_t cell)
{
    const struct sweep_message message =
        sweep_rank_result(&service->sweep, cell, service->leaving || stop_signal_came());
    service->poll = first_poll;
    return post(service, &message);
}

static bool read_message(struct service *service, const struct sweep_message *message)
{
    if (message->kind == SWEEP_MESSAGE_QUIT)
        service->quit = true;
    else if (message->kind == SWEEP_MESSAGE_STOP)
        sweep_process_stop(&service->rank.process);
    else if (message->kind == SWEEP_MESSAGE_CELL && message->cell < service->sweep.count) {
        service->poll = first_poll;
        if (stop_signal_came() || !sweep_rank_start(&service->rank, message->cell))
            return report(service, message->cell);
    }
    return true;
}

/* Lets the cell save a checkpoint or, when a signal has asked to stop, save and end; then this rank
 * says once that it leaves. */
static bool obey_signal(struct service *service)
{
    const struct sweep_message message = {.kind = SWEEP_MESSAGE_LEAVING};
    if (signals_take_save())
        sweep_process_save(&service->rank.process);
    if (!stop_signal_came() || service->leaving)
        return true;
    if (service->rank.process.id) {
        if (!service->rank.process.stopped)
            sweep_process_stop(&service->rank.process);
        return true;
    }
    service->leaving = true;
    return post(service, &message);
}

/* Computes cells until rank 0 has none, or something fails. */
static bool compute(struct service *service)
{
    struct sweep_message message;
    struct sweep_process *process = &service->rank.process;
    size_t sender;
    bool good = true;
    service->poll = first_poll;
    while (good && (!service->quit || process->id)) {
        if (cluster_take(service->cluster, service->poll, &sender, &message, sizeof message) ==
            sizeof message)
            good = read_message(service, &message);
        service->poll = fmin(2 * service->poll, longest_poll);
        if (good && sweep_process_has_ended(process, &service->sweep))
            good = report(service, process->cell);
        good = good && obey_signal(service) && cluster_check(service->cluster, &service->error);
    }
    return good;
}

/* Stops the cell's process after a failure of the cluster, and waits for it, but not for ever: it
 * also gets a signal when this process ends. */
static void stop_process(struct service *service)
{
    struct sweep_process *process = &service->rank.process;
    const uint64_t began = clock_nanoseconds();
    sweep_process_stop(process);
    while (process->id && clock_seconds(began, clock_nanoseconds()) < CLUSTER_SILENCE) {
        sweep_process_has_ended(process, &service->sweep);
        clock_sleep(0.02);
    }
}

/* Opens the sweep of rank 0, and agrees with the others. */
static bool answer_call(struct service *service, const struct sweep_call *call)
{
    size_t unlocked;
    struct sweep_answer answer;
    sweep_rank_answer(call, &service->sweep, &answer);
    return sweep_over_agree(service->cluster, &answer, &unlocked, &service->error);
}

static void set_threads(struct service *service, const struct sweep_request *request)
{
    const size_t given = config_is_given(&request->config, KEY(threads))
                             ? machine_settings(&request->config).threads
                             : 0;
    for (size_t i = 0; i < service->sweep.count; i++) {
        struct run_config *config = &service->sweep.cells[i].config;
        const bool fixed = given > 0 && !sweep_grid_varies(&service->sweep.grid, KEY(threads));
        const size_t threads = fixed ? given : machine_settings(config).threads;
        config_put_count(config, KEY(threads), sweep_request_threads(request, threads));
    }
}

/* On the other ranks: computes what rank 0 says. */
static int serve(struct cluster *cluster, const struct sweep_request *request)
{
    struct sweep_call call;
    struct service service = {.cluster = cluster};
    int status = EXIT_FAILED;
    bool good = true;
    stop_signal_catch_for_runs();
    if (!cluster_broadcast(cluster, &call, sizeof call))
        good = cluster_check(cluster, &service.error);
    else if (!call.called)
        status = call.status;
    else if (answer_call(&service, &call)) {
        set_threads(&service, request);
        service.rank = (struct sweep_rank){.sweep = &service.sweep, .share = request->jobs};
        cluster_tolerate_losses(cluster);
        good = compute(&service);
        status = good ? EXIT_DONE : EXIT_FAILED; /* rank 0's status is that of all */
    }
    if (!good) {
        stop_process(&service);
        if (!cluster_failed_elsewhere(cluster))
            processes_print_error(cluster_rank(cluster), &service.error);
    }
    processes_close(cluster, status);
    sweep_free(&service.sweep);
    return status;
}

/* --- joining and leaving --- */

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
        *status = serve(over->cluster, request);
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
