#!/bin/bash
# The program from end to end; see pipeline_test.py.
exec python3 tools/pipeline/pipeline_test.py
