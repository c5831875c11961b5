/* The screen Models: all models of the user in one table, with what each technique gained, and the
 * Pareto front of accuracy against time, bytes or FLOPs. What is missing is measured in the
 * background, once (studies/models). */
#include "ui/app/app.h"
#include "ui/app/run_loading.h"
#include "ui/screens/models/internal.h"

#include "base/files/file.h"
#include "base/language.h"

#include <math.h>
#include <string.h>

static const struct key_binding bindings[] = {
    {'v', UI_TAB, ACTION_VIEW, "v Tab", N_("view"),
     N_("the table, the Pareto front, or the layers of a quantized model")},
    {'M', 0, ACTION_RUN, "M", N_("measure"),
     N_("measure the models that are not measured yet; it is done once")},
    {'o', 0, ACTION_SORT, "o", N_("order"), N_("sort by the next figure, the best first")},
    {'x', 0, ACTION_X, "x", NULL, N_("the next cost of the plot: time, bytes, FLOPs")},
    {'L', 0, ACTION_SCALE, "L", NULL, N_("a logarithmic or linear scale of the cost")},
    {'d', 0, ACTION_DATA, "d", N_("device"), N_("the figures of the next device")},
    {UI_ENTER, 0, ACTION_OPEN, "Enter", N_("show run"), N_("show the run of the model")},
    {'u', 0, ACTION_UPDATE, "u", NULL, N_("read the models again")},
    {'s', 0, ACTION_STOP, "s", NULL, N_("stop the measurement")},
    {UI_UP, 0, ACTION_UP, N_("Up"), NULL, N_("the line above")},
    {UI_DOWN, 0, ACTION_DOWN, N_("Down"), NULL, N_("the line below")},
    {UI_PAGE_UP, 0, ACTION_PAGE_UP, N_("PgUp"), NULL, NULL},
    {UI_PAGE_DOWN, 0, ACTION_PAGE_DOWN, N_("PgDn"), NULL, NULL},
    {UI_HOME, 0, ACTION_FIRST, N_("Home"), NULL, NULL},
    {UI_END, 0, ACTION_LAST, N_("End"), NULL, NULL},
};
static const struct key_table table = {N_("The models"), bindings,
                                       sizeof bindings / sizeof *bindings};

static const double POLL_SECONDS = 0.1;

static void open(struct app *app)
{
    if (!models_model(app)->job)
        models_model_start(models_model(app), false);
}

static void close(struct app *app)
{
    models_model_free(models_model(app));
}

static bool work(struct app *app)
{
    struct models_model *model = models_model(app);
    if (!models_model_take(model))
        return false;
    if (model->failed > 0)
        app_say_error(app, &model->error);
    return true;
}

static double busy(const struct app *app)
{
    return models_model(app)->job ? POLL_SECONDS : INFINITY;
}

/* --- keys --- */

/* Shows the run of the selected model. */
static void show_now(struct app *app)
{
    const struct models_model *model = models_model(app);
    const char *id = model->table.rows[model->selected].shown;
    for (size_t i = 0; i < app_run_count(app); i++) {
        const struct run_entry *entry = app_run_at(app, i);
        const char *name = run_entry_is_saved(entry) ? file_base_name(entry->directory)
                           : entry->run              ? run_facts(entry->run)->id
                                                     : "";
        if (strcmp(name, id) == 0) {
            app_show_run(app, i);
            return;
        }
    }
    app_say(app, ROLE_WARNING, "%s", _("The run of this model is not in the list."));
}

static void move_rows(struct models_model *model, long steps)
{
    const long to = (long)model->selected + steps, last = (long)model->table.count - 1;
    model->selected = (size_t)(to < 0 || last < 0 ? 0 : to > last ? last : to);
}

static void move_layers(struct models_model *model, long steps)
{
    const size_t count = models_model_layers(model)->count;
    const long to = (long)model->layer + steps, last = (long)count - model->page;
    model->layer = (size_t)(to > last ? last < 0 ? 0 : last : to < 0 ? 0 : to);
}

