/* internal.h: colours, noise and distances for the generators, and the fish of `tench`. */
#ifndef TINCA_DATA_GENERATED_INTERNAL_H
#define TINCA_DATA_GENERATED_INTERNAL_H

#include "base/random.h"
#include "data/images/image.h"

#include <math.h>

/* Noise is a hash of integer coordinates and a seed, so pixels can be drawn in any order. */

struct colour {
    float r, g, b; /* 0 to 1 */
};

struct point {
    float x, y;
};

/* Returns x limited to [0, 1]. */
static inline float paint_clamp(float x)
{
    return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x;
}

/* Returns 0 below `low`, 1 above `high`, and a smooth transition between them (smoothstep). If low
 * > high it falls from 1 to 0. */
static inline float paint_step(float low, float high, float x)
{
    float t = paint_clamp((x - low) / (high - low));
    return t * t * (3.0f - 2.0f * t);
}

/* Returns floorf(x) for values that fit an int; without SSE 4.1 floorf would be a function call. */
static inline int32_t paint_floor(float x)
{
    int32_t whole = (int32_t)x;
    return whole - ((float)whole > x);
}

/* Returns a for t = 0, b for t = 1, linear between. */
static inline float paint_mix(float a, float b, float t)
{
    return a + (b - a) * t;
}

static inline struct colour colour_mix(struct colour a, struct colour b, float t)
{
    return (struct colour){paint_mix(a.r, b.r, t), paint_mix(a.g, b.g, t), paint_mix(a.b, b.b, t)};
}

static inline struct colour colour_scale(struct colour a, float by)
{
    return (struct colour){a.r * by, a.g * by, a.b * by};
}

static inline struct colour colour_add(struct colour a, float r, float g, float b)
{
    return (struct colour){a.r + r, a.g + g, a.b + b};
}

/* Converts HSV to RGB: hue in turns, saturation and value in 0..1. */
struct colour colour_from_hue(float hue, float saturation, float value);

/* Writes a pixel of an RGB image, rounded and clamped. */
static inline void colour_write(const struct image *image, size_t x, size_t y, struct colour colour)
{
    uint8_t *pixel = image->pixels + (y * image->width + x) * 3;
    pixel[0] = (uint8_t)(paint_clamp(colour.r) * 255.0f + 0.5f);
    pixel[1] = (uint8_t)(paint_clamp(colour.g) * 255.0f + 0.5f);
    pixel[2] = (uint8_t)(paint_clamp(colour.b) * 255.0f + 0.5f);
}

/* Returns a well-mixed hash of a place. */
static inline uint32_t noise_hash(int32_t x, int32_t y, uint32_t seed)
{
    uint32_t h = seed ^ (uint32_t)x * 0x85ebca6bu ^ (uint32_t)y * 0xc2b2ae35u;
    h = (h ^ h >> 15) * 0x2c1b3c6du;
    h = (h ^ h >> 12) * 0x297a2d39u;
    return h ^ h >> 15;
}

/* Returns white noise of [0, 1): independent from one place to the next. */
static inline float noise_at(int32_t x, int32_t y, uint32_t seed)
{
    return random_to_unit(noise_hash(x, y, seed));
}

/* Returns smooth noise of 0..1: random values at integer places, interpolated. */
float noise_smooth(float x, float y, uint32_t seed);

/* Returns fractal noise of 0..1: `octaves` of smooth noise, each twice as fine and half as strong.
 */
float noise_fractal(float x, float y, int octaves, uint32_t seed);

/* Returns the distance of p from the segment from a to b. Sets *along to the position of the
 * nearest point, 0 at a and 1 at b. */
float segment_distance(struct point p, struct point a, struct point b, float *along);

/* Returns the signed distance of p from a closed polygon, negative inside. */
float polygon_distance(struct point p, const struct point *corners, size_t count);

/* Returns the point at t in 0..1 of the Catmull-Rom curve from p1 to p2. */
struct point curve_point(struct point p0, struct point p1, struct point p2, struct point p3,
                         float t);

/* --- the fish of the pictures of a tench (tench_fish.c) --- */

struct fish {
    uint32_t seed;
    struct point middle;
    float length;             /* snout to the end of the tail, in pixels */
    float cosine, sine, side; /* side -1: the snout points right, with the back still on top */
    float bend, depth;        /* curvature of the spine; height of the body */
    float fin_spread;
    struct colour back, flank, belly, fin;
    float light_x, light_y, light_z, gloss;
};

/* Coordinates relative to the fish: s runs from the snout (0) to the end of the tail (1), v from
 * the spine towards the belly, both in lengths of the fish. */
struct fish_place {
    float s, v;
};

void fish_choose(struct fish *fish, struct random_stream *draws);

/* Convert pixels to coordinates of the fish and back; the second is an approximate inverse. */
struct fish_place fish_locate(const struct fish *fish, struct point p);
struct point fish_point(const struct fish *fish, struct fish_place place);

/* Returns the share of the pixel that the fish with its fins covers, for its shadow. `blur` is the
 * width of the soft edge in pixels. */
float fish_shadow(const struct fish *fish, struct point p, float blur);

/* Returns the colour of the fish over the colour `under`. */
struct colour fish_colour(const struct fish *fish, struct point p, struct colour under);

#endif
