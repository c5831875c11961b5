/* The screen Pictures: pictures of the form's data set in full size or, for terminals where the
 * panel does not fit beside the form, the panel (form_panel.c). */
#include "ui/app/app.h"

#include "base/language.h"
#include "runs/settings/settings.h"
#include "ui/screens/setup/internal.h"

#include <stdio.h>

static const char *refuses_pictures(const struct app *app)
{
    const struct setup_model *model = setup_model(app);
    if (model->facts_shown)
        return _("v goes back to the pictures.");
    if (model->error.kind != ERROR_NONE)
        return _("There are no pictures to show.");
    return model->status == PREVIEW_OPENED && model->grid.shown > 0
               ? NULL
               : _("The pictures are still being read.");
}

static const char *refuses_turn(const struct app *app, int pages)
{
    const struct setup_model *model = setup_model(app);
    const char *why = refuses_pictures(app);
    (void)pages;
    return why || model->grid.shown < model->facts.images ? why : _("All pictures are visible.");
}

static const char *refuses_epoch(const struct app *app, int epochs)
{
    const char *why = refuses_pictures(app);
    return why || epochs > 0 || setup_model(app)->epoch > 0 ? why : _("This is the first epoch.");
}

static void turn(struct app *app, int pages)
{
    setup_turn_pictures(setup_model(app), pages);
}

static void turn_epoch(struct app *app, int epochs)
{
    setup_turn_epoch(setup_model(app), epochs);
}

static void toggle_trained(struct app *app)
{
    setup_model(app)->as_trained = !setup_model(app)->as_trained;
}

static void toggle_facts(struct app *app)
{
    setup_model(app)->facts_shown = !setup_model(app)->facts_shown;
}

static const struct action actions[] = {
    {"n Right (PgDn) (space)", "next", N_("next"), N_("the next pictures"), turn, refuses_turn,
     .argument = 1},
    {"p Left (PgUp)", "previous", N_("previous"), N_("the pictures before"), turn, refuses_turn,
     .argument = -1},
    {"a", "as-trained", N_("as trained"),
     N_("as the network sees them: cropped, and with augmentation flipped; or as they are stored"),
     .run = toggle_trained, .refused = refuses_pictures},
    {"Up", "next-epoch", NULL, N_("the next epoch: another order, other crops"), turn_epoch,
     refuses_epoch, .argument = 1},
    {"Down", "previous-epoch", NULL, N_("the epoch before"), turn_epoch, refuses_epoch,
     .argument = -1},
    {"v Tab", "view", N_("view"), N_("the pictures, or what the run takes"), .run = toggle_facts},
};

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
    .actions = {ACTIONS(N_("Pictures of the training data"), actions)},
    .title = title,
    .draw = draw,
};
