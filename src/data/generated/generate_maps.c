/* Draws the data set `maps` for pix2pix: pairs of an aerial picture and a street map of the same
 * place, 256x256 pixels each.
 *
 * Both renderings call town_at for the same points and blend colours by its distances. The map has
 * a few flat colours; the aerial picture has roofs, shadows, trees, cars, lane marks and grain.
 */
#include "data/generated/generate_maps.h"

#include "data/generated/generate.h"

static float inside(float distance)
{
    return paint_clamp(0.5f - distance);
}

/* --- the map --- */

static struct colour map_colour(const struct town_place *place)
{
    static const struct colour land = {0.910f, 0.894f, 0.867f}, house = {0.949f, 0.941f, 0.922f},
                               wall = {0.878f, 0.859f, 0.827f}, park = {0.792f, 0.871f, 0.667f},
                               water = {0.639f, 0.800f, 1.000f}, road = {1.000f, 1.000f, 1.000f},
                               kerb = {0.855f, 0.843f, 0.816f}, path = {0.900f, 0.880f, 0.800f},
                               main = {1.000f, 0.925f, 0.620f}, highway = {0.976f, 0.659f, 0.145f},
                               casing = {0.890f, 0.560f, 0.120f};
    struct colour colour = colour_mix(land, park, inside(place->park));
    if (place->park < 0.0f)
        colour = colour_mix(colour, path, 0.8f * inside(place->path));
    colour = colour_mix(colour, water, inside(place->water));
    colour = colour_mix(colour, wall, inside(place->building));
    colour = colour_mix(colour, house, inside(place->building + 0.9f));
    colour = colour_mix(colour, kerb, inside(place->street - 0.8f));
    colour = colour_mix(colour, place->wide ? main : road, inside(place->street));
    colour = colour_mix(colour, casing, inside(place->highway - 0.6f));
    float gap = fabsf(place->across) - 0.9f;
    struct colour lanes = colour_mix(highway, casing, inside(gap));
    return colour_mix(colour, lanes, inside(place->highway + 0.6f));
}

/* --- from the air --- */

static struct colour asphalt(const struct town *town, const struct town_place *place,
                             struct point p, bool is_highway)
{
    float worn = noise_fractal(p.x * 0.15f, p.y * 0.15f, 2, town->seed + 20);
    float light = (is_highway ? 0.40f : 0.30f) + 0.10f * (worn - 0.5f);
    struct colour colour = {light, light, 0.98f * light};
    float across = fabsf(place->across);
    bool dash = paint_floor(place->along * 0.16f) & 1;
    float mark = is_highway ? fabsf(across - 4.6f) - 0.25f : across - 0.25f;
    if (is_highway ? dash : place->wide && dash)
        colour = colour_mix(colour, (struct colour){0.8f, 0.8f, 0.76f}, 0.7f * inside(mark));
    if (is_highway) /* the barrier in the middle */
        colour = colour_mix(colour, (struct colour){0.22f, 0.24f, 0.18f}, inside(across - 0.9f));
    return colour;
}

/* Draws cars: each lane is divided into cells of a few pixels, and each cell may contain one. */
static struct colour drive_cars(const struct town *town, const struct town_place *place,
                                bool is_highway, struct colour colour)
{
    static const struct colour paints[] = {{0.85f, 0.85f, 0.86f},
                                           {0.62f, 0.64f, 0.66f},
                                           {0.10f, 0.10f, 0.12f},
                                           {0.55f, 0.12f, 0.10f},
                                           {0.15f, 0.22f, 0.42f}};
    float lane = is_highway ? 2.9f : 1.6f, length = 7.0f;
    int32_t column = paint_floor(place->across / lane), row = paint_floor(place->along / length);
    uint32_t hash = noise_hash(column, row, town->seed + 21);
    if ((hash & 1023) > (is_highway ? 150u : 110u))
        return colour;
    float x = place->across - ((float)column + 0.5f) * lane;
    float y = place->along - ((float)row + 0.5f) * length;
    float distance = fabsf(x) - 0.8f > fabsf(y) - 1.7f ? fabsf(x) - 0.8f : fabsf(y) - 1.7f;
    return colour_mix(colour, paints[(hash >> 12) % 5], inside(distance));
}

static struct colour roof(const struct town *town, const struct town_place *place, struct point p)
{
    static const struct colour tops[] = {
        {0.62f, 0.61f, 0.60f}, {0.42f, 0.41f, 0.41f}, {0.28f, 0.27f, 0.27f}, {0.46f, 0.33f, 0.26f},
        {0.36f, 0.30f, 0.26f}, {0.80f, 0.80f, 0.79f}, {0.52f, 0.47f, 0.40f}, {0.33f, 0.37f, 0.40f}};
    struct colour colour = tops[place->number >> 3 & 7];
    float grain = noise_fractal(p.x * 0.35f, p.y * 0.35f, 2, place->number);
    float light = 0.88f + 0.3f * (grain - 0.5f);
    if (place->number & 1024) /* gabled: one side faces the sun */
        light *= (place->ridge > 0.0f) == (town->sun_y < 0.0f) ? 1.14f : 0.80f;
    float rim = paint_step(-1.8f, -0.6f, place->building);
    return colour_scale(colour, light * (1.0f - 0.18f * rim));
}

