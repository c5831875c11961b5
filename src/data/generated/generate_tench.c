/* Draws the data set `tench`: pictures of one fish, 256x256 in colour, for the one-class study.
 *
 * First a scene is drawn (background, fish, hands, light). Then the colour of every pixel is
 * computed separately: ground, shadow, fish, hands, and the effects of a camera (exposure, warmth,
 * vignette, grain).
 */
#include "data/generated/generate_tench.h"
#include "data/generated/generate.h"

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
