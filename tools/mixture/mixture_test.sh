#!/bin/bash
# The program from end to end; see mixture_test.py.
exec python3 tools/mixture/mixture_test.py