static struct colour open_land(const struct town *town, const struct town_place *place,
                               struct point p)
{
    float patch = noise_fractal(p.x * 0.05f, p.y * 0.05f, 3, town->seed + 22);
    float fine = noise_smooth(p.x * 0.5f, p.y * 0.5f, town->seed + 23);
    struct colour lawn = {0.20f, 0.26f, 0.13f}, earth = {0.36f, 0.33f, 0.27f},
                  meadow = {0.25f, 0.32f, 0.15f}, track = {0.52f, 0.48f, 0.38f};
    struct colour colour = colour_mix(lawn, earth, paint_step(0.42f, 0.62f, patch));
    struct colour green = colour_mix(meadow, lawn, paint_step(0.35f, 0.65f, patch));
    colour = colour_mix(colour, green, inside(place->park));
    if (place->park < 0.0f)
        colour = colour_mix(colour, track, 0.8f * inside(place->path));
    return colour_scale(colour, 0.8f + 0.4f * fine);
}

static struct colour water(const struct town *town, const struct town_place *place, struct point p)
{
    float slow = noise_fractal(p.x * 0.03f, p.y * 0.03f, 2, town->seed + 24);
    float fine = noise_smooth(p.x * 0.4f, p.y * 0.7f, town->seed + 25);
    float deep = paint_step(0.0f, -9.0f, place->water);
    struct colour colour = colour_mix((struct colour){0.26f, 0.30f, 0.24f},
                                      (struct colour){0.10f, 0.17f, 0.19f}, deep);
    return colour_scale(colour, 0.85f + 0.2f * slow + 0.12f * fine);
}

/* Draws trees on a jittered grid: the nearest of nine crowns that covers the point. */
static struct colour plant_trees(const struct town *town, const struct town_place *place,
                                 struct point p, struct colour under)
{
    static const float cell = 6.5f;
    int32_t column = paint_floor(p.x / cell), row = paint_floor(p.y / cell);
    float forest = noise_smooth(p.x * 0.03f, p.y * 0.03f, town->seed + 26);
    float wanted = place->park < 0.0f ? 0.15f + 0.8f * paint_step(0.4f, 0.65f, forest)
                                      : town->leafy * (0.5f + forest);
    struct colour colour = under;
    for (int32_t j = row - 1; j <= row + 1; j++)
        for (int32_t i = column - 1; i <= column + 1; i++) {
            uint32_t hash = noise_hash(i, j, town->seed + 27);
            if (random_to_unit(hash) > wanted)
                continue;
            float radius = 1.8f + 0.5f * (float)(hash & 7) * 0.5f;
            float x = p.x - cell * ((float)i + 0.25f + (float)(hash >> 3 & 15) / 30.0f);
            float y = p.y - cell * ((float)j + 0.25f + (float)(hash >> 7 & 15) / 30.0f);
            float shade_x = x - 0.5f * town->sun_x, shade_y = y - 0.5f * town->sun_y;
            float shade = sqrtf(shade_x * shade_x + shade_y * shade_y) - radius;
            colour = colour_scale(colour, 1.0f - 0.35f * inside(shade));
            float distance = sqrtf(x * x + y * y) - radius;
            float lit = 0.75f - 0.09f * (x * town->sun_x + y * town->sun_y) / radius;
            struct colour leaf = {0.15f + 0.012f * (float)(hash >> 11 & 7), 0.24f, 0.10f};
            colour = colour_mix(colour, colour_scale(leaf, lit), inside(distance));
        }
    return colour;
}

static struct colour air_colour(const struct town *town, const struct town_place *place,
                                struct point p)
{
    struct colour colour = open_land(town, place, p);
    if (place->water < 0.5f)
        colour = colour_mix(colour, water(town, place, p), inside(place->water));
    if (place->street < 2.5f) {
        struct colour pavement = {0.44f, 0.43f, 0.41f};
        float kerb = place->park > 2.0f && place->water > 0.0f ? 1.8f : 0.3f;
        colour = colour_mix(colour, pavement, 0.7f * inside(place->street - kerb));
        struct colour road = asphalt(town, place, p, false);
        if (place->highway > 2.0f)
            road = drive_cars(town, place, false, road);
        colour = colour_mix(colour, road, inside(place->street));
    }
    if (place->highway < 1.5f) {
        struct colour road = drive_cars(town, place, true, asphalt(town, place, p, true));
        colour = colour_mix(colour, road, inside(place->highway));
    }
    float free = place->water < place->highway ? place->water : place->highway;
    if (free > 0.0f && place->building > 0.5f && place->street > -1.0f)
        colour = plant_trees(town, place, p, colour);
    struct point lit = {p.x - town->sun_x, p.y - town->sun_y};
    colour = colour_scale(colour, 1.0f - 0.55f * inside(town_building(town, lit)));
    if (place->building < 0.5f)
        colour = colour_mix(colour, roof(town, place, p), inside(place->building));
    float grain = 0.06f * (noise_at((int32_t)p.x, (int32_t)p.y, town->seed + 28) - 0.5f);
    return colour_add(colour, grain, grain, grain);
}

void generate_map(struct random_stream *draws, size_t label, struct image *image,
                  struct image *target)
{
    (void)label;
    struct town town;
    town_choose(&town, draws);
    for (size_t y = 0; y < image->height; y++)
        for (size_t x = 0; x < image->width; x++) {
            struct point p = {(float)x, (float)y};
            struct town_place place = town_at(&town, p);
            colour_write(image, x, y, air_colour(&town, &place, p));
            colour_write(target, x, y, map_colour(&place));
        }
}
