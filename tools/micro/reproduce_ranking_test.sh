#!/bin/bash
# The comparison alone; see reproduce_ranking_test.py.
exec python3 tools/micro/reproduce_ranking_test.py
