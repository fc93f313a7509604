#!/bin/bash
# The page in a real browser; see page_test.py.
exec python3 tools/report/page_test.py
