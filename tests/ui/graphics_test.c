/* Tests pictures on a terminal: which method is chosen, and that the bytes of each method, decoded
 * as a terminal does, give the picture. */
#include "tap.h"
#include "ui/terminal/draw.h"
#include "ui/terminal/graphics.h"

#include <stdlib.h>
#include <string.h>

static struct image gradient(size_t width, size_t height)
{
    struct image image = {0};
    if (!image_create(&image, width, height, 3, NULL))
        return image;
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            uint8_t *pixel = image.pixels + (y * width + x) * 3;
            pixel[0] = (uint8_t)(255 * x / (width - 1));
            pixel[1] = (uint8_t)(255 * y / (height - 1));
            pixel[2] = (uint8_t)(255 - pixel[0]);
        }
    return image;
}

static int worst_difference(const uint8_t *a, const uint8_t *b, size_t count)
{
    int worst = 0;
    for (size_t i = 0; i < count; i++)
        worst = abs(a[i] - b[i]) > worst ? abs(a[i] - b[i]) : worst;
    return worst;
}

/* --- half blocks --- */

static void test_colours(void)
{
    static const struct {
        uint8_t rgb[3], nearest;
    } known[] = {{{0, 0, 0}, 16},       {{255, 255, 255}, 231}, {{255, 0, 0}, 196},
                 {{0, 95, 135}, 24},    {{8, 8, 8}, 232},       {{238, 238, 238}, 255},
                 {{118, 118, 118}, 243}};
    bool right = true;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        right = right && colour_nearest(known[i].rgb) == known[i].nearest;
    tap_ok(right, "a colour of xterm's table is nearest to itself");
}

/* Returns the squared distance to colour `index`, from the definition of the table. */
static int off(const uint8_t rgb[3], int index)
{
    static const int levels[] = {0, 95, 135, 175, 215, 255};
    int colour[3] = {8 + 10 * (index - 232), 8 + 10 * (index - 232), 8 + 10 * (index - 232)};
    if (index < 232) {
        colour[0] = levels[(index - 16) / 36];
        colour[1] = levels[(index - 16) / 6 % 6];
        colour[2] = levels[(index - 16) % 6];
    }
    int sum = 0;
    for (int c = 0; c < 3; c++)
        sum += (rgb[c] - colour[c]) * (rgb[c] - colour[c]);
    return sum;
}

static void test_nearest(void)
{
    size_t wrong = 0;
    for (int red = 0; red < 256; red += 15)
        for (int green = 0; green < 256; green += 15)
            for (int blue = 0; blue < 256; blue += 15) {
                const uint8_t rgb[3] = {(uint8_t)red, (uint8_t)green, (uint8_t)blue};
                int best = 16;
                for (int i = 17; i < 256; i++)
                    best = off(rgb, i) < off(rgb, best) ? i : best;
                wrong += off(rgb, colour_nearest(rgb)) != off(rgb, best);
            }
    tap_ok(wrong == 0, "no other colour of the table is nearer: %zu", wrong);
}

static void test_halfblocks(void)
{
    struct image image = gradient(20, 10);
    struct halfblocks blocks;
    tap_ok(halfblocks_make(&blocks, &image, 5, 80, NULL) && blocks.rows == 5 &&
               blocks.columns == 20,
           "5 rows of cells show 10 rows of pixels");
    bool same = blocks.cells;
    for (size_t y = 0; same && y < 10; y++)
        for (size_t x = 0; x < 20; x++) {
            const struct halfblock *cell = &blocks.cells[y / 2 * 20 + x];
            same = same && memcmp(y % 2 ? cell->lower : cell->upper,
                                  image.pixels + (y * 20 + x) * 3, 3) == 0;
        }
    tap_ok(same, "the upper and lower pixels are in the right cells");
    halfblocks_free(&blocks);
    tap_ok(halfblocks_make(&blocks, &image, 40, 10, NULL) && blocks.columns == 10 &&
               blocks.rows == 3,
           "in a narrow area the width limits the size");
    halfblocks_free(&blocks);
    tap_ok(halfblocks_make(&blocks, &image, 0, 0, NULL) && blocks.columns == 1 && blocks.rows == 1,
           "without space a picture has one cell");
    halfblocks_free(&blocks);
    image_free(&image);
}

