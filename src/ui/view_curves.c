#include "ui/app.h"

#include "base/language.h"
#include "ui/run_plot.h"

static void draw(struct app *app, struct run_entry *entry, const struct run_layout *layout,
                 const struct run_news *news)
{
    (void)news;
    run_plot_draw(app, entry, layout->view, layout->rate);
}

const struct view view_curves = {.name = N_("Curves"), .draw = draw};
