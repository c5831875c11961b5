/* study_pictures.h: the pictures of a perceptual study, made by a run's generator or read from two
 * folders.
 *
 * All pictures are RGB of one size and pass through the same code, so that real and generated ones
 * differ only in what they show.
 */
#ifndef TINCA_STUDIES_PICTURES_STUDY_PICTURES_H
#define TINCA_STUDIES_PICTURES_STUDY_PICTURES_H

#include "base/threads/background_job.h"
#include "data/images/image.h"
#include "models/saved/evaluate.h"
#include "runs/record/run.h"
#include "studies/pictures/study.h"

#include <stdbool.h>
#include <stddef.h>

struct study_pictures {
    struct image *images; /* [study->count], in the order of study->images */
    size_t count;
    bool resized; /* the files had different sizes */
};

void study_pictures_free(struct study_pictures *pictures); /* sets it to {0} */

/* Chooses and computes the pictures of a run whose network generates pictures. Real pictures are
 * the targets of the data set `data` (a SPEC) if it is not NULL, else of the run's validation data,
 * else of the test split of its training data. Generated pictures are the outputs of its last
 * weights for the same inputs, computed on `device` (NULL: the run's) with `threads`. The caller
 * sets study->seed and may set study->network; the function fills the rest except seconds and
 * votes. `wanted` as in study_choose. */
struct study_run_request {
    const char *data, *device;
    size_t threads, wanted;
    evaluation_progress *progress; /* called after each picture; may be NULL */
    void *context;
};
bool study_pictures_of_run(struct study_pictures *pictures, struct study *study,
                           const struct run *run, const struct study_run_request *request,
                           struct error *error);

/* The inputs and results of study_pictures_of_run for a run's folder in a background job. `study`
 * starts as for study_pictures_of_run. The caller keeps the job alive until background_job_finish
 * returns, and owns the pictures. */
struct study_job {
    char directory[512];
    size_t threads, wanted;
    struct study study;
    struct study_pictures pictures;
};

/* Starts the job in a thread. Returns NULL with an error if that fails. */
struct background_job *study_pictures_start(struct study_job *job, struct error *error);

/* Chooses and reads the pictures of a study from the PNG and JPEG files of two folders. Files with
 * the same name, apart from the extension, count as the same scene. Pictures of different sizes are
 * cropped to one shape and scaled to the smallest size. */
bool study_pictures_of_folders(struct study_pictures *pictures, struct study *study,
                               const char *real, const char *generated, size_t wanted,
                               struct error *error);

/* --- internal to study_pictures*.c --- */

/* Allocates study->count pictures without pixels. */
bool study_pictures_create(struct study_pictures *pictures, const struct study *study,
                           struct error *error);

/* The start value of the 64-bit FNV-1a hash (Fowler, Noll, Vo). */
#define STUDY_HASH_BEGIN UINT64_C(14695981039346656037)

/* Returns the FNV-1a hash `hash` continued over `count` bytes. */
uint64_t study_hash(uint64_t hash, const void *bytes, size_t count);

/* Returns `hash` continued over size and pixels of an image. */
uint64_t study_hash_image(uint64_t hash, const struct image *image);

/* Sets study->fingerprint to the hash as text. */
void study_set_fingerprint(struct study *study, uint64_t hash);

#endif