/* Reads the SGR sequences of one row of cells. Returns how many cells there were. */
static size_t read_cells(const char *at, uint8_t upper[][3], uint8_t lower[][3], size_t most)
{
    int fore[3] = {0}, back[3] = {0}, colour[3], which;
    size_t cells = 0;
    while (*at && strncmp(at, "\033[0m", 4) != 0) {
        if (strncmp(at, "\xe2\x96\x80", 3) == 0) {
            for (int c = 0; c < 3 && cells < most; c++) {
                upper[cells][c] = (uint8_t)fore[c];
                lower[cells][c] = (uint8_t)back[c];
            }
            cells++;
            at += 3;
        } else if (sscanf(at, "\033[%d;2;%d;%d;%dm", &which, &colour[0], &colour[1], &colour[2]) ==
                   4) {
            memcpy(which == 38 ? fore : back, colour, sizeof colour);
            at = strchr(at, 'm') + 1;
        } else
            return 0;
    }
    return cells;
}

static void test_cells(void)
{
    struct image image = gradient(6, 2);
    struct text text = {0};
    uint8_t upper[6][3], lower[6][3];
    const struct rect area = {1, 0, 9, 6};
    bool written = graphics_write_cells(&text, &image, area, true, NULL);
    const char *start = written ? strchr(text.data, 'H') : NULL;
    tap_ok(start && strncmp(text.data, "\033[6;1H", 6) == 0,
           "half blocks are centred in their area");
    tap_ok(start && read_cells(start + 1, upper, lower, 6) == 6 &&
               memcmp(upper, image.pixels, 18) == 0 && memcmp(lower, image.pixels + 18, 18) == 0,
           "true colour: the cells read back as the picture");
    text_free(&text);
    graphics_write_cells(&text, &image, area, false, NULL);
    tap_ok(text.data && strstr(text.data, "\033[38;5;") && !strstr(text.data, ";2;"),
           "256 colours: only colour numbers");
    text_free(&text);
    image_free(&image);
}

/* --- kitty --- */

static int digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = c ? strchr(digits, c) : NULL;
    return found ? (int)(found - digits) : -1;
}

static size_t read_base64(const char *text, size_t length, uint8_t *bytes)
{
    size_t count = 0;
    for (size_t i = 0; i + 3 < length; i += 4) {
        unsigned word = 0;
        for (size_t j = 0; j < 4; j++)
            word = word << 6 | (text[i + j] == '=' ? 0u : (unsigned)digit(text[i + j]));
        for (size_t j = 0; j < 3; j++)
            if (j == 0 || text[i + j + 1] != '=')
                bytes[count++] = (uint8_t)(word >> (16 - 8 * j));
    }
    return count;
}

static void check_kitty(size_t width, size_t height)
{
    struct image image = gradient(width, height);
    struct text text = {0};
    uint8_t *bytes = calloc(width * height * 3 + 8, 1);
    size_t count = 0, pieces = 0, longest = 0;
    bool last_said = true;
    graphics_write_kitty(&text, &image, 30, 15);
    for (const char *at = text.data; at && *at; pieces++) {
        const char *payload = strchr(at, ';') + 1, *end = strstr(payload, "\033\\");
        const bool more = payload[-2] == '1', is_last = end[2] == '\0';
        last_said = last_said && strncmp(at, "\033_G", 3) == 0 && more != is_last;
        count += read_base64(payload, (size_t)(end - payload), bytes + count);
        longest = (size_t)(end - payload) > longest ? (size_t)(end - payload) : longest;
        at = end + 2;
    }
    tap_ok(count == width * height * 3 && memcmp(bytes, image.pixels, count) == 0,
           "kitty: %zux%zu in %zu pieces reads back", width, height, pieces);
    tap_ok(last_said && longest <= 4096, "  no piece longer than 4096, only the last says it is");
    tap_ok(strstr(text.data, "a=T,f=24,") && strstr(text.data, ",c=30,r=15,"),
           "  shown at once, in 30x15 cells");
    free(bytes);
    text_free(&text);
    image_free(&image);
}

/* --- sixel --- */

struct screen {
    size_t width, height;
    uint8_t *pixels; /* RGB; pixels that are not set stay 0 */
    bool *set;
};

