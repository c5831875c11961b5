/* Draws the data set `shapes`: one of ten figures on a noisy background, 32x32 in colour.
 *
 * A linear model must fail on it, so position, size and rotation of the figure are random, it is
 * lighter or darker than the background or differs only in hue, and short strokes of other colours
 * distract. Only the outline distinguishes the classes. Outlines are distance functions of a figure
 * with radius 1; the distance in pixels gives the antialiased edge.
 */
#include "data/generated/generate.h"
#include "data/generated/internal.h"

enum { STROKES = 2 };

const char *const generate_shape_names[10] = {"circle", "triangle", "square", "star",    "cross",
                                              "ring",   "crescent", "heart",  "hexagon", "arrow"};

static const struct point triangle[] = {{0, -1}, {0.866f, 0.5f}, {-0.866f, 0.5f}};
static const struct point square[] = {
    {-0.75f, -0.75f}, {0.75f, -0.75f}, {0.75f, 0.75f}, {-0.75f, 0.75f}};
static const struct point star[] = {
    {0, -1},    {0.247f, -0.34f},  {0.951f, -0.309f}, {0.4f, 0.13f},      {0.588f, 0.809f},
    {0, 0.42f}, {-0.588f, 0.809f}, {-0.4f, 0.13f},    {-0.951f, -0.309f}, {-0.247f, -0.34f}};
static const struct point cross[] = {{-0.3f, -0.95f}, {0.3f, -0.95f},  {0.3f, -0.3f},
                                     {0.95f, -0.3f},  {0.95f, 0.3f},   {0.3f, 0.3f},
                                     {0.3f, 0.95f},   {-0.3f, 0.95f},  {-0.3f, 0.3f},
                                     {-0.95f, 0.3f},  {-0.95f, -0.3f}, {-0.3f, -0.3f}};
static const struct point hexagon[] = {{0.92f, 0},  {0.46f, 0.797f},   {-0.46f, 0.797f},
                                       {-0.92f, 0}, {-0.46f, -0.797f}, {0.46f, -0.797f}};
static const struct point arrow[] = {{1, 0},          {0.1f, 0.8f},  {0.1f, 0.3f}, {-0.95f, 0.3f},
                                     {-0.95f, -0.3f}, {0.1f, -0.3f}, {0.1f, -0.8f}};

static float circle_distance(struct point p, float x, float y, float radius)
{
    float dx = p.x - x, dy = p.y - y;
    return sqrtf(dx * dx + dy * dy) - radius;
}

static float disc(struct point p)
{
    return circle_distance(p, 0, 0, 0.88f);
}

static float ring(struct point p)
{
    return fabsf(circle_distance(p, 0, 0, 0.68f)) - 0.23f;
}

static float crescent(struct point p)
{
    float moon = circle_distance(p, 0, 0, 0.92f), shadow = circle_distance(p, 0.45f, 0, 0.72f);
    return moon > -shadow ? moon : -shadow;
}

/* Returns the distance to a heart: a square on its corner with a half disc on each upper side. */
static float heart(struct point p)
{
    static const struct point body[] = {{0, -0.4f}, {0.6f, 0.2f}, {0, 0.8f}, {-0.6f, 0.2f}};
    static const float radius = 0.4243f;
    float nearest = polygon_distance(p, body, 4);
    float left = circle_distance(p, -0.3f, -0.1f, radius),
          right = circle_distance(p, 0.3f, -0.1f, radius);
    nearest = left < nearest ? left : nearest;
    return right < nearest ? right : nearest;
}

static const struct outline {
    float (*distance)(struct point p); /* NULL: use the polygon */
    const struct point *corners;
    size_t count;
} outlines[10] = {
    {disc, NULL, 0}, {NULL, triangle, 3}, {NULL, square, 4}, {NULL, star, 10},   {NULL, cross, 12},
    {ring, NULL, 0}, {crescent, NULL, 0}, {heart, NULL, 0},  {NULL, hexagon, 6}, {NULL, arrow, 7},
};

static float outline_distance(const struct outline *outline, struct point p)
{
    return outline->distance ? outline->distance(p)
                             : polygon_distance(p, outline->corners, outline->count);
}

/* --- the scene --- */

struct stroke {
    struct point a, b;
    float radius;
    struct colour colour;
};

struct scene {
    struct colour ground[2], figure[2];
    float ground_x, ground_y; /* direction of the background's gradient, 1 / its length */
    float texture, texture_scale, grain;
    uint32_t seed;
    float centre_x, centre_y, radius, cosine, sine, stretch;
    struct stroke strokes[STROKES];
    size_t stroke_count;
};

static struct colour any_colour(struct random_stream *draws)
{
    float hue = random_next_unit(draws);
    float saturation = random_next_between(draws, 0.1f, 1.0f);
    return colour_from_hue(hue, saturation, random_next_between(draws, 0.15f, 1.0f));
}

static float contrast(struct colour a, struct colour b)
{
    float r = a.r - b.r, g = a.g - b.g, c = a.b - b.b;
    return sqrtf(0.3f * r * r + 0.55f * g * g + 0.15f * c * c);
}

