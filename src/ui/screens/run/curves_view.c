#include "ui/app/app.h"

#include "base/language.h"
#include "ui/screens/run/run_plot.h"

static void draw(struct app *app, struct run_entry *entry, const struct run_layout *layout,
                 const struct run_news *news)
{
    (void)news;
    run_plot_draw(app, entry, layout);
}

static bool act(struct app *app, enum action action)
{
    const struct run_entry *entry = app_entry(app);
    if (!entry || !entry->run)
        return false;
    if (action == ACTION_BEST)
        run_plot_to_best(app, entry);
    else if (action == ACTION_FINDING)
        run_plot_to_finding(app, entry);
    else if (action == ACTION_TRACES)
        trace_list_open(&app->run.choice, run_series(entry->run), app->run.curves.view.traces);
    else
        return plot_move_cursor(&app->run.window, action);
    return true;
}

const struct view view_curves = {.name = N_("Curves"), .draw = draw, .act = act};
