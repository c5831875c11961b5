/* Draws the data set `digits`: digits like handwriting, 28x28 grey, white on black like MNIST.
 *
 * Each digit can be written in one to three ways. A way is a list of strokes, each a Catmull-Rom
 * curve through a few points of a unit box. Each image has random parameters of a hand: it moves
 * every point a little, slants, rotates, stretches and shifts the whole digit, and varies the width
 * of the pen along the stroke. A pixel's ink is the largest coverage by any piece of the curves.
 */
#include "data/generated/generate.h"
#include "data/generated/internal.h"

enum { MAX_POINTS = 12, MAX_STROKES = 3, MAX_WAYS = 3, PIECES = 5, SIDE = 28 };

const char *const generate_digit_names[10] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};

struct pen_stroke {
    size_t count;
    struct point points[MAX_POINTS];
};

struct way {
    struct pen_stroke strokes[MAX_STROKES]; /* a stroke with no points ends the list */
};

/* Strokes that touch share a point. The displacement of a point depends on its coordinates, so they
 * still touch afterwards. */
static const struct way ways[10][MAX_WAYS] = {
    {{{{9,
        {{.48f, .08f},
         {.27f, .22f},
         {.2f, .5f},
         {.28f, .8f},
         {.5f, .92f},
         {.72f, .8f},
         {.8f, .5f},
         {.72f, .2f},
         {.48f, .08f}}}}},
     {{{9,
        {{.62f, .13f},
         {.42f, .09f},
         {.24f, .3f},
         {.22f, .62f},
         {.4f, .9f},
         {.64f, .86f},
         {.78f, .6f},
         {.76f, .3f},
         {.54f, .1f}}}}}},
    {{{{3, {{.5f, .08f}, {.5f, .5f}, {.5f, .92f}}}}},
     {{{3, {{.3f, .3f}, {.42f, .2f}, {.54f, .08f}}}, {2, {{.54f, .08f}, {.52f, .92f}}}}},
     {{{2, {{.32f, .26f}, {.52f, .08f}}},
       {2, {{.52f, .08f}, {.52f, .92f}}},
       {2, {{.28f, .92f}, {.76f, .92f}}}}}},
    {{{{7,
        {{.24f, .28f},
         {.34f, .12f},
         {.56f, .08f},
         {.74f, .22f},
         {.7f, .42f},
         {.48f, .66f},
         {.22f, .9f}}},
       {3, {{.22f, .9f}, {.5f, .89f}, {.82f, .88f}}}}},
     {{{10,
        {{.24f, .26f},
         {.42f, .09f},
         {.68f, .14f},
         {.72f, .36f},
         {.52f, .64f},
         {.3f, .88f},
         {.2f, .8f},
         {.34f, .7f},
         {.56f, .82f},
         {.84f, .88f}}}}}},
    {{{{5, {{.24f, .18f}, {.46f, .08f}, {.72f, .18f}, {.66f, .38f}, {.42f, .47f}}},
       {5, {{.42f, .47f}, {.68f, .53f}, {.78f, .72f}, {.56f, .92f}, {.22f, .84f}}}}},
     {{{2, {{.24f, .1f}, {.74f, .1f}}},
       {2, {{.74f, .1f}, {.44f, .42f}}},
       {5, {{.44f, .42f}, {.68f, .48f}, {.77f, .7f}, {.54f, .92f}, {.22f, .84f}}}}}},
    {{{{4, {{.3f, .1f}, {.24f, .36f}, {.27f, .55f}, {.5f, .57f}}},
       {2, {{.5f, .57f}, {.82f, .54f}}},
       {3, {{.7f, .12f}, {.66f, .5f}, {.63f, .92f}}}}},
     {{{3, {{.62f, .08f}, {.4f, .34f}, {.18f, .62f}}},
       {2, {{.18f, .62f}, {.86f, .6f}}},
       {2, {{.62f, .08f}, {.62f, .92f}}}}}},
    {{{{2, {{.34f, .1f}, {.76f, .1f}}},
       {2, {{.34f, .1f}, {.3f, .44f}}},
       {6, {{.3f, .44f}, {.52f, .38f}, {.76f, .52f}, {.74f, .78f}, {.5f, .92f}, {.22f, .82f}}}}},
     {{{9,
        {{.78f, .1f},
         {.54f, .11f},
         {.36f, .13f},
         {.3f, .42f},
         {.54f, .4f},
         {.74f, .54f},
         {.72f, .78f},
         {.48f, .91f},
         {.22f, .84f}}}}}},
    {{{{9,
        {{.7f, .1f},
         {.44f, .28f},
         {.26f, .58f},
         {.32f, .84f},
         {.54f, .92f},
         {.74f, .76f},
         {.66f, .57f},
         {.46f, .54f},
         {.28f, .7f}}}}},
     {{{8,
        {{.5f, .08f},
         {.34f, .34f},
         {.25f, .64f},
         {.36f, .9f},
         {.62f, .9f},
         {.7f, .7f},
         {.52f, .58f},
         {.3f, .68f}}}}}},
    {{{{2, {{.2f, .12f}, {.8f, .12f}}}, {3, {{.8f, .12f}, {.58f, .45f}, {.42f, .92f}}}}},
     {{{2, {{.2f, .12f}, {.8f, .12f}}},
       {3, {{.8f, .12f}, {.58f, .45f}, {.44f, .92f}}},
       {2, {{.34f, .52f}, {.74f, .49f}}}}},
     {{{3, {{.2f, .24f}, {.22f, .12f}, {.5f, .13f}}},
       {2, {{.5f, .13f}, {.8f, .11f}}},
       {3, {{.8f, .11f}, {.6f, .44f}, {.5f, .92f}}}}}},
    {{{{12,
        {{.52f, .48f},
         {.3f, .34f},
         {.32f, .13f},
         {.54f, .08f},
         {.72f, .2f},
         {.64f, .4f},
         {.38f, .58f},
         {.25f, .76f},
         {.42f, .92f},
         {.66f, .88f},
         {.74f, .68f},
         {.52f, .48f}}}}},
     {{{9,
        {{.5f, .47f},
         {.32f, .38f},
         {.3f, .18f},
         {.48f, .08f},
         {.66f, .16f},
         {.68f, .36f},
         {.5f, .47f},
         {.4f, .5f},
         {.5f, .47f}}},
       {8,
        {{.5f, .47f},
         {.28f, .6f},
         {.26f, .82f},
         {.5f, .92f},
         {.74f, .82f},
         {.72f, .6f},
         {.5f, .47f},
         {.5f, .47f}}}}}},
    {{{{8,
        {{.73f, .24f},
         {.58f, .09f},
         {.36f, .13f},
         {.26f, .33f},
         {.42f, .49f},
         {.64f, .42f},
         {.73f, .24f},
         {.73f, .24f}}},
       {3, {{.73f, .24f}, {.72f, .6f}, {.66f, .92f}}}}},
     {{{7,
        {{.72f, .26f},
         {.56f, .08f},
         {.34f, .14f},
         {.27f, .36f},
         {.46f, .49f},
         {.66f, .4f},
         {.72f, .26f}}},
       {4, {{.72f, .26f}, {.72f, .58f}, {.6f, .86f}, {.32f, .9f}}}}}},
};

