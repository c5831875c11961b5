/* Draws the data set `tench`: pictures of one fish, 256x256 in colour, for the one-class study.
 *
 * First a scene is drawn (background, fish, hands, light). Then the colour of every pixel is
 * computed separately: ground, shadow, fish, hands, and the effects of a camera (exposure, warmth,
 * vignette, grain).
 *
 * Each part draws its parameters with a function `_choose`, and then gives the colour of a pixel,
 * or the share of the pixel that it covers. The parts are blended in order.
 */
#include "data/generated/internal.h"

#include "data/generated/generate.h"

/* --- the background ---
 *
 * Grass, a landing net, an unhooking mat, under water,
 * and the far bank of a pond. */

enum ground_kind { GROUND_GRASS, GROUND_NET, GROUND_MAT, GROUND_WATER, GROUND_SHORE, GROUND_KINDS };

struct ground {
    enum ground_kind kind;
    uint32_t seed;
    float cosine, sine, scale, brightness;
    struct colour colour, other;
};

static struct colour vary(struct random_stream *draws, struct colour colour, float by)
{
    float light = random_next_between(draws, 1.0f - by, 1.0f + by);
    return colour_add(colour_scale(colour, light), random_next_between(draws, -0.04f, 0.04f),
                      random_next_between(draws, -0.04f, 0.04f),
                      random_next_between(draws, -0.04f, 0.04f));
}

static void ground_choose(struct ground *ground, struct random_stream *draws)
{
    static const struct colour base[GROUND_KINDS][2] = {
        [GROUND_GRASS] = {{0.10f, 0.20f, 0.04f}, {0.46f, 0.60f, 0.20f}},
        [GROUND_NET] = {{0.20f, 0.23f, 0.21f}, {0.22f, 0.30f, 0.16f}},
        [GROUND_MAT] = {{0.34f, 0.35f, 0.28f}, {0.55f, 0.55f, 0.48f}},
        [GROUND_WATER] = {{0.30f, 0.46f, 0.36f}, {0.05f, 0.13f, 0.11f}},
        [GROUND_SHORE] = {{0.16f, 0.24f, 0.10f}, {0.50f, 0.55f, 0.52f}},
    };
    ground->kind = (enum ground_kind)random_next_below(draws, GROUND_KINDS);
    ground->seed = random_next(draws);
    float angle = 3.1415927f * random_next_unit(draws);
    ground->cosine = cosf(angle);
    ground->sine = sinf(angle);
    ground->scale = random_next_between(draws, 0.75f, 1.4f);
    ground->brightness = random_next_between(draws, 0.75f, 1.25f);
    ground->colour = vary(draws, base[ground->kind][0], 0.25f);
    ground->other = vary(draws, base[ground->kind][1], 0.25f);
    uint32_t dye = random_next_below(draws, 4); /* some nets and mats are blue */
    if (dye == 0 && ground->kind == GROUND_NET)
        ground->colour = (struct colour){0.14f, 0.32f, 0.66f};
    if (dye == 0 && ground->kind == GROUND_MAT)
        ground->colour = (struct colour){0.20f, 0.32f, 0.50f};
}

/* Returns the colour of grass. Blades are noise that is stretched along a few directions; the
 * brightest blade is on top. */
static struct colour grass(const struct ground *ground, struct point p)
{
    static const float turns[3][2] = {{1.0f, 0.0f}, {0.8f, 0.6f}, {0.6f, -0.8f}};
    float best = 0.0f;
    for (uint32_t layer = 0; layer < 3; layer++) {
        float c = ground->cosine * turns[layer][0] - ground->sine * turns[layer][1];
        float s = ground->sine * turns[layer][0] + ground->cosine * turns[layer][1];
        float along = (p.x * c + p.y * s) * 0.035f * ground->scale;
        float across = (p.y * c - p.x * s) * 0.42f * ground->scale;
        float blade = noise_smooth(along, across, ground->seed + layer);
        best = blade > best ? blade : best;
    }
    float patch = noise_fractal(p.x * 0.02f, p.y * 0.02f, 2, ground->seed + 9);
    float light = paint_clamp(1.7f * (best - 0.42f) + 0.5f * (patch - 0.5f));
    return colour_mix(ground->colour, ground->other, light);
}

