/* The state of the screen Sweep. After each change of the set-up the plan is made again and its
 * cells get their forecasts one by one, between frames. */
#include "ui/screens/sweep/internal.h"

#include <stdlib.h>

static void free_names(struct sweep_model *model)
{
    for (size_t i = 0; i < model->name_count; i++)
        free(model->names[i]);
    free(model->names);
    model->names = NULL;
    model->name_count = 0;
}

void sweep_model_free(struct sweep_model *model)
{
    sweep_free(&model->plan);
    sweep_set_cancel_edit(&model->set);
    free_names(model);
    *model = (struct sweep_model){0};
}

/* --- setting up --- */

void sweep_model_begin(struct sweep_model *model, const struct run_config *config, bool afresh)
{
    if (model->begun && !afresh)
        return;
    sweep_set_begin(&model->set, config);
    model->begun = true;
}

static void make_plan(struct sweep_model *model)
{
    struct sweep_grid grid;
    model->set.changed = false;
    model->planned = 0;
    model->problem = (struct error){0};
    if (!sweep_set_grid(&model->set, &grid, &model->problem))
        return;
    sweep_free(&model->plan); /* the plan before the change */
    if (sweep_create(&model->plan, &grid, &model->problem))
        sweep_find(&model->plan, NULL);
    sweep_grid_free(&grid);
}

/* --- work --- */

static bool plan_one(struct sweep_model *model)
{
    if (model->set.changed)
        make_plan(model);
    else if (model->planned < model->plan.count) {
        sweep_refresh(&model->plan, model->planned);
        sweep_forecast(&model->plan, model->planned++, 1);
    }
    return model->planned < model->plan.count;
}

bool sweep_model_work(struct sweep_model *model, struct sweep_job *job)
{
    if (sweep_job_add_saved_times(job))
        return true;
    if (model->kind == SWEEP_SET_UP)
        return plan_one(model) || model->set.changed;
    return sweep_job_read(job);
}

/* --- beginning --- */

static void show_cells(struct sweep_model *model)
{
    model->selected = model->top = model->left = 0;
    model->measure = SWEEP_MS_PER_IMAGE;
    model->kind = SWEEP_CELLS;
}

bool sweep_model_start(struct sweep_model *model, struct sweep_job *job, struct error *error)
{
    struct sweep_grid grid;
    if (!sweep_set_grid(&model->set, &grid, error))
        return false;
    const bool started = sweep_job_start(job, &grid, error);
    sweep_grid_free(&grid);
    if (started)
        show_cells(model);
    return started;
}

bool sweep_model_open(struct sweep_model *model, struct sweep_job *job, const char *name,
                      struct error *error)
{
    if (!sweep_job_open(job, name, error))
        return false;
    show_cells(model);
    return true;
}

bool sweep_model_list(struct sweep_model *model, struct error *error)
{
    free_names(model);
    bool listed = sweep_list(&model->names, &model->name_count, error);
    if (model->name_selected >= model->name_count)
        model->name_selected = 0;
    return listed;
}
