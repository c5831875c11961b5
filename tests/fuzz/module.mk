# fuzz_replay feeds seeds and old findings to the parsers; fuzz_test.sh, of check-long, builds and
# runs the fuzzers where clang can, in fuzz/ of the build tree
check_PROGRAMS += fuzz_replay fuzz_seeds
fuzz_replay_SOURCES = %D%/arrays.c %D%/caffe.c %D%/checkpoint.c %D%/cifar.c %D%/events.c %D%/fuzz.h \
	%D%/gz.c %D%/idx.c \
	%D%/jpeg.c %D%/log.c %D%/mapping.c %D%/network.c %D%/onnx.c %D%/picture.c %D%/picture.h \
	%D%/png.c %D%/preferences.c %D%/replay.c %D%/safetensors.c \
	%D%/scratch.c \
	%D%/session.c %D%/source.c %D%/source.h %D%/sweep.c
fuzz_replay_LDADD = $(UI_LIBS)
fuzz_seeds_SOURCES = %D%/checkpoint.c %D%/fuzz.h %D%/scratch.c %D%/seeds.c
fuzz_seeds_LDADD = $(STUDIES_LIBS)
HOSTILE_TESTS = %D%/replay_test.sh tests/cli/hostile_test.sh \
	tests/cli/hostile_runs_test.sh tests/cli/special_files_test.sh \
	tests/ui/hostile_screens_test.sh tests/ui/special_files_test.sh
TESTS += $(HOSTILE_TESTS)
EXTRA_DIST += $(HOSTILE_TESTS) %D%/fuzz_test.sh tests/cli/hostile_text.sh tests/ui/hostile_screen.sh %D%/build.mk %D%/found %D%/libfuzzer.c
clean-local:
	rm -rf fuzz
