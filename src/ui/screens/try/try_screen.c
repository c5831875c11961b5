/* The screen Try it applies a trained model to images. Its views: one image with the model's
 * result, the confusion matrix, the accuracy of each class. The chooser of weights covers the
 * screen and receives the keys while it is open. */
#include "ui/app/app.h"
#include "ui/app/run_loading.h"

#include "base/files/user_path.h"
#include "base/language.h"
#include "base/text.h"
#include "data/formats/image_file.h"
#include "ui/screens/try/internal.h"
#include "ui/widgets/listing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const view_names[TRY_KINDS] = {N_("Image"), N_("Matrix"), N_("Classes")};

/* --- opening --- */

static void open_source(struct app *app, const struct try_source *source)
{
    struct error error;
    if (!try_model_open(try_model(app), source, &error))
        app_say_error(app, &error);
}

/* Fills in the weights of the run that is shown or of the newest run that has saved some. Returns
 * false if there are none. */
static bool find_first(struct app *app, struct try_source *source)
{
    struct run_entry *entry = app_run_in_front(app);
    if (entry && try_source_of_run(entry, source))
        return true;
    for (size_t n = 0; n < app_run_count(app); n++) {
        const size_t index = n < app->shared.runs.count ? app->shared.runs.count - 1 - n : n;
        if (try_source_of_run(app_run_at(app, index), source))
            return true;
    }
    return false;
}

/* Returns whether another model must be opened: none is open, or another run is shown. */
static bool needs_other_model(const struct app *app)
{
    struct run_entry *entry = app_run_in_front(app);
    struct try_source source;
    return !try_model(app)->probe || (entry && try_source_of_run(entry, &source) &&
                                      strcmp(source.path, try_model(app)->request.model) != 0);
}

/* Shows a message if the run that is shown has no weights, so that another model will be used. */
static void warn_unsaved(struct app *app)
{
    struct run_entry *entry = app_run_in_front(app);
    struct try_source source;
    if (!entry || try_source_of_run(entry, &source))
        return;
    if (entry->imported[0])
        app_say(app, ROLE_WARNING, "%s",
                _("This run was imported: it has no weights that could be tried."));
    else
        app_say(app, ROLE_WARNING, "%s",
                _("This run has saved no weights yet: w on its screen writes them."));
}

static void open_now(struct app *app)
{
    struct try_source source;
    warn_unsaved(app);
    if (needs_other_model(app) && find_first(app, &source))
        open_source(app, &source);
    app_show(app, SCREEN_TRY);
}

static void go(struct app *app)
{
    loading_read_all_then(app, open_now);
}

/* --- weights --- */

/* Completes the path of a model file. A word that is no path searches in the list as long as it
 * occurs there. */
static void weights_source(struct completion *completion, const char *text, const void *context)
{
    const struct chooser *chooser = context;
    const bool path = strchr(text, '/') || text[0] == '~' || text[0] == '.';
    if (text[0] && (path || chooser->shown_count == 0))
        completion_add_paths(completion, text, 0, ".safetensors");
}

static void take_weights(struct app *app)
{
    struct try_model *model = try_model(app);
    struct try_source source;
    const char *chosen = chooser_choice(&app->choosing.chooser);
    for (size_t i = 0; i < model->source_count; i++)
        if (chosen == model->sources[i].name) {
            open_source(app, &model->sources[i]);
            return;
        }
    char *path = user_path_expand(chosen);
    try_source_of_file(path ? path : chosen, &source);
    free(path);
    open_source(app, &source);
}

static void choose_now(struct app *app)
{
    struct try_model *model = try_model(app);
    struct chooser_item items[CHOOSER_MAX_ITEMS];
    struct error error;
    if (!try_sources_find(app, &error)) {
        app_say_error(app, &error);
        return;
    }
    for (size_t i = 0; i < model->source_count; i++)
        items[i] = (struct chooser_item){model->sources[i].name, model->sources[i].note};
    struct chooser *chooser = app_choose(app, take_weights);
    chooser_begin(chooser, _("Which weights? Or type a model file's path"), items,
                  model->source_count, model->name, true);
    chooser_complete(chooser, weights_source);
}

static void choose_weights(struct app *app)
{
    loading_read_all_then(app, choose_now);
}

