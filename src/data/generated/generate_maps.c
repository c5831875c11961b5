/* Draws the data set `maps` for pix2pix: pairs of an aerial picture and a street map of the same
 * place, 256x256 pixels each.
 *
 * Both renderings call town_at for the same points and blend colours by its distances. The map has
 * a few flat colours; the aerial picture has roofs, shadows, trees, cars, lane marks and grain.
 *
 * A town is a warped grid of streets with a river, a highway and a park over it; the blocks between
 * the streets are divided into lots.
 *
 * Street i of an axis is at i times the mean distance, displaced by a hash of i; every third street
 * is an avenue. A stretch of street between two crossings may be missing. A block is divided along
 * its longer side into two rows of lots, back to back; a lot may have a building, set back from its
 * borders.
 */
#include "data/generated/generate.h"
#include "data/generated/internal.h"

/* --- towns ---
 *
 * town_choose draws the parameters of a town, one for each pair of images. town_at then describes a
 * point of it by signed distances in pixels (negative inside) to streets, water, buildings and so
 * on. The aerial picture and the map are two renderings of the same distances, so they match pixel
 * by pixel. */

struct town {
    uint32_t seed;
    float cosine, sine; /* direction of the street grid */
    float origin_x, origin_y;
    float block_x, block_y; /* mean spacing of streets */
    float street, avenue;   /* half-widths */
    float bend;             /* how far streets sway */
    float lot;              /* width of a lot along its street */
    float built;            /* fraction of lots with a building */
    float green;            /* fraction of blocks that are parks */
    float leafy;            /* fraction of possible sites that have a tree */
    bool has_river, has_highway, has_park;
    float river_x, river_y, river_offset, river_width, river_sway;
    float highway_x, highway_y, highway_offset, highway_bend;
    struct point park;
    float park_radius;
    float sun_x, sun_y; /* offset of shadows in pixels */
};

/* A point of the town. */
struct town_place {
    float water, park, path; /* distances; path: to a footpath in a park */
    float street, highway;   /* distances */
    float across, along;     /* position on the nearest road: from its middle, along its length */
    bool wide;               /* that road is an avenue */
    float building;          /* distance */
    uint32_t number;         /* the lot's number, which decides its colours */
    float ridge;             /* position across the building's roof, -1 to 1 */
};

static float between(uint32_t word, float low, float high)
{
    return low + (high - low) * random_to_unit(word);
}

/* Draws the parameters of a town. */
static void town_choose(struct town *town, struct random_stream *draws)
{
    float angle = random_next_between(draws, -0.8f, 0.8f);
    bool suburb = random_next_below(draws, 2) == 0;
    town->seed = random_next(draws);
    town->cosine = cosf(angle);
    town->sine = sinf(angle);
    town->origin_x = random_next_between(draws, 0.0f, 400.0f);
    town->origin_y = random_next_between(draws, 0.0f, 400.0f);
    town->block_x = random_next_between(draws, 62.0f, 110.0f);
    town->block_y = random_next_between(draws, 34.0f, 52.0f);
    town->street = random_next_between(draws, 2.4f, 3.2f);
    town->avenue = town->street + random_next_between(draws, 1.2f, 2.4f);
    town->bend =
        suburb ? random_next_between(draws, 10.0f, 34.0f) : random_next_between(draws, 0.0f, 8.0f);
    town->lot = suburb ? random_next_between(draws, 10.0f, 14.0f)
                       : random_next_between(draws, 13.0f, 30.0f);
    town->built = random_next_between(draws, 0.75f, 0.97f);
    town->green = random_next_between(draws, 0.02f, 0.14f);
    town->leafy =
        suburb ? random_next_between(draws, 0.35f, 0.7f) : random_next_between(draws, 0.1f, 0.4f);
    town->has_river = random_next_below(draws, 100) < 35;
    town->has_highway = random_next_below(draws, 100) < 40;
    town->has_park = random_next_below(draws, 100) < 45;
    angle = 6.2831853f * random_next_unit(draws);
    town->river_x = cosf(angle);
    town->river_y = sinf(angle);
    town->river_offset = random_next_between(draws, -70.0f, 70.0f);
    town->river_width = random_next_between(draws, 10.0f, 34.0f);
    town->river_sway = random_next_between(draws, 10.0f, 60.0f);
    angle += random_next_between(draws, 0.7f, 2.4f);
    town->highway_x = cosf(angle);
    town->highway_y = sinf(angle);
    town->highway_offset = random_next_between(draws, -60.0f, 60.0f);
    town->highway_bend = random_next_between(draws, -0.0016f, 0.0016f);
    town->park = (struct point){random_next_between(draws, 40.0f, 215.0f),
                                random_next_between(draws, 40.0f, 215.0f)};
    town->park_radius = random_next_between(draws, 28.0f, 75.0f);
    float sun = random_next_between(draws, -0.6f, 0.6f);
    town->sun_x = 3.6f * sinf(sun);
    town->sun_y = -3.6f * cosf(sun);
}

