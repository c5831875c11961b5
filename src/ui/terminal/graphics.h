/* graphics.h: pictures on a terminal: which way it can show them, and the bytes that do.
 *
 * Four ways, best first: kitty's graphics protocol and sixel show the picture's own pixels; half
 * blocks (halfblock.h) show two pixels a cell, in true colour or in xterm's 256 colours. What a
 * terminal offers is gathered by graphics_read_environment; choosing and encoding are plain
 * functions of it.
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

/* What users call them, by value, then "auto" (the best); NULL-terminated. */
extern const char *const graphics_names[];

/* The least size at which a picture can be judged. */
enum { GRAPHICS_MIN_COLUMNS = 32, GRAPHICS_MIN_ROWS = 16 };

struct graphics_facts {
    char terminal[64];           /* $TERM */
    bool known;                  /* to terminfo, and it can place its cursor */
    bool no_color;               /* the user wishes no colours */
    bool utf8;                   /* the locale shows U+2580 in one column */
    long colours;                /* by terminfo; COLORTERM and its like count as 2^24 */
    bool kitty, sixel;           /* it said so when asked */
    int cell_width, cell_height; /* pixels; 0: not known */
};

/* What the environment says: $TERM and its terminfo entry, $COLORTERM, $NO_COLOR, the locale. */
void graphics_read_environment(struct graphics_facts *facts);

/* Asks the open terminal for kitty's protocol, sixel and its cells' size; waits at most a moment.
 * Whatever was typed before is lost. Terminals that would print the question are not asked. */
void graphics_query_terminal(struct graphics_facts *facts);

/* What the bytes that a terminal answered say, whatever else is among them. */
void graphics_parse_reply(struct graphics_facts *facts, const char *answer);

/* The part of graphics_choose that needs no answer of the terminal: for a terminal that is not
 * even to be opened. */
bool graphics_check_possible(const struct graphics_facts *facts, const char *name,
                             struct error *error);

/* The best way, or the one called `name` (NULL or "auto": the best): what the user names is
 * believed, but for half blocks where the locale lacks the character. Fails with what is missing
 * and what would do.
 */
bool graphics_choose(const struct graphics_facts *facts, const char *name, enum graphics *chosen,
                     struct error *error);

/* Appends the bytes that show an RGB picture as large as fits in the middle of `area` (at least
 * 1x1 cells), but no more than three times its size in pixels; and the bytes that take such
 * pictures away as far as erasing the screen does not. */
bool graphics_append_picture(struct text *out, enum graphics graphics,
                             const struct graphics_facts *facts, const struct image *image,
                             struct rect area, struct error *error);
const char *graphics_erase_sequence(enum graphics graphics);

/* --- the encoders, each in a file of its own --- */

/* Half blocks at (area.row, area.column), centred. */
bool graphics_write_cells(struct text *out, const struct image *image, struct rect area,
                          bool truecolor, struct error *error);

/* The picture as kitty's "transmit and show", scaled by the terminal to columns x rows cells at the
 * cursor. Needs RGB. */
void graphics_write_kitty(struct text *out, const struct image *image, int columns, int rows);

/* The picture, pixel by pixel, in at most 256 colours of its own. Needs RGB. */
bool graphics_write_sixel(struct text *out, const struct image *image, struct error *error);

/* --- the terminal's bytes (graphics_terminal.c) --- */

/* Sends bytes past ncurses. Gives up, false, when a signal asks to stop or the terminal is gone;
 * then a sequence that was cut off is ended. */
bool graphics_send(const char *bytes, size_t length);

#endif
