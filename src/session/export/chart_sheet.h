/* chart_sheet.h: draws texts and straight lines on the canvas of a chart. Internal to
 * session/export/. */
#ifndef TINCA_SESSION_EXPORT_CHART_SHEET_H
#define TINCA_SESSION_EXPORT_CHART_SHEET_H

#include "base/text.h"
#include "session/export/canvas.h"

/* A canvas with the functions that draw on it. */
struct sheet {
    const struct canvas_module *draw;
    struct canvas *canvas;
    double width, height; /* points */
};

/* The text size in points: that of a caption in a paper. */
enum { SHEET_TEXT = 8 };

/* Draws a text, which may have any encoding (sheet_append_utf8). `align` is the share of the text
 * that lies left of (x, y): 0, 0.5 or 1. A text longer than `limit` points is drawn smaller. */
void sheet_text(const struct sheet *sheet, double x, double y, double align, double limit,
                const char *text, const struct canvas_font *font);
/* Draws a text like sheet_text, but upwards, for the title of a y axis. */
void sheet_text_upwards(const struct sheet *sheet, double x, double y, double align, double limit,
                        const char *text, const struct canvas_font *font);

/* Returns the length of a text in points. */
double sheet_text_width(const struct sheet *sheet, const char *text,
                        const struct canvas_font *font);

/* Appends `text` as UTF-8. Bytes that are not UTF-8 are converted from the locale's character set.
 * Control characters, and bytes that are invalid in both, become question marks. */
void sheet_append_utf8(struct text *out, const char *text);

/* Draws a straight line. */
void sheet_line(const struct sheet *sheet, struct canvas_point from, struct canvas_point to,
                double width, struct canvas_colour colour);

extern const struct canvas_colour sheet_ink, sheet_grey;
/* The fonts of labels and of secondary text such as tick values. */
extern const struct canvas_font sheet_label, sheet_secondary_label;

#endif
