/* graphics.h: pictures on a terminal: chooses a method and encodes the picture for it.
 *
 * There are four methods, best first: kitty's graphics protocol and sixel show the pixels
 * themselves; half blocks (draw.h) show two pixels in a cell, in true colour or in xterm's 256
 * colours. struct graphics_facts holds what the terminal can do. Choosing and encoding depend on
 * nothing else.
 */
#ifndef TINCA_UI_TERMINAL_GRAPHICS_H
#define TINCA_UI_TERMINAL_GRAPHICS_H

#include "base/error.h"
#include "base/text.h"
#include "data/images/image.h"
#include "ui/terminal/layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum graphics { GRAPHICS_KITTY, GRAPHICS_SIXEL, GRAPHICS_TRUECOLOR, GRAPHICS_256, GRAPHICS_KINDS };

/* The names on the command line, by value, then "auto" (the best); NULL-terminated. */
extern const char *const graphics_names[];

/* The smallest size in cells at which a reader can judge a picture. */
enum { GRAPHICS_MIN_COLUMNS = 32, GRAPHICS_MIN_ROWS = 16 };

struct graphics_facts {
    char terminal[64];           /* $TERM */
    bool known;                  /* terminfo knows the terminal, and it can place its cursor */
    bool no_color;               /* NO_COLOR is set */
    bool utf8;                   /* the locale shows U+2580 in one column */
    long colours;                /* number of colours; true colour (COLORTERM) counts as 2^24 */
    bool kitty, sixel;           /* the terminal reported the method when queried */
    int cell_width, cell_height; /* pixels; 0: unknown */
};

/* Fills the facts from $TERM, its terminfo entry, $COLORTERM, $NO_COLOR and the locale. */
void graphics_read_environment(struct graphics_facts *facts);

/* Asks the open terminal whether it supports kitty's protocol and sixel and how large its cells
 * are, and adds the reply to the facts. Waits at most two seconds. Discards keys typed before.
 * Terminals that would print kitty's query are only asked for the rest. */
void graphics_query_terminal(struct graphics_facts *facts);

/* Adds the facts in the bytes that a terminal replied, whatever else is among them. Separate from
 * the query so that replies can be tested without a terminal. */
void graphics_parse_reply(struct graphics_facts *facts, const char *reply);

/* Returns false, with the reason, if the environment alone rules out pictures: the check of
 * graphics_choose that needs no open terminal. */
bool graphics_check_possible(const struct graphics_facts *facts, const char *name,
                             struct error *error);

/* Chooses the best method, or the one called `name` (NULL or "auto": the best). A method that the
 * user names is not checked against the facts, except that half blocks need UTF-8. Fails with what
 * the terminal lacks and which terminal would do. */
bool graphics_choose(const struct graphics_facts *facts, const char *name, enum graphics *chosen,
                     struct error *error);

/* Appends the bytes that show an RGB picture in the middle of `area` (at least 1x1 cells), as large
 * as fits but at most three times its size in pixels. Returns false with an error if out of memory.
 */
bool graphics_append_picture(struct text *out, enum graphics graphics,
                             const struct graphics_facts *facts, const struct image *image,
                             struct rect area, struct error *error);

/* Returns the bytes that remove pictures which erasing the screen leaves in place; "" if it
 * removes them all. */
const char *graphics_erase_sequence(enum graphics graphics);

/* --- the encoders --- */

/* Appends half blocks, centred in `area`. Returns false with an error if out of memory. */
bool graphics_write_cells(struct text *out, const struct image *image, struct rect area,
                          bool truecolor, struct error *error);

/* Appends the RGB picture in kitty's protocol ("transmit and display"). The terminal scales it to
 * columns x rows cells at the cursor. */
void graphics_write_kitty(struct text *out, const struct image *image, int columns, int rows);

/* Appends the RGB picture as sixel, pixel by pixel, in at most 256 colours chosen for it.
 * Returns false with an error if out of memory. */
bool graphics_write_sixel(struct text *out, const struct image *image, struct error *error);

/* --- sending --- */

/* Sends bytes to the terminal past ncurses. Stops and returns false when a signal asks to stop or
 * the terminal is gone; it then ends a control sequence that was cut off. */
bool graphics_send(const char *bytes, size_t length);

/* --- palette ---
 *
 * reduces a picture to at most 256 colours by median cut (Heckbert 1982, "Color image
 * quantization for frame buffer display"). Pixels are first sorted into bins of 32 levels in each
 * channel. */

enum { PALETTE_MAX = 256, PALETTE_BINS = 32 * 32 * 32 };

struct palette {
    size_t count; /* colours in use */
    uint8_t colours[PALETTE_MAX][3];
    uint8_t of_bin[PALETTE_BINS]; /* the index of the colour that replaces a bin of the picture */
};

/* Chooses the colours for an RGB picture. Returns false with an error if out of memory. */
bool palette_make(struct palette *palette, const struct image *image, struct error *error);

/* Returns the bin of a pixel. */
static inline size_t palette_bin(const uint8_t rgb[3])
{
    return (size_t)(rgb[0] >> 3) << 10 | (size_t)(rgb[1] >> 3) << 5 | (size_t)(rgb[2] >> 3);
}

#endif
