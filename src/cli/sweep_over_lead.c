/* Rank 0 of a sweep: gives each free rank, itself included, the largest cell that remains.
 *
 * A cell is given to one rank at a time. It is over when the rank has told its result. It is given
 * again if the rank that had it was asked to stop by a signal, or is lost; the lock of the cell
 * then shows whether its process still lives. A cell that a host has no memory or device for
 * remains for the ranks of the other hosts. Cells that another sweep computes (SWEEP_RUNNING, but
 * not given) are watched, in case it gives them up. */
#include "cli/sweep.h"

#include "cli/command.h"
#include "cli/output.h"
#include "cli/stop_signal.h"

#include "base/clock.h"
#include "base/language.h"
#include "base/memory.h"
#include "studies/sweep/sweep_estimate.h"
#include "ui/terminal/signals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double first_poll = 0.005, longest_poll = 0.2, watch_interval = 1; /* seconds */
/* A server of files frees the locks of a host that died after a while, 90 seconds in NFS 4. */
static const double orphan_patience = 120;

struct worker { /* a rank */
    size_t host;
    size_t cell;
    bool busy;
    bool gone; /* it takes no more cells: it was asked to stop, or is lost */
    bool told; /* it was told to stop */
};

enum cell_flag { CELL_OVER = 1, CELL_GIVEN = 2, CELL_ORPHAN = 4 };

struct lead {
    struct cluster *cluster; /* NULL: there is no other rank */
    struct sweep *sweep;
    struct sweep_estimate *estimate;
    struct sweep_progress progress;
    struct sweep_rank own;
    size_t ranks, hosts;
    struct worker *workers; /* by rank */
    size_t *order;          /* the cells, the largest first */
    unsigned char *flags;   /* by cell: enum cell_flag */
    unsigned char *refused; /* [cell * hosts + host]: the cell cannot be computed there */
    size_t *running;        /* room for the cells that run */
    double watched, lost;   /* the clock when other sweeps' cells were watched; a rank was lost */
    double poll;            /* seconds until the next poll: they double while nothing happens */
    struct error error;     /* why it cannot go on */
};

static double now_seconds(void)
{
    return clock_seconds(0, clock_nanoseconds());
}

/* --- results --- */

/* Returns "rank 1 on node7", or NULL if there is one rank only. */
static const char *rank_name(const struct lead *lead, size_t rank, char *text, size_t size)
{
    if (!lead->cluster)
        return NULL;
    snprintf(text, size, _("rank %zu on %s"), rank, cluster_host(lead->cluster, rank));
    return text;
}

/* Records the state of a cell that a rank no longer has. `again`: if it is interrupted, another
 * rank continues it. */
static void take_result(struct lead *lead, size_t rank, bool again)
{
    char name[CLUSTER_HOST + 48];
    struct worker *worker = &lead->workers[rank];
    const size_t index = worker->cell;
    struct sweep_cell *cell = &lead->sweep->cells[index];
    worker->busy = false;
    lead->flags[index] &= (unsigned char)~CELL_GIVEN;
    lead->poll = first_poll;
    if (cell->state == SWEEP_CANNOT_FIT || cell->state == SWEEP_SKIPPED)
        lead->refused[index * lead->hosts + worker->host] = true;
    else if (cell->state != SWEEP_RUNNING && !(again && sweep_has_work(lead->sweep, index)))
        lead->flags[index] |= CELL_OVER;
    sweep_read_result(lead->sweep, index);
    sweep_estimate_add_cell(lead->estimate, cell, NULL);
    if (cell->state != SWEEP_RUNNING && cell->state != SWEEP_WAITING)
        sweep_progress_print_cell(&lead->progress, index, rank_name(lead, rank, name, sizeof name));
}

static void take_message(struct lead *lead, size_t rank, const struct sweep_message *message)
{
    struct worker *worker = &lead->workers[rank];
    if (cluster_is_lost(lead->cluster, rank))
        return;
    if (message->kind == SWEEP_MESSAGE_LEAVING)
        worker->gone = true;
    if (message->kind != SWEEP_MESSAGE_RESULT || !worker->busy || message->cell != worker->cell)
        return;
    worker->gone |= message->leaving;
    sweep_rank_take_result(lead->sweep, message);
    take_result(lead, rank, worker->gone || worker->told);
}

/* Waits for messages, for at most lead->poll, and reads them. */
static void take_messages(struct lead *lead)
{
    struct sweep_message message;
    size_t rank, bytes;
    double wait = lead->poll;
    lead->poll = fmin(2 * lead->poll, longest_poll);
    if (!lead->cluster) {
        clock_sleep(wait);
        return;
    }
    while ((bytes = cluster_take(lead->cluster, wait, &rank, &message, sizeof message)) > 0) {
        if (bytes == sizeof message)
            take_message(lead, rank, &message);
        wait = 0;
    }
}

