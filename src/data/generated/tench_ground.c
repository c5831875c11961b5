/* Draws the backgrounds of the tench pictures: grass, a landing net, an unhooking mat, under water,
 * and the far bank of a pond. */
#include "data/generated/generate_tench.h"

static struct colour vary(struct random_stream *draws, struct colour colour, float by)
{
    float light = random_next_between(draws, 1.0f - by, 1.0f + by);
    return colour_add(colour_scale(colour, light), random_next_between(draws, -0.04f, 0.04f),
                      random_next_between(draws, -0.04f, 0.04f),
                      random_next_between(draws, -0.04f, 0.04f));
}

void ground_choose(struct ground *ground, struct random_stream *draws)
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

struct colour ground_colour(const struct ground *ground, struct point p)
{
    static struct colour (*const kinds[GROUND_KINDS])(const struct ground *, struct point) = {
        [GROUND_GRASS] = grass, [GROUND_NET] = net,     [GROUND_MAT] = mat,
        [GROUND_WATER] = water, [GROUND_SHORE] = shore,
    };
    return colour_scale(kinds[ground->kind](ground, p), ground->brightness);
}
