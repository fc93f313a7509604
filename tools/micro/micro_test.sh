#!/bin/bash
# The program from end to end; see micro_test.py.
exec python3 tools/micro/micro_test.py