static void put(struct screen *screen, size_t x, size_t y, const uint8_t rgb[3])
{
    if (x >= screen->width || y >= screen->height)
        return;
    memcpy(screen->pixels + (y * screen->width + x) * 3, rgb, 3);
    screen->set[y * screen->width + x] = true;
}

/* Decodes the data between DCS q and ST as a terminal does. Returns the end; NULL: invalid. */
static const char *read_sixels(struct screen *screen, const char *at)
{
    static uint8_t colours[256][3];
    size_t x = 0, y = 0, colour = 0;
    while (*at && *at != '\033') {
        char *end;
        size_t repeat = 1;
        if (*at == '#') {
            colour = strtoul(at + 1, &end, 10);
            for (int c = -1; c < 3 && *end == ';'; c++) {
                unsigned long value = strtoul(end + 1, &end, 10);
                if (c >= 0)
                    colours[colour][c] = (uint8_t)((value * 255 + 50) / 100);
            }
            at = end;
            continue;
        }
        if (*at == '$' || *at == '-') {
            x = 0;
            y += *at++ == '-' ? 6 : 0;
            continue;
        }
        if (*at == '!') {
            repeat = strtoul(at + 1, &end, 10);
            at = end;
        }
        if (*at < '?' || *at > '~' || colour > 255)
            return NULL;
        for (; repeat > 0; repeat--, x++)
            for (size_t bit = 0; bit < 6; bit++)
                if ((*at - '?') >> bit & 1)
                    put(screen, x, y + bit, colours[colour]);
        at++;
    }
    return at;
}

static void check_sixel(size_t width, size_t height, int tolerance)
{
    struct image image = gradient(width, height);
    struct text text = {0};
    char begin[64];
    struct screen screen = {width, height, calloc(width * height, 3), calloc(width * height, 1)};
    bool written = graphics_write_sixel(&text, &image, NULL), full = true;
    snprintf(begin, sizeof begin, "\033P0;1;0q\"1;1;%zu;%zu", width, height);
    bool begun = written && strncmp(text.data, begin, strlen(begin)) == 0;
    const char *end = begun ? read_sixels(&screen, text.data + strlen(begin)) : NULL;
    tap_ok(end && strcmp(end, "\033\\") == 0, "sixel: %zux%zu is understood to its end", width,
           height);
    for (size_t i = 0; i < width * height; i++)
        full = full && screen.set[i];
    tap_ok(full, "  every pixel is painted");
    const int worst = worst_difference(screen.pixels, image.pixels, width * height * 3);
    tap_ok(worst <= tolerance, "  with its colour, at most %d of 255 off: %d", tolerance, worst);
    free(screen.pixels);
    free(screen.set);
    text_free(&text);
    image_free(&image);
}

static void test_palette(void)
{
    struct image image = gradient(64, 64), flat = gradient(8, 8);
    struct palette *palette = malloc(sizeof *palette);
    bool stands = palette_make(palette, &image, NULL);
    for (size_t i = 0; stands && i < 64 * 64; i++)
        stands = palette->of_bin[palette_bin(image.pixels + 3 * i)] < palette->count;
    tap_ok(stands && palette->count == PALETTE_MAX,
           "a picture with many colours uses the whole palette");
    memset(flat.pixels, 77, 8 * 8 * 3);
    tap_ok(palette_make(palette, &flat, NULL) && palette->count == 1 &&
               palette->colours[0][0] == 77 && palette->colours[0][2] == 77,
           "a picture with few colours keeps them exactly");
    free(palette);
    image_free(&flat);
    image_free(&image);
}

/* --- choosing --- */

static const struct graphics_facts good = {
    .terminal = "xterm-256color", .known = true, .utf8 = true, .colours = 256};

static bool chooses(struct graphics_facts facts, const char *name, enum graphics expected)
{
    struct error error;
    enum graphics chosen;
    bool chose = graphics_choose(&facts, name, &chosen, &error);
    if (!chose)
        tap_note("%s: %s", error.what, error.why);
    return chose && chosen == expected;
}

static bool refuses(struct graphics_facts facts, const char *name, const char *why)
{
    struct error error;
    enum graphics chosen;
    return !graphics_choose(&facts, name, &chosen, &error) && error.kind == ERROR_UNSUPPORTED &&
           strstr(error.why, why) && error.advice[0];
}

