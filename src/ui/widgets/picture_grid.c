/* Each frame computes how many pictures fit. If that is more than the last request, or if other
 * pictures are wanted, the background job gets a new request; pictures that are present are drawn
 * meanwhile. A tile scales its picture to half blocks once for each size. */
#include "ui/widgets/picture_grid.h"

#include "base/language.h"
#include "ui/terminal/columns.h"

#include <stdio.h>
#include <string.h>

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

void picture_grid_free(struct picture_grid *grid)
{
    for (size_t i = 0; i < PREVIEW_MAX_PICTURES; i++)
        free_tile(&grid->tiles[i]);
    *grid = (struct picture_grid){0};
}

bool picture_grid_collect(struct picture_grid *grid, struct preview *preview)
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

void picture_grid_draw(struct picture_grid *grid, struct canvas *canvas, struct rect area,
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
