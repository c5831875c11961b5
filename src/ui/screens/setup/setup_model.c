/* The state of the screens Set up and Pictures. When the user has paused typing, setup_step opens a
 * preview of the data set and searches the saved runs for an equal one, both in threads. */
#include "ui/screens/setup/internal.h"

#include "base/clock.h"
#include "base/language.h"
#include "runs/settings/lr_preview.h"
#include "runs/settings/settings.h"
#include "ui/plot/plot.h"
#include "ui/terminal/columns.h"

#include <stdio.h>
#include <string.h>

/* --- picture grid ---
 *
 * Each frame computes how many pictures fit. If that is more than the last request, or if other
 * pictures are wanted, the background job gets a new request; pictures that are present are drawn
 * meanwhile. A tile scales its picture to half blocks once for each size. */

/* --- how many pictures fit --- */

enum {
    FULL_ROWS = 16,    /* shows a picture of 32x32 pixels in full */
    LEAST_ROWS = 3,    /* smaller pictures are not recognisable */
    LEAST_COLUMNS = 6, /* the width of a label */
    LARGE_AREA = 40    /* an area with at least so many rows shows large pictures larger */
};

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Returns the columns of a picture that is `rows` cells high; a cell is twice as high as wide. */
static int columns_for(int rows, size_t height, size_t width)
{
    const int columns = (int)((2 * (size_t)rows * width + height / 2) / height);
    return columns > 0 ? columns : 1;
}

struct grid_fit grid_fit(size_t height, size_t width, int rows, int columns)
{
    const int full = (int)(height + 1) / 2;
    struct grid_fit fit = {.rows = least(full, rows >= LARGE_AREA ? rows / 2 - 1 : FULL_ROWS)};
    if (height == 0 || width == 0 || rows < LEAST_ROWS + 1 || columns < LEAST_COLUMNS)
        return (struct grid_fit){0};
    fit.rows = least(fit.rows, rows - 1);
    fit.columns = columns_for(fit.rows, height, width);
    while (fit.rows > LEAST_ROWS && fit.columns > columns)
        fit.columns = columns_for(--fit.rows, height, width);
    fit.columns = least(fit.columns, columns);
    const int wide = fit.columns < LEAST_COLUMNS ? LEAST_COLUMNS : fit.columns;
    fit.across = (size_t)((columns + 1) / (wide + 1));
    fit.down = (size_t)(rows / (fit.rows + 1));
    while (fit.across * fit.down > PREVIEW_MAX_PICTURES)
        fit.down > 1 ? fit.down-- : fit.across--;
    return fit;
}

/* --- the pictures --- */

static void free_tile(struct grid_tile *tile)
{
    image_free(&tile->picture.image);
    halfblocks_free(&tile->blocks);
    *tile = (struct grid_tile){0};
}

/* Frees the pictures and leaves `*grid` {0}. */
static void picture_grid_free(struct picture_grid *grid)
{
    for (size_t i = 0; i < PREVIEW_MAX_PICTURES; i++)
        free_tile(&grid->tiles[i]);
    *grid = (struct picture_grid){0};
}

/* Moves the pictures that the job has finished into the grid. Returns whether there were any. */
static bool picture_grid_collect(struct picture_grid *grid, struct preview *preview)
{
    struct preview_picture picture;
    bool any = false;
    while (preview_take(preview, &picture)) {
        struct grid_tile *tile = &grid->tiles[picture.place];
        free_tile(tile);
        tile->picture = picture;
        if (grid->count <= picture.place)
            grid->count = picture.place + 1;
        any = true;
    }
    return any;
}

static bool same_pictures(const struct preview_request *a, const struct preview_request *b)
{
    return a->epoch == b->epoch && a->from == b->from && a->as_trained == b->as_trained &&
           a->seed == b->seed && a->balanced == b->balanced &&
           (!a->as_trained || (a->batch == b->batch && strcmp(a->augment, b->augment) == 0));
}

