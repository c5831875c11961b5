/* generate_maps.h: a random town, from which the data set `maps` is drawn. Internal to data/.
 *
 * town_choose draws the parameters of a town, one for each pair of images. town_at then describes a
 * point of it by signed distances in pixels (negative inside) to streets, water, buildings and so
 * on. The aerial picture and the map are two renderings of the same distances, so they match pixel
 * by pixel.
 */
#ifndef TINCA_DATA_GENERATED_GENERATE_MAPS_H
#define TINCA_DATA_GENERATED_GENERATE_MAPS_H

#include "data/generated/paint.h"

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

/* Draws the parameters of a town. */
void town_choose(struct town *town, struct random_stream *draws);

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

/* Returns the description of a point. */
struct town_place town_at(const struct town *town, struct point p);

/* Returns the distance to the nearest building alone, for shadows. */
float town_building(const struct town *town, struct point p);

#endif
