/* generate_tench.h: the parts of a picture of a tench. Internal to data/.
 *
 * Each part draws its parameters with a function `_choose`, and then gives the colour of a pixel,
 * or the share of the pixel that it covers. generate_tench.c blends the parts in order.
 */
#ifndef TINCA_DATA_GENERATED_GENERATE_TENCH_H
#define TINCA_DATA_GENERATED_GENERATE_TENCH_H

#include "data/generated/paint.h"

/* --- tench_ground.c: the background --- */

enum ground_kind { GROUND_GRASS, GROUND_NET, GROUND_MAT, GROUND_WATER, GROUND_SHORE, GROUND_KINDS };

struct ground {
    enum ground_kind kind;
    uint32_t seed;
    float cosine, sine, scale, brightness;
    struct colour colour, other;
};

void ground_choose(struct ground *ground, struct random_stream *draws);

/* Returns the colour of the ground at p. */
struct colour ground_colour(const struct ground *ground, struct point p);

/* --- tench_fish.c: the fish --- */

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

/* --- tench_hands.c: the hands that hold the fish --- */

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

/* Draws two hands under the fish, or one, or none. */
void hands_choose(struct hands *hands, const struct fish *fish, struct random_stream *draws);

/* Return the colour of the parts behind or in front of the fish over the colour `under`. */
struct colour hands_behind(const struct hands *hands, struct point p, struct colour under);
struct colour hands_before(const struct hands *hands, struct point p, struct colour under);

#endif
