/* Draws hands that hold the fish from below: sleeve and palm behind it, fingers in front of it. All
 * of these are limbs: straight, with a radius at each end, and shaded like cylinders. */
#include "data/generated/generate_tench.h"

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

void hands_choose(struct hands *hands, const struct fish *fish, struct random_stream *draws)
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

struct colour hands_behind(const struct hands *hands, struct point p, struct colour under)
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

struct colour hands_before(const struct hands *hands, struct point p, struct colour under)
{
    for (size_t i = 0; i < hands->count; i++)
        for (size_t k = 0; k < FINGERS; k++) {
            under = draw_limb(&hands->finger[i][k], p, hands->skin, 0.35f, under);
            under = draw_nail(&hands->finger[i][k], p, under);
        }
    return under;
}
