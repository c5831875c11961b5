/* Each glyph is a text of points, two digits each: x from the left, 0..4, and y from below, where a
 * descender ends at 0, the baseline is 2, small letters reach 6 and capitals 8. A space lifts the
 * pen; a single point is a dot. */
#include "session/export/stroke_font.h"

#include <string.h>

static const char *const glyphs[95] = {
    "",                                 /* space */
    "2824 22",                          /* ! */
    "1816 3836",                        /* " */
    "1218 3238 0646 0444",              /* # */
    "473818070615354443321203 2921",    /* $ */
    "0248 0717180807 3242433332",       /* % */
    "4216172837360403122244",           /* & */
    "2826",                             /* ' */
    "38272332",                         /* ( */
    "18272312",                         /* ) */
    "2723 0644 0446",                   /* * */
    "2723 0545",                        /* + */
    "222110",                           /* , */
    "0545",                             /* - */
    "22",                               /* . */
    "0248",                             /* / */
    "183847433212030718",               /* 0 */
    "172822 1232",                      /* 1 */
    "07183847460242",                   /* 2 */
    "07183847463525 354443321203",      /* 3 */
    "32380444",                         /* 4 */
    "480805354443321203",               /* 5 */
    "38180703123243443505",             /* 6 */
    "084812",                           /* 7 */
    "15060718384746351504031232434435", /* 8 */
    "12324347381807061545",             /* 9 */
    "25 22",                            /* : */
    "25 222110",                        /* ; */
    "470543",                           /* < */
    "0646 0444",                        /* = */
    "074503",                           /* > */
    "07183847462524 22",                /* ? */
    "433212030718384744242646",         /* @ */
    "0206284642 0444",                  /* A */
    "02083847463505 3544433202",        /* B */
    "4738180703123243",                 /* C */
    "02083847433202",                   /* D */
    "48080242 0535",                    /* E */
    "480802 0535",                      /* F */
    "47381807031232434525",             /* G */
    "0802 4842 0545",                   /* H */
    "1838 2822 1232",                   /* I */
    "4843321203",                       /* J */
    "0802 480542",                      /* K */
    "080242",                           /* L */
    "0208254842",                       /* M */
    "02084248",                         /* N */
    "183847433212030718",               /* O */
    "02083847463505",                   /* P */
    "183847433212030718 2442",          /* Q */
    "02083847463505 2542",              /* R */
    "473818070615354443321203",         /* S */
    "0848 2822",                        /* T */
    "080312324348",                     /* U */
    "082248",                           /* V */
    "0812253248",                       /* W */
    "0842 0248",                        /* X */
    "082548 2522",                      /* Y */
    "08480242",                         /* Z */
    "38181232",                         /* [ */
    "0842",                             /* \ */
    "18383212",                         /* ] */
    "162836",                           /* ^ */
    "0141",                             /* _ */
    "1827",                             /* ` */
    "16364542 441403123243",            /* a */
    "0802 0516364543321203",            /* b */
    "4536160503123243",                 /* c */
    "4842 4536160503123243",            /* d */
    "04444536160503123243",             /* e */
    "48382722 1646",                    /* f */
    "4641301001 4536160503123243",      /* g */
    "0802 0516364542",                  /* h */
    "2622 28",                          /* i */
    "262110 28",                        /* j */
    "0802 460442",                      /* k */
    "2822",                             /* l */
    "0602 05162522 25364542",           /* m */
    "0602 0516364542",                  /* n */
    "163645433212030516",               /* o */
    "0600 0516364543321203",            /* p */
    "4640 4536160503123243",            /* q */
    "0602 05163645",                    /* r */
    "45361605143443321203",             /* s */
    "28233242 1646",                    /* t */
    "0603123243 4642",                  /* u */
    "062246",                           /* v */
    "0612253246",                       /* w */
    "0642 0246",                        /* x */
    "0622 461000",                      /* y */
    "06460242",                         /* z */
    "38272615242332",                   /* { */
    "2920",                             /* | */
    "18272635242312",                   /* } */
    "04153445",                         /* ~ */
};
static const char box[] = "0208484202";

