/* picture_grid.h: pictures of a data set beside and below each other, each with its class. The
 * pictures come from session/inspect/preview.h when they are ready; the room says how many are
 * asked for.
 */
#ifndef TINCA_UI_WIDGETS_PICTURE_GRID_H
#define TINCA_UI_WIDGETS_PICTURE_GRID_H

#include "session/inspect/preview.h"
#include "ui/terminal/draw.h"

/* How many pictures go into a room, and how large each is, in cells. */
struct grid_fit {
    size_t across, down; /* 0: there is no room for one */
    int rows, columns;   /* of one picture, without its label below */
};
/* As many pictures of height x width pixels as can be shown in full, of large ones at least two
 * beside each other where that leaves them recognisable. */
struct grid_fit grid_fit(size_t height, size_t width, int rows, int columns);

struct grid_tile {
    struct preview_picture picture;
    struct halfblocks blocks; /* made for the size below */
    int rows, columns;
};

struct picture_grid {
    struct grid_tile tiles[PREVIEW_MAX_PICTURES];
    struct preview_request asked;
    size_t count; /* tiles that are there */
    size_t shown; /* pictures that the room took when it was last drawn */
};

void picture_grid_free(struct picture_grid *grid); /* leaves it {0} */

/* Takes what is ready; true when there was anything. */
bool picture_grid_collect(struct picture_grid *grid, struct preview *preview);

/* Asks for what the room takes when that is not there yet, and draws what is. `wish` says which
 * pictures; its count is filled in here. */
void picture_grid_draw(struct picture_grid *grid, struct canvas *canvas, struct rect area,
                       struct preview *preview, const struct dataset_facts *facts,
                       struct preview_request wish);

#endif