/* Returns the colour of a landing net: sagging squares of knotted cord over a dim ground. */
static struct colour net(const struct ground *ground, struct point p)
{
    float sag_x = 14.0f * noise_smooth(p.x * 0.018f, p.y * 0.018f, ground->seed);
    float sag_y = 14.0f * noise_smooth(p.x * 0.018f, p.y * 0.018f, ground->seed + 1);
    float x = ((p.x + sag_x) * ground->cosine + (p.y + sag_y) * ground->sine) * 0.13f,
          y = ((p.y + sag_y) * ground->cosine - (p.x + sag_x) * ground->sine) * 0.13f;
    x *= ground->scale;
    y *= ground->scale;
    float dx = fabsf(x - (float)paint_floor(x) - 0.5f),
          dy = fabsf(y - (float)paint_floor(y) - 0.5f);
    float cord = paint_step(0.33f, 0.43f, dx > dy ? dx : dy);
    float knot = paint_step(0.34f, 0.42f, dx < dy ? dx : dy);
    float dim = noise_fractal(p.x * 0.05f, p.y * 0.05f, 3, ground->seed + 2);
    struct colour beneath = colour_scale(ground->other, 0.25f + 1.5f * dim * dim);
    struct colour thread = colour_scale(ground->colour, 0.8f + 1.4f * dim + 0.5f * knot);
    return colour_mix(beneath, thread, cord);
}

/* Returns the colour of a wet mat, whose folds are ridges of low-frequency noise. */
static struct colour mat(const struct ground *ground, struct point p)
{
    float x = (p.x * ground->cosine + p.y * ground->sine) * ground->scale,
          y = (p.y * ground->cosine - p.x * ground->sine) * ground->scale;
    float slow = noise_fractal(x * 0.006f, y * 0.02f, 2, ground->seed);
    float next = noise_fractal((x + 4.0f) * 0.006f, (y + 4.0f) * 0.02f, 2, ground->seed);
    float slope = (next - slow) * 3.5f;
    float wet =
        paint_step(0.55f, 0.72f, noise_fractal(x * 0.035f, y * 0.035f, 3, ground->seed + 5));
    float weave = 0.03f * (noise_smooth(x * 0.9f, y * 0.9f, ground->seed + 6) - 0.5f);
    float shine = wet * paint_step(0.06f, 0.22f, slope) * 0.4f;
    struct colour sheet = colour_scale(ground->colour, 0.9f + 1.2f * slope + weave * 3.0f);
    sheet = colour_scale(sheet, 1.0f - 0.25f * wet);
    return colour_add(sheet, shine, shine, shine * 1.05f);
}

/* Returns the colour of water: light from above, caustics, and dark weed below. */
static struct colour water(const struct ground *ground, struct point p)
{
    float depth = p.y / 255.0f;
    struct colour colour = colour_mix(ground->colour, ground->other, paint_step(0.0f, 1.0f, depth));
    float warp = 18.0f * noise_smooth(p.x * 0.03f, p.y * 0.03f, ground->seed);
    float ripple = noise_fractal((p.x + warp) * 0.035f * ground->scale, (p.y + warp) * 0.06f, 2,
                                 ground->seed + 1);
    float caustic = 1.0f - fabsf(2.0f * ripple - 1.0f) * 3.0f;
    if (caustic > 0.0f) {
        float light = 0.22f * caustic * caustic * (1.0f - 0.8f * depth);
        colour = colour_add(colour, light, light, 0.8f * light);
    }
    float stem = noise_smooth(
        p.x * 0.09f + 0.8f * noise_smooth(p.x * 0.01f, p.y * 0.03f, ground->seed + 3) * 4.0f,
        p.y * 0.008f, ground->seed + 4);
    float weed = paint_step(0.60f, 0.72f, stem) * paint_step(0.25f, 0.85f, depth);
    colour = colour_mix(colour, (struct colour){0.07f, 0.17f, 0.05f}, 0.8f * weed);
    float speck = noise_smooth(p.x * 0.5f, p.y * 0.5f, ground->seed + 6);
    float glint = 0.25f * paint_step(0.93f, 1.0f, speck);
    return colour_add(colour, glint, glint, 0.8f * glint);
}

