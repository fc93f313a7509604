#!/bin/bash
# The program from end to end; see video_test.py.
exec python3 tools/video/video_test.py
