/* orientation.h: how a camera held a picture that it stored. Internal to data/. */
#ifndef TINCA_DATA_FORMATS_ORIENTATION_H
#define TINCA_DATA_FORMATS_ORIENTATION_H

#include <stdio.h>

/* Returns the orientation that EXIF data of a JPEG or PNG file name, 1 to 8; 1 (upright) if it has
 * none that can be read. `stream` is at the beginning of the file, and is again afterwards. */
unsigned orientation_read(FILE *stream);

#endif