/* Takes the cells of ranks that are lost back. */
static void notice_losses(struct lead *lead)
{
    char name[CLUSTER_HOST + 48];
    for (size_t r = 1; r < lead->ranks; r++) {
        struct worker *worker = &lead->workers[r];
        if (!cluster_is_lost(lead->cluster, r) || (worker->gone && !worker->busy))
            continue;
        sweep_progress_clear(&lead->progress);
        output_note(_("%s is lost: it has not answered for %d seconds, or has failed.\n"),
                    rank_name(lead, r, name, sizeof name), CLUSTER_SILENCE);
        worker->gone = true;
        lead->lost = now_seconds();
        if (!worker->busy)
            continue;
        worker->busy = false;
        lead->flags[worker->cell] = CELL_ORPHAN;
        sweep_refresh(lead->sweep, worker->cell);
    }
}

/* Reads the states of cells that processes of others compute. */
static void watch_others(struct lead *lead)
{
    if (now_seconds() - lead->watched < watch_interval)
        return;
    lead->watched = now_seconds();
    for (size_t i = 0; i < lead->sweep->count; i++)
        if (lead->sweep->cells[i].state == SWEEP_RUNNING && !(lead->flags[i] & CELL_GIVEN)) {
            sweep_refresh(lead->sweep, i);
            if (!(lead->flags[i] & CELL_ORPHAN) || !sweep_is_computed(&lead->sweep->cells[i]))
                continue;
            sweep_read_result(lead->sweep, i);
            sweep_progress_print_cell(&lead->progress, i, NULL);
        }
}

/* --- giving cells --- */

/* Returns whether a rank may be given a cell. What does not fit the host of rank 0, or has no
 * device there, may do so elsewhere. */
static bool is_open(const struct lead *lead, size_t cell, const struct worker *worker)
{
    if (lead->flags[cell] & (CELL_OVER | CELL_GIVEN) ||
        lead->refused[cell * lead->hosts + worker->host])
        return false;
    return worker->host == lead->workers[0].host ? sweep_has_work(lead->sweep, cell)
                                                 : sweep_output_is_open(lead->sweep, cell);
}

static bool find_cell(const struct lead *lead, const struct worker *worker, size_t *cell)
{
    for (size_t i = 0; i < lead->sweep->count; i++)
        if (is_open(lead, lead->order[i], worker)) {
            *cell = lead->order[i];
            return true;
        }
    return false;
}

static bool post(struct lead *lead, size_t rank, enum sweep_message_kind kind, size_t cell)
{
    const struct sweep_message message = {.kind = (int32_t)kind, .cell = (uint32_t)cell};
    return cluster_post(lead->cluster, rank, &message, sizeof message, &lead->error);
}

/* Gives a cell to a rank. Returns false with lead->error if the cluster has failed. */
static bool give(struct lead *lead, size_t rank, size_t cell)
{
    struct worker *worker = &lead->workers[rank];
    worker->busy = true;
    worker->cell = cell;
    lead->flags[cell] = CELL_GIVEN;
    lead->poll = first_poll;
    if (rank == 0) {
        if (!sweep_rank_start(&lead->own, cell))
            take_result(lead, 0, false);
        return true;
    }
    lead->sweep->cells[cell].state = SWEEP_RUNNING;
    lead->sweep->cells[cell].iteration = 0;
    return post(lead, rank, SWEEP_MESSAGE_CELL, cell);
}

/* Gives cells to the ranks that are free. */
static bool give_cells(struct lead *lead)
{
    bool good = true;
    for (size_t r = 0, cell; good && r < lead->ranks && !stop_signal_came(); r++)
        while (good && !lead->workers[r].busy && !lead->workers[r].gone &&
               find_cell(lead, &lead->workers[r], &cell))
            good = give(lead, r, cell);
    return good;
}

/* After a signal, tells all ranks to save their cells and stop, once. */
static bool stop_cells(struct lead *lead)
{
    bool good = true;
    for (size_t r = 0; good && r < lead->ranks && stop_signal_came(); r++) {
        struct worker *worker = &lead->workers[r];
        if (!worker->busy || worker->told)
            continue;
        worker->told = true;
        if (r == 0)
            sweep_process_stop(&lead->own.process);
        else
            good = post(lead, r, SWEEP_MESSAGE_STOP, 0);
    }
    return good;
}

/* --- the loop --- */

/* Returns whether the process of a lost rank may still compute its cell. */
static bool awaits_orphan(const struct lead *lead)
{
    if (stop_signal_came() || now_seconds() - lead->lost > orphan_patience)
        return false;
    for (size_t i = 0; i < lead->sweep->count; i++)
        if ((lead->flags[i] & CELL_ORPHAN) && lead->sweep->cells[i].state == SWEEP_RUNNING)
            return true;
    return false;
}

