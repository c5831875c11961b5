/* The job reads the table in a thread of its own, since it may have to read every model file once,
 * and measures model by model. A job that is cancelled leaves the table that it has read. */
#include "ui/screens/models/internal.h"

#include "base/memory.h"
#include "runs/settings/config.h"

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
    free(model->points);
    free(model->front);
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

static double cost_of(const struct models_model *model, const struct model_row *row)
{
    static const enum figure costs[MODELS_COSTS] = {
        [MODELS_MS] = FIGURE_TIME, [MODELS_BYTES] = FIGURE_SIZE, [MODELS_FLOPS] = FIGURE_FLOPS};
    const struct run_figures figures = model_row_figures(row);
    return figure_of(&figures, costs[model->cost]);
}

/* Inserts a row into the front, which is in the order of costs. */
static void add_to_front(struct models_model *model, size_t row)
{
    const struct model_row *rows = model->table.rows;
    size_t place = model->front_count++;
    for (; place > 0 && cost_of(model, &rows[model->front[place - 1]]) > cost_of(model, &rows[row]);
         place--)
        model->front[place] = model->front[place - 1];
    model->front[place] = row;
}

bool models_model_points(struct models_model *model, struct error *error)
{
    static const unsigned fronts[MODELS_COSTS] = {[MODELS_MS] = MODEL_FRONT_MS,
                                                  [MODELS_BYTES] = MODEL_FRONT_BYTES,
                                                  [MODELS_FLOPS] = MODEL_FRONT_FLOPS};
    const struct model_table *table = &model->table;
    model->point_count = model->front_count = 0;
    if (!memory_grow(&model->points, &model->point_capacity, table->count, sizeof *model->points,
                     "the scatter plot", error) ||
        !memory_grow(&model->front, &model->front_capacity, table->count, sizeof *model->front,
                     "the scatter plot", error))
        return false;
    for (size_t i = 0; i < table->count; i++) {
        const struct model_row *row = &table->rows[i];
        const struct scatter_point point = {{cost_of(model, row), row->now.top1}, i};
        if (strcmp(row->data_key, table->rows[model->selected].data_key) != 0 ||
            !isfinite(point.at[SCATTER_X]) || !isfinite(point.at[SCATTER_Y]))
            continue;
        model->points[model->point_count++] = point;
        if (row->front & fronts[model->cost])
            add_to_front(model, i);
    }
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
