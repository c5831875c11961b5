/* The view Sample: the newest pictures of a network that generates images. */
#include "ui/app/app.h"
#include "ui/screens/run/internal.h"

#include "base/language.h"
#include "models/saved/samples.h"

/* Returns how many examples the run's samples show; 0: it makes no pictures, or it is not known
 * yet.
 */
static size_t examples_of(const struct run_entry *entry)
{
    if (!entry->run || entry->snapshot.status == RUN_PREPARING)
        return 0;
    return sample_examples(run_facts(entry->run));
}

static bool available(const struct run_entry *entry)
{
    return examples_of(entry) > 0;
}

static void draw(struct app *app, struct run_entry *entry, const struct run_layout *layout,
                 const struct run_display *display)
{
    (void)display;
    sample_model_draw(&run_model(app)->sample, &app->canvas, layout->view,
                      run_facts(entry->run)->directory, examples_of(entry));
}

static void move(struct app *app, const struct run_entry *entry, int how)
{
    (void)entry;
    sample_model_move(&run_model(app)->sample, (int)move_steps(how, 0, 0));
}

const struct view view_sample = {.name = N_("Sample"),
                                 .covers_figures = true,
                                 .available = available,
                                 .draw = draw,
                                 .moves = VIEW_SCROLLS,
                                 .move = move};
