#include "session/model/picture.h"

#include <math.h>

/* Returns a value as it was before normalisation. */
static uint8_t sample_of(const struct normalisation *normalisation, size_t channel, float value)
{
    float sample = value * normalisation->deviation[channel] + normalisation->mean[channel];
    if (!(sample > 0))
        return 0; /* also for NaN */
    return sample < 255 ? (uint8_t)lrintf(sample) : 255;
}

void picture_paste(struct image *picture, size_t left, size_t top,
                   const struct normalisation *normalisation, struct shape shape,
                   const float *values)
{
    for (size_t y = 0; y < shape.height; y++)
        for (size_t x = 0; x < shape.width; x++)
            for (size_t c = 0; c < 3; c++) {
                size_t channel = shape.channels == 1 ? 0 : c;
                picture->pixels[((top + y) * picture->width + left + x) * 3 + c] = sample_of(
                    normalisation, channel, values[(channel * shape.height + y) * shape.width + x]);
            }
}