static void act_move(struct models_model *model, enum action action)
{
    const bool layers = model->view == MODELS_LAYERS;
    void (*const move)(struct models_model *, long) = layers ? move_layers : move_rows;
    const long page = model->page > 1 ? model->page - 1 : 1;
    switch (action) {
    case ACTION_UP:
        move(model, -1);
        break;
    case ACTION_DOWN:
        move(model, 1);
        break;
    case ACTION_PAGE_UP:
        move(model, -page);
        break;
    case ACTION_PAGE_DOWN:
        move(model, page);
        break;
    default:
        move(model, action == ACTION_FIRST ? -1000000 : 1000000);
    }
}

static void act(struct app *app, enum action action)
{
    struct models_model *model = models_model(app);
    switch (action) {
    case ACTION_VIEW:
        model->view = (model->view + 1) % MODELS_VIEWS;
        model->layer = 0;
        break;
    case ACTION_RUN:
        models_model_start(model, true);
        break;
    case ACTION_SORT:
        models_model_next_order(model);
        app_say(app, ROLE_STRONG, _("In the order of: %s"), model_sort_names[model->sort]);
        break;
    case ACTION_X:
        model->cost = (model->cost + 1) % MODELS_COSTS;
        break;
    case ACTION_SCALE:
        model->log = !model->log;
        break;
    case ACTION_DATA:
        models_model_next_device(model);
        models_model_start(model, false);
        break;
    case ACTION_OPEN:
        loading_list_runs_then(app, show_now);
        break;
    case ACTION_UPDATE:
        models_model_start(model, false);
        break;
    case ACTION_STOP:
        background_job_cancel(model->job);
        break;
    default:
        act_move(model, action);
    }
}

/* --- what can be done --- */

static const char *refuses_to_move(const struct models_model *model, enum action action)
{
    const bool back = action == ACTION_UP || action == ACTION_PAGE_UP || action == ACTION_FIRST;
    if (model->view == MODELS_LAYERS) {
        const size_t count = models_model_layers(model)->count;
        const bool more = model->layer + (size_t)model->page < count;
        return back   ? model->layer > 0 ? NULL : _("The first layer is shown.")
                 : more ? NULL
                      : _("The last layer is shown.");
    }
    if (back)
        return model->selected > 0 ? NULL : _("This is the first model.");
    return model->selected + 1 < model->table.count ? NULL : _("This is the last model.");
}

static const char *refuses(const struct app *app, enum action action)
{
    const struct models_model *model = models_model(app);
    if (action == ACTION_VIEW)
        return NULL;
    if (action == ACTION_STOP)
        return model->job ? NULL : _("Nothing is being measured.");
    if (model->job && (action == ACTION_UPDATE || action == ACTION_RUN || action == ACTION_DATA))
        return _("The models are being read or measured; s stops it.");
    if (action == ACTION_UPDATE || action == ACTION_DATA)
        return NULL;
    if (!model->made || model->table.count == 0)
        return _("There are no models yet.");
    switch (action) {
    case ACTION_RUN:
        return models_model_unmeasured(model) > 0 ? NULL : _("All models are measured.");
    case ACTION_OPEN:
        return model->table.rows[model->selected].of_run ? NULL
                                                         : _("This model is a file, of no run.");
    case ACTION_X:
    case ACTION_SCALE:
        return model->view == MODELS_SCATTER ? NULL
                                             : _("This key concerns the plot: v goes there.");
    case ACTION_SORT:
        return model->table.count > 1 ? NULL : _("There is no other model.");
    default:
        return refuses_to_move(model, action);
    }
}

const struct screen models_screen = {
    .name = N_("Models"),
    .letter = 'g',
    .purpose = N_("all models: accuracy, size, time, and gains"),
    .keys = &table,
    .state_size = sizeof(struct models_model),
    .open = open,
    .close = close,
    .refuses = refuses,
    .act = act,
    .draw = models_draw,
    .work = work,
    .busy = busy,
};