/* Shows the cells that run. Returns how many they are. */
static size_t show(struct lead *lead)
{
    size_t count = 0;
    for (size_t r = 0; r < lead->ranks; r++)
        if (lead->workers[r].busy)
            lead->running[count++] = lead->workers[r].cell;
    if (count > 0)
        sweep_progress_show(&lead->progress, lead->running, count, lead->ranks);
    return count;
}

/* Returns false with lead->error if it cannot go on. */
static bool compute(struct lead *lead)
{
    while (true) {
        watch_others(lead);
        if (signals_take_save()) /* it comes to the other ranks, too */
            sweep_process_save(&lead->own.process);
        if (!give_cells(lead) || !stop_cells(lead))
            return false;
        if (show(lead) == 0 && !awaits_orphan(lead))
            return true;
        take_messages(lead);
        if (sweep_process_has_ended(&lead->own.process, lead->sweep))
            take_result(lead, 0, lead->workers[0].told);
        if (lead->cluster) {
            notice_losses(lead);
            if (!cluster_check(lead->cluster, &lead->error))
                return false;
        }
    }
}

/* Stops the process of this rank after a failure, and waits for it. */
static void stop_own(struct lead *lead)
{
    sweep_process_stop(&lead->own.process);
    while (lead->own.process.id) {
        sweep_process_has_ended(&lead->own.process, lead->sweep);
        clock_sleep(0.02);
    }
}

/* --- beginning --- */

/* Numbers the hosts of the ranks. */
static void number_hosts(struct lead *lead)
{
    for (size_t r = 0; r < lead->ranks; r++) {
        size_t same = 0;
        while (lead->cluster && same < r &&
               strcmp(cluster_host(lead->cluster, r), cluster_host(lead->cluster, same)) != 0)
            same++;
        lead->workers[r].host = same < r ? lead->workers[same].host : lead->hosts++;
    }
}

static bool lead_begin(struct lead *lead, struct error *error)
{
    const size_t cells = lead->sweep->count;
    lead->workers = memory_new(lead->ranks, sizeof *lead->workers, "the ranks", error);
    lead->running = memory_new(lead->ranks, sizeof *lead->running, "the ranks", error);
    lead->flags = memory_new(cells, sizeof *lead->flags, "the ranks", error);
    lead->order = sweep_order_make(lead->sweep, lead->estimate, error);
    if (!lead->workers || !lead->running || !lead->flags || !lead->order)
        return false;
    number_hosts(lead);
    lead->refused = memory_new(cells * lead->hosts, sizeof *lead->refused, "the ranks", error);
    return lead->refused;
}

static void lead_free(struct lead *lead)
{
    free(lead->workers);
    free(lead->running);
    free(lead->flags);
    free(lead->order);
    free(lead->refused);
}

/* Tells the others which sweep to compute, and checks that they see its folder. */
static bool call_ranks(struct sweep_over *over, const struct sweep *sweep, bool quiet,
                       struct error *error)
{
    size_t unlocked;
    struct sweep_call call = {.called = true, .mark = sweep_mark(sweep)};
    const struct sweep_answer answer = {.ready = true, .locked = true};
    const int descriptor = sweep_token_write(sweep, &call.token, error);
    if (descriptor < 0)
        return false;
    over->called = true;
    const bool agreed = cluster_broadcast(over->cluster, &call, sizeof call)
                            ? sweep_over_agree(over->cluster, &answer, &unlocked, error)
                            : cluster_check(over->cluster, error);
    sweep_token_remove(sweep, &call.token, descriptor);
    if (agreed && unlocked > 0 && !quiet)
        output_note(_("Rank %zu on %s does not see the locks of rank 0 in %s: start no second "
                      "sweep there at the same time, it could compute cells twice.\n"),
                    unlocked, cluster_host(over->cluster, unlocked), sweep->directory);
    if (agreed)
        cluster_tolerate_losses(over->cluster);
    return agreed;
}

int sweep_over_run(struct sweep_over *over, struct sweep *sweep, struct sweep_estimate *estimate,
                   const struct sweep_request *request)
{
    struct lead lead = {.cluster = over->cluster,
                        .sweep = sweep,
                        .estimate = estimate,
                        .progress = sweep_progress_begin(sweep, estimate, request->quiet),
                        .own = {.sweep = sweep, .share = request->jobs},
                        .ranks = cluster_ranks(over->cluster),
                        .poll = first_poll};
    stop_signal_catch_for_runs();
    bool good = lead_begin(&lead, &lead.error) &&
                (!over->cluster || call_ranks(over, sweep, request->quiet, &lead.error));
    if (good) {
        good = compute(&lead);
        sweep_progress_clear(&lead.progress);
        if (!good)
            stop_own(&lead);
        for (size_t r = 1; good && r < lead.ranks; r++)
            good = post(&lead, r, SWEEP_MESSAGE_QUIT, 0);
    }
    lead_free(&lead);
    return !good ? output_error(&lead.error) : stop_signal_came() ? EXIT_INTERRUPTED : EXIT_DONE;
}
