/* The screen Pictures: pictures of the form's data set in full size or, for terminals where the
 * panel does not fit beside the form, the panel (form_panel.c). */
#include "ui/app/app.h"

#include "base/language.h"
#include "runs/settings/settings.h"
#include "ui/screens/setup/internal.h"

#include <stdio.h>

static const struct key_binding bindings[] = {
    {'n', UI_RIGHT, ACTION_NEXT, "n Right", N_("next"), N_("the next pictures")},
    {'p', UI_LEFT, ACTION_PREVIOUS, "p Left", N_("previous"), N_("the pictures before")},
    {'a', 0, ACTION_AS_TRAINED, "a", N_("as trained"),
     N_("as the network sees them: cropped, and with augmentation flipped; or as they are stored")},
    {UI_UP, 0, ACTION_UP, N_("Up"), NULL, N_("the next epoch: another order, other crops")},
    {UI_DOWN, 0, ACTION_DOWN, N_("Down"), NULL, N_("the epoch before")},
    {'v', UI_TAB, ACTION_VIEW, "v Tab", N_("view"), N_("the pictures, or what the run takes")},
    {UI_PAGE_DOWN, ' ', ACTION_NEXT, "PgDn", NULL, NULL},
    {UI_PAGE_UP, 0, ACTION_PREVIOUS, "PgUp", NULL, NULL},
};
static const struct key_table table = {N_("Pictures of the training data"), bindings,
                                       sizeof bindings / sizeof *bindings};

static const char *refuses(const struct app *app, enum action action)
{
    const struct setup_model *model = setup_model(app);
    if (action == ACTION_VIEW)
        return NULL;
    if (model->facts_shown)
        return _("v goes back to the pictures.");
    if (model->error.kind != ERROR_NONE)
        return _("There are no pictures to show.");
    if (model->status != PREVIEW_OPENED || model->grid.shown == 0)
        return _("The pictures are still being read.");
    if (action == ACTION_NEXT || action == ACTION_PREVIOUS)
        return model->grid.shown < model->facts.images ? NULL : _("All pictures are visible.");
    return action == ACTION_DOWN && model->epoch == 0 ? _("This is the first epoch.") : NULL;
}

static void act(struct app *app, enum action action)
{
    struct setup_model *model = setup_model(app);
    if (action == ACTION_VIEW)
        model->facts_shown = !model->facts_shown;
    else if (action == ACTION_AS_TRAINED)
        model->as_trained = !model->as_trained;
    else if (action == ACTION_NEXT || action == ACTION_PREVIOUS)
        setup_turn_pictures(model, action == ACTION_NEXT ? 1 : -1);
    else if (action == ACTION_UP || action == ACTION_DOWN)
        setup_turn_epoch(model, action == ACTION_UP ? 1 : -1);
}

static void draw(struct app *app, struct rect body)
{
    struct rect inside = {body.row, body.column + 1, body.rows, body.columns - 2};
    if (rect_is_empty(inside))
        return;
    if (setup_model(app)->facts_shown)
        form_panel_draw(app, inside, false);
    else
        setup_draw_pictures(setup_model(app), &app->shared.form, &app->canvas, inside);
    draw_cursor(&app->canvas, inside, 0, 0);
}

static void title(const struct app *app, char *text, size_t size)
{
    snprintf(text, size, _("Pictures of %s"), data_settings(&app->shared.form.config).data);
}

const struct screen pictures_screen = {
    .name = N_("Pictures"),
    .letter = 'i',
    .purpose = N_("the images of the form's training data"),
    .keys = &table,
    .title = title,
    .refuses = refuses,
    .act = act,
    .draw = draw,
};
