# From data sets to batches.
noinst_LIBRARIES += libdata.a
libdata_a_SOURCES = \
	%D%/dataset/contents.c \
	%D%/dataset/contents.h \
	%D%/dataset/dataset.c \
	%D%/dataset/dataset.h \
	%D%/dataset/dataset_source.h \
	%D%/dataset/selection.c \
	%D%/formats/arrays.c \
	%D%/formats/cifar.c \
	%D%/formats/decode.c \
	%D%/formats/gzip_file.c \
	%D%/formats/gzip_file.h \
	%D%/formats/idx.c \
	%D%/formats/image_file.c \
	%D%/formats/image_file.h \
	%D%/formats/internal.h \
	%D%/formats/list.c \
	%D%/formats/npy.c \
	%D%/formats/npy.h \
	%D%/formats/pairs.c \
	%D%/formats/pictures.c \
	%D%/formats/scan.c \
	%D%/formats/scan.h \
	%D%/formats/stored.c \
	%D%/formats/stored.h \
	%D%/formats/zip.c \
	%D%/formats/zip.h \
	%D%/generated/generate.h \
	%D%/generated/generate_digits.c \
	%D%/generated/generate_maps.c \
	%D%/generated/generate_shapes.c \
	%D%/generated/generate_tench.c \
	%D%/generated/generated.c \
	%D%/generated/internal.h \
	%D%/generated/paint.c \
	%D%/generated/tench_fish.c \
	%D%/images/broken.c \
	%D%/images/broken.h \
	%D%/images/image.c \
	%D%/images/image.h \
	%D%/images/preprocessing.c \
	%D%/images/preprocessing.h \
	%D%/images/resample.c \
	%D%/images/source.h \
	%D%/images/spec.c \
	%D%/images/spec.h \
	%D%/images/spec_value.c \
	%D%/images/spec_value.h \
	%D%/loader/augment.c \
	%D%/loader/augment.h \
	%D%/loader/augmentation.c \
	%D%/loader/augmentation.h \
	%D%/loader/data_loader.c \
	%D%/loader/data_loader.h \
	%D%/loader/decode_worker.c \
	%D%/loader/epoch_order.c \
	%D%/loader/epoch_order.h \
	%D%/loader/internal.h \
	%D%/loader/mix.c \
	%D%/loader/mix.h \
	%D%/loader/normalise.c \
	%D%/loader/training_example.c \
	%D%/loader/training_example.h
libdata_a_CFLAGS = $(LIBRARY_CFLAGS)
DATA_LIBS = libdata.a $(PNG_LIBS) $(JPEG_LIBS) $(ZLIB_LIBS) $(BASE_LIBS)
