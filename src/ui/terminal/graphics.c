/* Chooses the method from the facts and fits a picture into an area. Kitty scales pictures itself;
 * for sixel the picture is resized here to the size in pixels that fills the area. */
#include "ui/terminal/graphics.h"

#include "base/language.h"
#include "base/memory.h"
#include "ui/terminal/draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const graphics_names[] = {"kitty", "sixel", "truecolor", "256", "auto", NULL};

enum { TRUECOLOR_COLOURS = 1 << 24 };
/* The cell in pixels if the terminal does not report it: that of the VT340, which most sixel
 * emulators imitate. */
enum { CELL_WIDTH = 10, CELL_HEIGHT = 20, LARGEST_SCALE = 3 };

/* --- choosing --- */

static const char advice[] = N_("use a terminal with 256 colours or more (TERM=xterm-256color, "
                                "COLORTERM=truecolor), kitty's graphics or sixel");

/* Returns whether the user asks for a certain method. */
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
                     "half blocks need UTF-8, but the locale has another encoding");
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

/* Sets the size in pixels at which the picture fills the area. */
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

/* Returns how many cells of `cell` pixels (0: unknown) hold so many pixels, 1..most. */
static int cells_for(double pixels, int cell, int fallback, int most)
{
    const int cells = (int)ceil(pixels / (cell ? cell : fallback) - 1e-9);
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
    const int columns = cells_for(width, facts->cell_width, CELL_WIDTH, area.columns);
    const int rows = cells_for(height, facts->cell_height, CELL_HEIGHT, area.rows);
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

/* --- palette ---
 *
 * A box is a contiguous part of the array of bins. The box with the largest weight (pixels times
 * the length of its longest side) is cut in two at the median of that side, until there are
 * PALETTE_MAX boxes or none can be cut. A box then becomes one colour: the mean of its pixels. */

struct bin {
    uint16_t code;
    uint64_t pixels, sum[3];
};

struct box {
    struct bin *bins;
    size_t count;
    int side;      /* the longest: 0 red, 1 green, 2 blue */
    double weight; /* pixels times the length of that side; 0: it cannot be cut */
};

static int level(const struct bin *bin, int side)
{
    return bin->code >> (10 - 5 * side) & 31;
}

static int by_red(const void *a, const void *b)
{
    return level(a, 0) - level(b, 0);
}

static int by_green(const void *a, const void *b)
{
    return level(a, 1) - level(b, 1);
}

static int by_blue(const void *a, const void *b)
{
    return level(a, 2) - level(b, 2);
}

/* Sets the longest side and the weight. */
static void measure(struct box *box)
{
    uint64_t pixels = 0;
    int widest = 0;
    for (size_t i = 0; i < box->count; i++)
        pixels += box->bins[i].pixels;
    for (int side = 0; side < 3; side++) {
        int low = 31, high = 0;
        for (size_t i = 0; i < box->count; i++) {
            int at = level(&box->bins[i], side);
            low = at < low ? at : low;
            high = at > high ? at : high;
        }
        if (high - low > widest) {
            widest = high - low;
            box->side = side;
        }
    }
    box->weight = (double)pixels * widest;
}

/* Cuts a box in two, with at least one bin in each. Returns the upper part. */
static struct box cut(struct box *box)
{
    static int (*const orders[3])(const void *, const void *) = {by_red, by_green, by_blue};
    uint64_t pixels = 0, before = 0;
    size_t first = 1;
    qsort(box->bins, box->count, sizeof *box->bins, orders[box->side]);
    for (size_t i = 0; i < box->count; i++)
        pixels += box->bins[i].pixels;
    for (before = box->bins[0].pixels; first + 1 < box->count && 2 * before < pixels; first++)
        before += box->bins[first].pixels;
    struct box upper = {.bins = box->bins + first, .count = box->count - first};
    box->count = first;
    measure(box);
    measure(&upper);
    return upper;
}

static size_t cut_all(struct box boxes[PALETTE_MAX], struct bin *bins, size_t count)
{
    size_t boxes_made = 1;
    boxes[0] = (struct box){.bins = bins, .count = count};
    for (measure(&boxes[0]); boxes_made < PALETTE_MAX; boxes_made++) {
        size_t heaviest = 0;
        for (size_t i = 1; i < boxes_made; i++)
            heaviest = boxes[i].weight > boxes[heaviest].weight ? i : heaviest;
        if (boxes[heaviest].weight == 0)
            break;
        boxes[boxes_made] = cut(&boxes[heaviest]);
    }
    return boxes_made;
}

/* Makes a box the colour `index`. */
static void set_colour(struct palette *palette, size_t index, const struct box *box)
{
    uint64_t pixels = 0, sum[3] = {0};
    for (size_t i = 0; i < box->count; i++) {
        pixels += box->bins[i].pixels;
        for (int c = 0; c < 3; c++)
            sum[c] += box->bins[i].sum[c];
        palette->of_bin[box->bins[i].code] = (uint8_t)index;
    }
    for (int c = 0; c < 3; c++)
        palette->colours[index][c] = (uint8_t)((sum[c] + pixels / 2) / pixels);
}

/* Counts the picture's pixels into the bins and moves the bins in use to the front. Returns how
 * many there are. */
static size_t count_pixels(struct bin *bins, const struct image *image)
{
    size_t used = 0;
    for (size_t i = 0; i < image->width * image->height; i++) {
        const uint8_t *pixel = image->pixels + 3 * i;
        struct bin *bin = &bins[palette_bin(pixel)];
        bin->pixels++;
        for (int c = 0; c < 3; c++)
            bin->sum[c] += pixel[c];
    }
    for (size_t i = 0; i < PALETTE_BINS; i++)
        if (bins[i].pixels) {
            bins[i].code = (uint16_t)i;
            bins[used++] = bins[i];
        }
    return used;
}

bool palette_make(struct palette *palette, const struct image *image, struct error *error)
{
    struct box boxes[PALETTE_MAX];
    struct bin *bins = memory_new(PALETTE_BINS, sizeof *bins, "a palette", error);
    if (!bins)
        return false;
    palette->count = cut_all(boxes, bins, count_pixels(bins, image));
    for (size_t i = 0; i < palette->count; i++)
        set_colour(palette, i, &boxes[i]);
    free(bins);
    return true;
}

/* --- pictures ---
 *
 * Writes pictures in the three ways that terminals understand: half blocks, Kitty's protocol, and
 * sixels. */

/* --- half blocks --- */

/* They have SGR colour sequences. A colour is sent only where it changes. */

/* Appends the colour of the upper half (`which` 38, foreground) or the lower one (48, background).
 */
static void write_colour(struct text *out, int which, const uint8_t rgb[3], bool truecolor)
{
    if (truecolor)
        text_append(out, "\033[%d;2;%d;%d;%dm", which, rgb[0], rgb[1], rgb[2]);
    else
        text_append(out, "\033[%d;5;%dm", which, colour_nearest(rgb));
}

static void write_half_blocks(struct text *out, const struct halfblock *cells, size_t columns,
                              bool truecolor)
{
    for (size_t i = 0; i < columns; i++) {
        if (i == 0 || memcmp(cells[i].upper, cells[i - 1].upper, 3) != 0)
            write_colour(out, 38, cells[i].upper, truecolor);
        if (i == 0 || memcmp(cells[i].lower, cells[i - 1].lower, 3) != 0)
            write_colour(out, 48, cells[i].lower, truecolor);
        text_append(out, "\xe2\x96\x80");
    }
    text_append(out, "\033[0m");
}

bool graphics_write_cells(struct text *out, const struct image *image, struct rect area,
                          bool truecolor, struct error *error)
{
    struct halfblocks blocks;
    if (!halfblocks_make(&blocks, image, (size_t)area.rows, (size_t)area.columns, error))
        return false;
    const int top = area.row + (area.rows - (int)blocks.rows) / 2;
    const int left = area.column + (area.columns - (int)blocks.columns) / 2;
    for (size_t row = 0; row < blocks.rows; row++) {
        text_append(out, "\033[%d;%dH", top + (int)row + 1, left + 1);
        write_half_blocks(out, blocks.cells + row * blocks.columns, blocks.columns, truecolor);
    }
    halfblocks_free(&blocks);
    return true;
}

/* --- Kitty --- */

/* Kitty's graphics protocol: the pixels in base64 (RFC 4648), in pieces of 4096 characters, each in
 * an APC sequence. The terminal is told not to reply (q=2) and not to move the cursor (C=1). */

enum { PIECE_BYTES = 3072 }; /* 4096 characters */

static void write_base64(struct text *out, const uint8_t *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char piece[PIECE_BYTES / 3 * 4];
    size_t used = 0;
    for (size_t i = 0; i < count; i += 3) {
        const unsigned second = i + 1 < count ? bytes[i + 1] : 0;
        const unsigned third = i + 2 < count ? bytes[i + 2] : 0;
        const unsigned word = (unsigned)bytes[i] << 16 | second << 8 | third;
        piece[used++] = digits[word >> 18];
        piece[used++] = digits[word >> 12 & 63];
        piece[used++] = i + 1 < count ? digits[word >> 6 & 63] : '=';
        piece[used++] = i + 2 < count ? digits[word & 63] : '=';
    }
    text_append_bytes(out, piece, used);
}

void graphics_write_kitty(struct text *out, const struct image *image, int columns, int rows)
{
    const size_t bytes = image->width * image->height * 3;
    for (size_t first = 0; first < bytes; first += PIECE_BYTES) {
        const size_t count = bytes - first < PIECE_BYTES ? bytes - first : PIECE_BYTES;
        text_append(out, "\033_G");
        if (first == 0)
            text_append(out, "a=T,f=24,s=%zu,v=%zu,c=%d,r=%d,C=1,q=2,", image->width, image->height,
                        columns, rows);
        text_append(out, "m=%d;", first + count < bytes);
        write_base64(out, image->pixels + first, count);
        text_append(out, "\033\\");
    }
}

/* --- sixels --- */

/* Sixel (DEC, VT340): the picture in bands of six rows. For each colour of a band, every column is
 * one character whose six bits say which rows have that colour; "!N" repeats a character, "$" goes
 * back to the band's left edge for the next colour, "-" to the next band. */

enum { BAND = 6 };

static void write_run(struct text *out, int bits, size_t length)
{
    const char glyph = (char)('?' + bits);
    if (length > 3)
        text_append(out, "!%zu%c", length, glyph);
    else
        text_append(out, "%.*s", (int)length, (char[]){glyph, glyph, glyph, '\0'});
}

/* Appends one colour of a band, without trailing empty columns. */
static void write_row(struct text *out, const uint8_t *bits, size_t width)
{
    while (width > 0 && bits[width - 1] == 0)
        width--;
    for (size_t x = 0, length; x < width; x += length) {
        for (length = 1; x + length < width && bits[x + length] == bits[x]; length++)
            continue;
        write_run(out, bits[x], length);
    }
}

/* Appends the band that begins at row `top`. `bits` is [colours][width]; it must be all zero and is
 * left all zero. */
static void write_band(struct text *out, const struct image *image, const struct palette *palette,
                       size_t top, uint8_t *bits)
{
    bool used[PALETTE_MAX] = {false};
    for (size_t y = top; y < top + BAND && y < image->height; y++)
        for (size_t x = 0; x < image->width; x++) {
            const uint8_t *pixel = image->pixels + (y * image->width + x) * 3;
            const uint8_t colour = palette->of_bin[palette_bin(pixel)];
            bits[colour * image->width + x] |= (uint8_t)(1 << (y - top));
            used[colour] = true;
        }
    for (size_t colour = 0; colour < palette->count; colour++) {
        if (!used[colour])
            continue;
        text_append(out, "#%zu", colour);
        write_row(out, bits + colour * image->width, image->width);
        text_append(out, "$");
        memset(bits + colour * image->width, 0, image->width);
    }
    text_append(out, "-");
}

static void write_colours(struct text *out, const struct palette *palette)
{
    for (size_t i = 0; i < palette->count; i++) {
        int percent[3];
        for (int c = 0; c < 3; c++)
            percent[c] = (palette->colours[i][c] * 100 + 127) / 255;
        text_append(out, "#%zu;2;%d;%d;%d", i, percent[0], percent[1], percent[2]);
    }
}

bool graphics_write_sixel(struct text *out, const struct image *image, struct error *error)
{
    struct palette *palette = memory_new(1, sizeof *palette, "a palette", error);
    uint8_t *bits = memory_new(PALETTE_MAX, image->width, "a sixel band", error);
    bool made = palette && bits && palette_make(palette, image, error);
    if (made) {
        text_append(out, "\033P0;1;0q\"1;1;%zu;%zu", image->width, image->height);
        write_colours(out, palette);
        for (size_t top = 0; top < image->height; top += BAND)
            write_band(out, image, palette, top, bits);
        text_append(out, "\033\\");
    }
    free(palette);
    free(bits);
    return made;
}
