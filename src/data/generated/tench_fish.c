/* Draws a tench (Tinca tinca): a stout olive body with a deep tail root, small scales under slime,
 * a small red eye, a barbel at the mouth, and dark, rounded fins.
 *
 * The spine is a parabola, and all coordinates are relative to it. The outline of the body is a
 * table of half-heights above and below the spine. Its cross-section is an ellipse, which gives the
 * normal for the light. A fin is a fan: a base, a direction, and widths at the base and the end.
 */
#include "data/generated/internal.h"

enum { KNOTS = 10, BACK_FINS = 3, FRONT_FINS = 2 };

static const struct {
    float s, back, belly;
} outline[KNOTS] = {
    {0.00f, 0.030f, 0.032f}, {0.03f, 0.050f, 0.052f}, {0.08f, 0.080f, 0.078f},
    {0.15f, 0.112f, 0.104f}, {0.25f, 0.146f, 0.136f}, {0.38f, 0.164f, 0.160f},
    {0.50f, 0.156f, 0.154f}, {0.62f, 0.126f, 0.122f}, {0.72f, 0.094f, 0.088f},
    {0.84f, 0.074f, 0.072f},
};

struct fin {
    struct fish_place base;
    float cosine, sine;      /* its direction: 0 is backwards, positive towards the belly */
    float length, root, end; /* length and half-widths at both ends, in lengths of the fish */
    float rounding;          /* shape of the end: positive is rounded, negative is forked */
};

static const struct fin back_fins[BACK_FINS] = {
    {{0.800f, 0.000f}, 1.000f, 0.000f, 0.190f, 0.070f, 0.130f, -0.08f},  /* tail */
    {{0.470f, -0.118f}, 0.540f, -0.841f, 0.165f, 0.080f, 0.066f, 0.42f}, /* dorsal */
    {{0.665f, 0.082f}, 0.660f, 0.751f, 0.125f, 0.046f, 0.046f, 0.42f},   /* anal */
};
static const struct fin front_fins[FRONT_FINS] = {
    {{0.235f, 0.066f}, 0.814f, 0.581f, 0.125f, 0.020f, 0.050f, 0.45f}, /* pectoral */
    {{0.435f, 0.130f}, 0.752f, 0.659f, 0.125f, 0.022f, 0.052f, 0.45f}, /* pelvic */
};

/* --- random parameters --- */

static void choose_pose(struct fish *fish, struct random_stream *draws)
{
    bool any = random_next_below(draws, 8) == 0; /* else nearly horizontal */
    float angle =
        any ? random_next_between(draws, -1.5f, 1.5f) : random_next_between(draws, -0.45f, 0.45f);
    fish->cosine = cosf(angle);
    fish->sine = sinf(angle);
    fish->side = random_next(draws) & 1 ? -1.0f : 1.0f;
    fish->length = random_next_between(draws, 150.0f, 245.0f);
    fish->middle = (struct point){127.5f + random_next_between(draws, -24.0f, 24.0f),
                                  127.5f + random_next_between(draws, -26.0f, 22.0f)};
    fish->bend = random_next_between(draws, -0.35f, 0.35f);
    fish->depth = random_next_between(draws, 0.9f, 1.2f);
    fish->fin_spread = random_next_between(draws, 0.75f, 1.2f);
}

static void choose_colours(struct fish *fish, struct random_stream *draws)
{
    static const struct colour backs[] = {
        {0.14f, 0.17f, 0.06f}, {0.22f, 0.20f, 0.07f}, {0.13f, 0.14f, 0.10f}};
    static const struct colour flanks[] = {
        {0.42f, 0.40f, 0.12f}, {0.60f, 0.49f, 0.12f}, {0.36f, 0.36f, 0.22f}};
    static const struct colour bellies[] = {
        {0.74f, 0.66f, 0.32f}, {0.86f, 0.70f, 0.26f}, {0.66f, 0.63f, 0.48f}};
    uint32_t one = random_next_below(draws, 3), other = random_next_below(draws, 3);
    float t = random_next_unit(draws);
    fish->back = colour_mix(backs[one], backs[other], t);
    fish->flank = colour_mix(flanks[one], flanks[other], t);
    fish->belly = colour_mix(bellies[one], bellies[other], t);
    fish->fin = colour_mix((struct colour){0.12f, 0.13f, 0.12f}, fish->flank,
                           random_next_between(draws, 0.05f, 0.4f));
}

