#!/bin/bash
# Our own loader from end to end; see native_test.py.
exec python3 tools/pipeline/native_test.py
