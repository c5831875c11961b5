/* raster.h: smooth lines in a picture. Internal to session/.
 *
 * Coordinates are pixels, (0, 0) the upper left corner of the upper left pixel. A line covers a
 * pixel by how near its middle is: edges are smooth without drawing anything larger.
 */
#ifndef TINCA_SESSION_EXPORT_RASTER_H
#define TINCA_SESSION_EXPORT_RASTER_H

#include "base/error.h"
#include "data/images/image.h"

#include <stdbool.h>
#include <stdint.h>

struct colour {
    uint8_t red, green, blue;
};

struct raster {
    struct image image;              /* RGB */
    double left, top, right, bottom; /* what is drawn outside is clipped */
};

/* A picture filled with one colour, clipped to itself. */
bool raster_create(struct raster *raster, size_t width, size_t height, struct colour colour,
                   struct error *error);
void raster_free(struct raster *raster);

void raster_clip(struct raster *raster, double left, double top, double right, double bottom);
void raster_clip_nothing(struct raster *raster);

/* A line `width` pixels wide with round ends; from a point to itself it is a disc. Coordinates that
 * are no numbers draw nothing. */
void raster_line(struct raster *raster, double x0, double y0, double x1, double y1, double width,
                 struct colour colour);
void raster_rectangle(struct raster *raster, double left, double top, double right, double bottom,
                      struct colour colour);

#endif
