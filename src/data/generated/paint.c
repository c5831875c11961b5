#include "data/generated/internal.h"

struct colour colour_from_hue(float hue, float saturation, float value)
{
    hue = 6.0f * (hue - floorf(hue));
    float r = paint_clamp(fabsf(hue - 3.0f) - 1.0f), g = paint_clamp(2.0f - fabsf(hue - 2.0f)),
          b = paint_clamp(2.0f - fabsf(hue - 4.0f));
    float grey = 1.0f - saturation;
    return (struct colour){value * (grey + saturation * r), value * (grey + saturation * g),
                           value * (grey + saturation * b)};
}

float noise_smooth(float x, float y, uint32_t seed)
{
    int32_t i = paint_floor(x), j = paint_floor(y);
    float u = x - (float)i, v = y - (float)j;
    u = u * u * (3.0f - 2.0f * u);
    v = v * v * (3.0f - 2.0f * v);
    float top = paint_mix(noise_at(i, j, seed), noise_at(i + 1, j, seed), u);
    float bottom = paint_mix(noise_at(i, j + 1, seed), noise_at(i + 1, j + 1, seed), u);
    return paint_mix(top, bottom, v);
}

float noise_fractal(float x, float y, int octaves, uint32_t seed)
{
    float sum = 0.0f, weight = 0.5f, total = 0.0f;
    for (int octave = 0; octave < octaves; octave++) {
        sum += weight * noise_smooth(x, y, seed + (uint32_t)octave);
        total += weight;
        weight *= 0.5f;
        x *= 2.0f;
        y *= 2.0f;
    }
    return sum / total;
}

float segment_distance(struct point p, struct point a, struct point b, float *along)
{
    float px = p.x - a.x, py = p.y - a.y, dx = b.x - a.x, dy = b.y - a.y;
    float length = dx * dx + dy * dy;
    float t = length > 0.0f ? paint_clamp((px * dx + py * dy) / length) : 0.0f;
    float ox = px - t * dx, oy = py - t * dy;
    *along = t;
    return sqrtf(ox * ox + oy * oy);
}

float polygon_distance(struct point p, const struct point *corners, size_t count)
{
    float nearest = INFINITY;
    bool inside = false;
    for (size_t i = 0, j = count - 1; i < count; j = i++) {
        struct point a = corners[j], b = corners[i];
        float px = p.x - a.x, py = p.y - a.y, dx = b.x - a.x, dy = b.y - a.y;
        float t = paint_clamp((px * dx + py * dy) / (dx * dx + dy * dy));
        float ox = px - t * dx, oy = py - t * dy, square = ox * ox + oy * oy;
        nearest = square < nearest ? square : nearest;
        /* a ray to the right crosses this edge */
        if ((a.y > p.y) != (b.y > p.y) && px < dx * py / dy)
            inside = !inside;
    }
    return inside ? -sqrtf(nearest) : sqrtf(nearest);
}

struct point curve_point(struct point p0, struct point p1, struct point p2, struct point p3,
                         float t)
{
    float t2 = t * t, t3 = t2 * t;
    float w0 = -0.5f * t3 + t2 - 0.5f * t, w1 = 1.5f * t3 - 2.5f * t2 + 1.0f,
          w2 = -1.5f * t3 + 2.0f * t2 + 0.5f * t, w3 = 0.5f * (t3 - t2);
    return (struct point){w0 * p0.x + w1 * p1.x + w2 * p2.x + w3 * p3.x,
                          w0 * p0.y + w1 * p1.y + w2 * p2.y + w3 * p3.y};
}
