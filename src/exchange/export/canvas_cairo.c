/* The module tinca-chart.so: draws on a Cairo surface.
 *
 * Fonts come from Cairo's "toy" interface, which is enough here: short labels in Latin, Greek or
 * Cyrillic letters in one font, without shaping or a second font for missing letters. fontconfig
 * chooses the system's sans-serif font; PDF files embed the letters that they use, SVG files hold
 * them as outlines, so both look the same everywhere. Where no font is installed Cairo silently
 * draws with a built-in font that has no accents; that is reported as CANVAS_NO_FONT instead.
 *
 * Cairo remembers the first error of a surface and ignores later calls, so only `finish` checks. */
#include "exchange/export/canvas.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>
#include <config.h>
#include <math.h>
#include <stdlib.h>

struct canvas {
    cairo_t *cairo;
    cairo_surface_t *surface;
    enum canvas_format format;
    canvas_writer *write;
    void *context;
    bool no_font;
};

static cairo_status_t write_bytes(void *context, const unsigned char *bytes, unsigned int count)
{
    struct canvas *canvas = context;
    return canvas->write(canvas->context, bytes, count) ? CAIRO_STATUS_SUCCESS
                                                        : CAIRO_STATUS_WRITE_ERROR;
}

static cairo_surface_t *create_surface(struct canvas *canvas, const struct canvas_page *page)
{
    cairo_surface_t *surface;
    switch (page->format) {
    case CANVAS_SVG:
        return cairo_svg_surface_create_for_stream(write_bytes, canvas, page->width, page->height);
    case CANVAS_PDF:
        surface =
            cairo_pdf_surface_create_for_stream(write_bytes, canvas, page->width, page->height);
        cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE, page->title);
        cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATOR,
                                       "tinca " PACKAGE_VERSION);
        return surface;
    default:
        surface =
            cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)lround(page->width * page->scale),
                                       (int)lround(page->height * page->scale));
        cairo_surface_set_device_scale(surface, page->scale, page->scale);
        return surface;
    }
}

static struct canvas *begin(const struct canvas_page *page, canvas_writer *write, void *context)
{
    struct canvas *canvas = malloc(sizeof *canvas);
    if (!canvas)
        return NULL;
    *canvas = (struct canvas){.format = page->format, .write = write, .context = context};
    canvas->surface = create_surface(canvas, page);
    canvas->cairo = cairo_create(canvas->surface);
    cairo_set_source_rgb(canvas->cairo, 1, 1, 1);
    cairo_paint(canvas->cairo);
    cairo_set_line_join(canvas->cairo, CAIRO_LINE_JOIN_ROUND);
    return canvas;
}

static enum canvas_outcome finish(struct canvas *canvas, const char **reason)
{
    cairo_status_t status = cairo_status(canvas->cairo);
    cairo_destroy(canvas->cairo);
    if (status == CAIRO_STATUS_SUCCESS && canvas->format == CANVAS_PNG)
        status = cairo_surface_write_to_png_stream(canvas->surface, write_bytes, canvas);
    cairo_surface_finish(canvas->surface);
    if (status == CAIRO_STATUS_SUCCESS)
        status = cairo_surface_status(canvas->surface);
    cairo_surface_destroy(canvas->surface);
    const bool no_font = canvas->no_font;
    free(canvas);
    if (status != CAIRO_STATUS_SUCCESS) {
        *reason = cairo_status_to_string(status);
        return CANVAS_FAILED;
    }
    return no_font ? CANVAS_NO_FONT : CANVAS_DONE;
}

static void clip(struct canvas *canvas, double left, double top, double right, double bottom)
{
    cairo_new_path(canvas->cairo);
    cairo_rectangle(canvas->cairo, left, top, right - left, bottom - top);
    cairo_clip(canvas->cairo);
}

static void unclip(struct canvas *canvas)
{
    cairo_reset_clip(canvas->cairo);
}

static void set_colour(struct canvas *canvas, struct canvas_colour colour)
{
    cairo_set_source_rgb(canvas->cairo, colour.red / 255.0, colour.green / 255.0,
                         colour.blue / 255.0);
}

static void line(struct canvas *canvas, const struct canvas_point *points, size_t count,
                 const struct canvas_pen *pen)
{
    set_colour(canvas, pen->colour);
    cairo_set_line_width(canvas->cairo, pen->width);
    cairo_set_dash(canvas->cairo, pen->dashes, pen->dashes ? (int)pen->dash_count : 0, 0);
    cairo_set_line_cap(canvas->cairo, pen->dashes ? CAIRO_LINE_CAP_BUTT : CAIRO_LINE_CAP_ROUND);
    cairo_new_path(canvas->cairo); /* a text leaves a current point behind */
    for (size_t i = 0; i < count; i++)
        cairo_line_to(canvas->cairo, points[i].x, points[i].y);
    if (count == 1) /* a round dot */
        cairo_line_to(canvas->cairo, points[0].x, points[0].y);
    cairo_stroke(canvas->cairo);
}

static void disc(struct canvas *canvas, double x, double y, double radius,
                 struct canvas_colour colour)
{
    set_colour(canvas, colour);
    cairo_new_path(canvas->cairo);
    cairo_arc(canvas->cairo, x, y, radius, 0, 2 * M_PI);
    cairo_fill(canvas->cairo);
}

/* Cairo's built-in font, used when fontconfig finds none, is of the type "user". */
static void set_font(struct canvas *canvas, const struct canvas_font *font)
{
    cairo_select_font_face(canvas->cairo, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           font->bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(canvas->cairo, font->size);
    canvas->no_font |=
        cairo_scaled_font_get_type(cairo_get_scaled_font(canvas->cairo)) == CAIRO_FONT_TYPE_USER;
}

static double text_width(struct canvas *canvas, const char *text, const struct canvas_font *font)
{
    cairo_text_extents_t extents;
    set_font(canvas, font);
    cairo_text_extents(canvas->cairo, text, &extents);
    return extents.x_advance;
}

static void text(struct canvas *canvas, double x, double y, const char *string,
                 const struct canvas_font *font, bool upwards)
{
    cairo_save(canvas->cairo);
    set_colour(canvas, font->colour);
    cairo_translate(canvas->cairo, x, y);
    if (upwards)
        cairo_rotate(canvas->cairo, -M_PI / 2);
    cairo_move_to(canvas->cairo, 0, 0);
    set_font(canvas, font);
    cairo_show_text(canvas->cairo, string);
    cairo_restore(canvas->cairo);
}

__attribute__((visibility("default"))) const struct canvas_module *tinca_chart_module(void);

const struct canvas_module *tinca_chart_module(void)
{
    static const struct canvas_module module = {
        .interface = CANVAS_INTERFACE,
        .bytes = sizeof module,
        .version = PACKAGE_VERSION,
        .begin = begin,
        .finish = finish,
        .clip = clip,
        .unclip = unclip,
        .line = line,
        .disc = disc,
        .text_width = text_width,
        .text = text,
    };
    return &module;
}