/* Requests pictures unless the last request included them. If only their number grows, the present
 * ones stay until the job delivers them again. */
static void request(struct picture_grid *grid, struct preview *preview,
                    const struct preview_request *wish)
{
    const bool same = same_pictures(&grid->requested, wish);
    if (same && grid->requested.count >= wish->count)
        return;
    if (!same)
        picture_grid_free(grid);
    grid->requested = *wish;
    preview_request_pictures(preview, wish);
}

/* --- drawing --- */

static void draw_label(struct canvas *canvas, struct rect place, const char *label)
{
    char shown[80];
    columns_fit(label, place.columns > 0 ? (size_t)place.columns : 0, shown, sizeof shown);
    draw_text(canvas, place, 0, 0, ROLE_FAINT, shown);
}

static void draw_tile(struct grid_tile *tile, struct canvas *canvas, struct rect place, int rows,
                      int columns)
{
    const struct rect label = {place.row + place.rows - 1, place.column, 1, place.columns};
    struct rect inside = {place.row, place.column, place.rows - 1, place.columns};
    if (tile->picture.why[0]) {
        draw_wrapped(canvas, inside, 0, ROLE_BAD, tile->picture.why);
        draw_label(canvas, label, tile->picture.label);
        return;
    }
    if (!tile->picture.image.pixels)
        return;
    if (tile->rows != rows || tile->columns != columns) {
        halfblocks_free(&tile->blocks);
        halfblocks_make(&tile->blocks, &tile->picture.image, (size_t)rows, (size_t)columns, NULL);
        tile->rows = rows;
        tile->columns = columns;
    }
    draw_halfblocks(canvas, inside, &tile->blocks);
    draw_label(canvas, label, tile->picture.label);
}

/* Sets the size of one picture in pixels; the two pictures of a pair stand side by side. */
static void picture_size(const struct dataset_facts *facts, bool as_trained, size_t *height,
                         size_t *width)
{
    *height = as_trained || !facts->stored_height ? facts->height : facts->stored_height;
    *width = as_trained || !facts->stored_width ? facts->width : facts->stored_width;
    *width *= facts->paired ? 2 : 1;
}

/* Draws the pictures of the grid, and requests those that fit the area if the last request did not
 * include them. `wish` says which pictures; its count is set here. */
static void picture_grid_draw(struct picture_grid *grid, struct canvas *canvas, struct rect area,
                              struct preview *preview, const struct dataset_facts *facts,
                              struct preview_request wish)
{
    size_t height, width;
    picture_size(facts, wish.as_trained, &height, &width);
    const struct grid_fit fit = grid_fit(height, width, area.rows, area.columns);
    const int wide = fit.columns < LEAST_COLUMNS ? LEAST_COLUMNS : fit.columns;
    wish.count = fit.across * fit.down;
    if (wish.count > facts->images)
        wish.count = facts->images;
    grid->shown = wish.count;
    if (wish.count == 0) {
        draw_wrapped(canvas, area, 0, ROLE_FAINT, _("This area is too small for a picture."));
        return;
    }
    request(grid, preview, &wish);
    for (size_t i = 0; i < wish.count; i++) {
        const struct rect place = {area.row + (int)(i / fit.across) * (fit.rows + 1),
                                   area.column + (int)(i % fit.across) * (wide + 1), fit.rows + 1,
                                   wide};
        if (i < grid->count)
            draw_tile(&grid->tiles[i], canvas, place, fit.rows, fit.columns);
    }
}

void setup_free(struct setup_model *model)
{
    preview_close(model->preview);
    live_search_drop(model->looking);
    past_search_drop(model->search);
    picture_grid_free(&model->grid);
    plot_free(&model->plot);
    *model = (struct setup_model){0};
}

/* --- pictures --- */