static const double CAPITAL = 6, GAP = 1.9, SPACE = 3, PEN = 0.75;

/* The glyph of the character at *text, which is moved behind it: a whole UTF-8 sequence. */
/* Letters of western languages (U+00C0 to U+00FF in UTF-8) are drawn without their accents. */
static const char bare[] = "AAAAAAACEEEEIIIIDNOOOOOxOUUUUYPsaaaaaaaceeeeiiiidnooooo/ouuuuypy";

static const char *next_glyph(const char **text)
{
    const unsigned char first = (unsigned char)*(*text)++;
    if (first >= ' ' && first <= '~')
        return glyphs[first - ' '];
    if (first == 0xC3 && ((unsigned char)**text & 0xC0) == 0x80)
        return glyphs[bare[(unsigned char)*(*text)++ & 0x3F] - ' '];
    while (((unsigned char)**text & 0xC0) == 0x80)
        (*text)++;
    return box;
}

/* How far a glyph reaches from its leftmost to its rightmost point; narrow ones take less room. */
static void extent(const char *glyph, int *left, int *right)
{
    *left = *glyph ? 9 : 0;
    *right = 0;
    for (const char *at = glyph; *at; at += *at == ' ' ? 1 : 2) {
        if (*at == ' ')
            continue;
        *left = *at - '0' < *left ? *at - '0' : *left;
        *right = *at - '0' > *right ? *at - '0' : *right;
    }
}

static double advance(const char *glyph)
{
    int left, right;
    extent(glyph, &left, &right);
    return *glyph ? right - left + GAP : SPACE;
}

double stroke_font_width(const char *text, double height)
{
    double units = 0;
    while (*text)
        units += advance(next_glyph(&text));
    return units > GAP ? (units - GAP) * height / CAPITAL : 0;
}

/* Where a text's own coordinates lie on the raster. */
struct frame {
    double x, y, unit;
    bool up;
};

static void draw_stroke(struct raster *raster, const struct frame *frame, double x0, double y0,
                        double x1, double y1, struct colour colour)
{
    const double u = frame->unit, width = PEN * u;
    if (frame->up)
        raster_line(raster, frame->x - y0 * u, frame->y - x0 * u, frame->x - y1 * u,
                    frame->y - x1 * u, width, colour);
    else
        raster_line(raster, frame->x + x0 * u, frame->y - y0 * u, frame->x + x1 * u,
                    frame->y - y1 * u, width, colour);
}

static void draw_glyph(struct raster *raster, const struct frame *frame, double at,
                       const char *glyph, struct colour colour)
{
    bool down = false;
    double x = 0, y = 0;
    for (; *glyph; glyph += *glyph == ' ' ? 1 : 2) {
        if (*glyph == ' ') {
            down = false;
            continue;
        }
        const double to_x = at + glyph[0] - '0', to_y = glyph[1] - '2';
        const bool dot = !down && (glyph[2] == ' ' || !glyph[2]);
        if (down || dot)
            draw_stroke(raster, frame, dot ? to_x : x, dot ? to_y : y, to_x, to_y, colour);
        x = to_x;
        y = to_y;
        down = true;
    }
}

static void draw(struct raster *raster, const struct frame *frame, struct colour colour,
                 const char *text)
{
    double at = 0;
    while (*text) {
        int left, right;
        const char *glyph = next_glyph(&text);
        extent(glyph, &left, &right);
        draw_glyph(raster, frame, at - left, glyph, colour);
        at += advance(glyph);
    }
}

void stroke_font_draw(struct raster *raster, double x, double y, double height,
                      struct colour colour, const char *text)
{
    draw(raster, &(struct frame){x, y, height / CAPITAL, false}, colour, text);
}

void stroke_font_draw_up(struct raster *raster, double x, double y, double height,
                         struct colour colour, const char *text)
{
    draw(raster, &(struct frame){x, y, height / CAPITAL, true}, colour, text);
}
