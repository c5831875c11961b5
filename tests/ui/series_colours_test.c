/* The ten colours of the series can be told apart by everyone: their differences (CIEDE2000, Sharma
 * et al. 2005) are computed in normal vision and as people see them who lack one kind of cones
 * (Machado et al. 2009, severity 1), and their contrast to the background as WCAG 2.1 defines it.
 * The 256 colours are those of xterm. */
#include "tap.h"

#include "base/series_colours.h"
#include "ui/terminal/theme.h"

#include <math.h>

static const double PI = 3.14159265358979323846;
static const double LEAST_DIFFERENCE = 8.5, LEAST_CONTRAST = 3;

enum { NORMAL, PROTANOPIA, DEUTERANOPIA, TRITANOPIA, VISIONS };

/* For linear RGB. */
static const struct vision {
    const char *name;
    double matrix[3][3];
} visions[VISIONS] = {
    [NORMAL] = {"normal vision", {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
    [PROTANOPIA] = {"protanopia",
                    {{0.152286, 1.052583, -0.204868},
                     {0.114503, 0.786281, 0.099216},
                     {-0.003882, -0.048116, 1.051998}}},
    [DEUTERANOPIA] = {"deuteranopia",
                      {{0.367322, 0.860646, -0.227968},
                       {0.280085, 0.672501, 0.047413},
                       {-0.011820, 0.042940, 0.968881}}},
    [TRITANOPIA] = {"tritanopia",
                    {{1.255528, -0.076749, -0.178779},
                     {-0.078411, 0.930809, 0.147602},
                     {0.004733, 0.691367, 0.303900}}},
};

struct lab {
    double l, a, b;
};

/* --- colours --- */

/* Sets linear RGB from three bytes of sRGB. */
static void to_linear(const int bytes[3], double linear[3])
{
    for (int i = 0; i < 3; i++) {
        const double value = bytes[i] / 255.0;
        linear[i] = value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4);
    }
}

static void series_linear(size_t i, double linear[3])
{
    const struct series_colour *colour = &series_colours[i];
    to_linear((const int[]){colour->red, colour->green, colour->blue}, linear);
}

/* Returns whether the bytes of a colour are those of its number. */
static bool is_of_xterm(const struct series_colour *colour)
{
    static const int levels[6] = {0, 95, 135, 175, 215, 255};
    const int cube = colour->of256 - 16;
    return cube >= 0 && cube < 216 && colour->red == levels[cube / 36] &&
           colour->green == levels[cube / 6 % 6] && colour->blue == levels[cube % 6];
}

static double luminance(const double linear[3])
{
    return 0.2126729 * linear[0] + 0.7151522 * linear[1] + 0.0721750 * linear[2];
}

static double contrast(const double one[3], const double other[3])
{
    const double a = luminance(one) + 0.05, b = luminance(other) + 0.05;
    return a > b ? a / b : b / a;
}

static void see(const struct vision *vision, const double linear[3], double seen[3])
{
    for (int i = 0; i < 3; i++) {
        const double *row = vision->matrix[i];
        seen[i] = fmin(1, fmax(0, row[0] * linear[0] + row[1] * linear[1] + row[2] * linear[2]));
    }
}

static double lab_part(double ratio)
{
    return ratio > 216.0 / 24389 ? cbrt(ratio) : (24389.0 / 27 * ratio + 16) / 116;
}

/* Under the white point D65. */
static struct lab to_lab(const double linear[3])
{
    const double x = 0.4124564 * linear[0] + 0.3575761 * linear[1] + 0.1804375 * linear[2];
    const double z = 0.0193339 * linear[0] + 0.1191920 * linear[1] + 0.9503041 * linear[2];
    const double fx = lab_part(x / 0.95047), fy = lab_part(luminance(linear)),
                 fz = lab_part(z / 1.08883);
    return (struct lab){116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)};
}

/* --- CIEDE2000 --- */

static double radians(double degrees)
{
    return degrees * PI / 180;
}

static double hue(double a, double b)
{
    const double degrees = a == 0 && b == 0 ? 0 : atan2(b, a) * 180 / PI;
    return degrees < 0 ? degrees + 360 : degrees;
}

/* The weight of chroma at low chroma: G of the formula. */
static double low_chroma(double chroma)
{
    const double power = pow(chroma, 7);
    return 0.5 * (1 - sqrt(power / (power + pow(25, 7))));
}

static double hue_weight(double mean)
{
    return 1 - 0.17 * cos(radians(mean - 30)) + 0.24 * cos(radians(2 * mean)) +
           0.32 * cos(radians(3 * mean + 6)) - 0.20 * cos(radians(4 * mean - 63));
}