static void open_preview(struct setup_model *model, const struct form *form,
                         const struct shape *input)
{
    preview_close(model->preview);
    picture_grid_free(&model->grid);
    model->from = 0;
    model->facts = (struct dataset_facts){0};
    model->balance = (struct dataset_balance){0};
    model->error = (struct error){0};
    model->status = PREVIEW_OPENING;
    model->preview = preview_open(&form->config, input, &model->error);
}

static void step_preview(struct setup_model *model, struct form *form)
{
    const struct shape *input = form->forecast_known ? &form->forecast.input : NULL;
    const bool rests = !form->forecast_stale && !form->editing;
    if (rests && (!model->preview || !preview_is_of(model->preview, &form->config, input)))
        open_preview(model, form, input);
    if (!model->preview)
        return;
    if (model->status == PREVIEW_OPENING)
        model->status = preview_status(model->preview, &model->facts, &model->error);
    if (rests && model->status == PREVIEW_OPENED)
        form_take_classes(form, model->facts.classes);
    model->balance = preview_balance(model->preview);
    picture_grid_collect(&model->grid, model->preview);
}

void setup_turn_pictures(struct setup_model *model, int direction)
{
    const size_t images = model->facts.images, step = model->grid.shown;
    if (model->status != PREVIEW_OPENED || images == 0 || step == 0)
        return;
    if (direction > 0)
        model->from = model->from + step < images ? model->from + step : 0;
    else
        model->from = model->from >= step ? model->from - step : (images - 1) / step * step;
}

void setup_turn_epoch(struct setup_model *model, int direction)
{
    if (direction > 0 || model->epoch > 0)
        model->epoch += (uint64_t)direction;
}

/* Draws which pictures are shown and, if it fits, how they are prepared. */
static void draw_caption(const struct setup_model *model, const struct form *form,
                         struct canvas *canvas, struct rect area)
{
    const size_t images = model->facts.images, end = model->from + model->grid.shown;
    const size_t last = end < images ? end : images;
    const unsigned long epoch = (unsigned long)model->epoch + 1;
    const char *augment = training_settings(&form->config).augment;
    char text[160 + AUGMENTATION_TEXT];
    snprintf(text, sizeof text,
             !model->as_trained ? _("%zu-%zu of %zu, epoch %lu, as stored")
             : strcmp(augment, "yes") == 0
                 ? _("%zu-%zu of %zu, epoch %lu, cropped and flipped at random")
                 : _("%zu-%zu of %zu, epoch %lu, as the network sees them"),
             model->from + 1, last, images, epoch);
    if (model->as_trained && strcmp(augment, "yes") != 0 && strcmp(augment, "no") != 0)
        snprintf(text, sizeof text, _("%zu-%zu of %zu, epoch %lu, %s"), model->from + 1, last,
                 images, epoch, augment);
    if (columns_of(text) > (size_t)area.columns)
        snprintf(text, sizeof text, _("%zu-%zu of %zu, epoch %lu"), model->from + 1, last, images,
                 epoch);
    draw_text(canvas, area, 0, 0, ROLE_FAINT, text);
}

void setup_draw_pictures(struct setup_model *model, const struct form *form, struct canvas *canvas,
                         struct rect area)
{
    char text[1100];
    if (rect_is_empty(area))
        return;
    if (model->error.kind != ERROR_NONE) {
        int row = draw_wrapped(canvas, area, 0, ROLE_BAD, _("! There are no pictures to show."));
        draw_wrapped(canvas, area, row, ROLE_TEXT, error_format(&model->error, text, sizeof text));
        return;
    }
    if (model->status != PREVIEW_OPENED || !model->preview) {
        draw_wrapped(canvas, area, 0, ROLE_FAINT, _("Opening the data set ..."));
        return;
    }
    struct preview_request wish = {.epoch = model->epoch,
                                   .from = model->from,
                                   .as_trained = model->as_trained,
                                   .balanced = training_settings(&form->config).sampling ==
                                               SAMPLING_BALANCED,
                                   .batch = training_settings(&form->config).batch,
                                   .seed = training_settings(&form->config).seed};
    snprintf(wish.augment, sizeof wish.augment, "%s", training_settings(&form->config).augment);
    const int caption = area.rows >= 5;
    struct rect pictures = {area.row, area.column, area.rows - caption, area.columns};
    picture_grid_draw(&model->grid, canvas, pictures, model->preview, &model->facts, wish);
    struct rect last = {area.row + area.rows - 1, area.column, caption, area.columns};
    if (model->grid.shown > 0)
        draw_caption(model, form, canvas, last);
}