/* --- the grid --- */

struct street_axis {
    float mean;
    uint32_t seed;
};

static float street_position(const struct street_axis *axis, int32_t i)
{
    return axis->mean * ((float)i + between(noise_hash(i, 0, axis->seed), -0.28f, 0.28f));
}

/* The positions of the streets before and after a coordinate. */
struct interval {
    int32_t index; /* index of the street at `low` */
    float low, high;
};

static struct interval find_interval(const struct street_axis *axis, float x)
{
    int32_t i = paint_floor(x / axis->mean);
    float low = street_position(axis, i);
    if (x < low)
        return (struct interval){i - 1, street_position(axis, i - 1), low};
    float high = street_position(axis, i + 1);
    if (x >= high)
        return (struct interval){i + 1, high, street_position(axis, i + 2)};
    return (struct interval){i, low, high};
}

/* A point in grid coordinates, and the block that contains it. */
struct block {
    float x, y;
    struct interval across, down;
    uint32_t hash;
};

static struct block find_block(const struct town *town, struct point p)
{
    float wx = 0.0f, wy = 0.0f;
    if (town->bend > 0.5f) {
        wx = town->bend * (noise_smooth(p.x * 0.011f, p.y * 0.011f, town->seed + 1) - 0.5f);
        wy = town->bend * (noise_smooth(p.x * 0.011f, p.y * 0.011f, town->seed + 2) - 0.5f);
    }
    struct street_axis across = {town->block_x, town->seed + 3},
                       down = {town->block_y, town->seed + 4};
    struct block block;
    block.x = (p.x + wx) * town->cosine + (p.y + wy) * town->sine + town->origin_x;
    block.y = (p.y + wy) * town->cosine - (p.x + wx) * town->sine + town->origin_y;
    block.across = find_interval(&across, block.x);
    block.down = find_interval(&down, block.y);
    block.hash = noise_hash(block.across.index, block.down.index, town->seed + 5);
    return block;
}

static bool is_wide(int32_t street)
{
    return street % 3 == 0;
}

/* One of the block's four borders. */
struct border {
    float distance; /* from the middle of the street */
    bool wide, missing;
    float along;
};

static struct border block_border(const struct town *town, const struct block *block, int side)
{
    bool vertical = side < 2, second = side & 1;
    const struct interval *interval = vertical ? &block->across : &block->down;
    float at = vertical ? block->x : block->y;
    int32_t street = interval->index + second;
    int32_t stretch = vertical ? block->down.index : block->across.index;
    struct border border;
    border.distance = second ? interval->high - at : at - interval->low;
    border.along = vertical ? block->y : block->x;
    border.wide = is_wide(street);
    border.missing = !border.wide && noise_at(street, stretch, town->seed + 6 + vertical) < 0.12f;
    return border;
}

static void place_streets(const struct town *town, const struct block *block,
                          struct town_place *place)
{
    place->street = 1e3f;
    for (int side = 0; side < 4; side++) {
        struct border border = block_border(town, block, side);
        float distance = border.distance - (border.wide ? town->avenue : town->street);
        /* where a street joins an avenue, the avenue's colour wins */
        bool joins = place->wide && !border.wide && place->street < 0.5f;
        bool takes_over = border.wide && !place->wide && distance < 0.5f;
        if (border.missing || (!takes_over && (joins || distance >= place->street)))
            continue;
        place->street = distance;
        place->across = (side & 1) ? -border.distance : border.distance;
        place->along = border.along;
        place->wide = border.wide;
    }
}

/* --- lots and buildings --- */

static bool is_park_block(const struct town *town, const struct block *block)
{
    return random_to_unit(block->hash) < town->green;
}

static float box_distance(float x, float y, float half_x, float half_y)
{
    float dx = fabsf(x) - half_x, dy = fabsf(y) - half_y;
    return dx > dy ? dx : dy;
}

