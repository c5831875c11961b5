/* Groups and views are chosen in a chooser. The list of columns stays open while fields are
 * switched on and off: a column that is switched on comes last. Changes of columns are saved when
 * it is closed. */
#include "ui/screens/runs/internal.h"

#include "base/language.h"
#include "ui/app/app.h"
#include "ui/terminal/columns.h"
#include "ui/widgets/listing.h"

#include <stdio.h>
#include <string.h>

enum { PAGE = 10, BOX_COLUMNS = 76 };

/* --- groups --- */

static bool can_group(size_t field)
{
    return !run_field_is_figure(field) && field != FIGURE_ID && field != FIGURE_BEGUN &&
           field != FIGURE_NOTE && field != FIGURE_DISK;
}

void runs_choose_group(struct app *app)
{
    struct runs_model *model = runs_model(app);
    struct runs_choosers *choosers = &model->choosers;
    struct chooser_item items[CHOOSER_MAX_ITEMS];
    size_t count = 0;
    items[count++] = (struct chooser_item){_("none"), _("no groups")};
    for (int differing = 1; differing >= 0; differing--) /* first those that are shown */
        for (size_t field = 0; field < run_field_count() && count < CHOOSER_MAX_ITEMS; field++)
            if (can_group(field) && (runs_columns_place(&model->columns, field) > 0) == differing)
                items[count++] =
                    (struct chooser_item){run_field_key(field), gettext(run_field_help(field))};
    choosers->choice = RUNS_CHOOSE_GROUP;
    chooser_begin(&choosers->chooser, _("Group by"), items, count,
                  model->group == FIELD_NONE ? items[0].text : run_field_key(model->group), false);
}

/* --- views --- */

static void save_views(struct app *app)
{
    struct error error;
    if (!saved_views_write(&runs_model(app)->views, &error))
        app_say_error(app, &error);
}

void runs_choose_view(struct app *app)
{
    struct runs_model *model = runs_model(app);
    struct runs_choosers *choosers = &model->choosers;
    struct chooser_item items[CHOOSER_MAX_ITEMS];
    size_t count = 0;
    items[count++] = (struct chooser_item){_("all runs"), _("no filter, no groups, newest first")};
    for (size_t i = 0; i < model->views.count; i++)
        items[count++] =
            (struct chooser_item){model->views.list[i].name, model->views.list[i].filter};
    choosers->choice = RUNS_CHOOSE_VIEW;
    chooser_begin(&choosers->chooser, _("Saved views (Del removes one)"), items, count, "", false);
}

static void use_view(struct app *app, const struct saved_view *view)
{
    struct runs_model *model = runs_model(app);
    memcpy(model->columns.chosen, view->columns, sizeof model->columns.chosen);
    model->columns.chosen_count = view->column_count;
    model->sort = view->sort;
    model->backwards = view->backwards;
    runs_model_group(app, view->group);
    runs_filter_set(app, view->filter);
}

static void answer_view_name(struct app *app, size_t choice)
{
    struct runs_model *model = runs_model(app);
    struct dialog *dialog = &app->dialog;
    struct error error;
    struct saved_view view = {.column_count = model->columns.chosen_count,
                              .sort = model->sort,
                              .group = model->group,
                              .backwards = model->backwards};
    (void)choice;
    snprintf(view.name, sizeof view.name, "%.47s", dialog->edit.text);
    snprintf(view.filter, sizeof view.filter, "%s", app->shared.runs_search.text);
    memcpy(view.columns, model->columns.chosen, sizeof view.columns);
    if (!saved_views_put(&model->views, &view, &error)) {
        dialog->open = true;
        snprintf(dialog->note, sizeof dialog->note, "%.190s", error.why);
        return;
    }
    save_views(app);
    app_say(app, ROLE_GOOD, _("The view \"%s\" is saved: v shows it again."), view.name);
}