void fish_choose(struct fish *fish, struct random_stream *draws)
{
    fish->seed = random_next(draws);
    choose_pose(fish, draws);
    choose_colours(fish, draws);
    float slant = random_next_between(draws, -0.6f, 0.6f);
    float z = random_next_between(draws, 0.5f, 0.8f);
    float norm = 1.0f / sqrtf(slant * slant + 0.49f + z * z);
    fish->light_x = slant * norm;
    fish->light_y = -0.7f * norm;
    fish->light_z = z * norm;
    fish->gloss = random_next_between(draws, 0.08f, 0.42f);
}

/* --- coordinates --- */

static float spine(const struct fish *fish, float s)
{
    return fish->bend * (s - 0.45f) * (s - 0.45f) - 0.05f * fish->bend;
}

struct fish_place fish_locate(const struct fish *fish, struct point p)
{
    float x = (p.x - fish->middle.x) / fish->length, y = (p.y - fish->middle.y) / fish->length;
    float along = (x * fish->cosine + y * fish->sine) * fish->side;
    float s = along + 0.5f;
    return (struct fish_place){s, y * fish->cosine - x * fish->sine - spine(fish, s)};
}

struct point fish_point(const struct fish *fish, struct fish_place place)
{
    float along = (place.s - 0.5f) * fish->side, across = place.v + spine(fish, place.s);
    return (struct point){
        fish->middle.x + fish->length * (along * fish->cosine - across * fish->sine),
        fish->middle.y + fish->length * (along * fish->sine + across * fish->cosine)};
}

/* Returns the half-height of the body, on the side that the sign of v selects. */
static float body_height(const struct fish *fish, struct fish_place place)
{
    size_t i = 1;
    while (i + 1 < KNOTS && outline[i].s < place.s)
        i++;
    float t = paint_clamp((place.s - outline[i - 1].s) / (outline[i].s - outline[i - 1].s));
    if (i > 1 && i + 1 < KNOTS) /* a little rounder than straight between the knots */
        t = paint_mix(t, t * t * (3.0f - 2.0f * t), 0.15f);
    float height = place.v < 0.0f ? paint_mix(outline[i - 1].back, outline[i].back, t)
                                  : paint_mix(outline[i - 1].belly, outline[i].belly, t);
    return height * fish->depth;
}

static float max_of(float a, float b)
{
    return a > b ? a : b;
}

/* Returns the approximate distance to the body in lengths of the fish, negative inside. */
static float body_distance(const struct fish *fish, struct fish_place place)
{
    float height = body_height(fish, place);
    float distance = max_of(fabsf(place.v) - height, place.s - 0.84f);
    if (place.s < 0.05f) { /* the snout is blunt */
        float x = place.s - 0.05f, radius = 0.056f * fish->depth;
        distance = max_of(distance, sqrtf(x * x + place.v * place.v) - radius);
    }
    return distance;
}

/* Coordinates relative to a fin: a from the base (0) to the end (1), b across in half-widths. */
struct fin_place {
    float a, b, distance;
};

static struct fin_place fin_locate(const struct fish *fish, const struct fin *fin,
                                   struct fish_place place)
{
    float x = place.s - fin->base.s, y = place.v - fin->base.v * fish->depth;
    float a = (x * fin->cosine + y * fin->sine) / fin->length;
    float b = y * fin->cosine - x * fin->sine;
    float width = paint_mix(fin->root, fin->end * fish->fin_spread, paint_clamp(a));
    b /= width;
    float end = 1.0f - fin->rounding * b * b;
    float distance = max_of((fabsf(b) - 1.0f) * width, (a - end) * fin->length);
    return (struct fin_place){a, b, max_of(distance, -a * fin->length)};
}