/* --- moving --- */

/* Moves to another image, or in the matrix and among the classes to another row or column. */
static void move(struct app *app, int how)
{
    struct try_model *model = try_model(app);
    const int across = how == MOVE_LEFT ? -1 : how == MOVE_RIGHT;
    const long down = move_steps(how, 10, 100000), images = move_steps(how, 10, 1000000000);
    if (model->kind == TRY_IMAGE) {
        if (!try_model_move(model, images + across))
            app_say(app, ROLE_WARNING, "%s", _("There is no further image of this kind."));
        return;
    }
    model->row = list_step(model->row, down, model->confusion.classes);
    if (model->kind == TRY_MATRIX)
        model->column = list_step(model->column, across, model->confusion.classes);
}

static void next_view(struct app *app)
{
    struct try_model *model = try_model(app);
    model->kind = (enum try_kind)((model->kind + 1) % TRY_KINDS);
    model->top = model->left = 0;
}

static void change_walk(struct app *app)
{
    struct try_model *model = try_model(app);
    try_model_start_walk(model, model->walk == WALK_ALL ? WALK_WRONG : WALK_ALL, 0, 0);
    model->kind = TRY_IMAGE;
    app_say(app, ROLE_STRONG, "%s",
            model->walk == WALK_ALL ? _("Left and Right step through all images.")
                                    : _("Left and Right step through the misclassified images."));
}

/* Shows the images that the matrix cell or the class under the cursor counts. */
static void walk_selected_images(struct app *app)
{
    struct try_model *model = try_model(app);
    const size_t label =
        model->kind == TRY_CLASSES ? try_model_class(model, model->row) : model->row;
    try_model_start_walk(model, model->kind == TRY_MATRIX ? WALK_CELL : WALK_CLASS, label,
                         model->column);
    model->kind = TRY_IMAGE;
}

static void sort_classes(struct app *app)
{
    try_model(app)->worst_first = !try_model(app)->worst_first;
    try_model_sort(try_model(app));
    try_model(app)->kind = TRY_CLASSES;
    try_model(app)->row = try_model(app)->top = 0;
}

static void read_again(struct app *app)
{
    try_model_reopen(try_model(app));
    app_say(app, ROLE_STRONG, "%s", _("The weights are read again."));
}

/* --- what can be done --- */

/* Returns why there is no model, or NULL. */
static const char *refuses_model(const struct app *app)
{
    return try_model(app)->probe ? NULL : _("Choose a model first: w.");
}

/* Returns why no model can be used, or NULL. */
static const char *refuses_use(const struct app *app)
{
    const char *why = refuses_model(app);
    return why || try_model(app)->status.phase != PROBE_FAILED
               ? why
               : _("The model cannot be used: w chooses another.");
}

static const char *no_data(void)
{
    return _("No data set is open; d asks for one.");
}

static const char *refuses_view(const struct app *app)
{
    const char *why = refuses_use(app);
    return why || !try_model_makes_pictures(try_model(app))
               ? why
               : _("This network makes pictures: it has no classes.");
}

/* Returns why there is no matrix and no list of classes, or NULL. */
static const char *refuses_classes(const struct app *app)
{
    const struct try_model *model = try_model(app);
    const char *why = refuses_view(app);
    return why || model->status.phase != PROBE_READY || model->status.images > 0 ? why : no_data();
}

/* Returns why nothing can be selected in the matrix or in the list of classes, or NULL. */
static const char *refuses_selection(const struct app *app)
{
    const char *why = refuses_classes(app);
    return why || try_model(app)->confusion.classes > 0 ? why : _("No image was evaluated yet.");
}

static const char *refuses_images(const struct app *app)
{
    const char *why = refuses_use(app);
    return why || try_model(app)->status.images > 0 ? why : no_data();
}

static const char *refuses_filter(const struct app *app)
{
    const struct try_model *model = try_model(app);
    const struct confusion *confusion = &model->confusion;
    const char *why = refuses_images(app);
    if (!why && try_model_makes_pictures(model))
        return _("A generated picture is not simply right or wrong.");
    if (!why && model->walk == WALK_ALL && confusion->right == confusion->images)
        return _("So far no image was misclassified.");
    return why;
}

