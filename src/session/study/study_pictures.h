/* study_pictures.h: the pictures of a perceptual study: of a run's generator, or from two folders.
 *
 * All come as RGB of one size, from the same code, so that nothing but what they show tells the
 * real ones from the generated ones.
 */
#ifndef TINCA_SESSION_STUDY_STUDY_PICTURES_H
#define TINCA_SESSION_STUDY_STUDY_PICTURES_H

#include "base/threads/background_job.h"
#include "data/images/image.h"
#include "session/model/evaluate.h"
#include "session/record/run.h"
#include "session/study/study.h"

#include <stdbool.h>
#include <stddef.h>

struct study_pictures {
    struct image *images; /* [study->count], in the study's order */
    size_t count;
    bool resized; /* they came in several sizes */
};

void study_pictures_free(struct study_pictures *pictures); /* leaves it {0} */

/* Chooses and makes the pictures of a run whose network makes pictures: real ones are the targets
 * of its validation data (SPEC `data` instead, unless NULL; without either the test split of its
 * training data), generated ones what its last weights make of the inputs, computed on `device`
 * (NULL: the run's) by `threads`. study->seed must be set, and network may be (a label); fills the
 * rest of `study` but seconds and votes. `wanted` as in study_choose. */
struct study_run_request {
    const char *data, *device;
    size_t threads, wanted;
    evaluation_progress *progress; /* told of pictures; NULL: nobody is */
    void *context;
};
bool study_pictures_of_run(struct study_pictures *pictures, struct study *study,
                           const struct run *run, const struct study_run_request *request,
                           struct error *error);

/* The same of a run's directory, in the background: `study` begins with what study_pictures_of_run
 * wants. The job must live until background_job_finish; what it made is the caller's. */
struct study_job {
    char directory[512];
    size_t threads, wanted;
    struct study study;
    struct study_pictures pictures;
};
struct background_job *study_pictures_start(struct study_job *job, struct error *error);

/* The same from the PNG and JPEG pictures of two folders. Files of the same name but for its
 * ending are taken to show the same scene. Pictures of several sizes are cut to one shape and
 * brought to the smallest size. */
bool study_pictures_of_folders(struct study_pictures *pictures, struct study *study,
                               const char *real, const char *generated, size_t wanted,
                               struct error *error);

/* --- internal to study_pictures*.c --- */

/* Room for study->count pictures, none of them made yet. */
bool study_pictures_create(struct study_pictures *pictures, const struct study *study,
                           struct error *error);

/* Fowler, Noll and Vo's 64-bit hash (FNV-1a), continued from `hash`. */
#define STUDY_HASH_BEGIN UINT64_C(14695981039346656037)
uint64_t study_hash(uint64_t hash, const void *bytes, size_t count);
uint64_t study_hash_image(uint64_t hash, const struct image *image);
void study_set_fingerprint(struct study *study, uint64_t hash);

#endif