static float cover(const struct fish *fish, float distance)
{
    return paint_clamp(0.5f - distance * fish->length);
}

static bool is_near(struct fish_place place)
{
    return place.s > -0.05f && place.s < 1.1f && place.v > -0.36f && place.v < 0.36f;
}

float fish_shadow(const struct fish *fish, struct point p, float blur)
{
    struct fish_place place = fish_locate(fish, p);
    if (!is_near(place))
        return 0.0f;
    float distance = body_distance(fish, place);
    for (size_t i = 0; i < BACK_FINS; i++) {
        float fin = fin_locate(fish, &back_fins[i], place).distance;
        distance = fin < distance ? fin : distance;
    }
    return paint_clamp(0.5f - distance * fish->length / blur);
}

/* --- colours --- */

/* Draws a fin: a membrane between dark rays that spread from the base. */
static struct colour draw_fin(const struct fish *fish, const struct fin *fin,
                              struct fish_place place, struct colour under)
{
    float x = place.s - fin->base.s, y = place.v - fin->base.v;
    if (x * x + y * y > 0.09f) /* beyond the largest fin */
        return under;
    struct fin_place in_fin = fin_locate(fish, fin, place);
    float covered = cover(fish, in_fin.distance);
    if (covered <= 0.0f)
        return under;
    float ray = 0.5f + 0.5f * cosf(in_fin.b * 26.0f + 0.6f * sinf(5.0f * in_fin.a));
    float mottle = noise_fractal(place.s * 40.0f, place.v * 40.0f, 2, fish->seed + 3);
    float light = 0.6f + 0.75f * ray * (0.3f + in_fin.a) + 0.5f * (mottle - 0.5f);
    float solid = covered * paint_mix(1.0f, 0.82f, paint_clamp(in_fin.a));
    return colour_mix(under, colour_scale(fish->fin, light), solid);
}

/* Returns the brightness of the scales, which lie in staggered rows; the head has none. */
static float scale_shade(struct fish_place place)
{
    float x = place.s * 62.0f, y = place.v * 74.0f;
    int32_t row = paint_floor(y);
    x += 0.5f * (float)(row & 1);
    float dx = x - (float)paint_floor(x) - 0.75f, dy = y - (float)row - 0.5f;
    float edge = sqrtf(dx * dx + dy * dy);
    return paint_step(0.24f, 0.34f, place.s) * (paint_step(0.75f, 0.35f, edge) - 0.6f);
}

static struct colour skin_colour(const struct fish *fish, struct fish_place place, float across)
{
    struct colour colour =
        across < 0.0f ? colour_mix(fish->flank, fish->back, paint_step(0.05f, -0.8f, across))
                      : colour_mix(fish->flank, fish->belly, paint_step(0.1f, 0.95f, across));
    float head = paint_step(0.23f, 0.16f, place.s);
    colour = colour_mix(colour, fish->back, 0.25f * head);
    float mottle = noise_fractal(place.s * 22.0f, place.v * 30.0f, 3, fish->seed);
    float shade = 1.0f + 0.5f * (mottle - 0.5f) + 0.24f * scale_shade(place);
    float lateral = fabsf(place.v + 0.012f + 0.02f * (place.s - 0.5f)) * fish->length;
    shade -= 0.16f * paint_step(1.6f, 0.4f, lateral) * paint_step(0.22f, 0.28f, place.s) *
             (0.5f + 0.5f * cosf(place.s * 390.0f));
    return colour_scale(colour, shade);
}

/* Shades the body as an elliptic cylinder, whose normal turns away from the viewer towards back and
 * belly. */