static void test_choice(void)
{
    struct graphics_facts facts = good;
    tap_ok(chooses(facts, NULL, GRAPHICS_256) && chooses(facts, "auto", GRAPHICS_256),
           "256 colours");
    facts.colours = 1 << 24;
    tap_ok(chooses(facts, NULL, GRAPHICS_TRUECOLOR), "true colour is preferred to 256 colours");
    facts.sixel = true;
    tap_ok(chooses(facts, NULL, GRAPHICS_SIXEL), "then sixel");
    facts.kitty = true;
    tap_ok(chooses(facts, NULL, GRAPHICS_KITTY), "kitty's protocol is preferred to all others");
    tap_ok(chooses(facts, "256", GRAPHICS_256), "a method that the user names is preferred");
    facts.utf8 = false;
    tap_ok(chooses(facts, NULL, GRAPHICS_KITTY), "pixels need no UTF-8");
    tap_ok(refuses(facts, "truecolor", "UTF-8"), "half blocks need UTF-8");
    facts = good;
    facts.colours = 8;
    tap_ok(refuses(facts, NULL, "only 8 colours"), "8 colours are too few");
    facts.colours = -1;
    tap_ok(refuses(facts, NULL, "no colours"), "no colours are too few");
    tap_ok(chooses(facts, "truecolor", GRAPHICS_TRUECOLOR),
           "a method that the user names is not checked against the colours");
    facts = good;
    facts.no_color = true;
    tap_ok(refuses(facts, NULL, "pictures need colours") &&
               refuses(facts, "auto", "pictures need colours"),
           "NO_COLOR is obeyed");
    tap_ok(chooses(facts, "256", GRAPHICS_256), "a method that the user names overrides NO_COLOR");
    facts.known = false;
    tap_ok(refuses(facts, "256", "cannot be shown"),
           "an unknown terminal is refused even if the user names a method");
}

static void test_answers(void)
{
    struct graphics_facts facts = good;
    graphics_parse_reply(&facts, "\033_Gi=31;OK\033\\\033[6;20;9t\033[?62;4;22c");
    tap_ok(facts.kitty && facts.sixel && facts.cell_width == 9 && facts.cell_height == 20,
           "a reply with every method and the cell size is understood");
    facts = good;
    graphics_parse_reply(&facts, "\033_Gi=31;ENOTSUPPORTED:x\033\\\033[?64;14;44c");
    tap_ok(!facts.kitty && !facts.sixel && facts.cell_width == 0,
           "attributes 14 and 44 are not 4, and an error is not support");
    facts = good;
    graphics_parse_reply(&facts, "r\033[?4");
    tap_ok(!facts.sixel, "a reply that was cut off adds nothing");
    graphics_parse_reply(&facts, "\033[6;0;-3t\033[?4c");
    tap_ok(facts.sixel && facts.cell_width == 0,
           "a reply with an impossible cell size adds nothing");
}

static void test_fit(void)
{
    struct graphics_facts facts = good;
    struct image image = gradient(100, 100);
    struct text text = {0};
    int columns = 0, rows = 0;
    const struct rect area = {1, 0, 22, 80};
    facts.cell_width = 10;
    facts.cell_height = 20;
    graphics_append_picture(&text, GRAPHICS_KITTY, &facts, &image, area, NULL);
    const char *size = text.data ? strstr(text.data, "c=") : NULL;
    bool said = size && sscanf(size, "c=%d,r=%d", &columns, &rows) == 2;
    tap_ok(said && columns == 30 && rows == 15, "at most three times its size: %dx%d cells",
           columns, rows);
    tap_ok(text.data && strncmp(text.data, "\033[5;26H", 7) == 0, "the picture is centred");
    text_free(&text);
    image_free(&image);
}

TEST_CASE(graphics_test)
{
    test_colours();
    test_nearest();
    test_halfblocks();
    test_cells();
    check_kitty(1024, 2);
    check_kitty(13, 7);
    check_kitty(37, 29);
    test_palette();
    check_sixel(7, 5, 4);
    check_sixel(64, 6, 8);
    check_sixel(61, 43, 24);
    test_choice();
    test_answers();
    test_fit();
    return tap_done();
}