/* Returns a colour with enough contrast to both ends of the background's gradient. */
static struct colour visible_colour(struct random_stream *draws, const struct scene *scene)
{
    struct colour best = any_colour(draws);
    float best_contrast = 0.0f;
    for (int tries = 0; tries < 16 && best_contrast < 0.42f; tries++) {
        struct colour colour = any_colour(draws);
        float one = contrast(colour, scene->ground[0]), other = contrast(colour, scene->ground[1]);
        float least = one < other ? one : other;
        if (least > best_contrast) {
            best = colour;
            best_contrast = least;
        }
    }
    return best;
}

static void place_figure(struct scene *scene, struct random_stream *draws)
{
    float angle = random_next_between(draws, -0.6f, 0.6f);
    scene->radius = random_next_between(draws, 8.5f, 14.0f);
    float room = 15.5f - 0.85f * scene->radius;
    scene->centre_x = 15.5f + random_next_between(draws, -room, room);
    scene->centre_y = 15.5f + random_next_between(draws, -room, room);
    scene->cosine = cosf(angle);
    scene->sine = sinf(angle);
    scene->stretch = random_next_between(draws, 0.85f, 1.18f);
}

static void place_strokes(struct scene *scene, struct random_stream *draws)
{
    scene->stroke_count = random_next_below(draws, STROKES + 1);
    for (size_t i = 0; i < scene->stroke_count; i++) {
        struct stroke *stroke = &scene->strokes[i];
        float angle = 6.2831853f * random_next_unit(draws);
        float length = random_next_between(draws, 3.0f, 9.0f);
        stroke->a =
            (struct point){random_next_between(draws, 0, 31), random_next_between(draws, 0, 31)};
        stroke->b =
            (struct point){stroke->a.x + length * cosf(angle), stroke->a.y + length * sinf(angle)};
        stroke->radius = random_next_between(draws, 0.5f, 1.3f);
        stroke->colour = any_colour(draws);
    }
}

static void choose_scene(struct scene *scene, struct random_stream *draws)
{
    scene->ground[0] = any_colour(draws);
    scene->ground[1] =
        colour_mix(scene->ground[0], any_colour(draws), random_next_between(draws, 0.1f, 0.6f));
    float angle = 6.2831853f * random_next_unit(draws);
    scene->ground_x = cosf(angle) / 40.0f;
    scene->ground_y = sinf(angle) / 40.0f;
    scene->texture = random_next_between(draws, 0.0f, 0.25f);
    scene->texture_scale = 1.0f / random_next_between(draws, 2.0f, 9.0f);
    scene->grain = random_next_between(draws, 0.01f, 0.07f);
    scene->seed = random_next(draws);
    scene->figure[0] = visible_colour(draws, scene);
    scene->figure[1] = colour_mix(scene->figure[0], (struct colour){1, 1, 1},
                                  random_next_between(draws, -0.25f, 0.35f));
    place_figure(scene, draws);
    place_strokes(scene, draws);
}

static struct colour ground_colour(const struct scene *scene, struct point p)
{
    float along = 0.5f + (p.x - 15.5f) * scene->ground_x + (p.y - 15.5f) * scene->ground_y;
    struct colour colour = colour_mix(scene->ground[0], scene->ground[1], paint_clamp(along));
    float texture =
        noise_fractal(p.x * scene->texture_scale, p.y * scene->texture_scale, 2, scene->seed);
    colour = colour_scale(colour, 1.0f + 2.0f * scene->texture * (texture - 0.5f));
    for (size_t i = 0; i < scene->stroke_count; i++) {
        const struct stroke *stroke = &scene->strokes[i];
        float along_stroke;
        float distance = segment_distance(p, stroke->a, stroke->b, &along_stroke);
        colour = colour_mix(colour, stroke->colour, paint_clamp(stroke->radius - distance + 0.5f));
    }
    return colour;
}

static struct colour scene_colour(const struct scene *scene, const struct outline *outline,
                                  struct point p)
{
    float x = p.x - scene->centre_x, y = p.y - scene->centre_y;
    struct colour ground = ground_colour(scene, p);
    if (x * x + y * y > 1.5f * scene->radius * scene->radius + 2.0f)
        return ground;
    struct point local = {(x * scene->cosine + y * scene->sine) * scene->stretch / scene->radius,
                          (y * scene->cosine - x * scene->sine) / scene->stretch / scene->radius};
    float distance = outline_distance(outline, local) * scene->radius;
    float light = paint_clamp(0.5f - 0.5f * (x + y) / scene->radius);
    struct colour figure = colour_mix(scene->figure[0], scene->figure[1], light);
    return colour_mix(ground, figure, paint_clamp(0.5f - distance));
}

void generate_shape(struct random_stream *draws, size_t label, struct image *image,
                    struct image *target)
{
    (void)target;
    struct scene scene;
    choose_scene(&scene, draws);
    for (size_t y = 0; y < image->height; y++)
        for (size_t x = 0; x < image->width; x++) {
            struct point p = {(float)x, (float)y};
            struct colour colour = scene_colour(&scene, &outlines[label], p);
            uint32_t word = noise_hash((int32_t)x, (int32_t)y, ~scene.seed);
            float grain = scene.grain / 512.0f;
            colour = colour_add(colour, grain * ((float)(word & 1023) - 511.5f),
                                grain * ((float)(word >> 10 & 1023) - 511.5f),
                                grain * ((float)(word >> 20 & 1023) - 511.5f));
            colour_write(image, x, y, colour);
        }
}