static struct colour light_skin(const struct fish *fish, struct fish_place place, float across,
                                struct colour colour)
{
    float up = across > 1.0f ? 1.0f : across < -1.0f ? -1.0f : across;
    float facing = sqrtf(1.0f - 0.94f * up * up);
    float ripple = 0.25f * (noise_smooth(place.s * 30.0f, place.v * 55.0f, fish->seed + 7) - 0.5f);
    float bounce = fish->light_x * fish->side * (place.s < 0.2f ? (place.s - 0.2f) * 3.0f : 0.0f);
    float towards = fish->light_y * (up + ripple) + fish->light_z * facing + bounce;
    float diffuse = 0.42f + 0.78f * (towards > 0.0f ? towards : 0.0f);
    float shine =
        paint_step(0.84f, 1.02f, towards + 0.12f * ripple) * paint_step(0.03f, 0.2f, place.s);
    float wet = fish->gloss * shine * shine *
                (0.4f + 1.1f * noise_fractal(place.s * 14.0f, place.v * 38.0f, 2, fish->seed + 8));
    return colour_add(colour_scale(colour, diffuse), wet, wet, wet * 0.95f);
}

static float disc(const struct fish *fish, struct fish_place place, float s, float v, float radius)
{
    float x = place.s - s, y = place.v - v * fish->depth;
    return (sqrtf(x * x + y * y) - radius) * fish->length;
}

/* Draws the eye, the mouth and the gill cover. */
static struct colour draw_face(const struct fish *fish, struct fish_place place,
                               struct colour colour)
{
    if (place.s > 0.26f)
        return colour;
    float gill = fabsf(disc(fish, place, 0.105f, 0.005f, 0.108f));
    float behind = paint_step(0.12f, 0.17f, place.s);
    colour = colour_scale(colour, 1.0f - 0.5f * behind * paint_step(2.2f, 0.3f, gill));
    float cheek = fabsf(disc(fish, place, 0.085f, 0.02f, 0.062f));
    colour = colour_scale(colour, 1.0f - 0.2f * paint_step(0.09f, 0.13f, place.s) *
                                             paint_step(1.6f, 0.3f, cheek));
    float along;
    float mouth = segment_distance((struct point){place.s, place.v}, (struct point){-0.02f, 0.020f},
                                   (struct point){0.030f, 0.034f}, &along) *
                  fish->length;
    colour = colour_scale(colour, 1.0f - 0.6f * paint_step(1.4f, 0.3f, mouth));
    float eye = disc(fish, place, 0.088f, -0.026f, 0.0155f);
    struct colour iris = {0.72f, 0.26f, 0.07f};
    colour = colour_scale(colour, 1.0f - 0.45f * paint_step(2.4f, 0.6f, eye));
    colour = colour_mix(colour, iris, paint_clamp(0.5f - eye));
    colour = colour_mix(colour, (struct colour){0.02f, 0.02f, 0.02f},
                        paint_clamp(0.5f - disc(fish, place, 0.088f, -0.026f, 0.0085f)));
    return colour_mix(colour, (struct colour){0.95f, 0.96f, 0.98f},
                      0.9f * paint_clamp(0.5f - disc(fish, place, 0.084f, -0.032f, 0.0036f)));
}

static struct colour draw_barbel(const struct fish *fish, struct fish_place place,
                                 struct colour under)
{
    float along;
    float distance =
        segment_distance((struct point){place.s, place.v}, (struct point){0.030f, 0.034f},
                         (struct point){0.026f, 0.062f}, &along) *
        fish->length;
    float covered = paint_clamp(1.3f - 0.7f * along - distance);
    return colour_mix(under, colour_scale(fish->back, 0.8f), covered);
}

struct colour fish_colour(const struct fish *fish, struct point p, struct colour under)
{
    struct fish_place place = fish_locate(fish, p);
    if (!is_near(place))
        return under;
    struct colour colour = under;
    for (size_t i = 0; i < BACK_FINS; i++)
        colour = draw_fin(fish, &back_fins[i], place, colour);
    float covered = cover(fish, body_distance(fish, place));
    if (covered > 0.0f) {
        float across = place.v / body_height(fish, place);
        struct colour skin = skin_colour(fish, place, across);
        skin = draw_face(fish, place, light_skin(fish, place, across, skin));
        colour = colour_mix(colour, skin, covered);
    }
    for (size_t i = 0; i < FRONT_FINS; i++)
        colour = draw_fin(fish, &front_fins[i], place, colour);
    return draw_barbel(fish, place, colour);
}
