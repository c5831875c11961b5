/* canvas.h: a page to draw on, written as PNG, SVG or PDF by Cairo.
 *
 * The functions that call Cairo are in a module, tinca-chart.so, which canvas_load opens with
 * dlopen when the first chart is drawn. A program that draws nothing does not load Cairo and starts
 * without it. The module exports one function, CANVAS_MODULE_FUNCTION, which returns a table of
 * functions; this header is all that program and module share.
 *
 * Lengths are points (1/72 inch); (0, 0) is the upper left corner of the page. Texts are UTF-8.
 * Each canvas belongs to one thread; several threads may draw on canvases of their own.
 */
#ifndef TINCA_EXCHANGE_EXPORT_CANVAS_H
#define TINCA_EXCHANGE_EXPORT_CANVAS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CANVAS_MODULE_FILE     "tinca-chart.so"
#define CANVAS_MODULE_FUNCTION "tinca_chart_module"

/* Increased with every change of this header. */
enum { CANVAS_INTERFACE = 1 };

enum canvas_format { CANVAS_PNG, CANVAS_SVG, CANVAS_PDF, CANVAS_FORMATS };

struct canvas_colour {
    uint8_t red, green, blue;
};

struct canvas_point {
    double x, y;
};

struct canvas_pen {
    struct canvas_colour colour;
    double width;
    const double *dashes; /* lengths of dashes and gaps in turn; NULL: a solid line */
    size_t dash_count;
};

struct canvas_font {
    struct canvas_colour colour;
    double size; /* size of the em square */
    bool bold;
};

struct canvas_page {
    enum canvas_format format;
    double width, height;
    double scale;      /* PNG: pixels per point; the page has whole pixels */
    const char *title; /* stored in a PDF file's metadata */
};

/* Receives the next bytes of the document. Returns false when it cannot store them. */
typedef bool canvas_writer(void *context, const void *bytes, size_t count);

enum canvas_outcome {
    CANVAS_DONE,
    CANVAS_NO_FONT, /* texts could not be drawn: no font is installed */
    CANVAS_FAILED
};

struct canvas;

struct canvas_module {
    uint32_t interface;  /* CANVAS_INTERFACE of the module's build */
    size_t bytes;        /* the size of this structure there */
    const char *version; /* the program's version there */

    /* Returns a white page. Frees nothing of `page`, which is not used after the call. Errors are
     * stored in the canvas until `finish`; NULL means that memory ran out. */
    struct canvas *(*begin)(const struct canvas_page *page, canvas_writer *write, void *context);
    /* Writes what is left of the document and frees the canvas. With CANVAS_FAILED, *reason is
     * Cairo's constant text for the first error. */
    enum canvas_outcome (*finish)(struct canvas *canvas, const char **reason);

    /* Limits drawing to a rectangle until `unclip`. Clips do not nest. */
    void (*clip)(struct canvas *canvas, double left, double top, double right, double bottom);
    void (*unclip)(struct canvas *canvas);

    /* Draws a line through `count` points with round joins. */
    void (*line)(struct canvas *canvas, const struct canvas_point *points, size_t count,
                 const struct canvas_pen *pen);
    /* Fills a circle. */
    void (*disc)(struct canvas *canvas, double x, double y, double radius,
                 struct canvas_colour colour);

    /* Returns how far `text` advances the pen. */
    double (*text_width)(struct canvas *canvas, const char *text, const struct canvas_font *font);
    /* Draws `text` with its baseline starting at (x, y): to the right, or upwards. */
    void (*text)(struct canvas *canvas, double x, double y, const char *text,
                 const struct canvas_font *font, bool upwards);
};

typedef const struct canvas_module *canvas_module_function(void);

/* Returns the module's table, which stays valid until the program ends. The module is opened by the
 * first call: beside the program (as in the build tree) or else in $(pkglibdir). Returns NULL with
 * ERROR_UNSUPPORTED when there is no usable module. Thread-safe. */
const struct canvas_module *canvas_load(struct error *error);

/* Opens the module at `path` and returns its table, like canvas_load, but does not store it for
 * later calls. For tests. */
const struct canvas_module *canvas_load_from(const char *path, struct error *error);

#endif