/* Returns why Enter shows no images of the selected cell or class, or NULL. */
static const char *refuses_open(const struct app *app)
{
    const struct try_model *model = try_model(app);
    size_t count;
    if (refuses_use(app))
        return refuses_use(app);
    if (model->kind == TRY_IMAGE)
        return _("Enter shows the images of a class or of a cell of the matrix: v goes there.");
    if (refuses_selection(app))
        return refuses_selection(app);
    if (model->kind == TRY_MATRIX)
        return confusion_count(&model->confusion, model->row, model->column) > 0
                   ? NULL
                   : _("There is no such image.");
    try_model_most_confused(model, try_model_class(model, model->row), &count);
    return count > 0 ? NULL : _("No image of this class was misclassified.");
}

static const char *refuses_move(const struct app *app, int how)
{
    const struct try_model *model = try_model(app);
    size_t place;
    if (refuses_use(app))
        return refuses_use(app);
    if (model->kind == TRY_IMAGE) {
        const size_t count = try_model_count(model, &place);
        if (refuses_images(app))
            return refuses_images(app);
        return count == 0 || (count == 1 && place == 1)
                   ? _("There is no further image of this kind.")
                   : NULL;
    }
    if ((how == MOVE_LEFT || how == MOVE_RIGHT) && model->kind == TRY_CLASSES)
        return _("Up and Down select a class.");
    return refuses_selection(app);
}

static const char *filter_word(const struct app *app)
{
    return try_model(app)->walk != WALK_ALL ? _("all images") : NULL;
}

static const struct action actions[] = {
    {"Right (space)", "next", N_("next"), N_("the next image; in the matrix the next column"), move,
     refuses_move, .argument = MOVE_RIGHT},
    {"Left (Backspace)", "previous", N_("before"),
     N_("the image before; in the matrix the column before"), move, refuses_move,
     .argument = MOVE_LEFT},
    {"f", "wrong-only", N_("wrong only"),
     N_("step through the misclassified images, or through all"), .run = change_walk,
     .refused = refuses_filter, .word = filter_word},
    {"v", "view", N_("view"), N_("the next view: image, confusion matrix, accuracy by class"),
     .run = next_view, .refused = refuses_view},
    {"w", "weights", N_("weights"),
     N_("choose what is tried: a run's best or last weights, or a model file"),
     .run = choose_weights},
    {"i", "image", N_("image"), N_("an image file; asks which"), .run = try_ask_file,
     .refused = refuses_use},
    {"d", "data", N_("data"), N_("another data set; asks which"), .run = try_ask_data,
     .refused = refuses_use},
    {"Up", "up", NULL, N_("the row above"), move, refuses_move, .argument = MOVE_UP},
    {"Down", "down", NULL, N_("the row below"), move, refuses_move, .argument = MOVE_DOWN},
    {"Enter", "show-images", NULL,
     N_("step through the images of the cell, or the misclassified ones of the class"),
     .run = walk_selected_images, .refused = refuses_open},
    {"s", "sort", NULL, N_("the classes by number, or the worst first"), .run = sort_classes,
     .refused = refuses_classes},
    {"g", "go-to", NULL, N_("go to an image by its number; asks which"), .run = try_ask_go,
     .refused = refuses_images},
    {"u", "update", NULL, N_("read the weights again: those of a run that is on may be newer"),
     .run = read_again, .refused = refuses_model},
    {"n", "threads", NULL,
     N_("how many threads may compute; a training beside it keeps its speed with one"),
     .run = try_ask_threads, .refused = refuses_use},
    {"PgDn", "page-down", NULL, N_("ten images or rows on"), move, refuses_move,
     .argument = MOVE_PAGE_DOWN},
    {"PgUp", "page-up", NULL, N_("ten images or rows back"), move, refuses_move,
     .argument = MOVE_PAGE_UP},
#define ACTIONS_ENDS move, refuses_move
#include "ui/app/actions.inc"
};

/* --- drawing --- */