void runs_ask_view_name(struct app *app)
{
    struct dialog *dialog = dialog_begin(app, _("A name for this view"), answer_view_name);
    snprintf(
        dialog->text, sizeof dialog->text, "%s",
        _("Filter, columns, order and groups are saved. A view of the same name is replaced."));
    line_edit_begin(&dialog->edit, "", VIEW_NAME, false);
}

static void delete_view(struct app *app)
{
    struct runs_model *model = runs_model(app);
    struct runs_choosers *choosers = &model->choosers;
    const char *name = chooser_choice(&choosers->chooser);
    if (!name || !saved_views_find(&model->views, name)) {
        app_refuse(app, _("Only saved views can be removed."));
        return;
    }
    app_say(app, ROLE_GOOD, _("The view \"%s\" is removed."), name);
    saved_views_remove(&model->views, name);
    save_views(app);
    choosers->chooser.open = false; /* its texts are borrowed from the list */
    runs_choose_view(app);
}

/* --- columns --- */

void runs_choose_columns(struct app *app)
{
    struct runs_choosers *choosers = &runs_model(app)->choosers;
    choosers->choosing_columns = true;
    choosers->column = choosers->top = 0;
}

static void end_columns(struct app *app)
{
    struct runs_model *model = runs_model(app);
    struct saved_view *present = &model->views.present;
    const struct runs_columns *columns = &model->columns;
    model->choosers.choosing_columns = false;
    if (present->column_count == columns->chosen_count &&
        memcmp(present->columns, columns->chosen, columns->chosen_count * sizeof(size_t)) == 0)
        return;
    memcpy(present->columns, columns->chosen, sizeof present->columns);
    present->column_count = columns->chosen_count;
    save_views(app);
}

static bool columns_key(struct app *app, int key)
{
    struct runs_model *model = runs_model(app);
    struct runs_choosers *choosers = &model->choosers;
    const size_t last = run_field_count() - 1, at = choosers->column;
    const long step = key == UI_UP          ? -1
                      : key == UI_DOWN      ? 1
                      : key == UI_PAGE_UP   ? -PAGE
                      : key == UI_PAGE_DOWN ? PAGE
                                            : 0;
    if (key == ' ' || key == UI_ENTER)
        runs_columns_toggle(&model->columns, at);
    else if (key == 'a')
        model->columns.chosen_count = 0;
    else if (key == UI_ESCAPE || key == 'q' || key == 'C')
        end_columns(app);
    else if (key == UI_HOME || key == UI_END)
        choosers->column = key == UI_HOME ? 0 : last;
    else if (step < 0)
        choosers->column = at < (size_t)-step ? 0 : at - (size_t)-step;
    else
        choosers->column = at + (size_t)step > last ? last : at + (size_t)step;
    app->shared.runs_changed = true;
    runs_model_update(app);
    return true;
}

static void draw_columns(struct app *app)
{
    struct runs_model *model = runs_model(app);
    struct runs_choosers *choosers = &model->choosers;
    struct canvas *canvas = &app->canvas;
    struct rect box = layout_dialog(canvas->rows - 2, canvas->columns, (int)run_field_count() + 4,
                                    BOX_COLUMNS); /* title and hints stay visible */
    box.row += canvas->rows > 2;
    struct rect inside = draw_box(canvas, box, _("Columns"));
    const size_t rows = inside.rows > 1 ? (size_t)inside.rows - 1 : 0;
    choosers->top = listing_scroll(choosers->top, choosers->column, rows, run_field_count());
    for (size_t i = 0; i < rows && choosers->top + i < run_field_count(); i++) {
        const size_t field = choosers->top + i;
        const bool selected = field == choosers->column;
        const size_t place = runs_columns_place(&model->columns, field);
        const struct rect line = {inside.row + (int)i, inside.column, 1, inside.columns};
        const enum role role = selected ? ROLE_FOCUS : ROLE_TEXT;
        char number[24] = "  ";
        if (selected)
            draw_fill(canvas, line, ROLE_FOCUS);
        if (place > 0)
            snprintf(number, sizeof number, "%2zu", place);
        draw_format(canvas, line, 0, 0, role, "%s[%s] %s", selected ? ">" : " ", number,
                    run_field_key(field));
        draw_sentence(canvas, line, 0, 24, selected ? ROLE_FOCUS : ROLE_FAINT,
                      gettext(run_field_help(field)));
        targets_add_row(&canvas->targets, line, field, choosers->column);
        if (selected)
            draw_cursor(canvas, line, 0, 0);
    }
    draw_text(canvas, inside, inside.rows - 1, 0, ROLE_FAINT,
              model->columns.chosen_count > 0 ? _("a automatic, space toggles, Esc ends")
                                              : _("automatic; space toggles, Esc ends"));
}

