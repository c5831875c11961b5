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

static void move(struct app *app, const struct run_entry *entry, int how)
{
    if (entry && entry->run)
        plot_move_cursor(&run_model(app)->window, how);
}

const struct view view_curves = {
    .name = N_("Curves"), .draw = draw, .moves = VIEW_TURNS | VIEW_ENDS | VIEW_PAGES, .move = move};
