#!/bin/bash
# The program with a real library; see opencv_test.py.
exec python3 tools/micro/opencv_test.py