/* The parameters of one image's handwriting. */
struct hand {
    uint32_t seed;
    float jitter;
    float across_x, across_y, down_x, down_y, middle_x, middle_y; /* box to pixels */
    float radius, swell, phase, edge;
    float ink, grain;
};

static void choose_hand(struct hand *hand, struct random_stream *draws)
{
    float angle = random_next_between(draws, -0.28f, 0.28f);
    float slant = random_next_between(draws, -0.25f, 0.5f);
    float width = random_next_between(draws, 13.0f, 23.0f);
    float height = random_next_between(draws, 17.0f, 23.5f);
    float cosine = cosf(angle), sine = sinf(angle);
    hand->across_x = width * cosine;
    hand->across_y = width * sine;
    hand->down_x = -height * (sine + slant * cosine);
    hand->down_y = height * (cosine - slant * sine);
    hand->middle_x = 13.5f + random_next_between(draws, -2.5f, 2.5f);
    hand->middle_y = 13.5f + random_next_between(draws, -2.0f, 2.0f);
    hand->seed = random_next(draws);
    hand->jitter = random_next_between(draws, 0.02f, 0.09f);
    hand->radius = random_next_between(draws, 0.65f, 1.7f);
    hand->swell = random_next_between(draws, 0.0f, 0.3f);
    hand->phase = 6.2831853f * random_next_unit(draws);
    hand->edge = random_next_between(draws, 0.7f, 1.1f);
    hand->ink = random_next_between(draws, 0.8f, 1.15f);
    hand->grain = random_next_between(draws, 0.0f, 0.12f);
}

