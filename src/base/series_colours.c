/* The set was searched among the 256 colours of xterm, without greys, for the largest least
 * difference (CIEDE2000) between any two of its colours, in normal vision and as seen without one
 * kind of cones (Machado et al. 2009, "A physiologically-based model for simulation of color vision
 * deficiency"); the contrast to black, dark grey, white and cream is at least 3 (WCAG 2.1). The
 * order makes the first ones the most different. series_colours_test.c checks the result. */
#include "base/series_colours.h"

const struct series_colour series_colours[SERIES_COLOURS] = {
    {27, 0, 95, 255},    {196, 255, 0, 0},   {131, 175, 95, 95}, {66, 95, 135, 135},
    {169, 215, 95, 175}, {198, 255, 0, 135}, {28, 0, 135, 0},    {137, 175, 135, 95},
    {163, 215, 0, 175},  {69, 95, 135, 255}};
