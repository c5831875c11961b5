/* A rank other than 0: it asks for nothing, and computes the cells that rank 0 gives it. After a
 * signal it saves its cell, hands it back, and takes no more; rank 0 gives the cell to another. */
#include "cli/sweep_over.h"

#include "cli/command.h"
#include "cli/processes.h"
#include "cli/stop_signal.h"

#include "base/clock.h"
#include "session/config/settings.h"
#include "ui/terminal/signals.h"

#include <math.h>

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

static bool post(struct service *service, const struct sweep_letter *letter)
{
    return cluster_post(service->cluster, 0, letter, sizeof *letter, &service->error);
}

/* Tells rank 0 the state of a cell that this rank does not compute, or no longer. */
static bool report(struct service *service, size_t cell)
{
    const struct sweep_letter letter =
        sweep_rank_result(&service->sweep, cell, service->leaving || stop_signal_came());
    service->poll = first_poll;
    return post(service, &letter);
}

static bool read_letter(struct service *service, const struct sweep_letter *letter)
{
    if (letter->kind == SWEEP_LETTER_QUIT)
        service->quit = true;
    else if (letter->kind == SWEEP_LETTER_STOP)
        sweep_process_stop(&service->rank.process);
    else if (letter->kind == SWEEP_LETTER_CELL && letter->cell < service->sweep.count) {
        service->poll = first_poll;
        if (stop_signal_came() || !sweep_rank_start(&service->rank, letter->cell))
            return report(service, letter->cell);
    }
    return true;
}

/* Lets the cell save a checkpoint or, when a signal has asked to stop, save and end; then this rank
 * says once that it leaves. */
static bool obey_signal(struct service *service)
{
    const struct sweep_letter letter = {.kind = SWEEP_LETTER_LEAVING};
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
    return post(service, &letter);
}

/* Computes cells until rank 0 has none, or something fails. */
static bool compute(struct service *service)
{
    struct sweep_letter letter;
    struct sweep_process *process = &service->rank.process;
    size_t sender;
    bool good = true;
    service->poll = first_poll;
    while (good && (!service->quit || process->id)) {
        if (cluster_take(service->cluster, service->poll, &sender, &letter, sizeof letter) ==
            sizeof letter)
            good = read_letter(service, &letter);
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

int sweep_over_serve(struct cluster *cluster, const struct sweep_request *request)
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
