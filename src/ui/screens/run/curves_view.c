#include "ui/app/app.h"
#include "ui/screens/run/internal.h"

#include "base/language.h"
#include "ui/app/plot_actions.h"

static void draw(struct app *app, struct run_entry *entry, const struct run_layout *layout,
                 const struct run_display *display)
{
    (void)display;
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
    else if (action == ACTION_NEXT_MARK)
        run_plot_to_mark(app);
    else if (action == ACTION_TRACES)
        trace_list_open(&run_model(app)->choice, run_series(entry->run),
                        run_model(app)->curves.view.traces);
    else
        return plot_move_cursor(&run_model(app)->window, action);
    return true;
}

const struct view view_curves = {
    .name = N_("Curves"), .draw = draw, .moves = VIEW_TURNS | VIEW_ENDS | VIEW_PAGES, .act = act};