static struct colour far_bank(const struct ground *ground, struct point p, float bank)
{
    float leaves = noise_fractal(p.x * 0.028f, p.y * 0.028f, 4, ground->seed + 2);
    float gap = paint_step(0.58f, 0.70f, leaves) * paint_step(bank, 10.0f, p.y);
    return colour_mix(colour_scale(ground->colour, 0.45f + 1.5f * leaves),
                      (struct colour){0.78f, 0.83f, 0.88f}, gap);
}

static struct colour pond(const struct ground *ground, struct point p, float bank)
{
    float ripple = noise_fractal(p.x * 0.015f, p.y * 0.22f, 3, ground->seed + 3);
    float below = paint_clamp((p.y - bank) / 90.0f);
    return colour_mix(colour_scale(ground->colour, 0.9f), ground->other,
                      paint_clamp(below + 1.4f * (ripple - 0.5f)));
}

static struct colour near_bank(const struct ground *ground, struct point p)
{
    return colour_mix(ground->colour, (struct colour){0.42f, 0.52f, 0.20f},
                      noise_fractal(p.x * 0.07f, p.y * 0.03f, 3, ground->seed + 4));
}

/* Returns the colour of the shore: trees, their reflection in the pond, and grass in front, all
 * out of focus. */
static struct colour shore(const struct ground *ground, struct point p)
{
    float bank = 70.0f + 50.0f * noise_at(1, 1, ground->seed), edge = bank + 90.0f;
    float sway = 7.0f * (noise_smooth(p.x * 0.03f, 0.0f, ground->seed + 1) - 0.5f);
    float water = paint_step(bank - 3.0f, bank + 3.0f, p.y + sway);
    float meadow = paint_step(edge - 6.0f, edge + 6.0f, p.y - 2.0f * sway);
    struct colour scene = {0, 0, 0};
    if (water < 1.0f)
        scene = far_bank(ground, p, bank);
    if (water > 0.0f && meadow < 1.0f)
        scene = colour_mix(scene, pond(ground, p, bank), water);
    if (meadow > 0.0f)
        scene = colour_mix(scene, near_bank(ground, p), meadow);
    return scene;
}

/* Returns the colour of the ground at p. */
static struct colour ground_colour(const struct ground *ground, struct point p)
{
    static struct colour (*const kinds[GROUND_KINDS])(const struct ground *, struct point) = {
        [GROUND_GRASS] = grass, [GROUND_NET] = net,     [GROUND_MAT] = mat,
        [GROUND_WATER] = water, [GROUND_SHORE] = shore,
    };
    return colour_scale(kinds[ground->kind](ground, p), ground->brightness);
}

/* --- the hands that hold the fish ---
 *
 * Sleeve and palm behind it, fingers in front of it. All
 * of these are limbs: straight, with a radius at each end, and shaded like cylinders. */

enum { HANDS = 2, FINGERS = 4 };

struct limb {
    struct point a, b;
    float radius_a, radius_b;
};

struct hands {
    size_t count;
    struct limb sleeve[HANDS], palm[HANDS], finger[HANDS][FINGERS];
    struct colour skin, cloth;
    uint32_t seed;
};

static struct point beside(struct point p, float x, float y)
{
    return (struct point){p.x + x, p.y + y};
}

static void place_hand(struct hands *hands, size_t which, const struct fish *fish, float s,
                       struct random_stream *draws)
{
    float size = fish->length * random_next_between(draws, 0.9f, 1.1f);
    struct point grip = fish_point(fish, (struct fish_place){s, 0.13f * fish->depth});
    /* the arm comes from below, whichever way the fish is turned */
    float lean = random_next_between(draws, -0.25f, 0.25f);
    struct point wrist = beside(grip, lean * size * 0.3f, 0.17f * size);
    hands->palm[which] = (struct limb){grip, wrist, 0.085f * size, 0.060f * size};
    hands->sleeve[which] =
        (struct limb){beside(wrist, 0.0f, 0.05f * size), beside(wrist, lean * size, 0.75f * size),
                      0.085f * size, 0.13f * size};
    for (size_t i = 0; i < FINGERS; i++) {
        float across = ((float)i - 1.5f) * 0.043f;
        float reach = random_next_between(draws, 0.02f, 0.06f) + (i == 0 || i == 3 ? 0.02f : 0.0f);
        struct point root = fish_point(fish, (struct fish_place){s + across, 0.150f * fish->depth});
        struct point tip = fish_point(fish, (struct fish_place){s + 1.15f * across, reach});
        hands->finger[which][i] = (struct limb){root, tip, 0.0225f * size, 0.0185f * size};
    }
}