static void draw_empty(struct app *app, struct rect body)
{
    draw_cursor(&app->canvas, body, 1, 1);
    struct rect inside = {body.row, body.column + 1, body.rows, body.columns - 2};
    draw_wrapped(&app->canvas, inside, 1, ROLE_FAINT,
                 app_run_count(app) == 0
                     ? _("There is no run yet whose model could be tried: r on the form starts "
                         "one. w takes a model file.")
                     : _("No run has saved weights yet. They are saved when a run ends, with "
                         "validation after every epoch, and by w on the run's screen. w here "
                         "takes a model file."));
}

static void draw_head(struct app *app, struct rect area)
{
    struct try_model *model = try_model(app);
    const char *names[TRY_KINDS];
    int column = 0;
    for (int i = 0; i < TRY_KINDS; i++)
        names[i] = gettext(view_names[i]);
    if (!try_model_makes_pictures(model))
        column = draw_tabs(&app->canvas, area, names, TRY_KINDS, model->kind) + 2;
    if (area.columns - column >= 30 || area.rows < 2)
        try_draw_status(model, &app->canvas, area, 0, column);
    else
        try_draw_status(model, &app->canvas, area, 1, 0);
}

/* Draws the network and the data; the title has the model's name. */
static void draw_source(struct app *app, struct rect area)
{
    const struct try_model *model = try_model(app);
    int column = 0;
    if (model->status.network && model->request.data[0])
        column = draw_format(&app->canvas, area, 0, 0, ROLE_FAINT, "%s %s ", model->status.network,
                             app->canvas.glyphs->dot);
    draw_fitted_name(&app->canvas, area, 0, column, ROLE_FAINT,
                     model->request.data[0]  ? model->request.data
                     : model->status.network ? model->status.network
                                             : model->name);
}

/* Draws why the model or its data set cannot be used. Returns the row after. */
static int draw_problem(struct app *app, struct rect area)
{
    const struct try_model *model = try_model(app);
    const struct error *error =
        model->status.error.kind != ERROR_NONE ? &model->status.error : &model->error;
    char text[1100];
    if (error->kind == ERROR_NONE)
        return 0;
    return draw_wrapped(&app->canvas, area, 0, ROLE_BAD, error_format(error, text, sizeof text));
}

static void draw(struct app *app, struct rect body)
{
    static void (*const views[TRY_KINDS])(struct try_model *, struct canvas *, struct rect) = {
        try_draw_image, try_draw_matrix, try_draw_classes};
    struct try_model *model = try_model(app);
    const int narrow = body.columns < 64, above = body.rows >= 14 ? 3 : narrow ? 2 : 1;
    struct rect inside = {body.row, body.column + 1, body.rows, body.columns - 2};
    struct rect head = {inside.row, inside.column, narrow ? 2 : 1, inside.columns};
    struct rect what = {inside.row + above - 1, inside.column, above > 2, inside.columns};
    struct rect area = {inside.row + above, inside.column, inside.rows - above, inside.columns};
    if (!model->probe)
        draw_empty(app, body);
    else {
        if (above > 2 && !narrow)
            what.row--;
        draw_head(app, head);
        draw_source(app, what);
        const int row = draw_problem(app, area);
        area.row += row;
        area.rows -= row;
        if (model->status.phase != PROBE_FAILED)
            views[model->kind](model, &app->canvas, area);
        else
            draw_wrapped(&app->canvas, area, 1, ROLE_FAINT, _("w chooses other weights."));
    }
}

static void title(const struct app *app, char *text, size_t size)
{
    const struct try_model *model = try_model(app);
    if (model->name[0])
        snprintf(text, size, _("Try it: %s"), model->name);
    else
        snprintf(text, size, "%s", _("Try it"));
}

static void close(struct app *app)
{
    try_model_free(try_model(app));
}

static bool work(struct app *app)
{
    try_model_step(try_model(app));
    return false;
}

static double busy(const struct app *app)
{
    double seconds;
    return try_model_busy(try_model(app), &seconds) ? seconds : INFINITY;
}

const struct screen try_screen = {
    .name = N_("Try it"),
    .letter = 't',
    .purpose = N_("what a model predicts; its confusion matrix"),
    .actions = {ACTIONS(N_("Trying a model out"), actions)},
    .state_size = sizeof(struct try_model),
    .go = go,
    .close = close,
    .title = title,
    .draw = draw,
    .work = work,
    .busy = busy,
};
