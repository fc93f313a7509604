#!/bin/bash
# What a study of mixtures concludes; see study_test.py.
cd tools/mixture && exec python3 -B study_test.py