/* Draws two hands under the fish, or one, or none. */
static void hands_choose(struct hands *hands, const struct fish *fish, struct random_stream *draws)
{
    static const struct colour skins[] = {
        {0.90f, 0.68f, 0.56f}, {0.82f, 0.58f, 0.45f}, {0.62f, 0.42f, 0.30f}, {0.42f, 0.28f, 0.20f}};
    hands->seed = random_next(draws);
    hands->skin = skins[random_next_below(draws, 4)];
    hands->cloth = colour_from_hue(random_next_unit(draws), random_next_between(draws, 0.1f, 0.6f),
                                   random_next_between(draws, 0.12f, 0.5f));
    hands->count = 1 + random_next_below(draws, HANDS);
    float first = random_next_between(draws, 0.24f, 0.34f);
    place_hand(hands, 0, fish, hands->count == 1 ? first + 0.15f : first, draws);
    place_hand(hands, 1, fish, random_next_between(draws, 0.62f, 0.72f), draws);
}

/* Returns the colour of the limb over `under`; `shadow` darkens the pixels beside it. */
static struct colour draw_limb(const struct limb *limb, struct point p, struct colour own,
                               float shadow, struct colour under)
{
    float along;
    float distance = segment_distance(p, limb->a, limb->b, &along);
    float radius = paint_mix(limb->radius_a, limb->radius_b, along);
    under =
        colour_scale(under, 1.0f - shadow * paint_step(radius * 1.35f, radius * 0.9f, distance));
    float covered = paint_clamp(radius - distance + 0.5f);
    if (covered <= 0.0f)
        return under;
    float edge = paint_clamp(distance / radius);
    float facing = sqrtf(1.0f - 0.9f * edge * edge);
    return colour_mix(under, colour_scale(own, 0.45f + 0.6f * facing), covered);
}

static bool is_on(const struct limb *limb, struct point p)
{
    float along;
    float radius = limb->radius_a > limb->radius_b ? limb->radius_a : limb->radius_b;
    return segment_distance(p, limb->a, limb->b, &along) < 1.4f * radius;
}

static bool is_on_hand(const struct hands *hands, struct point p)
{
    for (size_t i = 0; i < hands->count; i++)
        if (is_on(&hands->palm[i], p) || is_on(&hands->sleeve[i], p))
            return true;
    return false;
}

/* Return the colour of the parts behind or in front of the fish over the colour `under`. */
static struct colour hands_behind(const struct hands *hands, struct point p, struct colour under)
{
    if (!is_on_hand(hands, p))
        return under;
    float fold = noise_fractal(p.x * 0.05f, p.y * 0.03f, 3, hands->seed);
    struct colour cloth = colour_scale(hands->cloth, 0.5f + fold);
    struct colour skin = colour_scale(hands->skin, 0.8f + 0.2f * fold);
    for (size_t i = 0; i < hands->count; i++) {
        under = draw_limb(&hands->palm[i], p, skin, 0.0f, under);
        under = draw_limb(&hands->sleeve[i], p, cloth, 0.3f, under);
    }
    return under;
}

static struct colour draw_nail(const struct limb *finger, struct point p, struct colour under)
{
    struct point middle = {paint_mix(finger->a.x, finger->b.x, 1.04f),
                           paint_mix(finger->a.y, finger->b.y, 1.04f)};
    float x = p.x - middle.x, y = p.y - middle.y;
    float distance = sqrtf(x * x + y * y) - 0.55f * finger->radius_b;
    return colour_mix(under, (struct colour){0.95f, 0.80f, 0.74f},
                      0.4f * paint_clamp(0.5f - distance));
}