/* --- the open list --- */

static void take_choice(struct app *app)
{
    struct runs_model *model = runs_model(app);
    struct runs_choosers *choosers = &model->choosers;
    const char *chosen = chooser_choice(&choosers->chooser);
    const struct saved_view none = {.sort = FIELD_NONE, .group = FIELD_NONE};
    if (!chosen)
        return;
    if (choosers->choice == RUNS_CHOOSE_GROUP)
        runs_model_group(app, run_field_find(chosen));
    else if (saved_views_find(&model->views, chosen))
        use_view(app, saved_views_find(&model->views, chosen));
    else
        use_view(app, &none);
}

bool runs_choosers_key(struct app *app, int key)
{
    struct runs_choosers *choosers = &runs_model(app)->choosers;
    if (choosers->choosing_columns)
        return columns_key(app, key);
    if (!choosers->chooser.open)
        return false;
    if (key == UI_DELETE && choosers->choice == RUNS_CHOOSE_VIEW) {
        delete_view(app);
        return true;
    }
    const enum chooser_result result = chooser_key(&choosers->chooser, key);
    if (result == CHOOSER_OPEN)
        return true;
    choosers->chooser.open = false;
    if (result == CHOOSER_CHOSEN)
        take_choice(app);
    return true;
}

const struct key_table *runs_choosers_keys(const struct app *app)
{
    static const struct key_binding columns[] = {
        {' ', 0, ACTION_NONE, N_("space"), N_("toggle"), NULL},
        {UI_DOWN, 0, ACTION_NONE, N_("Down"), N_("next"), NULL},
        {'a', 0, ACTION_NONE, "a", N_("automatic"), NULL},
        {UI_ESCAPE, 0, ACTION_NONE, "Esc", N_("close"), NULL},
    };
    static const struct key_binding views[] = {
        {UI_ENTER, 0, ACTION_NONE, N_("Enter"), N_("take it"), NULL},
        {UI_DOWN, 0, ACTION_NONE, N_("Down"), N_("next"), NULL},
        {UI_DELETE, 0, ACTION_NONE, "Del", N_("remove"), NULL},
        {UI_ESCAPE, 0, ACTION_NONE, "Esc", N_("close"), NULL},
    };
    static const struct key_table of_columns = {NULL, columns, sizeof columns / sizeof *columns};
    static const struct key_table of_views = {NULL, views, sizeof views / sizeof *views};
    const struct runs_choosers *choosers = &runs_model(app)->choosers;
    if (choosers->choosing_columns)
        return &of_columns;
    if (!choosers->chooser.open)
        return NULL;
    return choosers->choice == RUNS_CHOOSE_VIEW ? &of_views : &keys_choosing;
}

void runs_choosers_draw(struct app *app)
{
    struct runs_choosers *choosers = &runs_model(app)->choosers;
    if (choosers->choosing_columns || choosers->chooser.open)
        targets_clear(&app->canvas.targets);
    if (choosers->choosing_columns)
        draw_columns(app);
    else if (choosers->chooser.open)
        chooser_draw(&choosers->chooser, &app->canvas);
}
