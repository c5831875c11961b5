;;; A recipe for GNU Guix: guix build -f contrib/packages/guix.scm, guix install -f contrib/packages/guix.scm.
;;; It builds this very tree of sources.
(use-modules (guix packages)
             (guix gexp)
             (guix git-download)
             (guix build-system gnu)
             ((guix licenses) #:prefix license:)
             (gnu packages autotools)
             (gnu packages gettext)
             (gnu packages gtk)
             (gnu packages image)
             (gnu packages javascript)
             (gnu packages compression)
             (gnu packages maths)
             (gnu packages mpi)
             (gnu packages ncurses)
             (gnu packages pkg-config)
             (gnu packages protobuf))

(define source-folder
  (dirname (dirname (dirname (current-filename)))))

(package
  (name "tinca")
  (version "0.1.0")
  (source
   (local-file source-folder "tinca-checkout"
               #:recursive? #t
               #:select? (or (git-predicate source-folder)
                             (const #t))))
  (build-system gnu-build-system)
  (arguments
   (list
    #:configure-flags #~(list "--without-cuda" "--with-mpi" "--with-cairo" "--with-onnx")
    ;; the whole suite takes half an hour, and trains networks
    #:test-target "check-package"))
  (native-inputs
   (list autoconf automake gettext-minimal pkg-config))
  (inputs
   (list cairo cjson libjpeg-turbo libpng ncurses openblas openmpi protobuf-c zlib))
  (synopsis "Terminal workbench for deep-learning experiments")
  (description
   "tinca trains neural networks in a terminal, also over SSH: choose a network, an optimization
technique, a data set, a batch size and a device, and watch the loss, the memory and the milliseconds
per image live.  Runs are stored, compared and exported.  The engine is part of the program.")
  (home-page #f)
  (license license:expat))