static struct colour hands_before(const struct hands *hands, struct point p, struct colour under)
{
    for (size_t i = 0; i < hands->count; i++)
        for (size_t k = 0; k < FINGERS; k++) {
            under = draw_limb(&hands->finger[i][k], p, hands->skin, 0.35f, under);
            under = draw_nail(&hands->finger[i][k], p, under);
        }
    return under;
}

struct camera {
    float red, green, blue, vignette, grain;
    uint32_t seed;
};

struct picture {
    struct ground ground;
    struct fish fish;
    struct hands hands;
    struct camera camera;
    float shadow_x, shadow_y, shadow; /* offset in pixels, depth */
};

static void choose_camera(struct camera *camera, struct random_stream *draws)
{
    float exposure = random_next_between(draws, 0.85f, 1.2f);
    float warmth = random_next_between(draws, -0.09f, 0.09f);
    camera->red = exposure * (1.0f + warmth);
    camera->green = exposure;
    camera->blue = exposure * (1.0f - warmth);
    camera->vignette = random_next_between(draws, 0.0f, 0.4f);
    camera->grain = random_next_between(draws, 0.01f, 0.05f);
    camera->seed = random_next(draws);
}

static void choose_picture(struct picture *picture, struct random_stream *draws)
{
    ground_choose(&picture->ground, draws);
    fish_choose(&picture->fish, draws);
    hands_choose(&picture->hands, &picture->fish, draws);
    choose_camera(&picture->camera, draws);
    bool held = picture->ground.kind == GROUND_SHORE ||
                (picture->ground.kind == GROUND_GRASS && random_next_below(draws, 3) == 0);
    bool flat = !held && picture->ground.kind != GROUND_WATER;
    if (!held)
        picture->hands.count = 0;
    picture->shadow = flat ? random_next_between(draws, 0.35f, 0.65f) : 0.0f;
    picture->shadow_x = -10.0f * picture->fish.light_x;
    picture->shadow_y = random_next_between(draws, 4.0f, 10.0f);
}

static struct colour expose(const struct camera *camera, struct point p, struct colour colour)
{
    float x = p.x / 127.5f - 1.0f, y = p.y / 127.5f - 1.0f;
    float light = 1.0f - camera->vignette * 0.5f * (x * x + y * y);
    uint32_t word = noise_hash((int32_t)p.x, (int32_t)p.y, camera->seed);
    float grain = camera->grain / 512.0f;
    float common = grain * ((float)(word & 1023) - 511.5f);
    colour = (struct colour){colour.r * camera->red * light, colour.g * camera->green * light,
                             colour.b * camera->blue * light};
    return colour_add(colour, common + 0.3f * grain * ((float)(word >> 10 & 1023) - 511.5f), common,
                      common + 0.3f * grain * ((float)(word >> 20 & 1023) - 511.5f));
}

static struct colour picture_colour(const struct picture *picture, struct point p)
{
    struct colour colour = ground_colour(&picture->ground, p);
    if (picture->hands.count)
        colour = hands_behind(&picture->hands, p, colour);
    if (picture->shadow > 0.0f) {
        struct point lit = {p.x - picture->shadow_x, p.y - picture->shadow_y};
        float dark = fish_shadow(&picture->fish, lit, 14.0f);
        colour = colour_scale(colour, 1.0f - picture->shadow * dark);
    }
    colour = fish_colour(&picture->fish, p, colour);
    if (picture->hands.count)
        colour = hands_before(&picture->hands, p, colour);
    if (picture->ground.kind == GROUND_WATER) /* there is water in front of the fish, too */
        colour = colour_mix(colour, picture->ground.colour, 0.22f);
    return expose(&picture->camera, p, colour);
}

void generate_tench(struct random_stream *draws, size_t label, struct image *image,
                    struct image *target)
{
    (void)label;
    (void)target;
    struct picture picture;
    choose_picture(&picture, draws);
    for (size_t y = 0; y < image->height; y++)
        for (size_t x = 0; x < image->width; x++)
            colour_write(image, x, y, picture_colour(&picture, (struct point){(float)x, (float)y}));
}
