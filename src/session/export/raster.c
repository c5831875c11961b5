#include "session/export/raster.h"

#include <math.h>

bool raster_create(struct raster *raster, size_t width, size_t height, struct colour colour,
                   struct error *error)
{
    *raster = (struct raster){0};
    if (!image_create(&raster->image, width, height, 3, error))
        return false;
    raster_clip_nothing(raster);
    raster_rectangle(raster, 0, 0, (double)width, (double)height, colour);
    return true;
}

void raster_free(struct raster *raster)
{
    image_free(&raster->image);
}

void raster_clip(struct raster *raster, double left, double top, double right, double bottom)
{
    raster->left = fmax(left, 0);
    raster->top = fmax(top, 0);
    raster->right = fmin(right, (double)raster->image.width);
    raster->bottom = fmin(bottom, (double)raster->image.height);
}

void raster_clip_nothing(struct raster *raster)
{
    raster_clip(raster, 0, 0, (double)raster->image.width, (double)raster->image.height);
}

static void blend(struct raster *raster, size_t x, size_t y, double cover, struct colour colour)
{
    uint8_t *pixel = raster->image.pixels + (y * raster->image.width + x) * 3;
    const uint8_t to[3] = {colour.red, colour.green, colour.blue};
    for (int i = 0; i < 3; i++)
        pixel[i] = (uint8_t)lround(pixel[i] + (to[i] - pixel[i]) * cover);
}

/* Whole pixels from `low` to `high`, kept within [first, last). */
static bool span(double low, double high, double first, double last, size_t *begin, size_t *end)
{
    low = fmax(floor(low), first);
    high = fmin(ceil(high), last);
    if (!(low < high))
        return false;
    *begin = (size_t)low;
    *end = (size_t)high;
    return true;
}

/* Distance of (x, y) from the line between two points. */
static double distance(double x, double y, double x0, double y0, double x1, double y1)
{
    const double dx = x1 - x0, dy = y1 - y0, length = dx * dx + dy * dy;
    const double along = length > 0 ? ((x - x0) * dx + (y - y0) * dy) / length : 0;
    const double t = fmin(fmax(along, 0), 1);
    return hypot(x - x0 - t * dx, y - y0 - t * dy);
}

void raster_line(struct raster *raster, double x0, double y0, double x1, double y1, double width,
                 struct colour colour)
{
    const double reach = width / 2 + 1, slope = (x1 - x0) / (y1 - y0);
    size_t top, bottom, left, right;
    if (!isfinite(x0 + y0 + x1 + y1) || !span(fmin(y0, y1) - reach, fmax(y0, y1) + reach,
                                              raster->top, raster->bottom, &top, &bottom))
        return;
    for (size_t y = top; y < bottom; y++) {
        /* where the line crosses this row, so that a long one does not visit its whole box */
        double low = fmin(x0, x1), high = fmax(x0, x1);
        if (isfinite(slope)) {
            const double wide = reach * (1 + fabs(slope)) + fabs(slope);
            const double middle = x0 + ((double)y + 0.5 - y0) * slope;
            low = fmax(low, middle - wide);
            high = fmin(high, middle + wide);
        }
        if (!span(low - reach, high + reach, raster->left, raster->right, &left, &right))
            continue;
        for (size_t x = left; x < right; x++) {
            const double off = distance((double)x + 0.5, (double)y + 0.5, x0, y0, x1, y1);
            const double cover = fmin(width / 2 + 0.5 - off, 1);
            if (cover > 0)
                blend(raster, x, y, cover, colour);
        }
    }
}

void raster_rectangle(struct raster *raster, double left, double top, double right, double bottom,
                      struct colour colour)
{
    size_t first, last, begin, end;
    if (!span(top, bottom, raster->top, raster->bottom, &first, &last) ||
        !span(left, right, raster->left, raster->right, &begin, &end))
        return;
    for (size_t y = first; y < last; y++)
        for (size_t x = begin; x < end; x++)
            blend(raster, x, y, 1, colour);
}
