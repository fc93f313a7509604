#!/bin/bash
# Data sets in stores from end to end; see remote_test.py.
exec python3 tools/pipeline/remote_test.py
