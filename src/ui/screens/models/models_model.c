/* The job reads the table in a thread of its own, since it may have to read every model file once,
 * and measures model by model. A job that is cancelled leaves the table that it has read. */
#include "ui/screens/models/internal.h"

#include "runs/settings/config.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the job --- */

struct measuring {
    struct background_job *job;
    size_t done, of;
};

static bool report(void *context, uint64_t done, uint64_t of, struct error *error)
{
    const struct measuring *measuring = context;
    (void)done;
    (void)of;
    return background_job_progress(measuring->job, measuring->done, measuring->of, error);
}

static bool is_due(const struct model_table *table, size_t row)
{
    return table->rows[row].data[0] && !model_table_is_measured(table, row);
}

static void measure(struct models_job *made, struct background_job *job)
{
    struct measuring measuring = {.job = job};
    struct error error;
    bool stopped = false;
    for (size_t i = 0; i < made->table.count; i++)
        measuring.of += is_due(&made->table, i);
    for (size_t i = 0; i < made->table.count && !stopped; i++) {
        if (!is_due(&made->table, i))
            continue;
        stopped = !background_job_progress(job, measuring.done, measuring.of, &error);
        if (!stopped && !model_table_measure(&made->table, i, 0, report, &measuring, &error)) {
            stopped = error.kind == ERROR_INTERRUPTED;
            made->failed += !stopped;
        } else if (!stopped) {
            measuring.done++;
            continue;
        }
        if (made->failure.kind == ERROR_NONE)
            made->failure = error;
    }
    model_table_complete(&made->table);
}

static bool work(void *subject, struct background_job *job, struct error *error)
{
    struct models_job *made = subject;
    const struct model_table_request request = {.device = made->device};
    if (!model_table_read(&made->table, &request, error))
        return false;
    model_table_read_layers(&made->table);
    if (made->measures)
        measure(made, job);
    return true;
}

void models_model_start(struct models_model *model, bool measures)
{
    if (!model->device[0]) {
        snprintf(model->device, sizeof model->device, "cpu");
        model->sort = SIZE_MAX;
    }
    model->done = model->of = 0;
    model->error = (struct error){0};
    model->next = (struct models_job){.measures = measures};
    snprintf(model->next.device, sizeof model->next.device, "%s", model->device);
    model->job = background_job_start(work, &model->next, &model->error);
}

/* --- the table --- */

static bool has_order(const struct models_model *model)
{
    size_t orders = 0;
    while (model_sort_names[orders])
        orders++;
    return model->sort < orders;
}

/* Selects the row of the model file that was selected before. */
static void select_path(struct models_model *model, const char *path)
{
    model->selected = 0;
    for (size_t i = 0; i < model->table.count; i++)
        if (strcmp(model->table.rows[i].path, path) == 0)
            model->selected = i;
}

bool models_model_take(struct models_model *model)
{
    char path[sizeof model->table.rows->path] = "";
    if (!model->job || !background_job_poll(model->job, &model->done, &model->of))
        return false;
    const bool made = background_job_finish(model->job, &model->error);
    model->job = NULL;
    if (!made) {
        model_table_free(&model->next.table);
        return true;
    }
    if (model->selected < model->table.count)
        snprintf(path, sizeof path, "%s", model->table.rows[model->selected].path);
    model_table_free(&model->table);
    model->table = model->next.table;
    model->next.table = (struct model_table){0};
    model->made = true;
    model->failed = model->next.failed;
    model->error = model->next.failure;
    if (has_order(model))
        model_table_sort(&model->table, model->sort);
    select_path(model, path);
    return true;
}

void models_model_free(struct models_model *model)
{
    if (model->job) {
        background_job_cancel(model->job);
        background_job_finish(model->job, NULL);
    }
    model_table_free(&model->next.table);
    model_table_free(&model->table);
    plot_free(&model->plot);
    *model = (struct models_model){0};
}

void models_model_next_device(struct models_model *model)
{
    size_t at = 0;
    const char *name;
    for (size_t i = 0; (name = config_suggestion(KEY(device), i)); i++)
        if (strcmp(name, model->device) == 0)
            at = i + 1;
    name = config_suggestion(KEY(device), at);
    snprintf(model->device, sizeof model->device, "%s",
             name ? name : config_suggestion(KEY(device), 0));
}

void models_model_next_order(struct models_model *model)
{
    char path[sizeof model->table.rows->path] = "";
    model->sort = has_order(model) && model_sort_names[model->sort + 1] ? model->sort + 1 : 0;
    if (model->selected < model->table.count)
        snprintf(path, sizeof path, "%s", model->table.rows[model->selected].path);
    model_table_sort(&model->table, model->sort);
    select_path(model, path);
}

size_t models_model_unmeasured(const struct models_model *model)
{
    size_t count = 0;
    for (size_t i = 0; i < model->table.count; i++)
        count += is_due(&model->table, i);
    return count;
}

/* --- the plot --- */

double models_model_cost(const struct models_model *model, size_t row)
{
    const struct model_row *of = &model->table.rows[row];
    switch (model->cost) {
    case MODELS_MS:
        return of->timed ? of->now.ms : (double)NAN;
    case MODELS_BYTES:
        return (double)of->figures.facts.bytes;
    default:
        return (double)of->figures.facts.flops;
    }
}

bool models_model_is_point(const struct models_model *model, size_t row)
{
    const struct model_row *of = &model->table.rows[row];
    const struct model_row *selected = &model->table.rows[model->selected];
    return strcmp(of->data_key, selected->data_key) == 0 && isfinite(of->now.top1) &&
           isfinite(models_model_cost(model, row));
}

bool models_model_is_on_front(const struct models_model *model, size_t row)
{
    static const unsigned fronts[MODELS_COSTS] = {[MODELS_MS] = MODEL_FRONT_MS,
                                                  [MODELS_BYTES] = MODEL_FRONT_BYTES,
                                                  [MODELS_FLOPS] = MODEL_FRONT_FLOPS};
    return model->table.rows[row].front & fronts[model->cost];
}

static struct axis axis_of(double low, double high, bool log)
{
    if (low == high) { /* equal values stand in the middle of a readable range */
        const double margin = low == 0 ? 1 : fabs(low) / 20;
        low -= margin;
        high += margin;
    }
    return axis_for_range(low, high, log && low > 0);
}

bool models_model_axes(const struct models_model *model, struct axis *cost, struct axis *top1)
{
    double low[2] = {DBL_MAX, DBL_MAX}, high[2] = {-DBL_MAX, -DBL_MAX};
    bool any = false;
    for (size_t i = 0; i < model->table.count; i++) {
        if (!models_model_is_point(model, i))
            continue;
        const double at[2] = {models_model_cost(model, i), model->table.rows[i].now.top1};
        for (size_t k = 0; k < 2; k++) {
            low[k] = fmin(low[k], at[k]);
            high[k] = fmax(high[k], at[k]);
        }
        any = true;
    }
    if (!any)
        return false;
    *cost = axis_of(low[0], high[0], model->log);
    *top1 = axis_of(low[1], high[1], false);
    return true;
}

const struct model_layers *models_model_layers(const struct models_model *model)
{
    return &model->table.rows[model->selected].layers;
}

char models_model_mark(size_t row)
{
    return row < 26 ? (char)('a' + (int)row) : row < 52 ? (char)('A' + (int)row - 26) : '#';
}
