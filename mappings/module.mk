# The names of other programs' arrays, which names_builtins.c contains as text.
MAPPINGS = %D%/cifar-resnet.json %D%/cifar-vgg.json %D%/cifar-mobilenet.json \
	%D%/torchvision-alexnet.json %D%/torchvision-resnet.json %D%/timm-mobilenet.json \
	%D%/sequential-alexnet.json %D%/sequential-googlenet.json %D%/sequential-lenet.json \
	%D%/sequential-resnet20.json %D%/sequential-resnet56.json %D%/sequential-resnet110.json \
	%D%/sequential-squeezenet.json
EXTRA_DIST += $(MAPPINGS)
CLEANFILES += names_builtins.c
BUILT_SOURCES += names_builtins.c
names_builtins.c: $(MAPPINGS) src/base/builtin_texts.sh
	$(AM_V_GEN)cd $(srcdir) && $(SHELL) src/base/builtin_texts.sh engine/weights/weights_names.h weights_names_builtin $(MAPPINGS) >'$(abs_builddir)/$@.new' && \
	mv '$(abs_builddir)/$@.new' '$(abs_builddir)/$@'