/* Returns the difference of two colours: about 1 is just noticeable. */
static double difference(struct lab one, struct lab other)
{
    const double g = 1 + low_chroma((hypot(one.a, one.b) + hypot(other.a, other.b)) / 2);
    const double c1 = hypot(one.a * g, one.b), c2 = hypot(other.a * g, other.b);
    const double h1 = hue(one.a * g, one.b), h2 = hue(other.a * g, other.b);
    const bool grey = c1 * c2 == 0, far = fabs(h1 - h2) > 180;
    const double turn = grey ? 0 : h2 - h1 - (far ? copysign(360, h2 - h1) : 0);
    const double sum = h1 + h2;
    const double mean = grey ? sum : (sum + (far ? (sum < 360 ? 360 : -360) : 0)) / 2;
    const double l = (one.l + other.l) / 2 - 50, c = (c1 + c2) / 2;
    const double dl = (other.l - one.l) / (1 + 0.015 * l * l / sqrt(20 + l * l));
    const double dc = (c2 - c1) / (1 + 0.045 * c);
    const double dh =
        2 * sqrt(c1 * c2) * sin(radians(turn / 2)) / (1 + 0.015 * c * hue_weight(mean));
    const double rotation = -sin(radians(60 * exp(-pow((mean - 275) / 25, 2)))) * 2 *
                            sqrt(pow(c, 7) / (pow(c, 7) + pow(25, 7)));
    return sqrt(dl * dl + dc * dc + dh * dh + rotation * dc * dh);
}

/* Pairs of the data that Sharma et al. publish to check implementations. */
static void check_formula(void)
{
    static const struct {
        struct lab one, other;
        double difference;
    } pairs[] = {{{50, 2.6772, -79.7751}, {50, 0, -82.7485}, 2.0425},
                 {{50, 2.5, 0}, {50, 0, -2.5}, 4.3065},
                 {{50, 2.5, 0}, {73, 25, -18}, 27.1492},
                 {{60.2574, -34.0099, 36.2677}, {60.4626, -34.1751, 39.4387}, 1.2644},
                 {{22.7233, 20.0904, -46.6940}, {23.0331, 14.9730, -42.5619}, 2.0373}};
    double worst = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        worst = fmax(worst, fabs(difference(pairs[i].one, pairs[i].other) - pairs[i].difference));
    tap_ok(worst < 1e-4, "differences are those of the published pairs");
}

/* --- the series --- */

/* Returns the least difference between two colours of the set. */
static double least_difference(const struct vision *vision, int pair[2])
{
    struct lab seen[THEME_SERIES];
    double least = (double)INFINITY, linear[3], colour[3];
    for (size_t i = 0; i < THEME_SERIES; i++) {
        series_linear(i, linear);
        see(vision, linear, colour);
        seen[i] = to_lab(colour);
        for (size_t j = 0; j < i; j++)
            if (difference(seen[i], seen[j]) < least) {
                least = difference(seen[i], seen[j]);
                pair[0] = series_colours[j].of256;
                pair[1] = series_colours[i].of256;
            }
    }
    return least;
}

static bool all_different(const short colours[THEME_SERIES])
{
    for (size_t i = 0; i < THEME_SERIES; i++)
        for (size_t j = 0; j < i; j++)
            if (colours[i] == colours[j])
                return false;
    return true;
}

/* `background`: three bytes of sRGB. */
static void check_contrast(const char *name, const int background[3])
{
    double least = (double)INFINITY, behind[3], linear[3];
    to_linear(background, behind);
    for (size_t i = 0; i < THEME_SERIES; i++) {
        series_linear(i, linear);
        least = fmin(least, contrast(linear, behind));
    }
    tap_ok(least >= LEAST_CONTRAST, "%s: the least contrast is %.2f", name, least);
}

static void check_series(void)
{
    bool right = true;
    for (size_t i = 0; i < SERIES_COLOURS; i++)
        right = right && is_of_xterm(&series_colours[i]);
    tap_ok(right, "charts and terminals have the same colours");
    for (size_t i = 0; i < VISIONS; i++) {
        int pair[2] = {0};
        const double least = least_difference(&visions[i], pair);
        tap_ok(least >= LEAST_DIFFERENCE, "%s: the least difference is %.1f (%d and %d)",
               visions[i].name, least, pair[0], pair[1]);
    }
    tap_ok(all_different(theme_series[THEME_DARK].of16), "dark: ten different ones of 16 colours");
    tap_ok(all_different(theme_series[THEME_LIGHT].of16),
           "light: ten different ones of 16 colours");
}

TEST_CASE(series_colours_test)
{
    check_formula();
    check_series();
    check_contrast("on black", (const int[]){0, 0, 0});
    check_contrast("on dark grey", (const int[]){30, 30, 30});
    check_contrast("on white", (const int[]){255, 255, 255});
    check_contrast("on cream", (const int[]){253, 246, 227});
    return tap_done();
}
