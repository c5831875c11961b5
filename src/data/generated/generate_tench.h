/* generate_tench.h: the parts of a picture of a tench. Internal to data/.
 *
 * A place is asked for in pixels; each part answers with a colour, or with how much of the pixel it
 * covers. generate_tench.c lays the parts over one another.
 */
#ifndef TINCA_DATA_GENERATED_GENERATE_TENCH_H
#define TINCA_DATA_GENERATED_GENERATE_TENCH_H

#include "data/generated/paint.h"

/* --- tench_ground.c: what the fish lies on or swims in --- */

enum ground_kind { GROUND_GRASS, GROUND_NET, GROUND_MAT, GROUND_WATER, GROUND_SHORE, GROUND_KINDS };

struct ground {
    enum ground_kind kind;
    uint32_t seed;
    float cosine, sine, scale, brightness;
    struct colour colour, other;
};

void ground_choose(struct ground *ground, struct random_stream *draws);
struct colour ground_colour(const struct ground *ground, struct point p);

/* --- tench_fish.c: the fish --- */

struct fish {
    uint32_t seed;
    struct point middle;
    float length;             /* snout to the end of the tail, in pixels */
    float cosine, sine, side; /* side -1: the snout points right; the back stays up */
    float bend, depth;        /* of the spine; of the body */
    float fin_spread;
    struct colour back, flank, belly, fin;
    float light_x, light_y, light_z, gloss;
};

/* A place in the fish's own frame: s runs from the snout (0) to the end of the tail (1), v from the
 * spine towards the belly, both in lengths of the fish. */
struct fish_place {
    float s, v;
};

void fish_choose(struct fish *fish, struct random_stream *draws);
struct fish_place fish_locate(const struct fish *fish, struct point p);
struct point fish_point(const struct fish *fish, struct fish_place place); /* the inverse, about */

/* How much of the pixel is fish, fins and all: for its shadow. `blur` widens the edge, in pixels.
 */
float fish_shadow(const struct fish *fish, struct point p, float blur);

/* The fish laid over `under`. */
struct colour fish_colour(const struct fish *fish, struct point p, struct colour under);

/* --- tench_hands.c: who holds it --- */

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

/* Two hands under the fish; or one, or none. */
void hands_choose(struct hands *hands, const struct fish *fish, struct random_stream *draws);
struct colour hands_behind(const struct hands *hands, struct point p, struct colour under);
struct colour hands_before(const struct hands *hands, struct point p, struct colour under);

#endif
