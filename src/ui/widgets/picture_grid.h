/* picture_grid.h: a grid of pictures of a data set, each labelled with its class. A background job
 * (training/inspect/preview.h) reads the pictures; the size of the area decides how many it is
 * asked for. */
#ifndef TINCA_UI_WIDGETS_PICTURE_GRID_H
#define TINCA_UI_WIDGETS_PICTURE_GRID_H

#include "training/inspect/preview.h"
#include "ui/terminal/draw.h"

/* The number of pictures that fit into an area, and the size of each in cells. */
struct grid_fit {
    size_t across, down; /* 0: not even one fits */
    int rows, columns;   /* size of one picture, without the label below it */
};

/* Returns how pictures of height x width pixels fill an area: as many as can be shown in full, but
 * large ones reduced until at least two stand side by side, if they stay recognisable. Public for
 * its test. */
struct grid_fit grid_fit(size_t height, size_t width, int rows, int columns);

struct grid_tile {
    struct preview_picture picture;
    struct halfblocks blocks; /* the picture, scaled to the size below */
    int rows, columns;
};

struct picture_grid {
    struct grid_tile tiles[PREVIEW_MAX_PICTURES];
    struct preview_request requested; /* the last request */
    size_t count;                     /* tiles in use */
    size_t shown;                     /* pictures that fitted the area of the last frame */
};

/* Frees the pictures and leaves `*grid` {0}. */
void picture_grid_free(struct picture_grid *grid);

/* Moves the pictures that the job has finished into the grid. Returns whether there were any. */
bool picture_grid_collect(struct picture_grid *grid, struct preview *preview);

/* Draws the pictures of the grid, and requests those that fit the area if the last request did not
 * include them. `wish` says which pictures; its count is set here. */
void picture_grid_draw(struct picture_grid *grid, struct canvas *canvas, struct rect area,
                       struct preview *preview, const struct dataset_facts *facts,
                       struct preview_request wish);

#endif