/* --- time --- */

static void step_search(struct setup_model *model, const struct form *form)
{
    const bool rests = !form->forecast_stale && !form->editing;
    if (rests && !past_run_is_alike(&model->searched, &form->config)) {
        past_search_drop(model->search);
        model->past_known = false;
        model->search = past_search_begin(&form->config, NULL);
        if (model->search) /* else the next call tries again */
            model->searched = form->config;
    }
    if (!model->search || !past_search_result(model->search, &model->past))
        return;
    past_search_drop(model->search);
    model->search = NULL;
    model->past_known = true;
}

void setup_invalidate_past_time(struct setup_model *model)
{
    model->searched = (struct run_config){0};
}

size_t setup_images(const struct setup_model *model, const struct form *form)
{
    const bool open = model->preview && model->status == PREVIEW_OPENED;
    return open && preview_is_of(model->preview, &form->config, NULL) ? model->facts.images : 0;
}

const struct error *setup_data_error(const struct setup_model *model, const struct form *form)
{
    const bool failed = model->preview && model->status == PREVIEW_FAILED;
    return failed && preview_is_of(model->preview, &form->config, NULL) ? &model->error : NULL;
}

double setup_seconds(const struct setup_model *model, const struct form *form)
{
    struct lr_preview plan;
    float unused[2];
    const bool alike = past_run_is_alike(&model->searched, &form->config);
    if (!model->past_known || !model->past.found || !alike)
        return -1;
    lr_preview_make(&form->config, setup_images(model, form), unused, 2, &plan);
    if (plan.iterations == 0)
        return -1;
    return (double)plan.iterations * (double)training_settings(&form->config).batch *
           model->past.ms_per_image / 1e3;
}

/* --- preview and search --- */

void setup_step(struct setup_model *model, struct form *form)
{
    step_preview(model, form);
    step_search(model, form);
}

bool setup_is_waiting(const struct setup_model *model)
{
    return model->looking || model->search || !model->past_known || !model->preview ||
           model->status == PREVIEW_OPENING || /* setup_step has not polled the result */
           preview_is_busy(model->preview);
}

/* --- the defaults --- */

bool setup_toggle_defaults(struct setup_model *model, struct form *form)
{
    struct run_config defaults;
    config_defaults(&defaults);
    const bool back = model->replaced && !config_gives_any(&form->config) &&
                      !training_settings(&form->config).preset[0];
    if (!back)
        model->before = form->config;
    model->replaced = !back;
    form_replace(form, back ? &model->before : &defaults);
    return !back;
}

/* --- other processes --- */

static const double LOOK_SECONDS = 2;

void setup_look_at_others(struct setup_model *model)
{
    struct live_runs live;
    const uint64_t now = clock_nanoseconds();
    if (!model->looking && now >= model->look_again) {
        model->looking = live_search_begin(NULL, NULL);
        model->look_again = now + (uint64_t)(LOOK_SECONDS * 1e9);
    }
    if (!model->looking || !live_search_result(model->looking, &live))
        return;
    live_search_drop(model->looking);
    model->looking = NULL;
    run_queue_text(&live, model->others, sizeof model->others);
}

double setup_seconds_to_look(const struct setup_model *model)
{
    const uint64_t now = clock_nanoseconds();
    return model->look_again > now ? clock_seconds(now, model->look_again) : 0;
}
