/* The keys of the scatter plot and of the parallel coordinates, and the chooser of figures that
 * both open. */
#include "ui/screens/compare/internal.h"

#include "base/language.h"
#include "ui/app/app.h"

#include <stdio.h>

/* --- choosing a figure --- */

/* Opens the chooser of the figures with numbers, for an axis of the scatter plot. */
static void choose_scatter_figure(struct app *app, enum scatter_axis axis)
{
    struct compare_model *model = compare_model(app);
    struct compare_figure figures[COMPARE_FIGURES];
    struct chooser_item items[CHOOSER_MAX_ITEMS];
    size_t count = compare_list_figures(&model->table, figures), listed = 0;
    for (size_t i = 0; i < count && listed < CHOOSER_MAX_ITEMS; i++)
        if (!compare_figure_is_text(&figures[i])) {
            char *name = model->choice.items[listed];
            compare_figure_name(&model->table, &figures[i], name, SCATTER_NAME);
            items[listed++] = (struct chooser_item){name, ""};
        }
    model->choice.axis = axis;
    chooser_begin(&model->choice.chooser,
                  axis == SCATTER_X ? _("Which figure on the x axis?")
                                    : _("Which figure on the y axis?"),
                  items, listed, model->scatter.names[axis], false);
}

/* Opens the chooser of the axes that are left out of the parallel coordinates. */
static void choose_parallel_axis(struct app *app)
{
    struct compare_model *model = compare_model(app);
    const struct compare_parallel *parallel = &model->parallel;
    struct chooser_item items[CHOOSER_MAX_ITEMS];
    size_t listed = 0;
    for (size_t i = parallel->shown; i < parallel->count && listed < CHOOSER_MAX_ITEMS; i++) {
        snprintf(model->choice.items[listed], SCATTER_NAME, "%s", parallel->axes[i].name);
        items[listed] = (struct chooser_item){model->choice.items[listed], ""};
        listed++;
    }
    if (listed == 0)
        app_say(app, ROLE_FAINT, "All axes are shown.");
    else
        chooser_begin(&model->choice.chooser, _("Which axis?"), items, listed, items[0].text,
                      false);
}

bool compare_take_chooser_key(struct compare_model *model, int key)
{
    const enum chooser_result result = chooser_key(&model->choice.chooser, key);
    if (result == CHOOSER_OPEN)
        return true;
    model->choice.chooser.open = false;
    if (result == CHOOSER_CHOSEN && model->kind == COMPARE_PARALLEL)
        compare_parallel_show(&model->parallel, chooser_choice(&model->choice.chooser));
    else if (result == CHOOSER_CHOSEN) {
        snprintf(model->scatter.names[model->choice.axis], SCATTER_NAME, "%s",
                 chooser_choice(&model->choice.chooser));
        model->outdated = true;
    }
    return true;
}

/* --- the keys of single views --- */

bool compare_act_on_scatter(struct app *app, enum action action)
{
    struct compare_model *model = compare_model(app);
    struct compare_scatter *scatter = &model->scatter;
    if (!scatter->usable)
        return false;
    switch (action) {
    case ACTION_UP:
    case ACTION_DOWN:
        model->selected =
            compare_scatter_neighbour(scatter, model->selected, 0, action == ACTION_UP ? 1 : -1);
        return true;
    case ACTION_LEFT:
    case ACTION_RIGHT:
        model->selected =
            compare_scatter_neighbour(scatter, model->selected, action == ACTION_RIGHT ? 1 : -1, 0);
        return true;
    case ACTION_X:
        choose_scatter_figure(app, SCATTER_X);
        return true;
    case ACTION_QUANTITY:
        choose_scatter_figure(app, SCATTER_Y);
        return true;
    case ACTION_SCALE:
        compare_scatter_next_scale(scatter);
        model->outdated = true;
        return true;
    default:
        return false;
    }
}

bool compare_act_on_parallel(struct app *app, enum action action)
{
    struct compare_parallel *parallel = &compare_model(app)->parallel;
    switch (action) {
    case ACTION_LEFT:
        parallel->selected -= parallel->selected > 0;
        return true;
    case ACTION_RIGHT:
        parallel->selected += parallel->selected + 1 < parallel->shown;
        return true;
    case ACTION_PAN_LEFT:
    case ACTION_PAN_RIGHT:
        compare_parallel_move(parallel, action == ACTION_PAN_RIGHT);
        return true;
    case ACTION_BRUSH_LOW_UP:
    case ACTION_BRUSH_LOW_DOWN:
        compare_parallel_brush(parallel, true, action == ACTION_BRUSH_LOW_UP);
        return true;
    case ACTION_BRUSH_HIGH_UP:
    case ACTION_BRUSH_HIGH_DOWN:
        compare_parallel_brush(parallel, false, action == ACTION_BRUSH_HIGH_UP);
        return true;
    case ACTION_BRUSH_CLEAR:
    case ACTION_BRUSH_CLEAR_ALL:
        compare_parallel_clear_brush(parallel, action == ACTION_BRUSH_CLEAR_ALL);
        return true;
    case ACTION_REMOVE:
        compare_parallel_leave_out(parallel);
        return true;
    case ACTION_ALL:
        choose_parallel_axis(app);
        return true;
    default:
        return false;
    }
}