static void place_building(const struct town *town, const struct block *block,
                           struct town_place *place)
{
    place->building = 1e3f;
    if (is_park_block(town, block))
        return;
    float setback = town->avenue + 3.0f;
    float left = block->across.low + setback, right = block->across.high - setback;
    float top = block->down.low + setback, bottom = block->down.high - setback;
    float count = (float)paint_floor((right - left) / town->lot);
    if (count < 1.0f || bottom - top < 8.0f)
        return;
    float width = (right - left) / count, depth = (bottom - top) * 0.5f;
    int32_t column = paint_floor((block->x - left) / width);
    int32_t row = paint_floor((block->y - top) / depth);
    if (column < 0 || (float)column >= count || row < 0 || row > 1)
        return;
    uint32_t hash = noise_hash(column, row, block->hash);
    if (random_to_unit(hash) > town->built)
        return;
    uint32_t more = noise_hash(column, row, ~block->hash);
    float half_x = width * between(more << 16, 0.30f, 0.46f);
    float half_y = depth * between(more, 0.26f, 0.44f);
    float x = block->x - left - width * ((float)column + 0.5f);
    float y = block->y - top - depth * ((float)row + (row ? 0.56f : 0.44f));
    place->building = box_distance(x, y, half_x, half_y);
    if (more & 64) { /* an L: one corner is taken out */
        float notch =
            box_distance(x - ((more & 32) ? half_x : -half_x), y - ((more & 16) ? half_y : -half_y),
                         half_x * 0.8f, half_y * 0.8f);
        place->building = place->building > -notch ? place->building : -notch;
    }
    place->number = hash;
    place->ridge = half_x > half_y ? y / half_y : x / half_x;
}

/* --- river, highway and park --- */

static float river_distance(const struct town *town, struct point p)
{
    if (!town->has_river)
        return 1e3f;
    float x = p.x - 127.5f, y = p.y - 127.5f;
    float along = x * town->river_x + y * town->river_y;
    float across = y * town->river_x - x * town->river_y - town->river_offset;
    across -=
        town->river_sway * (noise_smooth(along * 0.012f, 0.0f, town->seed + 10) - 0.5f) * 2.0f;
    float ragged = 5.0f * (noise_smooth(p.x * 0.06f, p.y * 0.06f, town->seed + 11) - 0.5f);
    return fabsf(across) - town->river_width + ragged;
}

static float highway_across(const struct town *town, struct point p, float *along)
{
    float x = p.x - 127.5f, y = p.y - 127.5f;
    *along = x * town->highway_x + y * town->highway_y;
    return y * town->highway_x - x * town->highway_y - town->highway_offset -
           town->highway_bend * *along * *along;
}

static float park_distance(const struct town *town, struct point p, float *path)
{
    float x = p.x - town->park.x, y = p.y - town->park.y;
    float radius = sqrtf(x * x + y * y);
    float ragged = 0.5f * town->park_radius *
                   (noise_smooth(p.x * 0.022f, p.y * 0.022f, town->seed + 12) - 0.5f);
    float ring = fabsf(radius + 0.7f * ragged - 0.55f * town->park_radius) - 1.1f;
    float sway = 10.0f * (noise_smooth(p.x * 0.03f, p.y * 0.03f, town->seed + 13) - 0.5f);
    float one = fabsf(x * town->cosine + y * town->sine + sway) - 1.0f;
    float other = fabsf(y * town->cosine - x * town->sine + sway) - 1.0f;
    *path = one < other ? one : other;
    *path = ring < *path ? ring : *path;
    return radius - town->park_radius + ragged;
}

/* Removes buildings where water, roads or parks are. */
static void clear_site(struct town_place *place)
{
    float room = place->water - 4.0f;
    room = place->highway - 4.0f < room ? place->highway - 4.0f : room;
    room = place->park - 3.0f < room ? place->park - 3.0f : room;
    if (-room > place->building)
        place->building = -room;
}

static void place_over_grid(const struct town *town, struct point p, struct town_place *place)
{
    float along;
    place->water = river_distance(town, p);
    place->highway = 1e3f;
    place->park = place->path = 1e3f;
    if (town->has_park)
        place->park = park_distance(town, p, &place->path);
    if (town->has_highway) {
        float across = highway_across(town, p, &along);
        place->highway = fabsf(across) - 8.0f;
        if (place->highway < 3.0f) {
            place->across = across;
            place->along = along;
        }
    }
    clear_site(place);
}

/* Ends small streets at parks and water; avenues cross both, on bridges. */
static void cut_streets(struct town_place *place)
{
    float room =
        place->park + 2.0f < place->water - 3.0f ? place->park + 2.0f : place->water - 3.0f;
    if (!place->wide && -room > place->street)
        place->street = -room;
}

/* Returns the description of a point. */
static struct town_place town_at(const struct town *town, struct point p)
{
    struct town_place place = {0};
    struct block block = find_block(town, p);
    place_streets(town, &block, &place);
    place_building(town, &block, &place);
    place_over_grid(town, p, &place);
    cut_streets(&place);
    if (is_park_block(town, &block)) {
        float kerb = -place.street + 1.5f;
        place.park = kerb < place.park ? kerb : place.park;
    }
    return place;
}

/* Returns the distance to the nearest building alone, for shadows. */
static float town_building(const struct town *town, struct point p)
{
    struct town_place place = {0};
    struct block block = find_block(town, p);
    place_building(town, &block, &place);
    if (place.building < 2.0f)
        place_over_grid(town, p, &place);
    return place.building;
}

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
