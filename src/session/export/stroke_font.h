/* stroke_font.h: letters as strokes of a pen, for pictures of any size. Printable ASCII, and
 * accented Latin letters without their accents; any other character is a box. A capital is six
 * units high, a line eleven.
 */
#ifndef TINCA_SESSION_EXPORT_STROKE_FONT_H
#define TINCA_SESSION_EXPORT_STROKE_FONT_H

#include "session/export/raster.h"

/* Pixels that `text` takes with capitals `height` pixels high. */
double stroke_font_width(const char *text, double height);

/* Writes `text` with its baseline's beginning at (x, y). */
void stroke_font_draw(struct raster *raster, double x, double y, double height,
                      struct colour colour, const char *text);

/* The same from bottom to top: the baseline is vertical. */
void stroke_font_draw_up(struct raster *raster, double x, double y, double height,
                         struct colour colour, const char *text);

#endif
