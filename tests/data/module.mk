# The tests of src/data.
DATA_CASES = \
	%D%/arrays_test.c \
	%D%/augment_test.c \
	%D%/dataset_test.c \
	%D%/generated_test.c \
	%D%/image_test.c
check_PROGRAMS += data_test
TESTS += $(DATA_CASES)
data_test_SOURCES = $(DATA_CASES) $(CASES_MAIN) tests/data_files.h
data_test_LDADD = libdata.a $(PNG_LIBS) $(JPEG_LIBS) $(ENGINE_LIBS)
TESTS += %D%/fetch_test.sh
EXTRA_DIST += %D%/fetch_test.sh
