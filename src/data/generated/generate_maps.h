/* generate_maps.h: a town, as numbers. Internal to data/.
 *
 * A town is chosen once an image; town_at then tells what lies at a point: signed distances in
 * pixels (negative inside) to each kind of thing. The aerial picture and the map are two renderings
 * of the same answers, and so lie exactly over one another.
 */
#ifndef TINCA_DATA_GENERATED_GENERATE_MAPS_H
#define TINCA_DATA_GENERATED_GENERATE_MAPS_H

#include "data/generated/paint.h"

struct town {
    uint32_t seed;
    float cosine, sine; /* of the street grid */
    float origin_x, origin_y;
    float block_x, block_y;    /* mean distance of streets */
    float street, avenue;      /* half-widths */
    float bend;                /* how far streets sway */
    float lot;                 /* width of a lot along its street */
    float built, green, leafy; /* how many lots are built on, blocks are parks, trees stand */
    bool has_river, has_highway, has_park;
    float river_x, river_y, river_offset, river_width, river_sway;
    float highway_x, highway_y, highway_offset, highway_bend;
    struct point park;
    float park_radius;
    float sun_x, sun_y; /* the way shadows fall, in pixels */
};

void town_choose(struct town *town, struct random_stream *draws);

/* What lies at a point. */
struct town_place {
    float water, park, path; /* path: a footpath in a park */
    float street, highway;
    float across, along; /* on the nearest road: from its middle, and down its length */
    bool wide;           /* that road is an avenue */
    float building;
    uint32_t number; /* of the lot, for its colours */
    float ridge;     /* across the building's roof, -1 to 1 */
};

struct town_place town_at(const struct town *town, struct point p);

/* Distance to the nearest building alone, for shadows. */
float town_building(const struct town *town, struct point p);

#endif
