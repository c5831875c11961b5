/* The job reads the table, or applies techniques, in a thread. Cancelling it ends the technique
 * that is on; what was made stays. */
#include "ui/screens/advisor/internal.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the job --- */

static bool has_to_stop(void *context)
{
    struct advisor_other_job *work = context;
    struct error error;
    return !background_job_progress(work->self, work->steps, 0, &error);
}

static void count_step(void *context, const char *line)
{
    struct advisor_other_job *work = context;
    (void)line;
    work->steps++;
    has_to_stop(context); /* shows the number */
}

static bool work(void *subject, struct background_job *job, struct error *error)
{
    struct advisor_other_job *work = subject;
    const struct model_table_request models = {.device = work->device};
    work->self = job;
    if (work->minutes <= 0)
        return model_table_read(&work->table, &models, error);
    struct means_apply apply = {.models = &models,
                                .request = work->request,
                                .settings = {.epochs = work->epochs, .seed = 1},
                                .seconds = work->minutes * 60,
                                .stop = has_to_stop,
                                .report = count_step,
                                .context = work};
    apply.request.network = work->network;
    return means_apply(&apply, &work->table, &work->advice, error);
}

static void start(struct advisor_other *other)
{
    other->steps = 0;
    other->error = (struct error){0};
    other->job = background_job_start(work, &other->next, &other->error);
}

void advisor_other_read(struct advisor_other *other, const char *device)
{
    if (other->job)
        return;
    other->next = (struct advisor_other_job){0};
    snprintf(other->next.device, sizeof other->next.device, "%s", device);
    start(other);
}

void advisor_other_apply(struct advisor_other *other, const struct means_request *request,
                         const char *device, double minutes, size_t epochs)
{
    if (other->job)
        return;
    other->next =
        (struct advisor_other_job){.request = *request, .minutes = minutes, .epochs = epochs};
    snprintf(other->next.network, sizeof other->next.network, "%s", request->network);
    snprintf(other->next.device, sizeof other->next.device, "%s", device);
    start(other);
}

bool advisor_other_is_applying(const struct advisor_other *other)
{
    return other->job && other->next.minutes > 0;
}

bool advisor_other_take(struct advisor_other *other)
{
    uint64_t of;
    if (!other->job || !background_job_poll(other->job, &other->steps, &of))
        return false;
    background_job_finish(other->job, &other->error);
    other->job = NULL;
    free(other->advice);
    other->advice = NULL;
    other->count = 0;
    model_table_free(&other->table);
    other->table = other->next.table;
    other->next.table = (struct model_table){0};
    other->made = other->table.count > 0 || other->error.kind == ERROR_NONE;
    return true;
}

/* --- the advice --- */

static bool add(struct advisor_other *other, const struct means_request *request)
{
    size_t capacity = other->count;
    struct error error;
    if (!memory_grow(&other->advice, &capacity, other->count + 1, sizeof *other->advice,
                     "the advice", &other->error))
        return false;
    if (means_advise(&other->table, request, &other->advice[other->count], &error))
        other->count++;
    else if (request->network && other->count == 0)
        other->error = error;
    return true;
}

/* Returns whether no earlier row is of the same network. */
static bool is_first(const struct model_table *table, size_t row)
{
    for (size_t i = 0; i < row; i++)
        if (strcmp(table->rows[i].base, table->rows[row].base) == 0)
            return false;
    return true;
}

void advisor_other_advise(struct advisor_other *other, const struct means_request *request)
{
    free(other->advice);
    other->advice = NULL;
    other->count = 0;
    if (!other->made)
        return;
    if (request->network) {
        other->error = (struct error){0};
        add(other, request);
        return;
    }
    for (size_t i = 0; i < other->table.count; i++) {
        struct means_request one = *request;
        one.network = other->table.rows[i].base;
        if (is_first(&other->table, i) && !add(other, &one))
            return;
    }
    if (other->count > 0)
        other->error = (struct error){0};
}

void advisor_other_free(struct advisor_other *other)
{
    if (other->job) {
        background_job_cancel(other->job);
        background_job_finish(other->job, NULL);
    }
    model_table_free(&other->next.table);
    model_table_free(&other->table);
    free(other->advice);
    *other = (struct advisor_other){0};
}