/* Returns a point of the unit box, displaced by this hand, in pixels. */
static struct point place_point(const struct hand *hand, struct point p)
{
    int32_t column = (int32_t)(p.x * 1000.0f), row = (int32_t)(p.y * 1000.0f);
    float x = p.x - 0.5f + hand->jitter * (2.0f * noise_at(column, row, hand->seed) - 1.0f);
    float y = p.y - 0.5f + hand->jitter * (2.0f * noise_at(column, row, ~hand->seed) - 1.0f);
    return (struct point){hand->middle_x + x * hand->across_x + y * hand->down_x,
                          hand->middle_y + x * hand->across_y + y * hand->down_y};
}

static int first_pixel(float low)
{
    return low <= 0.0f ? 0 : low >= SIDE ? SIDE : (int)low;
}

static int last_pixel(float high)
{
    return high < 0.0f ? -1 : high >= SIDE - 1 ? SIDE - 1 : (int)high + 1;
}

/* Draws one straight piece; `start` and `end` are the radii of the pen at its ends. */
static void draw_piece(float *ink, const struct hand *hand, struct point a, struct point b,
                       float start, float end)
{
    float reach = (start > end ? start : end) + hand->edge;
    int left = first_pixel((a.x < b.x ? a.x : b.x) - reach),
        right = last_pixel((a.x > b.x ? a.x : b.x) + reach),
        top = first_pixel((a.y < b.y ? a.y : b.y) - reach),
        bottom = last_pixel((a.y > b.y ? a.y : b.y) + reach);
    for (int y = top; y <= bottom; y++)
        for (int x = left; x <= right; x++) {
            float along;
            float distance = segment_distance((struct point){(float)x, (float)y}, a, b, &along);
            float radius = paint_mix(start, end, along);
            float covered = paint_clamp(0.5f + (radius - distance) / hand->edge * 0.5f);
            if (covered > ink[y * SIDE + x])
                ink[y * SIDE + x] = covered;
        }
}

static void draw_stroke(float *ink, const struct hand *hand, const struct pen_stroke *stroke)
{
    struct point points[MAX_POINTS + 2];
    size_t count = stroke->count;
    for (size_t i = 0; i < count; i++)
        points[i + 1] = place_point(hand, stroke->points[i]);
    points[0] = points[1];
    points[count + 1] = points[count];
    struct point from = points[1];
    float thick = hand->radius;
    for (size_t i = 1; i < count; i++)
        for (int piece = 1; piece <= PIECES; piece++) {
            float t = (float)piece / PIECES;
            struct point to =
                curve_point(points[i - 1], points[i], points[i + 1], points[i + 2], t);
            float next =
                hand->radius * (1.0f + hand->swell * sinf(hand->phase + 1.3f * ((float)i + t)));
            draw_piece(ink, hand, from, to, thick, next);
            from = to;
            thick = next;
        }
}

static size_t count_ways(size_t digit)
{
    size_t count = 0;
    while (count < MAX_WAYS && ways[digit][count].strokes[0].count)
        count++;
    return count;
}

void generate_digit(struct random_stream *draws, size_t label, struct image *image,
                    struct image *target)
{
    (void)target;
    float ink[SIDE * SIDE] = {0};
    struct hand hand;
    choose_hand(&hand, draws);
    const struct way *way = &ways[label][random_next_below(draws, (uint32_t)count_ways(label))];
    for (size_t i = 0; i < MAX_STROKES && way->strokes[i].count; i++)
        draw_stroke(ink, &hand, &way->strokes[i]);
    for (int i = 0; i < SIDE * SIDE; i++) {
        float grain = hand.grain * (noise_at(i, 7, hand.seed) - 0.5f);
        image->pixels[i] = (uint8_t)(255.0f * paint_clamp(ink[i] * hand.ink + grain) + 0.5f);
    }
}
