#include "ui/terminal/graphics.h"

#include "base/language.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

const char *const graphics_names[] = {"kitty", "sixel", "truecolor", "256", "auto", NULL};

enum { TRUECOLOR_COLOURS = 1 << 24 };
/* Where the terminal does not say: the VT340's cell, which most emulators of sixel imitate. */
enum { CELL_WIDTH = 10, CELL_HEIGHT = 20, LARGEST_SCALE = 3 };

/* --- choosing --- */

static const char advice[] = N_("use a terminal with 256 colours or more (TERM=xterm-256color, "
                                "COLORTERM=truecolor), kitty's graphics or sixel");

/* Whether the user names a way instead of leaving it to the terminal. */
static bool is_named(const char *name)
{
    return name && strcmp(name, "auto") != 0;
}

bool graphics_check_possible(const struct graphics_facts *facts, const char *name,
                             struct error *error)
{
    if (!facts->known)
        return error_set(error, ERROR_UNSUPPORTED, "TERM", advice,
                         "pictures cannot be shown on a terminal of type %s%s",
                         facts->terminal[0] ? facts->terminal : "(none)",
                         facts->terminal[0] ? ", which is unknown or cannot place its cursor" : "");
    if (facts->no_color && !is_named(name))
        return error_set(error, ERROR_UNSUPPORTED, "NO_COLOR",
                         "unset NO_COLOR, or ask for colours with --graphics",
                         "it is set, and pictures need colours");
    return true;
}

static bool check_wanted(const struct graphics_facts *facts, enum graphics wanted,
                         struct error *error)
{
    if (wanted <= GRAPHICS_SIXEL || facts->utf8)
        return true;
    return error_set(error, ERROR_UNSUPPORTED, "the locale", "set LANG=C.UTF-8",
                     "half blocks need UTF-8, which this locale is not");
}

static bool choose_best(const struct graphics_facts *facts, enum graphics *chosen,
                        struct error *error)
{
    if (facts->kitty)
        *chosen = GRAPHICS_KITTY;
    else if (facts->sixel)
        *chosen = GRAPHICS_SIXEL;
    else if (facts->colours >= TRUECOLOR_COLOURS)
        *chosen = GRAPHICS_TRUECOLOR;
    else if (facts->colours >= 256)
        *chosen = GRAPHICS_256;
    else if (facts->colours >= 8)
        return error_set(error, ERROR_UNSUPPORTED, "TERM", advice,
                         "a terminal of type %s has only %ld colours, too few for pictures",
                         facts->terminal, facts->colours);
    else
        return error_set(error, ERROR_UNSUPPORTED, "TERM", advice,
                         "a terminal of type %s has no colours, and pictures need them",
                         facts->terminal);
    return check_wanted(facts, *chosen, error);
}

bool graphics_choose(const struct graphics_facts *facts, const char *name, enum graphics *chosen,
                     struct error *error)
{
    if (!graphics_check_possible(facts, name, error))
        return false;
    for (int i = 0; is_named(name) && i < GRAPHICS_KINDS; i++)
        if (strcmp(graphics_names[i], name) == 0) {
            *chosen = (enum graphics)i;
            return check_wanted(facts, *chosen, error);
        }
    return choose_best(facts, chosen, error);
}

/* --- showing --- */

/* The size in pixels at which a picture fills the area. */
static void fit(const struct graphics_facts *facts, const struct image *image, struct rect area,
                double *width, double *height)
{
    const double cell_width = facts->cell_width ? facts->cell_width : CELL_WIDTH;
    const double cell_height = facts->cell_height ? facts->cell_height : CELL_HEIGHT;
    const double across = area.columns * cell_width / (double)image->width;
    const double down = area.rows * cell_height / (double)image->height;
    const double scale = fmin(fmin(across, down), LARGEST_SCALE);
    *width = scale * (double)image->width;
    *height = scale * (double)image->height;
}

static int cells_of(double pixels, int cell, int otherwise, int most)
{
    const int cells = (int)ceil(pixels / (cell ? cell : otherwise) - 1e-9);
    return cells < 1 ? 1 : cells > most ? most : cells;
}

static bool write_sixel(struct text *out, const struct image *image, double width, double height,
                        struct error *error)
{
    struct image scaled = {0};
    const size_t wide = width < 1 ? 1 : (size_t)width, high = height < 1 ? 1 : (size_t)height;
    bool written = image_resize(&scaled, image, wide, high, error) &&
                   graphics_write_sixel(out, &scaled, error);
    image_free(&scaled);
    return written;
}

static bool write_pixels(struct text *out, enum graphics graphics,
                         const struct graphics_facts *facts, const struct image *image,
                         struct rect area, struct error *error)
{
    double width, height;
    fit(facts, image, area, &width, &height);
    const int columns = cells_of(width, facts->cell_width, CELL_WIDTH, area.columns);
    const int rows = cells_of(height, facts->cell_height, CELL_HEIGHT, area.rows);
    text_append(out, "\033[%d;%dH", area.row + (area.rows - rows) / 2 + 1,
                area.column + (area.columns - columns) / 2 + 1);
    if (graphics == GRAPHICS_SIXEL)
        return write_sixel(out, image, width, height, error);
    graphics_write_kitty(out, image, columns, rows);
    return true;
}

bool graphics_append_picture(struct text *out, enum graphics graphics,
                             const struct graphics_facts *facts, const struct image *image,
                             struct rect area, struct error *error)
{
    bool shown;
    if (graphics <= GRAPHICS_SIXEL)
        shown = write_pixels(out, graphics, facts, image, area, error);
    else
        shown = graphics_write_cells(out, image, area, graphics == GRAPHICS_TRUECOLOR, error);
    return shown && (!out->failed || error_set_memory(error, "a picture", 0));
}

const char *graphics_erase_sequence(enum graphics graphics)
{
    return graphics == GRAPHICS_KITTY ? "\033_Ga=d,d=A,q=2\033\\" : "";
}
