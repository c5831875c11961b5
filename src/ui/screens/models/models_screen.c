/* The screen Models: all models of the user in one table, with what each technique gained, and the
 * Pareto front of accuracy against time, bytes or FLOPs. What is missing is measured in the
 * background, once (studies/models). */
#include "ui/app/app.h"
#include "ui/app/run_actions.h"
#include "ui/app/run_loading.h"
#include "ui/screens/models/internal.h"
#include "ui/widgets/listing.h"

#include "base/files/file.h"
#include "base/language.h"

#include <math.h>
#include <string.h>

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
    if (!runs_show(app, model->table.rows[model->selected].shown))
        app_say(app, ROLE_WARNING, "%s", _("The run of this model is not in the list."));
}

static void move(struct app *app, int how)
{
    struct models_model *model = models_model(app);
    const size_t page = model->page > 1 ? (size_t)model->page - 1 : 1;
    if (model->view == MODELS_LAYERS) {
        const long last = (long)models_model_layers(model)->count - model->page;
        model->layer = list_move(model->layer, how, page, last > 0 ? (size_t)last + 1 : 1);
    } else
        model->selected = list_move(model->selected, how, page, model->table.count);
}

static void next_view(struct app *app)
{
    struct models_model *model = models_model(app);
    model->view = (model->view + 1) % MODELS_VIEWS;
    model->layer = 0;
}

static void measure(struct app *app)
{
    models_model_start(models_model(app), true);
}

static void next_order(struct app *app)
{
    models_model_next_order(models_model(app));
    app_say(app, ROLE_STRONG, _("In the order of: %s"), model_sort_names[models_model(app)->sort]);
}

static void next_cost(struct app *app)
{
    models_model(app)->cost = (models_model(app)->cost + 1) % MODELS_COSTS;
}

static void toggle_log(struct app *app)
{
    models_model(app)->log = !models_model(app)->log;
}

static void update(struct app *app)
{
    models_model_start(models_model(app), false);
}

static void next_device(struct app *app)
{
    models_model_next_device(models_model(app));
    update(app);
}

static void open_run(struct app *app)
{
    loading_list_runs_then(app, show_now);
}

static void stop(struct app *app)
{
    background_job_cancel(models_model(app)->job);
}

/* --- what can be done --- */

static const char *refuses_stop(const struct app *app)
{
    return models_model(app)->job ? NULL : _("Nothing is being measured.");
}

static const char *refuses_update(const struct app *app)
{
    return models_model(app)->job ? _("The models are being read or measured; s stops it.") : NULL;
}

/* Returns why there is no model that a key could be about, or NULL. */
static const char *refuses_rows(const struct models_model *model)
{
    return model->made && model->table.count > 0 ? NULL : _("There are no models yet.");
}

static const char *refuses_measure(const struct app *app)
{
    const struct models_model *model = models_model(app);
    const char *why = refuses_update(app) ? refuses_update(app) : refuses_rows(model);
    return why || models_model_unmeasured(model) > 0 ? why : _("All models are measured.");
}

static const char *refuses_order(const struct app *app)
{
    const char *why = refuses_rows(models_model(app));
    return why || models_model(app)->table.count > 1 ? why : _("There is no other model.");
}

static const char *refuses_plot(const struct app *app)
{
    const char *why = refuses_rows(models_model(app));
    return why || models_model(app)->view == MODELS_SCATTER
               ? why
               : _("This key concerns the plot: v goes there.");
}

static const char *refuses_open(const struct app *app)
{
    const struct models_model *model = models_model(app);
    const char *why = refuses_rows(model);
    return why || model->table.rows[model->selected].of_run ? why
                                                            : _("This model is a file, of no run.");
}

static const char *refuses_move(const struct app *app, int how)
{
    const struct models_model *model = models_model(app);
    const bool back = how == MOVE_UP || how == MOVE_PAGE_UP || how == MOVE_FIRST;
    if (refuses_rows(model))
        return refuses_rows(model);
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

static const struct action actions[] = {
    {"v Tab", "view", N_("view"),
     N_("the table, the Pareto front, or the layers of a quantized model"), .run = next_view},
    {"M", "measure", N_("measure"),
     N_("measure the models that are not measured yet; it is done once"), .run = measure,
     .refused = refuses_measure},
    {"o", "order", N_("order"), N_("sort by the next figure, the best first"), .run = next_order,
     .refused = refuses_order},
    {"x", "cost", NULL, N_("the next cost of the plot: time, bytes, FLOPs"), .run = next_cost,
     .refused = refuses_plot},
    {"L", "scale", NULL, N_("a logarithmic or linear scale of the cost"), .run = toggle_log,
     .refused = refuses_plot},
    {"d", "device", N_("device"), N_("the figures of the next device"), .run = next_device,
     .refused = refuses_update},
    {"Enter", "show-run", N_("show run"), N_("show the run of the model"), .run = open_run,
     .refused = refuses_open},
    {"u", "update", NULL, N_("read the models again"), .run = update, .refused = refuses_update},
    {"s", "stop", NULL, N_("stop the measurement"), .run = stop, .refused = refuses_stop},
#define ACTIONS_LINES move, refuses_move
#define ACTIONS_PAGES move, refuses_move
#define ACTIONS_ENDS  move, refuses_move
#include "ui/app/actions.inc"
};

const struct screen models_screen = {
    .name = N_("Models"),
    .letter = 'g',
    .purpose = N_("all models: accuracy, size, time, and gains"),
    .actions = {ACTIONS(N_("The models"), actions)},
    .state_size = sizeof(struct models_model),
    .open = open,
    .close = close,
    .draw = models_draw,
    .work = work,
    .busy = busy,
};
